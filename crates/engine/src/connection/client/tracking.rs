//! CLIENT TRACKING, TRACKINGINFO, GETREDIR and CACHING:
//! <https://redis.io/docs/latest/commands/client-tracking/>
//!
//! Tracking itself needs push messages and comes with publish and subscribe; until then it cannot
//! be switched on, and these commands say what they say while it is off.

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{BASE, on_off, sub};
use crate::table::{Call, SessionCommand};

pub(super) static TRACKING: SessionCommand = sub(
    Row {
        name: "client|tracking",
        since: "6.0.0",
        arity: -3,
        complexity: "O(1). Some options may introduce additional complexity.",
        summary: "Has the server tell which keys that this client read have changed.",
        syntax: "CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
        transcript: r#"
> CLIENT TRACKING off
OK
> CLIENT TRACKING maybe
(error) ERR syntax error
> CLIENT TRACKING on REDIRECT 1000000
(error) ERR The client ID you want redirect to does not exist
> CLIENT TRACKING on PREFIX a
(error) ERR PREFIX option requires BCAST mode to be enabled
> CLIENT TRACKING on BCAST OPTIN
(error) ERR OPTIN and OPTOUT are not compatible with BCAST
> CLIENT TRACKING on OPTIN OPTOUT
(error) ERR You can't specify both OPTIN mode and OPTOUT mode
"#,
        ..BASE
    },
    tracking,
);

pub(super) static TRACKINGINFO: SessionCommand = sub(
    Row {
        name: "client|trackinginfo",
        since: "6.2.0",
        arity: 2,
        summary: "The state of tracking for this connection.",
        syntax: "CLIENT TRACKINGINFO",
        transcript: r#"
> CLIENT TRACKINGINFO
1) "flags"
2) 1) "off"
3) "redirect"
4) (integer) -1
5) "prefixes"
6) (empty array)
"#,
        ..BASE
    },
    |_, _, reply| {
        reply.map(3);
        reply.bulk("flags");
        reply.set(1);
        reply.bulk("off");
        reply.bulk("redirect");
        reply.int(-1);
        reply.bulk("prefixes");
        reply.array(0);
        Ok(())
    },
);

pub(super) static GETREDIR: SessionCommand = sub(
    Row {
        name: "client|getredir",
        since: "6.0.0",
        arity: 2,
        summary: "The client that receives this connection's invalidations.",
        syntax: "CLIENT GETREDIR",
        transcript: r#"
# -1: there is no tracking.
> CLIENT GETREDIR
(integer) -1
"#,
        ..BASE
    },
    |_, _, reply| {
        reply.int(-1);
        Ok(())
    },
);

pub(super) static CACHING: SessionCommand = sub(
    Row {
        name: "client|caching",
        since: "6.0.0",
        arity: 3,
        summary: "Decides whether the keys of the next command are tracked.",
        syntax: "CLIENT CACHING <YES | NO>",
        transcript: r#"
> CLIENT CACHING yes
(error) ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled
"#,
        ..BASE
    },
    |_, _, _| {
        Err(Fail::text(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN \
             or OPTOUT mode enabled",
        ))
    },
);

/// The options of CLIENT TRACKING.
#[derive(Default)]
struct Options {
    redirect: i64,
    prefixes: usize,
    bcast: bool,
    optin: bool,
    optout: bool,
}

fn options(call: &Call<'_>, args: &Args<'_>) -> Result<Options, Fail> {
    let mut o = Options::default();
    let mut i = 3;
    while i < args.len() {
        let more = i + 1 < args.len();
        if args.is(i, "redirect") && more {
            i += 1;
            if o.redirect != 0 {
                let text = "ERR A client can only redirect to a single other client";
                return Err(Fail::text(text));
            }
            o.redirect = commands::parse::int(args, i)?;
            let exists =
                u64::try_from(o.redirect).is_ok_and(|id| call.engine.clients.get(id).is_some());
            if !exists {
                let text = "ERR The client ID you want redirect to does not exist";
                return Err(Fail::text(text));
            }
        } else if args.is(i, "prefix") && more {
            i += 1;
            o.prefixes += 1;
        } else if args.is(i, "bcast") {
            o.bcast = true;
        } else if args.is(i, "optin") {
            o.optin = true;
        } else if args.is(i, "optout") {
            o.optout = true;
        } else if !args.is(i, "noloop") {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    Ok(o)
}

fn tracking(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = options(call, args)?;
    if on_off(args, 2)? {
        return Err(Fail::text(match () {
            () if !o.bcast && o.prefixes > 0 => {
                "ERR PREFIX option requires BCAST mode to be enabled"
            }
            () if o.bcast && (o.optin || o.optout) => {
                "ERR OPTIN and OPTOUT are not compatible with BCAST"
            }
            () if o.optin && o.optout => "ERR You can't specify both OPTIN mode and OPTOUT mode",
            () => "ERR CLIENT TRACKING is not available in this version",
        }));
    }
    reply.ok();
    Ok(())
}
