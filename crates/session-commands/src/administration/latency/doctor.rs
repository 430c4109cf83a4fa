//! The report of LATENCY DOCTOR: every event with its figures, then advice, each piece once.

use std::collections::BTreeSet;

use config::Id;
use observe::latency::Series;

use engine::Engine;

pub(super) fn report(engine: &Engine) -> String {
    let threshold = engine.config.int(Id::LatencyMonitorThreshold);
    let events = engine.latency.all();
    if events.is_empty() {
        return if threshold == 0 {
            "The latency monitor is off, so there is nothing to report on. Turn it on with \
             \"CONFIG SET latency-monitor-threshold <milliseconds>\".\n"
                .to_owned()
        } else {
            format!("No event has taken {threshold} ms or more. All is well.\n")
        };
    }
    let mut text = String::from("These events took longer than the threshold:\n\n");
    for (n, (event, series)) in events.iter().enumerate() {
        text.push_str(&format!("{}. {event}: {}\n", n + 1, figures(series)));
    }
    let mut advice = BTreeSet::new();
    for (event, _) in &events {
        advice.extend(advice_on(event, engine));
    }
    text.push_str("\nWhat may help:\n\n");
    for piece in advice {
        text.push_str(&format!("- {piece}\n"));
    }
    text
}

fn figures(s: &Series) -> String {
    let n = s.samples.len().max(1) as u64;
    let mean = s.samples.iter().map(|(_, ms)| ms).sum::<u64>() / n;
    let deviation = s.samples.iter().map(|(_, ms)| ms.abs_diff(mean)).sum::<u64>() / n;
    let first = s.samples.front().map_or(0, |(at, _)| *at);
    let last = s.samples.back().map_or(0, |(at, _)| *at);
    let period = (last - first) as f64 / n as f64;
    format!(
        "{n} latency spikes (average {mean}ms, mean deviation {deviation}ms, period {period:.2} \
         sec). Worst all time event {}ms.",
        s.max_ms
    )
}

fn advice_on(event: &str, engine: &Engine) -> Vec<&'static str> {
    match event {
        "command" => {
            let slower_than = engine.config.int(Id::SlowlogLogSlowerThan);
            let threshold = engine.config.int(Id::LatencyMonitorThreshold);
            let slowlog = if slower_than < 0 || engine.config.int(Id::SlowlogMaxLen) == 0 {
                "The slow log is off: \"CONFIG SET slowlog-log-slower-than <microseconds>\" turns \
                 it on, and it shows which commands were slow."
            } else if slower_than / 1000 > threshold {
                "The slow log misses what the latency monitor sees: lower \
                 slowlog-log-slower-than to the latency threshold."
            } else {
                "SLOWLOG GET shows which commands were slow."
            };
            vec![
                slowlog,
                "Commands over whole collections or the whole keyspace (KEYS, FLUSHALL, large \
                 ranges) hold others up: use SCAN and smaller steps.",
            ]
        }
        "fast-command" => vec![
            "Commands that take constant time were slow, so the process did not get the processor \
             in time: look for other load on the machine, fewer cores than threads, swapping, or \
             a noisy neighbour on the same host.",
        ],
        "expire-cycle" => vec![
            "Many keys expire at the same moments: spread their deadlines, or raise hz so that \
             the work comes in smaller pieces.",
        ],
        "eviction-cycle" => vec![
            "Memory rose far above maxmemory at once (a lowered maxmemory, large values): leave \
             more room, or write in smaller pieces.",
        ],
        _ => vec!["LATENCY GRAPH and LATENCY HISTORY show when the events happened."],
    }
}
