//! Scripts and functions: EVAL, SCRIPT, FCALL, FUNCTION.

mod eval;
mod fcall;
mod function;
mod script;

use commands::Fail;
use commands::row::{Flags, KeyFlags, KeySpec, Row};
use engine::{Attention, Call, Client, Engine, SessionCommand, Stuck, StuckFn};
use resp::{Args, Reply};

pub(crate) static COMMANDS: &[&SessionCommand] = &[
    &eval::EVAL,
    &eval::EVAL_RO,
    &eval::EVALSHA,
    &eval::EVALSHA_RO,
    &fcall::FCALL,
    &fcall::FCALL_RO,
    &function::FUNCTION,
    &script::SCRIPT,
];

/// Flags of the commands that run something.
const RUNS: Flags =
    Flags::NOSCRIPT.or(Flags::SKIP_MONITOR).or(Flags::NO_MANDATORY_KEYS).or(Flags::STALE);

/// Keys of a call: their number is argument 2.
const WRITES: &[KeySpec] =
    &[KeySpec::counted(2, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))];
const READS: &[KeySpec] = &[KeySpec::counted(2, KeyFlags::RO.or(KeyFlags::ACCESS))];

/// The commands that are answered while the thread of their connection is stuck.
pub(crate) const WHILE_STUCK: &[(&str, StuckFn)] = &[
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
    function::write_stats(engine, reply)?;
    Ok(Stuck::Answered)
}

/// Shows a call to monitors, before the commands that it calls.
fn feed(call: &mut Call<'_>, row: &Row, args: &Args<'_>) {
    let engine = call.engine;
    if engine.attention.get() & Attention::MONITOR != 0 {
        let now = call.thread.wall_us(&engine.clock);
        engine.monitors.feed(engine, call.session, now, row, args);
    }
}
