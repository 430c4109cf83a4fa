//! MSETNX: <https://redis.io/docs/latest/commands/msetnx/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static MSETNX: DataCommand = DataCommand {
    row: Row {
        name: "msetnx",
        group: Group::String,
        since: "1.0.1",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::range(1, -1, 2, KeyFlags::OW.or(KeyFlags::INSERT))],
        complexity: "O(N) where N is the number of keys.",
        summary: "Sets the string values of several keys at once, if none of the keys exists.",
        syntax: "MSETNX key value [key value ...]",
        transcript: r#"
> MSETNX a 1 b 2
(integer) 1
> MSETNX b 3 c 4
(integer) 0
> MGET a b c
1) "1"
2) "2"
3) (nil)
> MSETNX d 1 d 2
(integer) 1
> GET d
"2"
> MSETNX a 1 b
(error) ERR wrong number of arguments for 'msetnx' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len().is_multiple_of(2) {
        return Err(Fail::arity("msetnx"));
    }
    for name in args.iter_from(1).step_by(2) {
        let key = db.key(name);
        if db.write(key).is_some() {
            reply.int(0);
            return Ok(());
        }
    }
    super::mset::set_pairs(db, args);
    reply.int(1);
    Ok(())
}
