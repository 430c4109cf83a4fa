//! TOUCH: <https://redis.io/docs/latest/commands/touch/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static TOUCH: DataCommand = DataCommand {
    row: Row {
        name: "touch",
        group: Group::Generic,
        since: "3.2.1",
        arity: -2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        complexity: "O(N) where N is the number of keys.",
        summary: "Counts the keys that exist, as if they were read.",
        syntax: "TOUCH key [key ...]",
        transcript: r#"
> SET a 1
OK
> SET b 2
OK
> TOUCH a b nothing a
(integer) 3
> OBJECT IDLETIME a
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    // The command's purpose is to touch: CLIENT NO-TOUCH does not apply.
    let no_touch = std::mem::replace(&mut db.cx.no_touch, false);
    let mut n = 0;
    for name in args.iter_from(1) {
        let key = db.key(name);
        n += i64::from(db.read(key).is_some());
    }
    db.cx.no_touch = no_touch;
    reply.int(n);
    Ok(())
}
