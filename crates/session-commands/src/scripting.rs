//! Scripts and functions: EVAL, SCRIPT, FCALL, FUNCTION.

use commands::Fail;
use engine::{Client, Engine, Stuck, StuckFn};
use resp::{Args, Reply};

/// Those that are answered while the thread of their connection is stuck.
pub(crate) const WHILE_STUCK: [(&str, StuckFn); 3] = [
    ("script|kill", |engine, client, args, reply| kill(engine, client, args, reply, true)),
    ("function|kill", |engine, client, args, reply| kill(engine, client, args, reply, false)),
    ("function|stats", stats),
];

fn kill(
    engine: &Engine,
    _: &Client,
    _: &Args<'_>,
    reply: &mut Reply<'_>,
    is_eval: bool,
) -> Result<Stuck, Fail> {
    engine.scripts.running.kill(is_eval)?;
    reply.ok();
    Ok(Stuck::Answered)
}

fn stats(engine: &Engine, _: &Client, _: &Args<'_>, reply: &mut Reply<'_>) -> Result<Stuck, Fail> {
    engine::scripting::write_stats(engine, reply)?;
    Ok(Stuck::Answered)
}
