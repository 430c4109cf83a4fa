//! MSET: <https://redis.io/docs/latest/commands/mset/>

use resp::{Args, Reply};
use store::{Class, Content, Db, Ttl};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static MSET: DataCommand = DataCommand {
    row: Row {
        name: "mset",
        group: Group::String,
        since: "1.0.1",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::range(1, -1, 2, KeyFlags::OW.or(KeyFlags::UPDATE))],
        tips: &["request_policy:multi_shard", "response_policy:all_succeeded"],
        complexity: "O(N) where N is the number of keys.",
        summary: "Sets the string values of several keys at once.",
        syntax: "MSET key value [key value ...]",
        transcript: r#"
> MSET x 10 y "foo bar" z "x x\n\r\n"
OK
> MGET x y z
1) "10"
2) "foo bar"
3) "x x\n\r\n"
# Of the same key twice, the last counts.
> MSET x 1 x 2
OK
> GET x
"2"
> MSET x 1 y
(error) ERR wrong number of arguments for 'mset' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len().is_multiple_of(2) {
        return Err(Fail::arity("mset"));
    }
    set_pairs(db, args);
    reply.ok();
    Ok(())
}

/// Sets the keys and values from argument 1 on, which come in pairs: serves MSET and MSETNX.
pub(super) fn set_pairs(db: &mut Db<'_>, args: &mut Args<'_>) {
    for i in (1..args.len()).step_by(2) {
        let taken = super::take_large(db, args, i + 1);
        let key = db.key(&args[i]);
        match super::stored(taken, &args[i + 1]) {
            Content::Bytes(bytes) if db.overwrite(key, bytes) => {}
            other => db.set(key, other, Ttl::Clear),
        }
        db.changed(key.bytes, Class::String, "set");
    }
}
