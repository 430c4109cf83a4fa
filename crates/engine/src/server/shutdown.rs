//! SHUTDOWN: <https://redis.io/docs/latest/commands/shutdown/>

use commands::row::{Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use crate::engine::ShutdownRequest;
use crate::log;
use crate::persistence;
use crate::table::{Call, SessionCommand};

pub(crate) static SHUTDOWN: SessionCommand = super::command(
    Row {
        name: "shutdown",
        group: Group::Server,
        arity: -1,
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

fn run(call: &mut Call<'_>, args: &mut Args<'_>, _: &mut Reply<'_>) -> Outcome {
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
        // A shutdown waits for nobody so far, so there is never one to call off.
        return Err(Fail::text("ERR No shutdown in progress."));
    }
    let engine = call.engine;
    log!(engine.log, Notice, "User requested shutdown...");
    let save = if save { Some(true) } else { nosave.then_some(false) };
    let request = ShutdownRequest { save, now, force };
    persistence::shut_down(engine, call.thread, request)?;
    // No reply: the closed connection is the answer.
    call.session.closing = true;
    Ok(())
}
