//! TIME: <https://redis.io/docs/latest/commands/time/>

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::{Call, Replayed, SessionCommand};
use resp::{Args, Reply};

pub(crate) static TIME: SessionCommand = super::command(
    Row {
        name: "time",
        group: Group::Server,
        since: "2.6.0",
        arity: 1,
        flags: super::ANYTIME.or(Flags::FAST),
        tips: &["nondeterministic_output"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers the server's time: Unix seconds, and the microseconds beyond them.",
        syntax: "TIME",
        transcript: r#"
> TIME
~ 1) "??????????"
~ 2) "*"
"#,
        ..Row::DEFAULT
    },
    run,
);

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    write(call.thread.wall_us(&call.engine.clock) as i64, reply)
}

pub(super) fn replayed(at: &mut Replayed<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    write(at.engine.clock.wall_ms() as i64 * 1000, reply)
}

fn write(us: i64, reply: &mut Reply<'_>) -> Outcome {
    reply.array(2);
    reply.bulk_int(us / 1_000_000);
    reply.bulk_int(us % 1_000_000);
    Ok(())
}
