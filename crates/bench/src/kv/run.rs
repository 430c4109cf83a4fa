//! One run: starts the threads together, watches them, and adds up what they measured.

use super::client::Target;
use super::dist::Dist;
use super::drive::{Driver, Plan};
use super::frames::Errors;
use super::histogram::Histogram;
use super::options::Options;
use super::pace::Pacer;
use super::reel::Reel;
use super::sys;
use super::tests::Test;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// How often throughput is noted.
const STEP: Duration = Duration::from_millis(100);

/// What a run measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) latency: Histogram,
    pub(crate) errors: Errors,
    pub(crate) elapsed_ns: u64,
    /// CPU nanoseconds of all client threads.
    pub(crate) client_cpu_ns: u64,
    /// CPU nanoseconds of the server, and of its busiest thread.
    pub(crate) server_cpu_ns: Option<(u64, u64)>,
    /// Share of the time that the busiest client thread was on a core.
    pub(crate) client_busy: f64,
    /// Milliseconds since the start, and replies so far.
    pub(crate) timeline: Vec<(u64, u64)>,
}

impl Measured {
    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latency.total() as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }

    /// Client CPU nanoseconds per request.
    pub(crate) fn client_ns(&self) -> f64 {
        self.client_cpu_ns as f64 / self.latency.total().max(1) as f64
    }

    /// Server CPU nanoseconds per request, where they could be read.
    pub(crate) fn server_ns(&self) -> Option<f64> {
        Some(self.server_cpu_ns?.0 as f64 / self.latency.total().max(1) as f64)
    }

    /// Whether a client thread had no time left while every thread of the server had some.
    pub(crate) fn client_bound(&self) -> bool {
        let full = 0.95 * self.elapsed_ns as f64;
        self.client_busy > 0.95 && self.server_cpu_ns.is_some_and(|(_, max)| (max as f64) < full)
    }
}

/// Sets every key of the key space once.
pub(crate) fn fill(o: &Options, target: &Target) -> Result<(), String> {
    let whole = Options {
        dist: Dist::Seq,
        random: true,
        // One thread: the sequence is then one stretch, gone through exactly once.
        threads: 1,
        count: o.keys,
        duration: None,
        rate: None,
        ..o.clone()
    };
    let done = run(&whole, target, &Test::fill(), 100, None, o.seed)?;
    match done.errors.count {
        0 => Ok(()),
        n => Err(format!("--fill: {n} errors, the first: {}", done.errors.text())),
    }
}

/// Runs `test` once.
pub(crate) fn run(
    o: &Options,
    target: &Target,
    test: &Test,
    depth: usize,
    pid: Option<u32>,
    seed: u64,
) -> Result<Measured, String> {
    let threads = o.threads as u64;
    let count = if o.duration.is_some() { u64::MAX / 2 } else { o.count };
    let depth64 = depth as u64;
    let plan = Plan {
        budget: AtomicU64::new(count),
        chunk: depth64 * (count / (threads * depth64 * 100)).clamp(1, 64),
        depth: depth64,
        done: AtomicU64::new(0),
        until_ns: o.duration.map_or(u64::MAX, |d| d.as_nanos() as u64),
        failed: AtomicBool::new(false),
    };
    let mut drivers = Vec::new();
    for t in 0..threads {
        let share = |t: u64| o.connections as u64 * t / threads;
        let sockets = (share(t)..share(t + 1)).map(|_| target.connect(&o.login));
        let sockets = sockets.collect::<Result<Vec<_>, String>>()?;
        let seed = seed.wrapping_mul(1000).wrapping_add(t);
        let keys = o.dist.keys(o.keys, seed, t, threads);
        let reel = Reel::new(&test.templates, depth, &o.sizes, keys, o.random, seed);
        let pacer = o.rate.map(|rate| Pacer::new(rate, depth64, t, threads));
        let named = |e| format!("{}: {e}", target.address);
        drivers.push(Driver::new(&plan, sockets, reel, pacer).map_err(named)?);
    }
    let before = pid.map(sys::process_cpu_ns);
    let (barrier, start) = (Barrier::new(drivers.len()), OnceLock::new());
    let (outcomes, timeline) = std::thread::scope(|scope| {
        let (barrier, start) = (&barrier, &start);
        let handles: Vec<_> = drivers
            .into_iter()
            .map(|driver| {
                scope.spawn(move || {
                    barrier.wait();
                    driver.run(*start.get_or_init(Instant::now))
                })
            })
            .collect();
        let mut timeline = Vec::new();
        let begun = Instant::now();
        let mut noted = begun;
        while handles.iter().any(|h| !h.is_finished()) {
            std::thread::sleep(Duration::from_millis(1));
            if noted.elapsed() >= STEP {
                noted = Instant::now();
                let done = plan.done.load(Relaxed);
                timeline.push((begun.elapsed().as_millis() as u64, done));
                if timeline.len() % 5 == 0 {
                    progress(o, test, begun.elapsed(), done);
                }
            }
        }
        progress_end(o);
        let lost = || std::io::Error::other("a client thread panicked");
        let join =
            |h: std::thread::ScopedJoinHandle<'_, _>| h.join().unwrap_or_else(|_| Err(lost()));
        (handles.into_iter().map(join).collect::<Vec<_>>(), timeline)
    });
    let after = pid.map(sys::process_cpu_ns);
    let mut all = Measured {
        latency: Histogram::default(),
        errors: Errors::default(),
        elapsed_ns: 0,
        client_cpu_ns: 0,
        server_cpu_ns: before.zip(after).and_then(|(b, a)| sys::cpu_between(&b, &a)),
        client_busy: 0.0,
        timeline,
    };
    let mut busiest = 0;
    for outcome in outcomes {
        let outcome = outcome.map_err(|e| format!("{}: {e}", target.address))?;
        all.latency.merge(&outcome.latency);
        all.errors.merge(&outcome.errors);
        all.elapsed_ns = all.elapsed_ns.max(outcome.ended_ns);
        all.client_cpu_ns += outcome.cpu_ns;
        busiest = busiest.max(outcome.cpu_ns);
    }
    all.client_busy = busiest as f64 / all.elapsed_ns.max(1) as f64;
    Ok(all)
}

/// The line on a terminal while a run goes on.
fn progress(o: &Options, test: &Test, spent: Duration, done: u64) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let rate = done as f64 / spent.as_secs_f64().max(0.001);
    let left = match o.duration {
        Some(all) => all.saturating_sub(spent).as_secs_f64(),
        None => o.count.saturating_sub(done) as f64 / rate.max(1.0),
    };
    eprint!("\r\x1b[K{}: {rate:.0} requests per second, {left:.0} s left", test.title);
    let _ = std::io::stderr().flush();
}

fn progress_end(_: &Options) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}
