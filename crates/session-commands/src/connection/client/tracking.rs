//! CLIENT TRACKING, TRACKINGINFO, GETREDIR and CACHING:
//! <https://redis.io/docs/latest/commands/client-tracking/>
//!
//! [`engine::tracking`] implements tracking.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{BASE, on_off, sub};
use engine::tracking::Tracker;
use engine::{Call, SessionCommand};

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
# resp: 3
> CLIENT TRACKING on BCAST PREFIX a PREFIX ab
(error) ERR Prefix 'a' overlaps with another provided prefix 'ab'. Prefixes for a single client must not overlap.
> CLIENT TRACKING on BCAST PREFIX a PREFIX b
OK
> CLIENT TRACKING on BCAST PREFIX bc
(error) ERR Prefix 'bc' overlaps with an existing prefix 'b'. Prefixes for a single client must not overlap.
> CLIENT TRACKING on
(error) ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.
> CLIENT TRACKING off
OK
> CLIENT TRACKING on OPTIN
OK
> CLIENT TRACKING on OPTOUT
(error) ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.
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
> CLIENT TRACKING on OPTIN NOLOOP
OK
> CLIENT TRACKINGINFO
1) "flags"
2) 1) "on"
   2) "optin"
   3) "noloop"
3) "redirect"
4) (integer) 0
5) "prefixes"
6) (empty array)
> CLIENT CACHING yes
OK
> CLIENT TRACKINGINFO
1) "flags"
2) 1) "on"
   2) "optin"
   3) "caching-yes"
   4) "noloop"
3) "redirect"
4) (integer) 0
5) "prefixes"
6) (empty array)
> CLIENT TRACKING off
OK
> CLIENT TRACKING on BCAST PREFIX b PREFIX a
OK
> CLIENT TRACKINGINFO
1) "flags"
2) 1) "on"
   2) "bcast"
3) "redirect"
4) (integer) 0
5) "prefixes"
6) 1) "a"
   2) "b"
"#,
        ..BASE
    },
    info,
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
> CLIENT TRACKING on
OK
# 0: it receives them itself.
> CLIENT GETREDIR
(integer) 0
"#,
        ..BASE
    },
    |call, _, reply| {
        reply.int(call.session.client.receiver.redirect.load(Relaxed));
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
> CLIENT TRACKING on OPTIN
OK
> CLIENT CACHING no
(error) ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.
> CLIENT CACHING perhaps
(error) ERR syntax error
> CLIENT CACHING yes
OK
"#,
        ..BASE
    },
    caching,
);

fn caching(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Some(t) = &call.session.tracking else {
        return Err(Fail::text(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN \
             or OPTOUT mode enabled",
        ));
    };
    if args.is(2, "yes") {
        if !t.optin {
            return Err(Fail::text(
                "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
            ));
        }
    } else if args.is(2, "no") {
        if !t.optout {
            return Err(Fail::text(
                "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
            ));
        }
    } else {
        return Err(Fail::SYNTAX);
    }
    call.session.caching = true;
    reply.ok();
    Ok(())
}

fn info(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let s = &*call.session;
    let t = s.tracking.as_deref();
    let has = |f: fn(&Tracker) -> bool| t.is_some_and(f);
    let (optin, optout) = (has(|t| t.optin), has(|t| t.optout));
    let flags = [
        (if t.is_some() { "on" } else { "off" }, true),
        ("bcast", has(|t| t.bcast)),
        ("optin", optin),
        ("caching-yes", optin && s.caching),
        ("optout", optout),
        ("caching-no", optout && s.caching),
        ("noloop", has(|t| t.noloop)),
        ("broken_redirect", s.client.receiver.redirect_broken.load(Relaxed)),
    ];
    let set = flags.iter().filter(|(_, on)| *on);
    reply.map(3);
    reply.bulk("flags");
    reply.set(set.clone().count());
    set.for_each(|(name, _)| reply.bulk(name));
    reply.bulk("redirect");
    reply.int(s.client.receiver.redirect.load(Relaxed));
    reply.bulk("prefixes");
    let prefixes = t.map_or(&[][..], |t| &t.prefixes);
    reply.array(prefixes.len());
    prefixes.iter().for_each(|p| reply.bulk(p));
    Ok(())
}

/// The options of CLIENT TRACKING.
#[derive(Default)]
struct Options {
    redirect: i64,
    prefixes: Vec<Vec<u8>>,
    bcast: bool,
    optin: bool,
    optout: bool,
    noloop: bool,
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
            o.prefixes.push(args[i].to_vec());
        } else if args.is(i, "bcast") {
            o.bcast = true;
        } else if args.is(i, "optin") {
            o.optin = true;
        } else if args.is(i, "optout") {
            o.optout = true;
        } else if args.is(i, "noloop") {
            o.noloop = true;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    Ok(o)
}

/// Whether options go with each other and with how the connection tracks already.
fn check(o: &Options, old: Option<&Tracker>) -> Result<(), Fail> {
    let refuse = |text| Err(Fail::text(text));
    if !o.bcast && !o.prefixes.is_empty() {
        return refuse("ERR PREFIX option requires BCAST mode to be enabled");
    }
    if old.is_some_and(|t| t.bcast != o.bcast) {
        return refuse(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and \
             then re-enabling it with a different mode.",
        );
    }
    if o.bcast && (o.optin || o.optout) {
        return refuse("ERR OPTIN and OPTOUT are not compatible with BCAST");
    }
    if o.optin && o.optout {
        return refuse("ERR You can't specify both OPTIN mode and OPTOUT mode");
    }
    if old.is_some_and(|t| o.optin && t.optout || o.optout && t.optin) {
        return refuse(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and \
             then re-enabling it with a different mode.",
        );
    }
    let have = old.map_or(&[][..], |t| &t.prefixes);
    for (i, new) in o.prefixes.iter().enumerate() {
        if let Some(other) = have.iter().find(|p| overlap(p, new)) {
            return Err(overlapping(new, "an existing prefix", other));
        }
        if let Some(other) = o.prefixes[i + 1..].iter().find(|p| overlap(p, new)) {
            return Err(overlapping(new, "another provided prefix", other));
        }
    }
    Ok(())
}

/// Whether some keys have both prefixes.
fn overlap(a: &[u8], b: &[u8]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn overlapping(new: &[u8], what: &str, other: &[u8]) -> Fail {
    let (new, other) = (String::from_utf8_lossy(new), String::from_utf8_lossy(other));
    Fail::new(format!(
        "ERR Prefix '{new}' overlaps with {what} '{other}'. Prefixes for a single client must not \
         overlap."
    ))
}

fn tracking(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = options(call, args)?;
    if on_off(args, 2)? {
        let old = call.session.tracking.as_deref();
        check(&o, old)?;
        let mut prefixes = o.prefixes;
        if o.bcast && prefixes.is_empty() {
            // Every key.
            prefixes.push(Vec::new());
        }
        prefixes.extend(old.iter().flat_map(|t| &t.prefixes).cloned());
        prefixes.sort();
        prefixes.dedup();
        let tracker = Tracker {
            receiver: Arc::clone(&call.session.client.receiver),
            redirect: o.redirect as u64,
            bcast: o.bcast,
            optin: o.optin,
            optout: o.optout,
            noloop: o.noloop,
            prefixes,
        };
        call.thread.track(call.engine, call.session, tracker);
    } else {
        call.thread.untrack(call.engine, call.session);
    }
    reply.ok();
    Ok(())
}
