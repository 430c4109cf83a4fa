//! CLIENT UNBLOCK: <https://redis.io/docs/latest/commands/client-unblock/>

use commands::row::{Flags, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{BASE, COMMON, sub, usage};
use engine::{Call, SessionCommand};

pub(super) static UNBLOCK: SessionCommand = sub(
    Row {
        name: "client|unblock",
        since: "5.0.0",
        arity: -3,
        flags: COMMON.or(Flags::ADMIN),
        complexity: "O(log N) where N is the number of client connections",
        summary: "Ends the wait of a client that a command blocks.",
        syntax: "CLIENT UNBLOCK client-id [TIMEOUT | ERROR]",
        transcript: r#"
> CLIENT UNBLOCK 1000000
(integer) 0
> CLIENT UNBLOCK 1000000 ERROR
(integer) 0
> CLIENT UNBLOCK x
(error) ERR value is not an integer or out of range
> CLIENT UNBLOCK x LATER
(error) ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR
> CLIENT UNBLOCK 1 ERROR now
(error) ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.
"#,
        ..BASE
    },
    run,
);

/// As in Redis, a client that waits for CLIENT PAUSE to end is not blocked in this sense.
fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() > 4 {
        return Err(usage(args));
    }
    let error = match args.len() {
        4 if args.is(3, "error") => true,
        4 if !args.is(3, "timeout") => {
            return Err(Fail::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
        }
        _ => false,
    };
    let id = commands::parse::int(args, 2)?;
    let client = u64::try_from(id).ok().and_then(|id| call.engine.clients.get(id));
    let waiter = client.and_then(|c| c.blocked.lock().clone());
    let ended = waiter.is_some_and(|w| call.thread.unblock(call.engine, &w, error));
    reply.int(ended.into());
    Ok(())
}
