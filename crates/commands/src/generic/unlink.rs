//! UNLINK: <https://redis.io/docs/latest/commands/unlink/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static UNLINK: DataCommand = DataCommand {
    row: Row {
        name: "unlink",
        group: Group::Generic,
        since: "4.0.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RM.or(KeyFlags::DELETE))],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        complexity: "O(1) for each key; big values are freed in the background.",
        summary: "Deletes keys, and frees big values in the background.",
        syntax: "UNLINK key [key ...]",
        transcript: r#"
> SET a 1
OK
> SET b 2
OK
> UNLINK a b nothing a
(integer) 2
> EXISTS a b
(integer) 0
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
        if db.unlink(key) {
            db.changed(name, Class::Generic, "del");
            n += 1;
        }
    }
    reply.int(n);
    Ok(())
}
