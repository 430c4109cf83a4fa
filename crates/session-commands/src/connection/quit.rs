//! QUIT: <https://redis.io/docs/latest/commands/quit/>

use commands::row::{DocFlags, Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::{Call, Client, Engine, SessionCommand, Stuck};
use resp::{Args, Reply};

pub(crate) static QUIT: SessionCommand = SessionCommand {
    row: Row {
        name: "quit",
        group: Group::Connection,
        arity: -1,
        traits: Traits::IMMEDIATE.or(Traits::WHILE_SUBSCRIBED),
        loose_arity: "Redis ignores what follows the name.",
        flags: Flags::ALLOW_BUSY
            .or(Flags::NOSCRIPT)
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::NO_AUTH),
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "7.2.0",
        replaced_by: "just closing the connection",
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Closes the connection.",
        syntax: "QUIT",
        transcript: r#"
> QUIT
OK
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.ok();
    call.session.closing = true;
    Ok(())
}

/// QUIT of a client whose thread is stuck.
pub(super) fn while_stuck(
    engine: &Engine,
    client: &Client,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    engine.close(client);
    reply.ok();
    Ok(Stuck::Answered)
}
