//! SSCAN: <https://redis.io/docs/latest/commands/sscan/>

use data::packed::Item;
use data::set::Set;
use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};
use crate::scan;

pub(crate) static SSCAN: DataCommand = DataCommand {
    row: Row {
        name: "sscan",
        group: Group::Set,
        since: "2.8.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_COUNT,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(1) for a call, O(N) for all of them, where N is the number of members.",
        summary: "Lists the members of a set step by step.",
        syntax: "SSCAN key cursor [MATCH pattern] [COUNT count]",
        transcript: r#"
> SADD s 1 2 3 21
(integer) 4
> SSCAN s 0
1) "0"
2) 1) "1"
   2) "2"
   3) "3"
   4) "21"
> SSCAN s 0 MATCH 2* COUNT 100
1) "0"
2) 1) "2"
   2) "21"
# A small set comes whole, whatever the cursor and the count.
> SSCAN s 7 COUNT 1 MATCH 3
1) "0"
2) 1) "3"
> SSCAN nothing 0
1) "0"
2) (empty array)
> SSCAN nothing 0 FROM
1) "0"
2) (empty array)
> SSCAN nothing x
(error) ERR invalid cursor
> SSCAN s 0 COUNT 0
(error) ERR syntax error
> SSCAN s 0 COUNT x
(error) ERR value is not an integer or out of range
> SSCAN s 0 TYPE string
(error) ERR syntax error
> SET t text
OK
> SSCAN t 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.4
> SADD s 1
(integer) 1
> SSCAN s 0 NOVALUES
(error) ERR NOVALUES option can only be used in HSCAN
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let cursor = scan::cursor(&args[2])?;
    let key = db.first_key(&args[1]);
    let Some(e) = db.read_as(key, Kind::Set)? else {
        scan::reply_nothing(reply);
        return Ok(());
    };
    let o = scan::Options::parse(args, 3, scan::Of::Members)?;
    let mut found = scan::Found::default();
    let mut take = |item: Item<'_>| {
        let mut buf = [0; I64_LEN_MAX];
        let text = item.text(&mut buf);
        if o.pattern.fits(text) {
            found.push(text);
        }
    };
    let next = match Set::of(&e) {
        Set::Big(set) => set.scan(cursor, o.count, take),
        small => {
            small.each(|item| {
                take(item);
                true
            });
            0
        }
    };
    found.reply(next, reply);
    Ok(())
}
