//! Medians of runs, as text and as JSON.

use serde_json::{Value, json};

use super::options::Options;
use super::run::{Run, Spent};
use crate::kv::histogram::Histogram;

/// Medians over the repetitions of one server, by name; sums of what must not be.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// In the order of the report.
    values: Vec<(&'static str, f64)>,
    gaps: u64,
    duplicates: u64,
    lost: u64,
    ended: u64,
    not_recovered: u64,
    note: Option<String>,
}

type Value1 = Box<dyn Fn(&Run) -> Option<f64>>;

fn ms(histogram: &Histogram, percent: f64) -> f64 {
    histogram.percentile(percent) as f64 / 1e6
}

/// Microseconds of the server's CPU for each of these.
fn cpu_us(spent: &Spent, count: f64) -> Option<f64> {
    spent.server_ns.map(|ns| ns as f64 / 1e3 / count.max(1.0))
}

/// All figures that a run may have.
fn rows(o: &Options) -> Vec<(&'static str, Value1)> {
    let all = o.subscribers as f64;
    let of = |f: fn(&Run, f64) -> Option<f64>| -> Value1 { Box::new(move |run| f(run, all)) };
    vec![
        ("connects_per_second", of(|r, all| Some(all / r.gathered.spent.seconds))),
        ("connect_p99_ms", of(|r, _| Some(ms(&r.gathered.joining, 99.0)))),
        ("connect_cpu_us", of(|r, all| cpu_us(&r.gathered.spent, all))),
        ("connection_bytes", of(|r, all| r.gathered.grown.map(|n| n as f64 / all))),
        (
            "messages_per_second",
            of(|r, _| r.loaded.as_ref().map(|l| l.messages as f64 / l.spent.seconds)),
        ),
        (
            "deliveries_per_second",
            of(|r, _| r.loaded.as_ref().map(|l| l.deliveries as f64 / l.spent.seconds)),
        ),
        ("p50_ms", of(|r, _| r.loaded.as_ref().map(|l| ms(&l.latency, 50.0)))),
        ("p99_ms", of(|r, _| r.loaded.as_ref().map(|l| ms(&l.latency, 99.0)))),
        ("p999_ms", of(|r, _| r.loaded.as_ref().map(|l| ms(&l.latency, 99.9)))),
        ("max_ms", of(|r, _| r.loaded.as_ref().map(|l| l.latency.max() as f64 / 1e6))),
        ("behind_s", of(|r, _| r.loaded.as_ref().map(|l| l.behind))),
        (
            "message_cpu_us",
            of(|r, _| r.loaded.as_ref().and_then(|l| cpu_us(&l.spent, l.messages as f64))),
        ),
        (
            "delivery_cpu_ns",
            of(|r, _| {
                r.loaded
                    .as_ref()
                    .and_then(|l| cpu_us(&l.spent, l.deliveries as f64))
                    .map(|us| us * 1e3)
            }),
        ),
        (
            "server_busy",
            of(|r, _| {
                let spent = &r.loaded.as_ref()?.spent;
                spent.server_ns.map(|ns| ns as f64 / 1e9 / spent.seconds)
            }),
        ),
        (
            "client_busy",
            of(|r, _| r.loaded.as_ref().map(|l| l.spent.client_ns as f64 / 1e9 / l.spent.seconds)),
        ),
        ("recovery_p50_ms", of(|r, _| r.stormed.as_ref().map(|s| ms(&s.joining, 50.0)))),
        ("recovery_p99_ms", of(|r, _| r.stormed.as_ref().map(|s| ms(&s.joining, 99.0)))),
        ("recovery_cpu_us", of(|r, all| r.stormed.as_ref().and_then(|s| cpu_us(&s.spent, all)))),
        ("recovered", of(|r, _| r.stormed.as_ref().map(|s| s.recovered as f64))),
        ("replayed", of(|r, _| r.stormed.as_ref().map(|s| s.replayed as f64))),
    ]
}

impl Figures {
    pub(super) fn of(o: &Options, runs: &[Run]) -> Self {
        let mut values = Vec::new();
        for (name, value) in rows(o) {
            let mut all: Vec<f64> = runs.iter().filter_map(&value).collect();
            all.sort_by(f64::total_cmp);
            if let Some(median) = all.get(all.len() / 2) {
                values.push((name, *median));
            }
        }
        let sum = |f: fn(&Run) -> u64| runs.iter().map(f).sum();
        Self {
            values,
            gaps: sum(|r| r.gaps),
            duplicates: sum(|r| r.duplicates),
            lost: sum(|r| r.lost),
            ended: sum(|r| r.ended),
            not_recovered: sum(|r| r.stormed.as_ref().map_or(0, |s| s.failed)),
            note: runs.iter().find_map(|r| r.note.clone()),
        }
    }

    /// Whether everything was delivered once, and no subscriber was disconnected.
    pub(super) fn is_whole(&self) -> bool {
        self.gaps + self.duplicates + self.lost + self.ended + self.not_recovered == 0
    }
}

/// A figure as it is printed: three digits that tell something.
fn shown(value: f64) -> String {
    match value {
        v if v >= 100.0 || v == 0.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

pub(super) fn text(o: &Options, all: &[Figures]) -> String {
    let rate = o.rate.map_or_else(
        || format!("{} messages in flight", o.in_flight),
        |rate| format!("{rate} messages/s"),
    );
    let mut text = format!(
        "{} subscribers, {} channels, {} bytes, {rate}\n\n{:22}",
        o.subscribers, o.channels, o.size, ""
    );
    for place in &o.places {
        text += &format!(" {:>14}", place.name);
    }
    for place in o.places.iter().skip(1) {
        text += &format!(" {:>14}", format!("{}/{}", place.name, o.places[0].name));
    }
    text.push('\n');
    let Some(first) = all.first() else { return text };
    for (name, _) in &first.values {
        let of = |f: &Figures| f.values.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        text += &format!("{name:22}");
        for figures in all {
            text += &format!(" {:>14}", of(figures).map_or_else(|| "-".to_owned(), shown));
        }
        for figures in all.iter().skip(1) {
            let ratio = of(figures).zip(of(first)).filter(|(_, first)| *first > 0.0);
            let ratio = ratio.map_or_else(|| "-".to_owned(), |(a, b)| format!("{:.2}x", a / b));
            text += &format!(" {ratio:>14}");
        }
        text.push('\n');
    }
    for (place, f) in o.places.iter().zip(all) {
        if !f.is_whole() {
            text += &format!(
                "{}: {} gaps, {} duplicates, {} lost, {} ended, {} not recovered {}\n",
                place.name,
                f.gaps,
                f.duplicates,
                f.lost,
                f.ended,
                f.not_recovered,
                f.note.as_deref().unwrap_or("")
            );
        }
    }
    text
}

pub(super) fn json(o: &Options, all: &[Figures]) -> String {
    let row = |(place, f): (&super::options::Place, &Figures)| {
        let mut row = json!({
            "target": place.name,
            "gaps": f.gaps,
            "duplicates": f.duplicates,
            "lost": f.lost,
            "ended": f.ended,
            "not_recovered": f.not_recovered,
        });
        for (name, value) in &f.values {
            row[*name] = json!(value);
        }
        row
    };
    let results: Vec<Value> = o.places.iter().zip(all).map(row).collect();
    let report = json!({
        "tool": "apus bench live",
        "subscribers": o.subscribers,
        "channels": o.channels,
        "size": o.size,
        "rate": o.rate,
        "in_flight": o.in_flight,
        "publishers": o.publishers,
        "storm": o.storm,
        "results": results,
    });
    format!("{report:#}\n")
}
