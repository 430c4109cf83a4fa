//! GET: <https://redis.io/docs/latest/commands/get/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};
use crate::runs::CommandRun;

pub(crate) static GET: DataCommand = DataCommand {
    row: Row {
        name: "get",
        group: Group::String,
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns the string value of a key.",
        syntax: "GET key",
        transcript: r#"
> GET nothing
(nil)
> SET greeting "hello world"
OK
> GET greeting
"hello world"
> SET n 0042
OK
> GET n
"0042"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    match db.read_str(key)? {
        Some(e) => super::reply_value(&e, reply),
        None => reply.null(),
    }
    Ok(())
}

/// [`run`] for plain strings.
pub(crate) fn execute_run(db: &mut Db<'_>, run: &CommandRun<'_>, reply: &mut Reply<'_>) -> usize {
    let n = run.each(db, |db, [_, key]| {
        db.fast_path(key, |e| e.plain().map(|bytes| reply.bulk(bytes)).is_some())
    });
    db.cx.counters.keyspace_hits += n as u64;
    n
}
