//! MULTI, EXEC and WATCH.

use std::sync::atomic::Ordering::Relaxed;

use commands::Fail;
use engine::{Client, Engine, Stuck};
use resp::{Args, Reply};

/// MULTI of a client whose thread is stuck.
pub(crate) fn while_stuck(
    _: &Engine,
    client: &Client,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    client.multi.store(0, Relaxed);
    reply.ok();
    Ok(Stuck::Noted)
}
