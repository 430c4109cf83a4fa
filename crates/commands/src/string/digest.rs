//! DIGEST: <https://redis.io/docs/latest/commands/digest/>

use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::Db;

use super::condition::digest;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static DIGEST: DataCommand = DataCommand {
    row: Row {
        name: "digest",
        group: Group::String,
        since: "8.4.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1) for a short value, O(N) for one of N bytes.",
        summary: "Returns a hash (XXH3) of the string value of a key.",
        syntax: "DIGEST key",
        transcript: r#"
# only: redis>=8.4
> SET k ""
OK
> DIGEST k
"2d06800538d394c2"
> SET k "Hello world"
OK
> DIGEST k
"b6acb9d84a38ff74"
> SET n 12
OK
> OBJECT ENCODING n
"int"
> STRLEN n
(integer) 2
> DIGEST nothing
(nil)
> RPUSH l a
(integer) 1
> DIGEST l
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.key(&args[1]);
    match db.read_str(key)? {
        Some(e) => reply.bulk(digest(super::bytes(&e, &mut [0; I64_LEN_MAX])).as_bytes()),
        None => reply.null(),
    }
    Ok(())
}
