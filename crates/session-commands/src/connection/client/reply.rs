//! CLIENT REPLY: <https://redis.io/docs/latest/commands/client-reply/>

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{BASE, sub};
use engine::ReplyMode;
use engine::{Call, SessionCommand};

pub(super) static REPLY: SessionCommand = sub(
    Row {
        name: "client|reply",
        since: "3.2.0",
        arity: 3,
        summary: "Decides whether commands are answered.",
        syntax: "CLIENT REPLY <ON | OFF | SKIP>",
        transcript: r#"
> CLIENT REPLY ON
OK
> CLIENT REPLY LATER
(error) ERR syntax error
> CLIENT REPLY
(error) ERR wrong number of arguments for 'client|reply' command
"#,
        ..BASE
    },
    run,
);

/// Output that is not to be sent is removed where the command was called.
fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.is(2, "on") {
        call.session.reply = ReplyMode::On;
        reply.ok();
    } else if args.is(2, "off") {
        call.session.reply = ReplyMode::Off;
    } else if args.is(2, "skip") {
        // It does not end OFF.
        if call.session.reply != ReplyMode::Off {
            call.session.reply = ReplyMode::SkipThis;
        }
    } else {
        return Err(Fail::SYNTAX);
    }
    Ok(())
}
