//! MULTI, DISCARD, WATCH and UNWATCH of clients whose thread is stuck.

use std::sync::atomic::Ordering::Relaxed;

use commands::Fail;
use engine::{Client, Engine, Stuck, StuckFn};
use resp::{Args, Reply};

/// The commands that are answered while the thread of their connection is stuck. EXEC is not among them: a script is slow.
///
/// WATCH counts from when the session follows. No command that reads a key is answered before, so that no
/// client has seen a value that is older than its watch.
pub(crate) const WHILE_STUCK: &[(&str, StuckFn)] =
    &[("multi", multi), ("discard", discard), ("watch", watch), ("unwatch", unwatch)];

fn multi(_: &Engine, client: &Client, _: &Args<'_>, reply: &mut Reply<'_>) -> Result<Stuck, Fail> {
    if client.is_in_multi() {
        return Err(Fail::text("ERR MULTI calls can not be nested"));
    }
    client.multi.store(0, Relaxed);
    reply.ok();
    Ok(Stuck::Noted)
}

fn discard(
    _: &Engine,
    client: &Client,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    if !client.is_in_multi() {
        return Err(Fail::text("ERR DISCARD without MULTI"));
    }
    client.leave_multi();
    reply.ok();
    Ok(Stuck::Noted)
}

fn watch(_: &Engine, client: &Client, _: &Args<'_>, reply: &mut Reply<'_>) -> Result<Stuck, Fail> {
    if client.is_in_multi() {
        return Err(Fail::text("ERR WATCH inside MULTI is not allowed"));
    }
    reply.ok();
    Ok(Stuck::Noted)
}

fn unwatch(_: &Engine, _: &Client, _: &Args<'_>, reply: &mut Reply<'_>) -> Result<Stuck, Fail> {
    reply.ok();
    Ok(Stuck::Noted)
}
