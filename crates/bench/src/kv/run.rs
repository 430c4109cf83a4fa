//! One run: starts the threads together, watches them, and adds up what they measured.

use super::client::Target;
use super::dist::Dist;
use super::drive::{Driver, Outcome, Plan};
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

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) target: &'a Target,
    pub(crate) test: &'a Test,
    pub(crate) depth: usize,
    /// The server's process, where it is known.
    pub(crate) pid: Option<u32>,
    pub(crate) seed: u64,
    /// Stands before the progress of the run.
    pub(crate) label: &'a str,
}

/// What a run measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) latency: Histogram,
    /// Of each command of a mix.
    pub(crate) commands: Vec<Histogram>,
    pub(crate) errors: Errors,
    pub(crate) elapsed_ns: u64,
    /// CPU nanoseconds of all client threads.
    pub(crate) client_cpu_ns: u64,
    /// CPU nanoseconds of all threads of the server.
    pub(crate) server_cpu_ns: Option<u64>,
    /// Share of the time that the busiest thread ran or waited for a core.
    pub(crate) client_busy: f64,
    pub(crate) server_busy: Option<f64>,
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
        Some(self.server_cpu_ns? as f64 / self.latency.total().max(1) as f64)
    }
}

/// Sets every key of the key space once.
pub(crate) fn fill(o: &Options, target: &Target, test: &Test) -> Result<(), String> {
    let whole = Options {
        dist: Dist::Seq,
        random: true,
        // One thread: the sequence is then one stretch, gone through exactly once.
        threads: 1,
        count: Some(o.keys),
        duration: None,
        rate: None,
        ..o.clone()
    };
    let on = if target.name.is_empty() { "" } else { " on " };
    let label = format!("fill{on}{}", target.name);
    let job = Job { target, test, depth: 100, pid: None, seed: o.seed, label: &label };
    let done = run(&whole, &job)?;
    match done.errors.count {
        0 => Ok(()),
        n => Err(format!(
            "{}: --fill: {n} error replies, the first: {}",
            target.address,
            done.errors.text()
        )),
    }
}

/// What thread `t` of a run does, with its share of the connections.
fn driver<'a>(o: &Options, job: &Job<'a>, plan: &'a Plan, t: u64) -> Result<Driver<'a>, String> {
    let Job { target, test, depth, seed, .. } = *job;
    let threads = o.threads as u64;
    let share = |t: u64| o.connections as u64 * t / threads;
    let sockets = (share(t)..share(t + 1)).map(|_| target.connect());
    let sockets = sockets.collect::<Result<Vec<_>, String>>()?;
    let seed = seed.wrapping_mul(1000).wrapping_add(t);
    let keys = o.dist.keys(o.keys, seed, t, threads);
    let reel = Reel::new(&test.templates, depth, &o.sizes, keys, o.random, seed);
    let pacer = o.rate.map(|rate| Pacer::new(rate, depth as u64, t, threads));
    let commands = test.templates.len();
    let driver = if o.http {
        Driver::of_http(plan, sockets, reel, commands, pacer, (target, is_head_request(test)))
    } else {
        Driver::new(plan, sockets, reel, commands, pacer)
    };
    driver.map_err(|e| format!("{}: {e}", target.address))
}

/// Adds up what the threads measured. Returns also for how long the busiest of them ran or waited for a core.
fn merged(outcomes: &[Outcome], timeline: Vec<(u64, u64)>) -> (Measured, u64) {
    let mut all = Measured { timeline, ..Measured::default() };
    let mut busiest = 0;
    for outcome in outcomes {
        all.latency.merge(&outcome.latency);
        all.commands.resize(outcome.commands.len(), Histogram::default());
        for (sum, one) in all.commands.iter_mut().zip(&outcome.commands) {
            sum.merge(one);
        }
        all.errors.merge(&outcome.errors);
        all.elapsed_ns = all.elapsed_ns.max(outcome.ended_ns);
        all.client_cpu_ns += outcome.cpu.ran_ns;
        busiest = busiest.max(outcome.cpu.busy_ns());
    }
    (all, busiest)
}

/// Runs a test once.
pub(crate) fn run(o: &Options, job: &Job<'_>) -> Result<Measured, String> {
    let Job { target, depth, pid, .. } = *job;
    let threads = o.threads as u64;
    let count = o.requests();
    let depth64 = depth as u64;
    let plan = Plan {
        budget: AtomicU64::new(count),
        chunk: depth64 * (count / (threads * depth64 * 100)).clamp(1, 64),
        depth: depth64,
        done: AtomicU64::new(0),
        until_ns: o.duration.map_or(u64::MAX, |d| d.as_nanos() as u64),
        failed: AtomicBool::new(false),
    };
    let drivers = (0..threads).map(|t| driver(o, job, &plan, t)).collect::<Result<Vec<_>, _>>()?;
    let before = pid.map(sys::process_cpu);
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
                    progress(o, job, begun.elapsed(), done);
                }
            }
        }
        progress_end();
        let lost = || std::io::Error::other("a client thread panicked");
        let join =
            |h: std::thread::ScopedJoinHandle<'_, _>| h.join().unwrap_or_else(|_| Err(lost()));
        (handles.into_iter().map(join).collect::<Vec<_>>(), timeline)
    });
    let after = pid.map(sys::process_cpu);
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>();
    let outcomes = outcomes.map_err(|e| format!("{}: {e}", target.address))?;
    let (mut all, busiest) = merged(&outcomes, timeline);
    let share = |ns: u64| (ns as f64 / all.elapsed_ns.max(1) as f64).min(1.0);
    all.client_busy = share(busiest);
    if let Some((cpu, busiest)) = before.zip(after).and_then(|(b, a)| sys::cpu_between(&b, &a)) {
        all.server_busy = Some(share(busiest));
        all.server_cpu_ns = Some(cpu);
    }
    // The last step ends with the run.
    all.timeline.retain(|(ms, _)| *ms < all.elapsed_ns / 1_000_000);
    all.timeline.push((all.elapsed_ns / 1_000_000, all.latency.total()));
    Ok(all)
}

/// Whether all requests of a test are HEAD, whose answers have no bodies.
fn is_head_request(test: &Test) -> bool {
    test.templates.iter().all(|t| t.args.first().is_some_and(|text| text.starts_with(b"HEAD ")))
}

/// The line on a terminal while a run goes on.
fn progress(o: &Options, job: &Job<'_>, spent: Duration, done: u64) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    eprint!("\r\x1b[K{}", progress_line(o, job.label, spent, done));
    let _ = std::io::stderr().flush();
}

/// What is being run, its rate so far, and the time it will still take.
fn progress_line(o: &Options, label: &str, spent: Duration, done: u64) -> String {
    let rate = done as f64 / spent.as_secs_f64().max(0.001);
    let by_time = o.duration.map(|all| all.saturating_sub(spent).as_secs_f64());
    let by_count = o.requests().saturating_sub(done) as f64 / rate.max(1.0);
    let left = by_time.unwrap_or(f64::MAX).min(by_count);
    format!("{label}: {rate:.0} requests per second, {left:.0} s left")
}

fn progress_end() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn progress_tells_rate_and_what_is_left() {
        let options = |line: &str| {
            Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()
        };
        let at = |line: &str, ms, done| {
            progress_line(&options(line), "GET", Duration::from_millis(ms), done)
        };
        assert_eq!(at("-n 6000", 2000, 4000), "GET: 2000 requests per second, 1 s left");
        assert_eq!(at("--duration 9", 2000, 4000), "GET: 2000 requests per second, 7 s left");
        let both = at("--duration 9 -n 12000", 2000, 4000);
        assert_eq!(both, "GET: 2000 requests per second, 4 s left");
        assert!(at("-n 100", 0, 0).ends_with("100 s left"));
    }
}
