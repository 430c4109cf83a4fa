//! How a row is measured: rounds over the same work until the time is up; the best round is the
//! cost without what disturbed the machine, the median says how much that was.

use crate::count;
use std::time::{Duration, Instant};

/// The cost of a row per operation.
pub(crate) struct Cost {
    pub(crate) best_ns: f64,
    pub(crate) median_ns: f64,
    pub(crate) allocations: f64,
    pub(crate) bytes: f64,
}

/// The result of a row.
pub(crate) enum Outcome {
    Cost(Cost),
    /// It cannot run, and why.
    LeftOut(String),
    /// The command line names others.
    NotAsked,
}

/// The options of the command line.
pub(crate) struct Settings {
    pub(crate) keys: u64,
    pub(crate) depth: usize,
    pub(crate) size: usize,
    /// Operations of a round.
    pub(crate) round: usize,
    time: Duration,
    names: Vec<String>,
}

impl Settings {
    /// Reads a command line; `tiny` is for tests.
    pub(crate) fn parse(args: &[String], tiny: bool) -> Result<Self, String> {
        let mut s = Settings {
            keys: if tiny { 50 } else { 100_000 },
            depth: if tiny { 10 } else { 100 },
            size: 10,
            round: if tiny { 50 } else { 50_000 },
            time: Duration::from_millis(if tiny { 0 } else { 300 }),
            names: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number = |max: f64| {
                let text = args.next().map_or("", String::as_str);
                let number = text.parse::<f64>().ok().filter(|n| (0.0..=max).contains(n));
                number.ok_or(format!("{arg} '{text}' is not a number up to {max}"))
            };
            match arg.as_str() {
                "--bench" => {}
                "--keys" => s.keys = number(1e9)?.max(1.0) as u64,
                "--depth" => s.depth = number(1e6)?.max(1.0) as usize,
                "--size" => s.size = number(1e8)? as usize,
                "--seconds" => s.time = Duration::from_secs_f64(number(1e5)?),
                // What cargo passes on to tests.
                "--quiet" | "--nocapture" | "--show-output" => {}
                name if name.starts_with('-') => return Err(format!("there is no option {name}")),
                name => s.names.push(name.to_ascii_lowercase()),
            }
        }
        Ok(s)
    }

    /// Whether the command line names this row.
    pub(crate) fn asks(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.names.is_empty() || self.names.iter().any(|n| name.contains(n))
    }

    /// Runs rounds of `work`, which gives the number of its operations.
    pub(crate) fn measure(&self, mut work: impl FnMut() -> usize) -> Outcome {
        // The first round makes buffers and warms caches.
        work();
        let mut rounds = Vec::new();
        let mut operations = 0;
        let (times_before, bytes_before) = count::allocations();
        let (mut times, mut bytes) = (0, 0);
        let start = Instant::now();
        while rounds.is_empty() || start.elapsed() < self.time {
            let round = Instant::now();
            let n = work().max(1);
            let ns = round.elapsed().as_nanos() as f64;
            let (t, b) = count::allocations();
            (times, bytes) = (t - times_before, b - bytes_before);
            operations += n;
            // Allocates; counted only from the next round on, where it is one in a round.
            rounds.push(ns / n as f64);
        }
        rounds.sort_by(f64::total_cmp);
        let per_operation = |n: u64| n as f64 / operations as f64;
        Outcome::Cost(Cost {
            best_ns: rounds[0],
            median_ns: rounds[rounds.len() / 2],
            allocations: per_operation(times),
            bytes: per_operation(bytes),
        })
    }
}

/// A generator of numbers that are the same in every run.
pub(crate) fn numbers() -> stdx::rng::Rng {
    stdx::rng::Rng::from_seed(7)
}
