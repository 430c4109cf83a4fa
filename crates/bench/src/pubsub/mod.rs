//! `apus bench pubsub`: publishes to many subscribers of any RESP server, and says how many messages
//! were delivered, how long each took and what that cost the server.

mod load;
mod options;

use std::process::ExitCode;

use serde_json::json;

use load::Run;
use options::Options;

use crate::kv::client::Target;
use crate::kv::plot::{Point, draw};

/// Runs `apus bench pubsub` with the arguments that follow these words. The exit code is 0, 1 when a
/// server could not be driven or lost messages, 2 for a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(Some(o)) => o,
        Ok(None) => return crate::print(options::HELP),
        Err(e) => {
            eprintln!("apus bench pubsub: {e}");
            return ExitCode::from(2);
        }
    };
    match bench(&options) {
        Ok(complete) if complete => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("apus bench pubsub: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything was delivered.
fn bench(o: &Options) -> Result<bool, String> {
    let mut rows = Vec::new();
    for depth in &o.depths {
        let mut runs: Vec<Vec<Run>> = o.targets.iter().map(|_| Vec::new()).collect();
        for rep in 0..o.reps {
            for n in 0..o.targets.len() {
                // Each server begins in turn, so that noise affects every server equally.
                let at = (n + rep) % o.targets.len();
                runs[at].push(load::run(o, &o.targets[at], *depth)?);
            }
        }
        let figures: Vec<Figures> = runs.iter().map(|r| Figures::of(r)).collect();
        // First of all, so that what was measured is seen if the files cannot be written.
        crate::print(&report(o, *depth, &figures));
        rows.extend(o.targets.iter().zip(figures).map(|(target, f)| (*depth, target, f)));
    }
    for (path, text) in [(&o.json, json(o, &rows)), (&o.plot, plot(o, &rows))] {
        if let Some(path) = path {
            std::fs::write(path, text).map_err(|e| format!("{path}: {e}"))?;
        }
    }
    Ok(rows.iter().all(|(_, _, r)| r.lost == 0))
}

/// How many messages were sent at once, to which server, and what was measured.
type Row<'o> = (usize, &'o Target, Figures);

fn name_of(target: &Target) -> String {
    if target.name.is_empty() { target.address.to_string() } else { target.name.clone() }
}

fn plot(o: &Options, rows: &[Row<'_>]) -> String {
    let names: Vec<String> = rows.iter().map(|(_, target, _)| name_of(target)).collect();
    let mut points = Vec::new();
    for ((depth, _, r), target) in rows.iter().zip(&names) {
        points.push(Point {
            test: o.mode.name(),
            target,
            depth: *depth,
            per_second: r.deliveries_per_second,
            p50: r.latency_ms[0],
            p99: r.latency_ms[1],
        });
    }
    draw(&points, "deliveries")
}

/// Medians over repetitions.
#[derive(Clone, Debug, PartialEq)]
struct Figures {
    messages_per_second: f64,
    deliveries_per_second: f64,
    deliveries_per_cpu_second: Option<f64>,
    client_ns_per_delivery: f64,
    /// Milliseconds of a delivery at 50, 99 and 99.9 percent, and the longest.
    latency_ms: [f64; 4],
    /// Deliveries that never came, over all repetitions.
    lost: u64,
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Figures {
    fn of(runs: &[Run]) -> Self {
        let of = |f: &dyn Fn(&Run) -> f64| median(runs.iter().map(f).collect()).unwrap_or(0.0);
        let per_cpu = |r: &Run| {
            let cpu = r.server_cpu_ns.filter(|ns| *ns > 0)?;
            Some(r.deliveries as f64 * 1e9 / cpu as f64)
        };
        Self {
            messages_per_second: of(&|r| r.messages as f64 / r.seconds),
            deliveries_per_second: of(&|r| r.deliveries as f64 / r.seconds),
            deliveries_per_cpu_second: median(runs.iter().filter_map(per_cpu).collect()),
            client_ns_per_delivery: of(&|r| r.client_cpu_ns as f64 / r.deliveries.max(1) as f64),
            latency_ms: [50.0, 99.0, 99.9, 100.0]
                .map(|p| of(&|r| r.latency.percentile(p) as f64 / 1e6)),
            lost: runs.iter().map(|r| r.lost).sum(),
        }
    }
}

fn report(o: &Options, depth: usize, rows: &[Figures]) -> String {
    let mut text = format!(
        "{} publishers, {} subscribers, {} channels, messages of {} bytes, {} mode, pipeline {}\n\n\
         {:16} {:>11} {:>13} {:>17} {:>10} {:>9} {:>9} {:>9} {:>9}\n",
        o.publishers,
        o.subscribers,
        o.channels,
        o.size,
        o.mode.name(),
        depth,
        "",
        "messages/s",
        "deliveries/s",
        "per server CPU s",
        "client ns",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms"
    );
    for (target, r) in o.targets.iter().zip(rows) {
        let name = name_of(target);
        let cpu = r.deliveries_per_cpu_second.map_or_else(|| "-".to_owned(), |n| format!("{n:.0}"));
        let [p50, p99, p999, max] = r.latency_ms;
        text += &format!(
            "{name:16} {:>11.0} {:>13.0} {cpu:>17} {:>10.0} {p50:>9.3} {p99:>9.3} {p999:>9.3} {max:>9.3}\n",
            r.messages_per_second, r.deliveries_per_second, r.client_ns_per_delivery
        );
        if r.lost > 0 {
            text += &format!("{name:16} lost {} deliveries\n", r.lost);
        }
    }
    if let Some((first, others)) = rows.split_first() {
        for (target, r) in o.targets.iter().skip(1).zip(others) {
            let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { f64::NAN };
            let rate = ratio(r.deliveries_per_second, first.deliveries_per_second);
            let cpu = r.deliveries_per_cpu_second.zip(first.deliveries_per_cpu_second);
            let cpu = cpu.map_or_else(|| "-".to_owned(), |(a, b)| format!("{:.2}x", ratio(a, b)));
            let name = format!("{}/{}", target.name, o.targets[0].name);
            text += &format!("{name:16} {:>11} {:>13} {cpu:>17}\n", "", format!("{rate:.2}x"));
        }
    }
    text
}

fn json(o: &Options, rows: &[Row<'_>]) -> String {
    let row = |(depth, target, r): &Row<'_>| {
        let [p50, p99, p999, max] = r.latency_ms;
        json!({
            "target": target.name,
            "address": target.address.to_string(),
            "pipeline": depth,
            "messages_per_second": r.messages_per_second,
            "deliveries_per_second": r.deliveries_per_second,
            "deliveries_per_server_cpu_second": r.deliveries_per_cpu_second,
            "client_cpu_ns_per_delivery": r.client_ns_per_delivery,
            "p50_ms": p50,
            "p99_ms": p99,
            "p999_ms": p999,
            "max_ms": max,
            "lost": r.lost,
        })
    };
    let report = json!({
        "tool": "apus bench pubsub",
        "publishers": o.publishers,
        "subscribers": o.subscribers,
        "channels": o.channels,
        "size": o.size,
        "mode": o.mode.name(),
        "results": rows.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}
