//! MULTI: <https://redis.io/docs/latest/commands/multi/>

use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static MULTI: SessionCommand = SessionCommand {
    row: Row {
        name: "multi",
        group: Group::Transactions,
        since: "1.2.0",
        arity: 1,
        traits: Traits::IMMEDIATE,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::ALLOW_BUSY),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Starts a transaction: the commands that follow are queued until EXEC.",
        syntax: "MULTI",
        transcript: r#"
> MULTI
OK
> MULTI
(error) ERR MULTI calls can not be nested
> SET a 1
QUEUED
> INCR a
QUEUED
> EXEC
1) OK
2) (integer) 2
# A command that could never run makes the whole transaction fail.
> MULTI
OK
> GET
(error) ERR wrong number of arguments for 'get' command
> EXEC
(error) EXECABORT Transaction discarded because of previous errors.
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if call.session.multi.is_some() {
        return Err(Fail::text("ERR MULTI calls can not be nested"));
    }
    call.session.multi = Some(Box::default());
    call.session.client.multi.store(0, Relaxed);
    reply.ok();
    Ok(())
}
