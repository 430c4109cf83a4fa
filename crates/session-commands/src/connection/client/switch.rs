//! CLIENT NO-EVICT and NO-TOUCH: <https://redis.io/docs/latest/commands/client-no-touch/>

use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Row};

use super::{BASE, COMMON, on_off, sub};
use engine::SessionCommand;

pub(super) static NO_EVICT: SessionCommand = sub(
    Row {
        name: "client|no-evict",
        since: "7.0.0",
        arity: 3,
        flags: COMMON.or(Flags::ADMIN),
        summary: "Spares this connection when clients use too much memory.",
        syntax: "CLIENT NO-EVICT <ON | OFF>",
        transcript: r#"
> CLIENT NO-EVICT on
OK
> CLIENT INFO
~ * flags=e *
> CLIENT NO-EVICT OFF
OK
> CLIENT NO-EVICT maybe
(error) ERR syntax error
"#,
        ..BASE
    },
    |call, args, reply| {
        let on = on_off(args, 2)?;
        call.session.client.no_evict.store(on, Relaxed);
        reply.ok();
        Ok(())
    },
);

pub(super) static NO_TOUCH: SessionCommand = sub(
    Row {
        name: "client|no-touch",
        since: "7.2.0",
        arity: 3,
        flags: Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE),
        summary: "Leaves LRU and LFU of the keys that this connection's commands use alone.",
        syntax: "CLIENT NO-TOUCH <ON | OFF>",
        transcript: r#"
# only: redis>=7.2
> CLIENT NO-TOUCH on
OK
> CLIENT INFO
~ * flags=T *
> CLIENT NO-TOUCH OFF
OK
> CLIENT NO-TOUCH maybe
(error) ERR syntax error
"#,
        ..BASE
    },
    |call, args, reply| {
        let on = on_off(args, 2)?;
        call.session.set_no_touch(on);
        reply.ok();
        Ok(())
    },
);
