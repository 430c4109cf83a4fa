//! `apus bench log`: appends batches to a topic, or reads ranges from one, with many workers at once,
//! as Seb's benchmark does and with its parameters, and says what it took.
//!
//! It knows HTTP and RESP and nothing of the server's insides, so it drives any server of Seb's API,
//! too (`--api seb`).

mod client;
mod options;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use serde_json::json;
use stdx::histogram::Histogram;

use client::{Client, Prepared};
use options::{Api, Options};

/// What one run has measured.
struct Run {
    seconds: f64,
    records: u64,
    bytes: u64,
    /// CPU time of the server's process, if it is on this machine and known.
    server_cpu: Option<f64>,
    /// Milliseconds of a request at 50, 99 and 99.9 percent.
    latency_ms: [f64; 3],
}

impl Run {
    fn records_per_second(&self) -> f64 {
        self.records as f64 / self.seconds
    }

    fn mb_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.seconds
    }

    fn cpu_per_million(&self) -> Option<f64> {
        self.server_cpu.map(|cpu| cpu / (self.records as f64 / 1e6))
    }
}

/// Runs `apus bench log` with the arguments that follow these words. The exit code is 0, 1 when the
/// server could not be driven, 2 for a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(Some(o)) => o,
        Ok(None) => return crate::print(options::HELP),
        Err(e) => {
            eprintln!("apus bench log: {e}");
            return ExitCode::from(2);
        }
    };
    match bench(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("apus bench log: {e}");
            ExitCode::FAILURE
        }
    }
}

fn bench(o: &Options) -> Result<(), String> {
    let mut runs = Vec::new();
    for number in 1..=o.runs {
        // Seb has no way to delete one: a new one for each run.
        let topic = format!("{}-{}-{number}", o.topic, std::process::id());
        let mut client = Client::connect(o)?;
        if o.api != Api::Seb {
            client.create(o, &topic)?;
        }
        if o.read {
            append(o, &topic)?;
            // What is measured is reading from the cache, and not from the disk.
            read(o, &topic)?;
        }
        let run = if o.read { read(o, &topic)? } else { append(o, &topic)? };
        if o.api != Api::Seb && !o.keep {
            client.delete(&topic)?;
        }
        eprintln!(
            "run {number}/{}: {:.2} s, {:.0} records/s, {:.0} MB/s",
            o.runs,
            run.seconds,
            run.records_per_second(),
            run.mb_per_second()
        );
        runs.push(run);
    }
    // First of all, so that what was measured is seen if the file cannot be written.
    crate::print(&report(o, &runs));
    if let Some(path) = &o.json {
        std::fs::write(path, json(o, &runs)).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// Has all workers do `step` with numbers from 0 up to `count`, and measures.
fn drive(
    o: &Options,
    count: u64,
    step: impl Fn(&mut Client, u64) -> Result<(u64, u64), String> + Sync,
) -> Result<Run, String> {
    let (next, latency) = (AtomicU64::new(0), Histogram::default());
    let (records, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let clients = (0..o.workers).map(|_| Client::connect(o)).collect::<Result<Vec<_>, _>>()?;
    let work = |mut client: Client| -> Result<(), String> {
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= count {
                return Ok(());
            }
            let asked = Instant::now();
            let (r, b) = step(&mut client, number)?;
            latency.record(u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX));
            records.fetch_add(r, Relaxed);
            bytes.fetch_add(b, Relaxed);
        }
    };
    let work = &work;
    let cpu = o.pid.and_then(cpu_seconds);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = clients.into_iter().map(|c| scope.spawn(move || work(c))).collect();
        workers
            .into_iter()
            .try_for_each(|w| w.join().unwrap_or_else(|_| Err("a worker has panicked".to_owned())))
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let server_cpu = o.pid.and_then(cpu_seconds).zip(cpu).map(|(after, before)| after - before);
    Ok(Run {
        seconds,
        records: records.into_inner(),
        bytes: bytes.into_inner(),
        server_cpu,
        latency_ms: [50.0, 99.0, 99.9].map(|p| latency.percentile(p) as f64 / 1e6),
    })
}

fn append(o: &Options, topic: &str) -> Result<Run, String> {
    let request = Prepared::append(o, topic)?;
    let (records, bytes) = (o.records as u64, (o.records * o.size) as u64);
    drive(o, o.batches, |client, _| {
        client.call(&request)?;
        Ok((records, bytes))
    })
}

fn read(o: &Options, topic: &str) -> Result<Run, String> {
    let records = o.records as u64;
    drive(o, o.batches, |client, number| {
        let request = Prepared::read(o, topic, number * records);
        let bytes = client.call(&request)?;
        Ok((records, bytes as u64))
    })
}

/// CPU seconds that a process has used, its threads that have ended included.
fn cpu_seconds(pid: u32) -> Option<f64> {
    /// Ticks per second in /proc: Linux promises user space 100.
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may contain anything but ends with the last parenthesis.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

fn report(o: &Options, runs: &[Run]) -> String {
    let line = |name: &str, f: &dyn Fn(&Run) -> Option<f64>, digits: usize| {
        let values: Vec<f64> = runs.iter().filter_map(f).collect();
        if values.is_empty() {
            return String::new();
        }
        let average = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        format!("{name:32} {average:.digits$} / {least:.digits$} / {most:.digits$}\n")
    };
    let mut text = format!(
        "{} {} of {} records of {} bytes, {} workers, over {}\n\n{:32} avg / min / max\n",
        o.batches,
        if o.read { "reads" } else { "batches" },
        o.records,
        o.size,
        o.workers,
        o.api.name(),
        ""
    );
    text += &line("seconds", &|r| Some(r.seconds), 2);
    text += &line("records/s", &|r| Some(r.records_per_second()), 0);
    text += &line("MB/s", &|r| Some(r.mb_per_second()), 1);
    text += &line("server CPU s per million records", &Run::cpu_per_million, 3);
    for (i, name) in ["p50 ms", "p99 ms", "p99.9 ms"].iter().enumerate() {
        text += &line(name, &|r| r.latency_ms.get(i).copied(), 2);
    }
    text
}

fn json(o: &Options, runs: &[Run]) -> String {
    let run = |r: &Run| {
        let [p50, p99, p999] = r.latency_ms;
        json!({
            "seconds": r.seconds,
            "records_per_second": r.records_per_second(),
            "mb_per_second": r.mb_per_second(),
            "server_cpu_seconds_per_million_records": r.cpu_per_million(),
            "p50_ms": p50,
            "p99_ms": p99,
            "p999_ms": p999,
        })
    };
    let report = json!({
        "api": o.api.name(),
        "read": o.read,
        "workers": o.workers,
        "batches": o.batches,
        "records_per_batch": o.records,
        "record_size": o.size,
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_averaged() {
        let run = |seconds| Run {
            seconds,
            records: 1_000_000,
            bytes: 1_000_000_000,
            server_cpu: Some(0.5),
            latency_ms: [1.0, 2.0, 3.0],
        };
        let o = Options::parse(&[]).expect("defaults").expect("no help");
        let text = report(&o, &[run(1.0), run(2.0)]);
        assert!(text.contains("1.50 / 1.00 / 2.00"), "{text}");
        assert!(text.contains("750000 / 500000 / 1000000"), "{text}");
        assert!(text.contains("0.500 / 0.500 / 0.500"), "{text}");
        let json = json(&o, &[run(1.0)]);
        assert!(json.contains("\"records_per_second\": 1000000.0"), "{json}");
    }

    #[test]
    fn this_process_has_used_a_processor() {
        assert!(cpu_seconds(std::process::id()).is_some_and(|s| s >= 0.0));
        assert_eq!(cpu_seconds(u32::MAX), None);
    }
}
