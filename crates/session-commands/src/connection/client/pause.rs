//! CLIENT PAUSE and CLIENT UNPAUSE: <https://redis.io/docs/latest/commands/client-pause/>

use std::time::Duration;

use commands::row::{Flags, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{BASE, COMMON, sub, usage};
use engine::{Call, SessionCommand};

/// The longest wait for the end of a batch of a primary's stream.
const BATCH: Duration = Duration::from_secs(1);

pub(super) static PAUSE: SessionCommand = sub(
    Row {
        name: "client|pause",
        since: "3.0.0",
        arity: -3,
        flags: COMMON.or(Flags::ADMIN),
        history: &[("6.2.0", "`CLIENT PAUSE WRITE` mode added along with the `mode` option.")],
        summary: "Holds back commands of all clients for a while.",
        syntax: "CLIENT PAUSE timeout:integer [WRITE | ALL]",
        transcript: r#"
> CLIENT PAUSE 100000 WRITE
OK
> GET k
(nil)
> CLIENT UNPAUSE
OK
> SET k v
OK
> CLIENT PAUSE 0
OK
> CLIENT PAUSE x
(error) ERR timeout is not an integer or out of range
> CLIENT PAUSE -1
(error) ERR timeout is negative
> CLIENT PAUSE -1 READ
(error) ERR CLIENT PAUSE mode must be WRITE or ALL
> CLIENT PAUSE 1 ALL now
(error) ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.
# reset
# only: redis>=7.2
> CLIENT PAUSE 9223372036854775807
(error) ERR timeout is out of range
"#,
        ..BASE
    },
    pause,
);

pub(super) static UNPAUSE: SessionCommand = sub(
    Row {
        name: "client|unpause",
        since: "6.2.0",
        arity: 2,
        flags: COMMON.or(Flags::ADMIN),
        complexity: "O(N) Where N is the number of paused clients",
        summary: "Ends CLIENT PAUSE.",
        syntax: "CLIENT UNPAUSE",
        transcript: r#"
> CLIENT UNPAUSE
OK
> CLIENT UNPAUSE now
(error) ERR wrong number of arguments for 'client|unpause' command
"#,
        ..BASE
    },
    |call, _, reply| {
        call.engine.end_pause();
        reply.ok();
        Ok(())
    },
);

fn pause(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let writes_only = match args.len() {
        3 => false,
        4 if args.is(3, "write") => true,
        4 if args.is(3, "all") => false,
        4 => return Err(Fail::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(usage(args)),
    };
    let ms = stdx::num::parse_i64(&args[2])
        .ok_or(Fail::text("ERR timeout is not an integer or out of range"))?;
    if ms < 0 {
        return Err(Fail::text("ERR timeout is negative"));
    }
    let until =
        call.thread.cx.now.checked_add(ms).ok_or(Fail::text("ERR timeout is out of range"))?;
    call.engine.extend_pause(if ms == 0 { 0 } else { until }, writes_only);
    // The stream may wait for shards that a transaction has locked.
    if call.engine.is_replica() && !call.thread.in_transaction {
        call.engine.await_stream(BATCH);
    }
    reply.ok();
    Ok(())
}
