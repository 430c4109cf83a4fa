//! What a bench prints: text and CSV as redis-benchmark has them, with more columns after its own,
//! and the table that compares targets.

use super::json;
use super::options::Options;
use super::plot;
use super::summary::{Latency, Row};
use std::path::Path;

pub(crate) use crate::print;

/// The first eight columns are redis-benchmark's.
const CSV_HEAD: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
    \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\",\"p99.9_latency_ms\",\
    \"p99.99_latency_ms\",\"target\",\"pipeline\",\"command\",\"requests\",\"errors\",\"client_ns\",\
    \"server_ns\",\"client_limit\"\n";

/// Average, minimum, p50, p95, p99, maximum, p99.9, p99.99 in milliseconds.
fn milliseconds(l: &Latency) -> [f64; 8] {
    let [p50, p95, p99, p999, p9999] = l.percentiles;
    [l.mean, l.min, p50, p95, p99, l.max, p999, p9999].map(|ns| ns / 1e6)
}

/// The name of a row: as redis-benchmark has it while there is one target and one depth.
fn title(o: &Options, row: &Row) -> String {
    let mut title = row.test.clone();
    if o.depths.len() > 1 {
        title.push_str(&format!(" P={}", row.depth));
    }
    if !row.target.is_empty() {
        title.push_str(&format!(" on {}", row.target));
    }
    title
}

/// Prints one row as soon as it is known.
pub(crate) fn row(o: &Options, row: &Row, first: bool) {
    let title = title(o, row);
    let errors = &row.summary.errors;
    if errors.count > 0 {
        eprintln!("{title}: {} error replies, the first: {}", errors.count, errors.text());
    }
    if o.csv {
        print(&format!("{}{}", if first { CSV_HEAD } else { "" }, csv(row)));
    } else if errors.count < row.summary.requests {
        print(&if o.quiet { line(&title, row) } else { block(o, &title, row) });
    }
    if o.csv || o.quiet {
        for note in row.summary.notes() {
            eprintln!("{title}: {note}");
        }
    }
}

fn line(title: &str, row: &Row) -> String {
    let s = &row.summary;
    let p50 = s.latency.percentiles[0] / 1e6;
    format!("{title}: {:.2} requests per second, p50={p50:.3} msec\n", s.rps)
}

fn block(o: &Options, title: &str, row: &Row) -> String {
    let s = &row.summary;
    let mut text = format!("====== {title} ======\n");
    let seconds = s.elapsed_ns as f64 / 1e9;
    text.push_str(&format!("  {} requests completed in {seconds:.3} seconds\n", s.requests));
    text.push_str(&format!("  {} parallel clients\n", o.connections));
    if !o.http {
        text.push_str(&format!("  {} bytes payload\n", o.sizes.text()));
    }
    text.push_str(&format!("  pipeline: {}\n  multi-thread: {}\n", row.depth, o.threads));
    text.push_str(&format!("\n  throughput summary: {:.2} requests per second\n", s.rps));
    if o.reps > 1 {
        let (least, most) = s.rps_range;
        text.push_str(&format!("  medians of {} runs, {least:.2} to {most:.2}\n", o.reps));
    }
    let columns = ["avg", "min", "p50", "p95", "p99", "max", "p99.9", "p99.99"];
    text.push_str("  latency summary (msec):\n    ");
    columns.iter().for_each(|c| text.push_str(&format!("{c:>10}")));
    let mut latency = |l: &Latency, of: &str| {
        text.push_str("\n    ");
        milliseconds(l).iter().for_each(|ms| text.push_str(&format!("{ms:>10.3}")));
        text.push_str(of);
    };
    latency(&s.latency, "");
    for (command, requests, l) in &s.commands {
        latency(l, &format!("  {requests} {command}"));
    }
    let busy = s.client_busy * 100.0;
    let client = s.client_ns;
    text.push_str(&format!(
        "\n  CPU ns per request: client {client:.0} (busiest thread {busy:.0} %)"
    ));
    if let (Some(ns), Some(busy)) = (s.server_ns, s.server_busy) {
        text.push_str(&format!(", server {ns:.0} (busiest thread {:.0} %)", busy * 100.0));
    }
    for note in s.notes() {
        text.push_str(&format!("\n  note: {note}"));
    }
    text.push_str("\n\n");
    text
}

fn csv(row: &Row) -> String {
    let s = &row.summary;
    let whole = (String::new(), s.requests, s.latency);
    let mut text = String::new();
    for (command, requests, l) in std::iter::once(&whole).chain(&s.commands) {
        let alone = command.is_empty();
        let rps = s.rps * *requests as f64 / s.requests.max(1) as f64;
        let mut fields = vec![json::field(&row.test), json::field(&format!("{rps:.2}"))];
        fields.extend(milliseconds(l).iter().map(|ms| json::field(&format!("{ms:.3}"))));
        fields.extend([&row.target, &row.depth.to_string(), command].map(|t| json::field(t)));
        fields.push(json::field(&requests.to_string()));
        // Errors and costs are known of the whole only.
        let of_whole = |text: String| json::field(if alone { &text } else { "" });
        fields.push(of_whole(s.errors.count.to_string()));
        fields.push(of_whole(format!("{:.1}", s.client_ns)));
        fields.push(of_whole(s.server_ns.map(|ns| format!("{ns:.1}")).unwrap_or_default()));
        fields.push(of_whole(s.limit.word().to_owned()));
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

/// Prints the comparison and writes the files.
pub(crate) fn end(o: &Options, rows: &[Row]) -> Result<(), String> {
    if o.targets.len() > 1 && !o.csv {
        print(&comparison(o.targets.len(), rows));
    }
    write(&o.json, || json::report(o, rows))?;
    write(&o.timeline, || json::timelines(rows))?;
    write(&o.plot, || plot::svg(rows))
}

fn write(path: &Option<impl AsRef<Path>>, text: impl FnOnce() -> String) -> Result<(), String> {
    match path.as_ref().map(AsRef::as_ref) {
        Some(path) => std::fs::write(path, text()).map_err(|e| format!("{}: {e}", path.display())),
        None => Ok(()),
    }
}

/// Side by side: each figure, and its ratio to the first target's.
fn comparison(targets: usize, rows: &[Row]) -> String {
    let heads = ["requests/s", "p50 ms", "p99 ms", "p99.9 ms", "server ns"];
    let mut text = format!("{:26}{:>5} {:12}", "", "P", "");
    heads.iter().for_each(|h| text.push_str(&format!("{h:>12}{:>7}", "ratio")));
    for group in rows.chunks(targets) {
        for (i, row) in group.iter().enumerate() {
            let test: String = row.test.chars().take(25).collect();
            let (test, depth) = match i {
                0 => (test, row.depth.to_string()),
                _ => Default::default(),
            };
            let target: String = row.target.chars().take(12).collect();
            text.push_str(&format!("\n{test:26}{depth:>5} {target:12}"));
            let ratios = row.summary.ratios(&group[0].summary);
            for ((name, value), (_, ratio)) in row.summary.figures().into_iter().zip(ratios) {
                let shown = value.map(|v| match name {
                    "rps" | "server_cpu" => format!("{v:.0}"),
                    _ => format!("{:.3}", v / 1e6),
                });
                let ratio = ratio.map(|r| format!("{r:.2}"));
                let missing = || "-".to_owned();
                text.push_str(&format!(
                    "{:>12}{:>7}",
                    shown.unwrap_or_else(missing),
                    ratio.unwrap_or_else(missing)
                ));
            }
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod checks {
    use super::super::run::Measured;
    use super::super::summary::Summary;
    use super::*;

    fn example(target: &str, ns: u64) -> Row {
        let mut m = Measured { elapsed_ns: 1000 * ns, ..Measured::default() };
        m.latency.record(ns, 1000);
        Row {
            test: "GET".into(),
            depth: 1,
            target: target.into(),
            address: "h:1".into(),
            summary: Summary::of(&[m], &[], None),
        }
    }

    #[test]
    fn csv_begins_as_that_of_redis_benchmark() {
        let head = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
                    \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\",";
        assert!(CSV_HEAD.starts_with(head));
        let line = csv(&example("", 1_000_000));
        let fields =
            "\"GET\",\"1000.00\",\"1.000\",\"1.000\",\"1.000\",\"1.000\",\"1.000\",\"1.000\",";
        assert!(line.starts_with(fields), "{line}");
        assert_eq!(line.split(',').count(), CSV_HEAD.split(',').count());
    }

    #[test]
    fn targets_stand_side_by_side() {
        let text = comparison(2, &[example("a", 2_000_000), example("b", 500_000)]);
        let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        let a = "GET 1 a 500 1.00 2.000 1.00 2.000 1.00 2.000 1.00 - -";
        let b = "b 2000 4.00 0.500 0.25 0.500 0.25 0.500 0.25 - -";
        assert_eq!(lines[1], a.split(' ').collect::<Vec<_>>());
        assert_eq!(lines[2], b.split(' ').collect::<Vec<_>>());
    }
}
