//! SRANDMEMBER: <https://redis.io/docs/latest/commands/srandmember/>

use data::set::Set;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::{self, int};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SRANDMEMBER: DataCommand = DataCommand {
    row: Row {
        name: "srandmember",
        group: Group::Set,
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        history: &[("2.6.0", "Added the optional `count` argument.")],
        complexity: "O(1) without a count, O(N) with one where N is its absolute value.",
        summary: "Returns random members of a set; with a negative count, one may come repeatedly.",
        syntax: "SRANDMEMBER key [count]",
        transcript: r#"
> SADD s a
(integer) 1
> SRANDMEMBER s
"a"
> SRANDMEMBER s 5
1) "a"
> SRANDMEMBER s -3
1) "a"
2) "a"
3) "a"
> SRANDMEMBER s 0
(empty array)
> SRANDMEMBER nothing
(nil)
> SRANDMEMBER nothing 2
(empty array)
> SRANDMEMBER s x
(error) ERR value is not an integer or out of range
> SRANDMEMBER s -9223372036854775808
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
> SRANDMEMBER s 1 2
(error) ERR syntax error
> SET t text
OK
> SRANDMEMBER t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> SADD s a
(integer) 1
> SRANDMEMBER s 1
1) "a"
> SRANDMEMBER nothing 1
(empty array)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let count = match args.len() {
        2 => None,
        3 => Some(int(args, 2)?),
        _ => return Err(Fail::SYNTAX),
    };
    if count == Some(i64::MIN) {
        return Err(Fail::text(
            "ERR value is out of range, \
             value must between -9223372036854775807 and 9223372036854775807",
        ));
    }
    let mut rng = db.cx.rng.clone();
    let Some(e) = db.read_as(key, Kind::Set)? else {
        match count {
            None => reply.null(),
            Some(_) => reply.array(0),
        }
        return Ok(());
    };
    let set = Set::of(&e);
    let drawn = match count {
        Some(n @ ..0) => usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX),
        Some(n) => usize::try_from(n).unwrap_or(usize::MAX).min(set.len()),
        None => 1,
    };
    if budget.is_exceeded(&e, drawn, set.len(), 1) {
        db.hand_over(1);
        return Ok(());
    }
    match count {
        None => {
            set.random(&mut rng, |item| super::reply_item(item, reply));
        }
        Some(n @ ..0) => {
            let n = parse::repeated(n.unsigned_abs(), reply)?;
            reply.array(n);
            reply.repeat(n, |reply| {
                set.random(&mut rng, |item| super::reply_item(item, reply));
            });
        }
        Some(n) => {
            let n = usize::try_from(n).unwrap_or(usize::MAX).min(set.len());
            reply.array(n);
            if n == set.len() {
                super::reply_members(set, reply);
            } else {
                for member in super::choose(set, n, &mut rng) {
                    super::reply_item(member.item(), reply);
                }
            }
        }
    }
    db.cx.rng = rng;
    Ok(())
}
