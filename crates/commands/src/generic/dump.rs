//! DUMP: <https://redis.io/docs/latest/commands/dump/>
//!
//! Redis 7.0 and later restore the payload, except hashes whose fields have deadlines: these need
//! Redis 7.4.

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static DUMP: DataCommand = DataCommand {
    row: Row {
        name: "dump",
        group: Group::Generic,
        since: "2.6.0",
        arity: 2,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(1) to find the key, O(N*M) for N parts of M bytes on average.",
        summary: "Returns a value in a form that RESTORE takes.",
        syntax: "DUMP key",
        transcript: r#"
> SET greeting hello
OK
> DUMP greeting
~ "\x00\x05hello*"
# Deadlines are no part of it, and neither is the name.
> SET other hello EX 100
OK
> DUMP other
~ "\x00\x05hello*"
> DUMP nothing
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    match db.read(key) {
        Some(e) => reply.bulk(rdb::dump(&e)),
        None => reply.null(),
    }
    Ok(())
}
