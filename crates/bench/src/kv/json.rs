//! The report as JSON, and throughput over time as CSV.
//!
//! The layout is written here and not by `serde_json`, which makes the strings: fields in the order of the
//! report, numbers with as many digits as mean something.

use super::options::Options;
use super::summary::{Latency, PERCENTILES, Row, Summary};

/// The whole report: settings, and a result per test, depth and target with its ratios to the
/// first target.
pub(crate) fn report(o: &Options, rows: &[Row]) -> String {
    let results: Vec<String> = rows
        .chunks(o.targets.len().max(1))
        .flat_map(|group| {
            let compared = group.len() > 1;
            group.iter().map(move |row| result(row, compared.then_some(&group[0].summary)))
        })
        .collect();
    format!(
        "{{\"tool\":\"apus bench {}\",\"version\":{},\n\"settings\":{},\n\"results\":[\n{}\n]}}\n",
        if o.http { "http" } else { "kv" },
        quote(env!("CARGO_PKG_VERSION")),
        settings(o),
        results.join(",\n"),
    )
}

/// All that decides what was measured; never a password.
fn settings(o: &Options) -> String {
    let optional = |n: Option<String>| n.unwrap_or_else(|| "null".into());
    format!(
        "{{\"connections\":{},\"threads\":{},\"keys\":{},\"random_keys\":{},\"dist\":{},\"size\":{},\
         \"count\":{},\"duration_s\":{},\"rate\":{},\"reps\":{},\"seed\":{},\"fill\":{}}}",
        o.connections,
        o.threads,
        o.keys,
        o.random,
        quote(&o.dist.to_string()),
        quote(&o.sizes.text()),
        optional(o.count.map(|n| n.to_string())),
        optional(o.duration.map(|d| d.as_secs_f64().to_string())),
        optional(o.rate.map(|n| n.to_string())),
        o.reps,
        o.seed,
        o.fill.is_some(),
    )
}

fn result(row: &Row, base: Option<&Summary>) -> String {
    let s = &row.summary;
    let number = |n: Option<f64>, digits: usize| match n {
        Some(n) => format!("{n:.digits$}"),
        None => "null".into(),
    };
    let command = |(name, requests, l): &(String, u64, Latency)| {
        let name = quote(name);
        format!("{{\"command\":{name},\"requests\":{requests},\"latency_ns\":{}}}", latency(l))
    };
    let ratios = base.map_or("null".into(), |base| {
        let ratio = |(name, r): &(&str, Option<f64>)| format!("\"{name}\":{}", number(*r, 4));
        format!("{{{}}}", s.ratios(base).iter().map(ratio).collect::<Vec<_>>().join(","))
    });
    let step = |(ms, n, rps): (u64, u64, f64)| {
        format!("{{\"ms\":{ms},\"requests\":{n},\"rps\":{rps:.1}}}")
    };
    format!(
        "{{\"test\":{},\"pipeline\":{},\"target\":{},\"address\":{},\"requests\":{},\"errors\":{},\
         \"first_error\":{},\"elapsed_ns\":{},\"rps\":{:.2},\"rps_min\":{:.2},\"rps_max\":{:.2},\
         \"rate_kept\":{},\n \"latency_ns\":{},\n \"client_cpu_ns\":{:.2},\"client_busy\":{:.4},\
         \"server_cpu_ns\":{},\"server_busy\":{},\"client_limit\":{},\"notes\":[{}],\n \
         \"ratios\":{ratios},\n \"commands\":[{}],\n \"throughput\":[{}]}}",
        quote(&row.test),
        row.depth,
        quote(&row.target),
        quote(&row.address),
        s.requests,
        s.errors.count,
        if s.errors.count == 0 { "null".into() } else { quote(&s.errors.text()) },
        s.elapsed_ns,
        s.rps,
        s.rps_range.0,
        s.rps_range.1,
        number(s.kept, 4),
        latency(&s.latency),
        s.client_ns,
        s.client_busy,
        number(s.server_ns, 2),
        number(s.server_busy, 4),
        quote(s.limit.word()),
        s.notes().iter().map(|n| quote(n)).collect::<Vec<_>>().join(","),
        s.commands.iter().map(command).collect::<Vec<_>>().join(","),
        steps(&s.timeline).map(step).collect::<Vec<_>>().join(","),
    )
}

fn latency(l: &Latency) -> String {
    let percentiles = PERCENTILES.iter().zip(l.percentiles);
    let percentiles: Vec<String> = percentiles.map(|(p, ns)| format!("\"p{p}\":{ns:.0}")).collect();
    format!(
        "{{\"mean\":{:.1},\"min\":{:.0},{},\"max\":{:.0}}}",
        l.mean,
        l.min,
        percentiles.join(","),
        l.max
    )
}

/// End (ms), replies and replies per second of each step of a timeline.
fn steps(timeline: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64, f64)> {
    let before = std::iter::once(&(0, 0)).chain(timeline);
    timeline.iter().zip(before).map(|((ms, n), (ms_before, n_before))| {
        let (ms_taken, done) = (ms.saturating_sub(*ms_before), n.saturating_sub(*n_before));
        (*ms, done, done as f64 * 1000.0 / ms_taken.max(1) as f64)
    })
}

/// Throughput over time of all rows as CSV.
pub(crate) fn timelines(rows: &[Row]) -> String {
    let mut text = String::from("\"test\",\"pipeline\",\"target\",\"ms\",\"requests\",\"rps\"\n");
    for row in rows {
        for (ms, done, rps) in steps(&row.summary.timeline) {
            text.push_str(&format!(
                "{},\"{}\",{},\"{ms}\",\"{done}\",\"{rps:.1}\"\n",
                field(&row.test),
                row.depth,
                field(&row.target),
            ));
        }
    }
    text
}

/// A quoted field of CSV (RFC 4180).
pub(crate) fn field(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A string of JSON (RFC 8259).
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn quotes() {
        assert_eq!(quote("a\"b\\c\nd é"), "\"a\\\"b\\\\c\\nd é\"");
        assert_eq!(field("SET \"a\",b"), "\"SET \"\"a\"\",b\"");
    }

    #[test]
    fn steps_add_up() {
        let got: Vec<_> = steps(&[(100, 50), (200, 250), (250, 300)]).collect();
        assert_eq!(got, [(100, 50, 500.0), (200, 200, 2000.0), (250, 50, 1000.0)]);
    }
}
