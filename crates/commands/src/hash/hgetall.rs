//! HGETALL: <https://redis.io/docs/latest/commands/hgetall/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::hash::What;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static HGETALL: DataCommand = DataCommand {
    row: Row {
        name: "hgetall",
        group: Group::Hash,
        since: "2.0.0",
        arity: 2,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        complexity: "O(N), where N is the number of fields.",
        summary: "Returns all fields of a hash and their values.",
        syntax: "HGETALL key",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HGETALL user
1) "name"
2) "Ann"
3) "age"
4) "41"
> HGETALL nobody
(empty array)
> SET text v
OK
> HGETALL text
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::reply_all(db, args, What::Both, reply)
}
