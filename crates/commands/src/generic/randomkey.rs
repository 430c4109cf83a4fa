//! RANDOMKEY: <https://redis.io/docs/latest/commands/randomkey/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, Row, Scope};

pub(crate) static RANDOMKEY: DataCommand = DataCommand {
    row: Row {
        name: "randomkey",
        group: Group::Generic,
        arity: 1,
        flags: Flags::READONLY.or(Flags::TOUCHES_ARBITRARY_KEYS),
        tips: &["request_policy:all_shards", "response_policy:special", "nondeterministic_output"],
        scope: Scope::Each,
        complexity: "O(1)",
        summary: "Returns a random key of the database.",
        syntax: "RANDOMKEY",
        transcript: r#"
> RANDOMKEY
(nil)
> SET only 1
OK
> RANDOMKEY
"only"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    match db.random_key() {
        Some(key) => reply.bulk(key),
        None => reply.null(),
    }
    Ok(())
}
