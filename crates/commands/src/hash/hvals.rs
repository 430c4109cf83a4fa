//! HVALS: <https://redis.io/docs/latest/commands/hvals/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::hash::What;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static HVALS: DataCommand = DataCommand {
    row: Row {
        name: "hvals",
        group: Group::Hash,
        since: "2.0.0",
        arity: 2,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF).or(Traits::SORTED_FOR_SCRIPTS),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        complexity: "O(N), where N is the number of fields.",
        summary: "Returns all values of a hash.",
        syntax: "HVALS key",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HVALS user
1) "Ann"
2) "41"
> HVALS nobody
(empty array)
> SET text v
OK
> HVALS text
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::reply_all(db, args, What::Values, reply)
}
