//! The keys that make the work: always-on sampling for APUS.TOPKEYS, and the sessions of HOTKEYS.
//!
//! One command in many ([`Sampler`]) is executed by itself and measured: how long it took, how many
//! bytes it brought and was answered with. Its keys are counted in the thread's own `Sketch`es,
//! which are merged when a client asks. Counts fade with a half-life of a minute, so the figures are
//! about the present. A session of HOTKEYS makes the same samples more frequent, as its SAMPLE says,
//! and counts into sketches of its own that do not fade.
//!
//! Commands of a transaction are looked at one by one; those of a script are not.

mod sampler;
mod session;
mod sketch;

use std::collections::HashMap;

use commands::row::{Group, Row};
use parking_lot::Mutex;
use resp::Args;

pub use sampler::Sampler;
pub use session::{HotKeys, Report, Selection, Spent};
use sketch::{Name, Sketch};

/// Counters per thread and ranking.
const CAPACITY: usize = 128;
/// The half-life of counts, in nanoseconds.
const HALF_LIFE: f64 = 60e9;
/// A key must have been seen this often, unless every command was looked at: a sample that stands for
/// a thousand commands says nothing about how often its one key comes.
const SEEN: u32 = 3;
/// Counts fade in steps of this, in nanoseconds.
const STEP: u64 = 1_000_000_000;

/// The measure that keys are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Commands that named the key.
    Hits,
    /// Bytes of requests and replies.
    Bytes,
    /// Time of execution.
    Cpu,
}

/// One key of a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct TopKey {
    /// Database.
    pub db: usize,
    /// Its first bytes, and how many it has.
    pub key: Vec<u8>,
    /// Bytes of the whole key.
    pub len: usize,
    /// A lower bound of commands, bytes or nanoseconds per second, over the last minute or so.
    pub per_second: f64,
    /// The part of all commands with keys, their bytes or their time, in percent.
    pub share: f64,
}

/// The figures of a command before it is executed as a sample.
pub struct Sample {
    /// Monotonic nanoseconds.
    start: u64,
    /// Bytes of the request.
    input: usize,
    /// Bytes of output before it.
    output: usize,
}

impl Sample {
    /// A command with these arguments begins at `start`, behind this much output.
    #[cold]
    pub fn new(args: &Args<'_>, output: usize, start: u64) -> Self {
        Self { start, input: wire_bytes(args), output }
    }

    /// The command has ended at `now`, with this much output.
    fn ends(&self, now: u64, output: usize) -> Measured {
        Measured {
            now,
            nanos: now.saturating_sub(self.start),
            bytes: (self.input + output.saturating_sub(self.output)) as u64,
        }
    }
}

/// The measurements of a sample.
struct Measured {
    /// When it was over, in monotonic nanoseconds.
    now: u64,
    nanos: u64,
    bytes: u64,
}

/// One thread's counts; its thread adds to them, any thread reads.
#[derive(Default)]
pub struct TopKeys(Mutex<Option<Box<Tally>>>);

struct Tally {
    hits: Sketch,
    bytes: Sketch,
    cpu: Sketch,
    /// Monotonic nanoseconds of the first sample, and up to which counts have faded.
    since: u64,
    faded: u64,
    /// No command has been left out yet.
    exact: bool,
    /// Number of a HOTKEYS session, and its CPU and NET.
    session: Option<(u32, Sketch, Sketch)>,
}

impl Tally {
    fn new(now: u64) -> Self {
        let sketch = || Sketch::new(CAPACITY);
        Self {
            hits: sketch(),
            bytes: sketch(),
            cpu: sketch(),
            since: now,
            faded: now,
            exact: true,
            session: None,
        }
    }

    fn fade(&mut self, now: u64) {
        let passed = now.saturating_sub(self.faded);
        if passed >= STEP {
            let factor = (-(passed as f64) / HALF_LIFE).exp2();
            for sketch in [&mut self.hits, &mut self.bytes, &mut self.cpu] {
                sketch.scale(factor);
            }
            self.faded = now;
        }
    }

    /// Seconds of which the faded counts are the sum.
    fn seconds(&self, now: u64) -> f64 {
        let age = now.saturating_sub(self.since).max(STEP) as f64;
        HALF_LIFE / 1e9 / std::f64::consts::LN_2 * (1.0 - (-age / HALF_LIFE).exp2())
    }
}

/// Bytes of a request of these arguments on the wire.
fn wire_bytes(args: &Args<'_>) -> usize {
    let head = |n: usize| 3 + n.checked_ilog10().unwrap_or(0) as usize + 1;
    args.iter_from(0).map(|a| head(a.len()) + a.len() + 2).sum::<usize>() + head(args.len())
}

impl TopKeys {
    /// Counts a sample of `sampler`: the command, its database and arguments, if there was one, which has
    /// ended at `now` with this much output.
    #[cold]
    pub fn note(
        &self,
        sessions: &HotKeys,
        sampler: &mut Sampler,
        command: Option<(&Row, usize, &Args<'_>)>,
        sample: &Sample,
        (now, output): (u64, usize),
    ) {
        let m = sample.ends(now, output);
        let weight = sampler.taken(m.now) as f64;
        // Topics are named like keys and are none.
        let key_command = command.filter(|(row, ..)| row.group != Group::Topic);
        let Some((row, db, args)) = key_command else { return };
        let mut keys = 0;
        // Without valid keys the command was refused.
        if commands::keys::positions(row, args, &mut |_| keys += 1).is_err() || keys == 0 {
            return;
        }
        let mut tally = self.0.lock();
        let tally = tally.get_or_insert_with(|| Box::new(Tally::new(m.now)));
        tally.fade(m.now);
        tally.exact &= weight <= 1.0;
        let Tally { hits, bytes: by_bytes, cpu, session, .. } = &mut **tally;
        let capacity = sessions.joined(sampler.session);
        if let Some(capacity) = capacity
            && session.as_ref().is_none_or(|s| s.0 != sampler.session)
        {
            let sketch = || Sketch::new(capacity);
            *session = Some((sampler.session, sketch(), sketch()));
        }
        let mut session = session.as_mut().filter(|_| capacity.is_some());
        let (bytes, nanos) = (m.bytes as f64 / keys as f64, m.nanos as f64 / keys as f64);
        let _ = commands::keys::positions(row, args, &mut |i| {
            let key = &args[i];
            let id = stdx::hash::hash64(key) ^ (db as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hits.add(id, db, key, weight);
            by_bytes.add(id, db, key, bytes * weight);
            cpu.add(id, db, key, nanos * weight);
            if let Some((_, by_cpu, by_net)) = &mut session {
                // As in Redis, these are sums over the samples, not estimates of all.
                by_cpu.add(id, db, key, nanos);
                by_net.add(id, db, key, bytes);
            }
        });
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.0.lock() = None;
    }

    fn drop_session(&self) {
        if let Some(tally) = &mut *self.0.lock() {
            tally.session = None;
        }
    }
}

/// Sums over threads.
#[derive(Default)]
struct Merged {
    /// Name, sum, and times counted.
    keys: HashMap<u64, (Name, f64, u32)>,
    total: f64,
}

impl Merged {
    fn add(&mut self, sketch: &Sketch, factor: f64) {
        self.total += sketch.total() * factor;
        for k in sketch.keys() {
            let sum = self.keys.entry(k.id).or_insert_with(|| (k.name.clone(), 0.0, 0));
            sum.1 += k.least * factor;
            sum.2 = sum.2.saturating_add(k.seen);
        }
    }

    /// Forgets keys that were seen less often than this.
    fn at_least(mut self, seen: u32) -> Self {
        self.keys.retain(|_, k| k.2 >= seen);
        self
    }

    /// The heaviest, heaviest first, those alike by name.
    fn top(self, count: usize) -> (Vec<(Name, f64)>, f64) {
        let sums = self.keys.into_values().map(|(name, sum, _)| (name, sum));
        let mut all: Vec<(Name, f64)> = sums.filter(|k| k.1 > 0.0).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.key.cmp(&b.0.key)));
        all.truncate(count);
        (all, self.total)
    }
}

/// The `count` keys that have made most of the work of these threads over the last minute or so, heaviest
/// first. `now` is in monotonic nanoseconds.
pub fn top<'t>(
    threads: impl Iterator<Item = &'t TopKeys>,
    by: By,
    count: usize,
    now: u64,
) -> Vec<TopKey> {
    let mut merged = Merged::default();
    let mut exact = true;
    for keys in threads {
        if let Some(tally) = &mut *keys.0.lock() {
            tally.fade(now);
            exact &= tally.exact;
            let sketch = match by {
                By::Hits => &tally.hits,
                By::Bytes => &tally.bytes,
                By::Cpu => &tally.cpu,
            };
            merged.add(sketch, 1.0 / tally.seconds(now));
        }
    }
    let (top, total) = merged.at_least(if exact { 1 } else { SEEN }).top(count);
    let share = |n: f64| if total > 0.0 { n / total * 100.0 } else { 0.0 };
    top.into_iter()
        .map(|(name, n)| TopKey {
            db: name.db,
            key: name.key,
            len: name.len,
            per_second: n,
            share: share(n),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use resp::Span;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn row(name: &str) -> &'static Row {
        &commands::all().find(|c| c.row.name == name).expect("a command").row
    }

    /// A command that takes a microsecond and answers with 100 bytes.
    fn run(keys: &TopKeys, sessions: &HotKeys, sampler: &mut Sampler, now: u64, words: &[&str]) {
        let row = row(words[0]);
        let mut words: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
        let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
        let args = Args::new(&[], &spans, &mut words);
        sessions.follow(sampler);
        let sample = Sample::new(&args, 7, now - 1000);
        keys.note(sessions, sampler, Some((row, 0, &args)), &sample, (now, 107));
    }

    fn found(top: &[TopKey]) -> Vec<(&[u8], u64)> {
        top.iter().map(|k| (k.key.as_slice(), k.share.round() as u64)).collect()
    }

    #[test]
    fn heavy_keys_of_all_threads_come_first() {
        let threads = [TopKeys::default(), TopKeys::default()];
        let (sessions, mut sampler) = (HotKeys::default(), Sampler::new(1));
        for keys in &threads {
            run(keys, &sessions, &mut sampler, SECOND, &["get", "a"]);
            run(keys, &sessions, &mut sampler, SECOND, &["mget", "a", "b"]);
            // Refused for its arguments, and without keys.
            run(keys, &sessions, &mut sampler, SECOND, &["dbsize"]);
        }
        let by = |by, now| top(threads.iter(), by, 2, now);
        assert_eq!(found(&by(By::Hits, SECOND)), [(b"a".as_slice(), 67), (b"b", 33)]);
        assert_eq!(found(&by(By::Cpu, SECOND)), [(b"a".as_slice(), 75), (b"b", 25)]);
        let (now, later) = (by(By::Hits, SECOND), by(By::Hits, 61 * SECOND));
        assert!(later[0].per_second < now[0].per_second / 10.0, "counts fade");
        threads.iter().for_each(TopKeys::clear);
        assert_eq!(by(By::Bytes, SECOND), []);
    }

    #[test]
    fn a_session_counts_until_it_is_stopped_or_its_time_is_over() {
        let (keys, sessions) = (TopKeys::default(), HotKeys::default());
        let mut sampler = Sampler::new(1);
        let spent = |n| move || Spent { command_nanos: n, ..Spent::default() };
        let selection = Selection { cpu: true, net: true, count: 3, duration_ms: 5000, ratio: 1 };
        assert!(sessions.start(selection, (SECOND, 77), spent(10)));
        assert!(!sessions.start(selection, (SECOND, 78), spent(10)));
        run(&keys, &sessions, &mut sampler, 2 * SECOND, &["get", "a"]);
        let report = |now| sessions.report(std::iter::once(&keys), now, spent(15)).unwrap();
        let r = report(3 * SECOND);
        assert_eq!((r.active, r.started_ms, r.duration_ms), (true, 77, 2000));
        assert_eq!(r.spent.command_nanos, 5);
        assert_eq!((r.by_cpu, r.by_net), (vec![(b"a".to_vec(), 1)], vec![(b"a".to_vec(), 120)]));
        assert!(!sessions.reset(std::iter::once(&keys), 3 * SECOND, spent(15)));
        // Its time is over, and what comes now does not count.
        sessions.tick(9 * SECOND, spent(20));
        run(&keys, &sessions, &mut sampler, 9 * SECOND, &["get", "b"]);
        let r = report(20 * SECOND);
        assert_eq!((r.active, r.duration_ms, r.by_cpu.len()), (false, 5000, 1));
        assert!(!sessions.stop(20 * SECOND, spent(20)));
        assert!(sessions.reset(std::iter::once(&keys), 20 * SECOND, spent(20)));
        assert!(sessions.report(std::iter::once(&keys), 20 * SECOND, spent(20)).is_none());
    }
}
