//! MONITOR: <https://redis.io/docs/latest/commands/monitor/>

use std::sync::atomic::Ordering::Relaxed;

use commands::Outcome;
use commands::row::{Group, Row, Scope};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static MONITOR: SessionCommand = crate::administration::command(
    Row {
        name: "monitor",
        group: Group::Server,
        arity: 1,
        flags: crate::administration::ADMIN,
        scope: Scope::None,
        complexity: "O(1), and the same again for every command that any client runs from then on",
        summary: "Shows every command that the server runs, as it runs them.",
        syntax: "MONITOR",
        untranscribed: "what follows the reply depends on what other clients do",
        ..Row::DEFAULT
    },
    run,
);

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let client = &call.session.client;
    call.engine.monitors.add(&call.engine.attention, client.id, client.thread);
    client.monitor.store(true, Relaxed);
    call.session.monitor = true;
    reply.ok();
    Ok(())
}
