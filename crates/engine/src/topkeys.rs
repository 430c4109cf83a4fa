//! The keys that make the work: always-on sampling for APUS.TOPKEYS, and the sessions of HOTKEYS.
//!
//! One command in many ([`Probe`]) is executed by itself and measured: how long it took, how many
//! bytes it brought and was answered with. Its keys are counted in the thread's own [`Sketch`]es,
//! which are merged when a client asks. Counts fade with a half-life of a minute, so the figures are
//! about the present. A session of HOTKEYS makes the same probes more frequent, as its SAMPLE says,
//! and counts into sketches of its own that do not fade.
//!
//! Commands of a transaction are looked at one by one; those of a script are not.

mod probe;
mod session;
mod sketch;

use std::collections::HashMap;

use commands::row::Group;
use parking_lot::Mutex;
use resp::Args;

pub(crate) use probe::Probe;
pub use session::{Asked, HotKeys};
use sketch::{Name, Sketch};

use crate::engine::Engine;
use crate::table::Cmd;
use crate::thread::Thread;

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
pub(crate) struct Shot {
    /// Monotonic nanoseconds.
    start: u64,
    /// Bytes of the request.
    input: usize,
    /// Bytes of output before it.
    output: usize,
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
    /// Counts a sample of `probe`.
    fn note(
        &self,
        engine: &Engine,
        probe: &mut Probe,
        command: Option<(&Cmd, usize, &Args<'_>)>,
        m: &Measured,
    ) {
        let weight = probe.taken(m.now) as f64;
        // Topics are named like keys and are none.
        let key_command = command.filter(|(cmd, ..)| cmd.row.group != Group::Topic);
        let Some((cmd, db, args)) = key_command else { return };
        let mut keys = 0;
        // Without valid keys the command was refused.
        if commands::keys::positions(cmd.row, args, &mut |_| keys += 1).is_err() || keys == 0 {
            return;
        }
        let mut tally = self.0.lock();
        let tally = tally.get_or_insert_with(|| Box::new(Tally::new(m.now)));
        tally.fade(m.now);
        tally.exact &= weight <= 1.0;
        let Tally { hits, bytes: by_bytes, cpu, session, .. } = &mut **tally;
        let capacity = engine.hotkeys.joined(probe.session);
        if let Some(capacity) = capacity
            && session.as_ref().is_none_or(|s| s.0 != probe.session)
        {
            let sketch = || Sketch::new(capacity);
            *session = Some((probe.session, sketch(), sketch()));
        }
        let mut session = session.as_mut().filter(|_| capacity.is_some());
        let (bytes, nanos) = (m.bytes as f64 / keys as f64, m.nanos as f64 / keys as f64);
        let _ = commands::keys::positions(cmd.row, args, &mut |i| {
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
    pub(crate) fn clear(&self) {
        *self.0.lock() = None;
    }

    fn drop_session(&self) {
        if let Some(tally) = &mut *self.0.lock() {
            tally.session = None;
        }
    }
}

impl Thread {
    /// Before a command that is looked at.
    #[cold]
    pub(crate) fn aim(&self, engine: &Engine, args: &Args<'_>, output: usize) -> Shot {
        Shot { input: wire_bytes(args), output, start: engine.clock.monotonic_ns() }
    }

    /// Before a command of a transaction: as [`aim`](Self::aim), if it is this one's turn.
    pub(crate) fn aim_inner(
        &mut self,
        engine: &Engine,
        args: &Args<'_>,
        output: usize,
    ) -> Option<Shot> {
        let turn = self.probe.ahead(1) == 0;
        if !turn {
            self.probe.pass(1);
        }
        turn.then(|| self.aim(engine, args, output))
    }

    /// After the command; `output` is the output so far.
    #[cold]
    pub(crate) fn shoot(
        &mut self,
        engine: &Engine,
        command: Option<(&Cmd, usize, &Args<'_>)>,
        shot: Shot,
        output: usize,
    ) {
        let m = Measured {
            now: self.mono,
            nanos: self.mono.saturating_sub(shot.start),
            bytes: (shot.input + output.saturating_sub(shot.output)) as u64,
        };
        self.worker.top_keys.note(engine, &mut self.probe, command, &m);
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

impl Engine {
    /// The `count` keys that have made most of the work over the last minute or so, heaviest
    /// first.
    pub fn top_keys(&self, by: By, count: usize) -> Vec<TopKey> {
        let now = self.clock.monotonic_ns();
        let mut merged = Merged::default();
        let mut exact = true;
        for w in self.workers() {
            if let Some(tally) = &mut *w.top_keys.0.lock() {
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
}
