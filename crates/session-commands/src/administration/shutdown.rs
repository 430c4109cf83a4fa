//! SHUTDOWN: <https://redis.io/docs/latest/commands/shutdown/>

use commands::row::{Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use durable::{Ending, ShutdownRequest};
use engine::Engine;
use engine::ends;
use engine::log;
use engine::{Call, Client, SessionCommand, Stuck};
use replicator::{Replicator, leaving};
use resp::{Args, Reply};
use store::Empty;

use super::wait::wait;

pub(crate) static SHUTDOWN: SessionCommand = super::command(
    Row {
        name: "shutdown",
        group: Group::Server,
        arity: -1,
        traits: Traits::ENDS_SCRIPTS,
        flags: super::ADMIN.or(Flags::NO_MULTI).or(Flags::SENTINEL).or(Flags::ALLOW_BUSY),
        history: &[("7.0.0", "Added the `NOW`, `FORCE` and `ABORT` modifiers.")],
        scope: Scope::None,
        complexity: "O(N) when saving, where N is the total number of keys in all databases when \
                     saving data, otherwise O(1)",
        summary: "Ends the server.",
        syntax: "SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        transcript: r#"
> SHUTDOWN SAVE NOSAVE
(error) ERR syntax error
> SHUTDOWN ABORT NOW
(error) ERR syntax error
> SHUTDOWN ABORT
(error) ERR No shutdown in progress.
"#,
        ..Row::DEFAULT
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let engine = call.engine;
    let Some(request) = read(args)? else {
        if !leaving::abort(engine, call.thread) {
            durable::abort_shutdown(engine)?;
        }
        reply.ok();
        return Ok(());
    };
    refuse_while_busy(engine, request)?;
    log!(engine.log, Notice, "User requested shutdown...");
    // No reply: the closed connection is the answer.
    match durable::shut_down(engine, call.thread, request, manner(request))? {
        Ending::Now => call.session.closing = true,
        Ending::Waits => {
            wait(call, None, Empty::Ok, reply);
            call.thread.on_wait = Some(Box::new(|engine, client| {
                Replicator::of(engine).leaving.join(client);
            }));
        }
    }
    Ok(())
}

/// Whether scripts are waited for.
fn manner(request: ShutdownRequest) -> u8 {
    if request.save == Some(false) { ends::AT_ONCE } else { ends::ORDERLY }
}

/// As in Redis: the writes of a slow script so far are not saved.
fn refuse_while_busy(engine: &Engine, request: ShutdownRequest) -> Outcome {
    match engine.scripts.running.refusal() {
        Some(fail) if request.save != Some(false) => Err(fail),
        _ => Ok(()),
    }
}

/// SHUTDOWN of a client whose thread is stuck: begins a shutdown that saves nothing, where no thread is free
/// to do more than that.
pub(crate) fn while_stuck(
    engine: &Engine,
    client: &Client,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    let Some(request) = read(args)? else {
        durable::abort_shutdown(engine)?;
        reply.ok();
        return Ok(Stuck::Answered);
    };
    refuse_while_busy(engine, request)?;
    log!(engine.log, Notice, "User requested shutdown...");
    durable::begin_shutdown(engine, request, manner(request))?;
    // The closed connection is the answer.
    engine.close(client);
    Ok(Stuck::Silent)
}

/// The request; none is ABORT.
fn read(args: &Args<'_>) -> Result<Option<ShutdownRequest>, Fail> {
    let (mut save, mut nosave, mut now, mut force, mut abort) = (false, false, false, false, false);
    for i in 1..args.len() {
        let words = [
            ("save", &mut save),
            ("nosave", &mut nosave),
            ("now", &mut now),
            ("force", &mut force),
            ("abort", &mut abort),
        ];
        let found = words.into_iter().find(|(word, _)| args.is(i, word));
        *found.ok_or(Fail::SYNTAX)?.1 = true;
    }
    if (save && nosave) || (abort && (save || nosave || now || force)) {
        return Err(Fail::SYNTAX);
    }
    if abort {
        return Ok(None);
    }
    let save = if save { Some(true) } else { nosave.then_some(false) };
    Ok(Some(ShutdownRequest { save, now, force }))
}
