//! WATCH: <https://redis.io/docs/latest/commands/watch/>

use commands::row::{Flags, Group, KeyFlags, KeySpec, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static WATCH: SessionCommand = SessionCommand {
    row: Row {
        name: "watch",
        group: Group::Transactions,
        since: "2.2.0",
        arity: -2,
        traits: Traits::IMMEDIATE,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::ALLOW_BUSY),
        scope: Scope::None,
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        complexity: "O(1) for every key.",
        summary: "Makes the next EXEC fail if one of the keys changes until then.",
        syntax: "WATCH key [key ...]",
        transcript: r#"
> SET a 1
OK
> WATCH a b
OK
> MULTI
OK
> WATCH c
(error) ERR WATCH inside MULTI is not allowed
> INCR a
QUEUED
> EXEC
1) (integer) 2
> WATCH a
OK
> SET a 5
OK
> MULTI
OK
> INCR a
QUEUED
> EXEC
(nil)
> GET a
"5"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if call.session.multi.is_some() {
        return Err(Fail::text("ERR WATCH inside MULTI is not allowed"));
    }
    call.watch(args.iter_from(1));
    reply.ok();
    Ok(())
}
