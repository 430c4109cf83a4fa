//! EXISTS: <https://redis.io/docs/latest/commands/exists/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static EXISTS: DataCommand = DataCommand {
    row: Row {
        name: "exists",
        group: Group::Generic,
        arity: -2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        history: &[("3.0.3", "Accepts multiple `key` arguments.")],
        complexity: "O(N) where N is the number of keys.",
        summary: "Counts the keys that exist.",
        syntax: "EXISTS key [key ...]",
        transcript: r#"
> SET a 1
OK
> EXISTS a
(integer) 1
> EXISTS nothing
(integer) 0
# A key counts as often as it is named.
> EXISTS a nothing a
(integer) 2
> SET empty ""
OK
> EXISTS empty
(integer) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut n = 0;
    for name in args.iter_from(1) {
        let key = db.key(name);
        n += i64::from(db.look(key).is_some());
    }
    reply.int(n);
    Ok(())
}
