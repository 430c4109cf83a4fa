//! HOTKEYS: <https://redis.io/docs/latest/commands/hotkeys/> (Redis 8.6).
//!
//! The form and the texts are Redis's. Every thread counts for itself, so the figures of a session
//! are sums over the threads; APUS.TOPKEYS needs no session.

mod start;

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::container;
use resp::{Args, Reply};

use super::command;
use engine::{Call, SessionCommand};

/// Allowed while loading, unlike in Redis: nothing here looks at the data.
const FLAGS: Flags = Flags::ADMIN.or(Flags::NOSCRIPT);

pub(crate) static HOTKEYS: SessionCommand = SessionCommand {
    row: Row {
        name: "hotkeys",
        group: Group::Server,
        since: "8.6.0",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Finds the keys that take most time and most bytes.",
        subcommands: &[&GET.row, &HELP.row, &RESET.row, &start::START.row, &STOP.row],
        ..Row::DEFAULT
    },
    run: container,
    subs: &[&GET, &HELP, &RESET, &start::START, &STOP],
};

static GET: SessionCommand = command(
    Row {
        name: "hotkeys|get",
        group: Group::Server,
        since: "8.6.0",
        arity: 2,
        flags: FLAGS,
        tips: &["nondeterministic_output", "request_policy:special", "response_policy:special"],
        scope: Scope::None,
        complexity: "O(K) where K is the number of hotkeys returned.",
        summary: "Answers what the session of HOTKEYS START has found.",
        syntax: "HOTKEYS GET",
        transcript: r#"
# only: apus
> HOTKEYS GET
(nil)
> HOTKEYS START METRICS 1 NET COUNT 2
OK
> SET fruit apple
OK
> HOTKEYS GET
1)  1) "tracking-active"
    2) (integer) 1
    3) "sample-ratio"
    4) (integer) 1
    5) "selected-slots"
    6) 1) 1) (integer) 0
          2) (integer) 16383
...
> HOTKEYS STOP
OK
> HOTKEYS RESET
OK
"#,
        ..Row::DEFAULT
    },
    get,
);

fn get(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Some(r) = call.engine.hotkeys_report() else {
        reply.null();
        return Ok(());
    };
    let millis = |d: std::time::Duration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
    let mut numbers = vec![
        ("all-commands-all-slots-us", (r.spent.command_nanos / 1000) as i64),
        ("net-bytes-all-commands-all-slots", r.spent.net_bytes as i64),
        ("collection-start-time-unix-ms", r.started_ms),
        ("collection-duration-ms", r.duration_ms as i64),
    ];
    let mut lists = Vec::new();
    if r.selection.cpu {
        numbers.push(("total-cpu-time-user-ms", millis(r.spent.cpu_user)));
        numbers.push(("total-cpu-time-sys-ms", millis(r.spent.cpu_system)));
        lists.push(("by-cpu-time-us", &r.by_cpu));
    }
    if r.selection.net {
        numbers.push(("total-net-bytes", r.net_total as i64));
        lists.push(("by-net-bytes", &r.by_net));
    }
    // A list of one map, so that the answers of several servers can be joined.
    reply.array(1);
    reply.map(3 + numbers.len() + lists.len());
    reply.bulk("tracking-active");
    reply.int(i64::from(r.active));
    reply.bulk("sample-ratio");
    reply.int(r.selection.ratio as i64);
    reply.bulk("selected-slots");
    // Without a cluster all slots are this server's.
    reply.array(1);
    reply.array(2);
    reply.int(0);
    reply.int(16383);
    for (name, n) in numbers {
        reply.bulk(name);
        reply.int(n);
    }
    for (name, list) in lists {
        reply.bulk(name);
        reply.array(2 * list.len());
        for (key, n) in list {
            reply.bulk(key);
            reply.int(*n as i64);
        }
    }
    Ok(())
}

static STOP: SessionCommand = command(
    Row {
        name: "hotkeys|stop",
        group: Group::Server,
        since: "8.6.0",
        arity: 2,
        flags: FLAGS,
        tips: &["request_policy:special"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Ends the session and keeps what it has found.",
        syntax: "HOTKEYS STOP",
        transcript: r#"
# only: apus
> HOTKEYS STOP
(nil)
> HOTKEYS START METRICS 1 CPU
OK
> HOTKEYS STOP
OK
> HOTKEYS RESET
OK
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        if call.engine.stop_hotkeys() {
            reply.ok();
        } else {
            reply.null();
        }
        Ok(())
    },
);

static RESET: SessionCommand = command(
    Row {
        name: "hotkeys|reset",
        group: Group::Server,
        since: "8.6.0",
        arity: 2,
        flags: FLAGS,
        tips: &["request_policy:special"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Forgets what the last session has found.",
        syntax: "HOTKEYS RESET",
        transcript: r#"
# only: apus
> HOTKEYS START METRICS 1 CPU
OK
> HOTKEYS RESET
(error) ERR hotkey tracking session in progress, stop tracking first
> HOTKEYS STOP
OK
> HOTKEYS RESET
OK
> HOTKEYS GET
(nil)
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        if !call.engine.reset_hotkeys() {
            return Err(commands::Fail::text(
                "ERR hotkey tracking session in progress, stop tracking first",
            ));
        }
        reply.ok();
        Ok(())
    },
);

static HELP: SessionCommand = command(
    Row {
        name: "hotkeys|help",
        group: Group::Server,
        since: "8.6.0",
        arity: 2,
        flags: super::ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what HOTKEYS can do.",
        syntax: "HOTKEYS HELP",
        transcript: r#"
# only: apus
> HOTKEYS HELP
~  1) HOTKEYS <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
            "    Begins to count keys by time (CPU) and by bytes (NET). The <k> heaviest are kept",
            "    (default: 10), for so many seconds (default: until STOP), of one command in",
            "    <ratio> (default: of each).",
            "STOP",
            "    Ends the session; GET still answers.",
            "GET",
            "    Answers the session's figures.",
            "RESET",
            "    Forgets a session that has been stopped.",
        ];
        commands::help::write(reply, "HOTKEYS", LINES);
        Ok(())
    },
);
