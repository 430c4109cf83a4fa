//! HOTKEYS START: <https://redis.io/docs/latest/commands/hotkeys-start/>

use commands::row::{Group, Row, Scope};
use commands::{Fail, Outcome, parse};
use observe::topkeys::Selection;
use resp::{Args, Reply};

use super::FLAGS;
use crate::administration::command;
use engine::{Call, SessionCommand};

pub(super) static START: SessionCommand = command(
    Row {
        name: "hotkeys|start",
        group: Group::Server,
        since: "8.6.0",
        arity: -2,
        // Redis leaves it to the command to say that METRICS is missing.
        loose_arity: "without METRICS it answers with an error of its own",
        flags: FLAGS,
        tips: &["request_policy:special"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Begins to count keys by time and by bytes.",
        syntax: "HOTKEYS START METRICS count [CPU] [NET] [COUNT k] [DURATION seconds] [SAMPLE ratio] [SLOTS slots slot [slot ...]]",
        transcript: r#"
# only: apus
> HOTKEYS START
(error) ERR METRICS parameter is required
> HOTKEYS START METRICS 2 CPU
(error) ERR METRICS count does not match number of metric types provided
> HOTKEYS START METRICS 1 GPU
(error) ERR METRICS no valid metrics passed. Supported: CPU|NET
> HOTKEYS START METRICS 1 CPU COUNT 65
(error) ERR COUNT must be between 1 and 64
> HOTKEYS START METRICS 1 CPU SLOTS 1 0
(error) ERR SLOTS parameter cannot be used in non-cluster mode
> HOTKEYS START METRICS 2 CPU NET COUNT 5 DURATION 60 SAMPLE 10
OK
> HOTKEYS START METRICS 1 CPU
(error) ERR hotkey tracking session already in progress
> HOTKEYS STOP
OK
> HOTKEYS RESET
OK
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const ON: Fail = Fail::text("ERR hotkey tracking session already in progress");
        if call.engine.hotkeys_report().is_some_and(|r| r.active) {
            return Err(ON);
        }
        let selection = selection(args)?;
        // Another connection may have been first.
        if !call.engine.start_hotkeys(selection) {
            return Err(ON);
        }
        reply.ok();
        Ok(())
    },
);

/// A number from 1 to `max`, or the refusal.
fn within(args: &Args<'_>, i: usize, max: i64, fail: Fail) -> Result<u64, Fail> {
    match parse::int(args, i) {
        Ok(n) if (1..=max).contains(&n) => Ok(n as u64),
        _ => Err(fail),
    }
}

fn selection(args: &Args<'_>) -> Result<Selection, Fail> {
    if args.len() < 4 || !args.is(2, "metrics") {
        return Err(Fail::text("ERR METRICS parameter is required"));
    }
    let metrics = within(args, 3, 2, Fail::text("ERR METRICS count must be > 0 and <= 2"))?;
    let mut selection = Selection { cpu: false, net: false, count: 10, duration_ms: 0, ratio: 1 };
    let end = 4 + metrics as usize;
    if args.len() < end {
        return Err(Fail::text("ERR METRICS count does not match number of metric types provided"));
    }
    for i in 4..end {
        // Words of later versions are let pass.
        for (word, on) in [("CPU", &mut selection.cpu), ("NET", &mut selection.net)] {
            if args.is(i, word) && std::mem::replace(on, true) {
                return Err(Fail::new(format!("ERR METRICS {word} defined more than once!")));
            }
        }
    }
    if !selection.cpu && !selection.net {
        return Err(Fail::text("ERR METRICS no valid metrics passed. Supported: CPU|NET"));
    }
    let mut i = end;
    while i < args.len() {
        if i + 1 == args.len() {
            return Err(Fail::SYNTAX);
        }
        let value = i + 1;
        if args.is(i, "count") {
            const RANGE: Fail = Fail::text("ERR COUNT must be between 1 and 64");
            selection.count = within(args, value, 64, RANGE)? as usize;
        } else if args.is(i, "duration") {
            const RANGE: Fail = Fail::text("ERR DURATION must be between 1 and 1000000");
            selection.duration_ms = within(args, value, 1_000_000, RANGE)? * 1000;
        } else if args.is(i, "sample") {
            const RANGE: Fail = Fail::text("ERR SAMPLE ratio must be positive");
            selection.ratio = within(args, value, i64::from(i32::MAX), RANGE)?;
        } else if args.is(i, "slots") {
            return Err(Fail::text("ERR SLOTS parameter cannot be used in non-cluster mode"));
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 2;
    }
    Ok(selection)
}
