//! DISCARD: <https://redis.io/docs/latest/commands/discard/>

use commands::row::{Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static DISCARD: SessionCommand = SessionCommand {
    row: Row {
        name: "discard",
        group: Group::Transactions,
        since: "2.0.0",
        arity: 1,
        traits: Traits::IMMEDIATE,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::ALLOW_BUSY),
        scope: Scope::None,
        complexity: "O(N), when N is the number of queued commands",
        summary: "Drops the queued commands of a transaction, and its watches.",
        syntax: "DISCARD",
        transcript: r#"
> DISCARD
(error) ERR DISCARD without MULTI
> MULTI
OK
> SET a 1
QUEUED
> DISCARD
OK
> GET a
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if call.session.multi.is_none() {
        return Err(Fail::text("ERR DISCARD without MULTI"));
    }
    call.thread.discard(call.engine, call.session);
    reply.ok();
    Ok(())
}
