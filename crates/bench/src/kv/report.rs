//! What a bench prints: text, redis-benchmark's CSV with columns added, JSON, ratios.

use super::options::Options;
use super::run::Measured;
use std::io::{self, Write};
use std::process::ExitCode;

/// The median run of a test at a depth on a target.
pub(crate) struct Row {
    pub(crate) test: String,
    pub(crate) depth: usize,
    pub(crate) target: String,
    pub(crate) median: Measured,
}

const PERCENTILES: [f64; 5] = [50.0, 95.0, 99.0, 99.9, 99.99];

/// Writes to standard output; a reader that has seen enough (`| head`) is not an error.
pub(crate) fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

impl Row {
    fn title(&self) -> String {
        let target = if self.target.is_empty() { "" } else { " on " };
        format!("{} P={}{target}{}", self.test, self.depth, self.target)
    }
}

/// Prints one row as soon as it is known.
pub(crate) fn row(o: &Options, row: &Row, first: bool) -> Result<(), String> {
    let m = &row.median;
    let l = &m.latency;
    let p = PERCENTILES.map(|p| ms(l.percentile(p)));
    let (rate, max) = (m.rate(), ms(l.max()));
    let mut text = String::new();
    if o.csv {
        if first {
            text.push_str(
                "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
                 \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\",\"p99.9_latency_ms\",\
                 \"p99.99_latency_ms\",\"target\",\"pipeline\",\"client_ns\",\"server_ns\",\"errors\"\n",
            );
        }
        let server = m.server_ns().map(|ns| format!("{ns:.1}")).unwrap_or_default();
        let quoted = |t: &str| t.replace('"', "\"\"");
        text.push_str(&format!(
            "\"{}\",\"{rate:.2}\",\"{:.3}\",\"{:.3}\",\"{:.3}\",\"{:.3}\",\"{:.3}\",\"{max:.3}\",\
             \"{:.3}\",\"{:.3}\",\"{}\",\"{}\",\"{:.1}\",\"{server}\",\"{}\"\n",
            quoted(&row.test),
            l.mean() / 1e6,
            ms(l.min()),
            p[0],
            p[1],
            p[2],
            p[3],
            p[4],
            quoted(&row.target),
            row.depth,
            m.client_ns(),
            m.errors.count,
        ));
    } else {
        let title = row.title();
        text = format!("{title}: {rate:.2} requests per second, p50={:.3} msec\n", p[0]);
        if !o.quiet {
            text.push_str(&format!(
                "  {} requests in {:.3} s\n  latency ms: min {:.3}, p50 {:.3}, p95 {:.3}, \
                 p99 {:.3}, p99.9 {:.3}, p99.99 {:.3}, max {max:.3}\n  CPU ns per request: \
                 client {:.0} (busiest thread {:.0} %)",
                l.total(),
                m.elapsed_ns as f64 / 1e9,
                ms(l.min()),
                p[0],
                p[1],
                p[2],
                p[3],
                p[4],
                m.client_ns(),
                m.client_busy * 100.0,
            ));
            if let Some(ns) = m.server_ns() {
                text.push_str(&format!(", server {ns:.0}"));
            }
            text.push('\n');
        }
        if m.client_bound() {
            text.push_str("  note: the client was the bottleneck; give it more --threads\n");
        }
    }
    if m.errors.count > 0 {
        let e = &m.errors;
        eprintln!("{}: {} error replies, the first: {}", row.title(), e.count, e.text());
    }
    print(&text);
    Ok(())
}

/// Prints the ratios to the first target and writes the file.
pub(crate) fn end(o: &Options, rows: &[Row]) -> Result<(), String> {
    if o.targets.len() > 1 && !o.csv {
        let mut text =
            format!("\n{:40} {:>6} {:>12}", "requests per second", "P", o.targets[0].name);
        for target in &o.targets[1..] {
            text.push_str(&format!(" {:>12} {:>7}", target.name, "ratio"));
        }
        for group in rows.chunks(o.targets.len()) {
            let base = group[0].median.rate();
            let test: String = group[0].test.chars().take(40).collect();
            text.push_str(&format!("\n{test:40} {:>6} {base:>12.0}", group[0].depth));
            for row in &group[1..] {
                let rate = row.median.rate();
                text.push_str(&format!(" {rate:>12.0} {:>7.2}", rate / base.max(1e-9)));
            }
        }
        text.push('\n');
        print(&text);
    }
    if let Some(path) = &o.json {
        let rows: Vec<String> = rows.iter().map(json).collect();
        let text = format!("[\n{}\n]\n", rows.join(",\n"));
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

fn json(row: &Row) -> String {
    let m = &row.median;
    let l = &m.latency;
    let percentiles: Vec<String> =
        PERCENTILES.iter().map(|p| format!("\"p{p}\":{}", l.percentile(*p))).collect();
    let timeline: Vec<String> = m.timeline.iter().map(|(t, n)| format!("[{t},{n}]")).collect();
    format!(
        "{{\"test\":{},\"pipeline\":{},\"target\":{},\"requests\":{},\"errors\":{},\
         \"elapsed_ns\":{},\"rps\":{:.2},\"latency_ns\":{{\"mean\":{:.1},\"min\":{},{},\"max\":{}}},\
         \"client_cpu_ns\":{:.2},\"client_busy\":{:.4},\"server_cpu_ns\":{},\"client_bound\":{},\
         \"timeline_ms_requests\":[{}]}}",
        quote(&row.test),
        row.depth,
        quote(&row.target),
        l.total(),
        m.errors.count,
        m.elapsed_ns,
        m.rate(),
        l.mean(),
        l.min(),
        percentiles.join(","),
        l.max(),
        m.client_ns(),
        m.client_busy,
        m.server_ns().map_or("null".into(), |ns| format!("{ns:.2}")),
        m.client_bound(),
        timeline.join(","),
    )
}

fn quote(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
