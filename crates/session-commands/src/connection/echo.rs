//! ECHO: <https://redis.io/docs/latest/commands/echo/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::{Call, Replayed, SessionCommand};
use resp::{Args, Reply};

pub(crate) static ECHO: SessionCommand = SessionCommand {
    row: Row {
        name: "echo",
        group: Group::Connection,
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE).or(Flags::FAST),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers with its argument.",
        syntax: "ECHO message",
        transcript: r#"
> ECHO "a b\x00"
"a b\x00"
> ECHO ""
""
> ECHO a b
(error) ERR wrong number of arguments for 'echo' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(_: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.bulk(&args[1]);
    Ok(())
}

pub(super) fn replayed(_: &mut Replayed<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.bulk(&args[1]);
    Ok(())
}
