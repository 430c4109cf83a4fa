//! HSCAN: <https://redis.io/docs/latest/commands/hscan/>

use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::generic::pattern::Pattern;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};
use crate::scan::{Of, Options, cursor, reply_nothing};

pub(crate) static HSCAN: DataCommand = DataCommand {
    row: Row {
        name: "hscan",
        group: Group::Hash,
        since: "2.8.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_COUNT,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(1) for a call, O(N) for all of them, where N is the number of fields.",
        summary: "Lists fields of a hash step by step.",
        syntax: "HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HSCAN user 0
1) "0"
2) 1) "name"
   2) "Ann"
   3) "age"
   4) "41"
> HSCAN user 0 MATCH a* COUNT 1
1) "0"
2) 1) "age"
   2) "41"
> HSCAN nobody 0 NONSENSE
1) "0"
2) (empty array)
> HSCAN user x
(error) ERR invalid cursor
> HSCAN user 0 COUNT 0
(error) ERR syntax error
> HSCAN user 0 TYPE hash
(error) ERR syntax error
> SET text v
OK
> HSCAN text 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HSCAN user 0 NOVALUES
1) "0"
2) 1) "name"
   2) "age"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut at = cursor(&args[2])?;
    let (key, now) = (db.first_key(&args[1]), db.now());
    let Some(e) = db.read_as(key, Kind::Hash)? else {
        reply_nothing(reply);
        return Ok(());
    };
    let o = Options::parse(args, 3, Of::Hash)?;
    // The cursor comes first in the reply and is known last: a first walk finds where this call
    // ends, before anything is written.
    let first = at;
    let (mut seen, mut steps) = (0, 0u64);
    loop {
        at = hash::scan(&e, at, |_, _, _| seen += 1);
        steps += 1;
        if at == 0 || seen >= o.count || steps > o.count.saturating_mul(10) {
            break;
        }
    }
    reply.array(2);
    reply.bulk_int(at as i64);
    let mark = reply.begin();
    let (mut n, mut from) = (0, first);
    for _ in 0..steps {
        from = hash::scan(&e, from, |field, value, deadline| {
            let fits = match o.pattern {
                Pattern::All => true,
                pattern => pattern.fits(field.text(&mut [0; I64_LEN_MAX])),
            };
            if !fits || hash::is_over(deadline, now) {
                return;
            }
            super::reply_name(field, reply);
            n += 1;
            if !o.no_values {
                super::reply_value(value, reply);
                n += 1;
            }
        });
    }
    reply.end_array(mark, n);
    Ok(())
}
