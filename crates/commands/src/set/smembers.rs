//! SMEMBERS: <https://redis.io/docs/latest/commands/smembers/>

use data::set::Set;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SMEMBERS: DataCommand = DataCommand {
    row: Row {
        name: "smembers",
        group: Group::Set,
        arity: 2,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF).or(Traits::SORTED_FOR_SCRIPTS),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        complexity: "O(N) where N is the number of members: one reply, made at once. Use SSCAN \
                     for sets of millions.",
        summary: "Returns all members of a set.",
        syntax: "SMEMBERS key",
        transcript: r#"
> SADD s 2 3 1
(integer) 3
> SMEMBERS s
1) "1"
2) "2"
3) "3"
> SMEMBERS nothing
(empty array)
> SET t text
OK
> SMEMBERS t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> SADD s one
(integer) 1
> SMEMBERS s
1~ "one"
> SMEMBERS nothing
(empty set)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    match db.read_as(key, Kind::Set)? {
        Some(e) => {
            let set = Set::of(&e);
            let n = set.len();
            if budget.is_exceeded(&e, n, n, 1) {
                db.hand_over(1);
                return Ok(());
            }
            reply.set(n);
            super::reply_members(set, reply);
        }
        None => reply.set(0),
    }
    Ok(())
}
