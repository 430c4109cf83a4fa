//! LASTSAVE: <https://redis.io/docs/latest/commands/lastsave/>

use commands::Outcome;
use commands::row::{Acl, Flags, Group, Row, Scope};
use resp::{Args, Reply};

use crate::table::{Call, SessionCommand};

pub(crate) static LASTSAVE: SessionCommand = super::command(
    Row {
        name: "lastsave",
        group: Group::Server,
        arity: 1,
        flags: super::ANYTIME.or(Flags::FAST),
        acl: Acl::ADMIN.or(Acl::DANGEROUS),
        tips: &["nondeterministic_output"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers the Unix time of the last save to disk, or of the start before any.",
        syntax: "LASTSAVE",
        transcript: r#"
> LASTSAVE
~ (integer) ??????????
"#,
        ..Row::DEFAULT
    },
    run,
);

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.int(call.engine.started_ms / 1000);
    Ok(())
}
