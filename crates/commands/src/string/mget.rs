//! MGET: <https://redis.io/docs/latest/commands/mget/>

use resp::{Args, Reply};
use store::{Db, WrongType};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static MGET: DataCommand = DataCommand {
    row: Row {
        name: "mget",
        group: Group::String,
        arity: -2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["request_policy:multi_shard"],
        complexity: "O(N) where N is the number of keys.",
        summary: "Returns the string values of several keys at once.",
        syntax: "MGET key [key ...]",
        transcript: r#"
> MSET a 1 b "two words"
OK
> MGET a nothing b a
1) "1"
2) (nil)
3) "two words"
4) "1"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.array(args.len() - 1);
    for name in args.iter_from(1) {
        let key = db.key(name);
        // Another type is no error here: the caller asked for several keys.
        match db.read_str(key) {
            Ok(Some(e)) => super::reply_value(&e, reply),
            Ok(None) | Err(WrongType) => reply.null(),
        }
    }
    Ok(())
}
