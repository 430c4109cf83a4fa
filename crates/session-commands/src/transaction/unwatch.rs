//! UNWATCH: <https://redis.io/docs/latest/commands/unwatch/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static UNWATCH: SessionCommand = SessionCommand {
    row: Row {
        name: "unwatch",
        group: Group::Transactions,
        since: "2.2.0",
        arity: 1,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::ALLOW_BUSY),
        scope: Scope::None,
        complexity: "O(N) where N is the number of watched keys",
        summary: "Forgets all watched keys.",
        syntax: "UNWATCH",
        transcript: r#"
> UNWATCH
OK
> WATCH a
OK
> SET a 1
OK
> UNWATCH
OK
> MULTI
OK
> GET a
QUEUED
> EXEC
1) "1"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    call.thread.unwatch(call.engine, call.session);
    reply.ok();
    Ok(())
}
