//! DEL: <https://redis.io/docs/latest/commands/del/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static DEL: DataCommand = DataCommand {
    row: Row {
        name: "del",
        group: Group::Generic,
        arity: -2,
        flags: Flags::WRITE,
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RM.or(KeyFlags::DELETE))],
        tips: &["request_policy:multi_shard", "response_policy:agg_sum"],
        complexity: "O(N) where N is the number of keys; O(M) in addition for a value of M parts.",
        summary: "Deletes keys.",
        syntax: "DEL key [key ...]",
        transcript: r#"
> MSET a 1 b 2
OK
> DEL a b nothing
(integer) 2
> GET a
(nil)
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
        if db.delete(key) {
            db.changed(name, Class::Generic, "del");
            n += 1;
        }
    }
    reply.int(n);
    Ok(())
}
