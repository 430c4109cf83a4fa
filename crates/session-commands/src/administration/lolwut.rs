//! LOLWUT: <https://redis.io/docs/latest/commands/lolwut/>. Apus apus is the common swift.

use commands::row::{Flags, Group, Row, Scope};
use commands::{Outcome, parse};
use engine::COMPAT_VERSION;
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static LOLWUT: SessionCommand = super::command(
    Row {
        name: "lolwut",
        group: Group::Server,
        since: "5.0.0",
        arity: -1,
        flags: Flags::READONLY.or(Flags::FAST),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Draws a picture, and tells the version.",
        syntax: "LOLWUT [VERSION version:integer]",
        transcript: r#"
> LOLWUT VERSION x
(error) ERR value is not an integer or out of range
# only: apus
> LOLWUT VERSION 1
...
"#,
        ..Row::DEFAULT
    },
    run,
);

/// One swift, seen from below.
const SWIFT: [&str; 7] = [
    r"  .                                       .  ",
    r"   \`-._                             _.-'/   ",
    r"    `-._ `--.._               _..--' _.-'    ",
    r"        `--._  `---._ ^ _.---'  _.--'        ",
    r"             `---.   (   )   .---'           ",
    r"                  `-. \ / .-'                ",
    r"                     `/v\'                   ",
];

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    // As in Redis, other words are arguments of the drawing, and this one takes none.
    if args.len() >= 3 && args.is(1, "version") {
        parse::int(args, 2)?;
    }
    let rng = &mut call.thread.cx.rng;
    let mut text = String::new();
    // Far ones are a line of sky apart, and never two on the same spot.
    for _ in 0..2 {
        let indent = rng.index(30);
        text.push_str(&" ".repeat(indent));
        text.push_str("`-._^_.-'\n\n");
    }
    let indent = " ".repeat(rng.index(16));
    for line in SWIFT {
        text.push_str(&indent);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let own = env!("CARGO_PKG_VERSION");
    text.push_str(&format!("\nApus {own}, speaking Redis ver. {COMPAT_VERSION}\n"));
    reply.verbatim("txt", text);
    Ok(())
}
