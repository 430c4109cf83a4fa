//! EXEC: <https://redis.io/docs/latest/commands/exec/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope, Traits};
use engine::Attention;
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static EXEC: SessionCommand = SessionCommand {
    row: Row {
        name: "exec",
        group: Group::Transactions,
        since: "1.2.0",
        arity: 1,
        traits: Traits::EXEC.or(Traits::IMMEDIATE),
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::SKIP_MONITOR)
            .or(Flags::SKIP_SLOWLOG),
        scope: Scope::None,
        complexity: "Depends on commands in the transaction",
        summary: "Runs the queued commands of a transaction, with no other client's in between.",
        syntax: "EXEC",
        transcript: r#"
> EXEC
(error) ERR EXEC without MULTI
> MULTI
OK
> EXEC
(empty array)
# A command that fails when it runs does not stop the others.
> MULTI
OK
> SET a x
QUEUED
> INCR a
QUEUED
> GET a
QUEUED
> EXEC
1) OK
2) (error) ERR value is not an integer or out of range
3) "x"
> MULTI
OK
> SELECT 1
QUEUED
> SET b 1
QUEUED
> DBSIZE
QUEUED
> EXEC
1) OK
2) OK
3) (integer) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let outcome = call.run_queue(reply);
    let engine = call.engine;
    if engine.attention.get() & Attention::MONITOR != 0 {
        // Monitors see it behind its commands, and also when there were none to run: it ends the
        // transaction that MULTI has begun.
        let now = call.thread.wall_us(&engine.clock);
        engine.monitors.feed(engine, call.session, now, &EXEC.row, args);
    }
    outcome
}
