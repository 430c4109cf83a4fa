//! RESET: <https://redis.io/docs/latest/commands/reset/>

use commands::row::{Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::ReplyMode;
use engine::{Call, Client, Engine, SessionCommand, Stuck};
use resp::{Args, Proto, Reply};

use super::early;

pub(crate) static RESET: SessionCommand = SessionCommand {
    row: Row {
        name: "reset",
        group: Group::Connection,
        since: "6.2.0",
        arity: 1,
        traits: Traits::IMMEDIATE.or(Traits::WHILE_SUBSCRIBED),
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::NO_AUTH)
            .or(Flags::ALLOW_BUSY),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Puts the connection back into the state in which it began.",
        syntax: "RESET",
        transcript: r#"
> SELECT 1
OK
> CLIENT SETNAME me
OK
> SET k v
OK
> RESET
RESET
> CLIENT GETNAME
(nil)
> GET k
(nil)
> RESET now
(error) ERR wrong number of arguments for 'reset' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    // A skip that is in force applies to this command; OFF ends before it answers.
    let skipped = call.session.reply == ReplyMode::SkipNext;
    call.thread.untrack(call.engine, call.session);
    call.thread.receive();
    call.thread.unsubscribe_all(call.engine, call.session);
    call.thread.discard(call.engine, call.session);
    call.session.reset(call.engine);
    call.thread.set_proto(call.session, Proto::V2);
    if skipped {
        call.session.reply = ReplyMode::SkipNext;
    }
    reply.set_proto(call.session.proto);
    reply.simple("RESET");
    Ok(())
}

/// RESET of a client whose thread is stuck.
pub(super) fn while_stuck(
    engine: &Engine,
    client: &Client,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    client.leave_multi();
    early::enter(client, engine.acl.default_user(), engine.acl.is_open());
    client.set_name(String::new());
    client.receiver.set_proto(Proto::V2);
    reply.set_proto(Proto::V2);
    reply.simple("RESET");
    Ok(Stuck::Noted)
}
