//! BGREWRITEAOF: <https://redis.io/docs/latest/commands/bgrewriteaof/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope, Traits};
use durable::Durable;
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static COMMANDS: &[&SessionCommand] = &[&BGREWRITEAOF];

static BGREWRITEAOF: SessionCommand = SessionCommand {
    row: Row {
        name: "bgrewriteaof",
        group: Group::Server,
        since: "1.0.0",
        arity: 1,
        traits: Traits::LOCKS_ALL,
        flags: Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::NO_ASYNC_LOADING),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Replaces the journal by a snapshot of now and what follows it, in the background.",
        syntax: "BGREWRITEAOF",
        transcript: r#"
> BGREWRITEAOF NOW
(error) ERR wrong number of arguments for 'bgrewriteaof' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let durable = Durable::of(call.engine);
    let must_wait = call.thread.in_transaction || durable.snapshots.is_busy();
    if must_wait && !durable.journal.rewrite.is_busy() {
        // A snapshot is being taken. Or, within a transaction, its later commands would be in the snapshot and its
        // earlier ones not.
        durable.journal.rewrite.schedule();
        reply.simple("Background append only file rewriting scheduled");
        return Ok(());
    }
    durable::journal::begin_rewrite(call.engine, call.thread)?;
    reply.simple("Background append only file rewriting started");
    Ok(())
}
