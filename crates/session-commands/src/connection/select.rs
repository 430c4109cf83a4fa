//! SELECT: <https://redis.io/docs/latest/commands/select/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::{Call, Replayed, SessionCommand};
use resp::{Args, Reply};

pub(crate) static SELECT: SessionCommand = SessionCommand {
    row: Row {
        name: "select",
        group: Group::Connection,
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE).or(Flags::FAST),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Selects the database for the commands that follow.",
        syntax: "SELECT index",
        transcript: r#"
> SELECT 1
OK
> SELECT 10000
(error) ERR DB index is out of range
> SELECT x
(error) ERR value is not an integer or out of range
> SELECT 0
OK
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let db = commands::parse::db_index(args, 1, call.engine.keyspace.databases())?;
    call.session.select(db);
    reply.ok();
    Ok(())
}

pub(super) fn replayed(at: &mut Replayed<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    *at.db = commands::parse::db_index(args, 1, at.engine.keyspace.databases())?;
    reply.ok();
    Ok(())
}
