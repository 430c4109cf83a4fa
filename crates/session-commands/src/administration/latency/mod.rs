//! LATENCY: <https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency-monitor/>

mod doctor;
mod graph;

use commands::row::{Group, Row, Scope};
use commands::{Fail, Outcome};
use resp::{Args, Reply};
use stdx::histogram::Histogram;

use crate::administration::{ADMIN, ANYTIME, command};
use engine::Engine;
use engine::container;
use engine::{Call, SessionCommand};

const TIPS: &[&str] =
    &["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"];

pub(crate) static LATENCY: SessionCommand = SessionCommand {
    row: Row {
        name: "latency",
        group: Group::Server,
        since: "2.8.13",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Looks at where time is spent.",
        subcommands: &[
            &DOCTOR.row,
            &GRAPH.row,
            &HELP.row,
            &HISTOGRAM.row,
            &HISTORY.row,
            &LATEST.row,
            &RESET.row,
        ],
        ..Row::DEFAULT
    },
    run: container,
    subs: &[&DOCTOR, &GRAPH, &HELP, &HISTOGRAM, &HISTORY, &LATEST, &RESET],
};

static LATEST: SessionCommand = command(
    Row {
        name: "latency|latest",
        group: Group::Server,
        since: "2.8.13",
        arity: 2,
        flags: ADMIN,
        tips: TIPS,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers the last spike of every event: Unix time, milliseconds, and the highest.",
        syntax: "LATENCY LATEST",
        transcript: r#"
> LATENCY RESET
~ (integer) *
> LATENCY LATEST
(empty array)
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let all = call.engine.latency.all();
        reply.array(all.len());
        for (event, series) in all {
            let (at, ms) = series.samples.back().copied().unwrap_or_default();
            reply.array(4);
            reply.bulk(event);
            reply.int(at);
            reply.int(ms as i64);
            reply.int(series.max_ms as i64);
        }
        Ok(())
    },
);

static HISTORY: SessionCommand = command(
    Row {
        name: "latency|history",
        group: Group::Server,
        since: "2.8.13",
        arity: 3,
        flags: ADMIN,
        tips: TIPS,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers the spikes of an event: pairs of Unix time and milliseconds.",
        syntax: "LATENCY HISTORY event",
        transcript: r#"
> LATENCY HISTORY nosuch
(empty array)
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let series = call.engine.latency.get(&String::from_utf8_lossy(&args[2]));
        let samples = series.unwrap_or_default().samples;
        reply.array(samples.len());
        for (at, ms) in samples {
            reply.array(2);
            reply.int(at);
            reply.int(ms as i64);
        }
        Ok(())
    },
);

static RESET: SessionCommand = command(
    Row {
        name: "latency|reset",
        group: Group::Server,
        since: "2.8.13",
        arity: -2,
        flags: ADMIN,
        tips: &["request_policy:all_nodes", "response_policy:agg_sum"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Forgets the spikes of the named events, or of all. Answers how many events.",
        syntax: "LATENCY RESET [event [event ...]]",
        transcript: r#"
> LATENCY RESET nosuch
(integer) 0
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let names: Vec<_> = args.iter_from(2).map(String::from_utf8_lossy).collect();
        let names: Vec<&str> = names.iter().map(|n| &**n).collect();
        reply.int(call.engine.latency.reset(&names) as i64);
        Ok(())
    },
);

static GRAPH: SessionCommand = command(
    Row {
        name: "latency|graph",
        group: Group::Server,
        since: "2.8.13",
        arity: 3,
        flags: ADMIN,
        tips: TIPS,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Draws the spikes of an event.",
        syntax: "LATENCY GRAPH event",
        transcript: r#"
> LATENCY GRAPH nosuch
(error) ERR No samples available for event 'nosuch'
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let event = String::from_utf8_lossy(&args[2]);
        let Some(series) = call.engine.latency.get(&event) else {
            return Err(Fail::new(format!("ERR No samples available for event '{event}'")));
        };
        let now = call.engine.clock.wall_ms() as i64 / 1000;
        reply.verbatim("txt", graph::draw(&event, &series, now));
        Ok(())
    },
);

static DOCTOR: SessionCommand = command(
    Row {
        name: "latency|doctor",
        group: Group::Server,
        since: "2.8.13",
        arity: 2,
        flags: ADMIN,
        tips: TIPS,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Reports on the spikes, and what can be done about them.",
        syntax: "LATENCY DOCTOR",
        transcript: r#"
> LATENCY DOCTOR
...
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        reply.verbatim("txt", doctor::report(call.engine));
        Ok(())
    },
);

static HISTOGRAM: SessionCommand = command(
    Row {
        name: "latency|histogram",
        group: Group::Server,
        since: "7.0.0",
        arity: -2,
        flags: ADMIN,
        tips: TIPS,
        scope: Scope::None,
        complexity: "O(N) where N is the number of commands with latency information being \
                     retrieved.",
        summary: "Answers how many calls of the named commands, or of all, took how long.",
        syntax: "LATENCY HISTOGRAM [command [command ...]]",
        transcript: r#"
> CONFIG RESETSTAT
OK
> SET k v
OK
> LATENCY HISTOGRAM set
1) "set"
2) 1) "calls"
   2) (integer) 1
   3) "histogram_usec"
~    4) 1) (integer) *
...
> LATENCY HISTOGRAM nosuch
(empty array)
"#,
        ..Row::DEFAULT
    },
    histogram,
);

fn histogram(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let engine = call.engine;
    let table = &engine.table;
    let mut n = 0;
    let mark = reply.begin();
    let mut put = |id: u16, reply: &mut Reply<'_>| {
        if let Some(h) = merged(engine, id) {
            n += 1;
            reply.bulk(table.get(id).row.name);
            distribution(&h, reply);
        }
    };
    if args.len() == 2 {
        (0..table.len() as u16).for_each(|id| put(id, reply));
    }
    for name in args.iter_from(2) {
        let mut words = name.splitn(2, |b| *b == b'|');
        let Some(top) = table.find(words.next().unwrap_or_default()) else { continue };
        match words.next() {
            Some(sub) => {
                if let Some(id) = table.find_sub(top, sub) {
                    put(id, reply);
                }
            }
            // A container stands for all its subcommands.
            None => {
                put(top, reply);
                for sub in table.get(top).row.subcommands {
                    if let Some(id) = table.find_sub(top, sub.sub_name().as_bytes()) {
                        put(id, reply);
                    }
                }
            }
        }
    }
    reply.end_map(mark, n);
    Ok(())
}

/// The latencies of a command on all threads, if it was called since the last reset.
pub(crate) fn merged(engine: &Engine, id: u16) -> Option<Box<Histogram>> {
    let mut sum: Option<Box<Histogram>> = None;
    for w in engine.executing_workers() {
        if let Some(h) = w.stats.commands[usize::from(id)].latency.get() {
            sum.get_or_insert_default().merge(h);
        }
    }
    sum.filter(|h| h.total() > 0)
}

fn distribution(h: &Histogram, reply: &mut Reply<'_>) {
    reply.map(2);
    reply.bulk("calls");
    reply.int(h.total() as i64);
    reply.bulk("histogram_usec");
    let steps: Vec<_> = h.cumulative_usec().collect();
    reply.map(steps.len());
    for (usec, calls) in steps {
        reply.int(usec as i64);
        reply.int(calls as i64);
    }
}

static HELP: SessionCommand = command(
    Row {
        name: "latency|help",
        group: Group::Server,
        since: "2.8.13",
        arity: 2,
        flags: ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what LATENCY can do.",
        syntax: "LATENCY HELP",
        transcript: r#"
> LATENCY HELP
~  1) LATENCY <subcommand> *
...
> LATENCY HELP me
(error) ERR wrong number of arguments for 'latency|help' command
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "DOCTOR",
            "    Reports on the spikes, and what can be done about them.",
            "GRAPH <event>",
            "    Draws the spikes of <event>.",
            "HISTORY <event>",
            "    Answers times and milliseconds of the spikes of <event>.",
            "LATEST",
            "    Answers the last spike of every event.",
            "RESET [<event> ...]",
            "    Forgets the spikes of events (default: all).",
            "HISTOGRAM [<command> ...]",
            "    Answers how many calls of commands (default: all) took how long.",
        ];
        commands::help::write(reply, "LATENCY", LINES);
        Ok(())
    },
);
