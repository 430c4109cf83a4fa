//! HOTKEYS: one session at a time that counts keys by time and by bytes until it is stopped.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::{Merged, Sampler, TopKeys};

/// The arguments of HOTKEYS START.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// CPU: rank keys by time.
    pub cpu: bool,
    /// NET: rank keys by bytes.
    pub net: bool,
    /// Keys in the answer.
    pub count: usize,
    /// Milliseconds after which it stops; 0 for never.
    pub duration_ms: u64,
    /// One command of this many is counted.
    pub ratio: u64,
}

/// The answer of HOTKEYS GET.
#[derive(Clone, Debug)]
pub struct Report {
    /// The session is on.
    pub active: bool,
    /// The arguments that it was started with.
    pub selection: Selection,
    /// When it was started, in Unix milliseconds.
    pub started_ms: i64,
    /// Its length so far.
    pub duration_ms: u64,
    /// The time and traffic of the server meanwhile.
    pub spent: Spent,
    /// Sum of the bytes that were counted.
    pub net_total: u64,
    /// Keys and microseconds.
    pub by_cpu: Vec<(Vec<u8>, u64)>,
    /// Keys and bytes.
    pub by_net: Vec<(Vec<u8>, u64)>,
}

/// The time and traffic of the whole server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Executing commands, in nanoseconds.
    pub command_nanos: u64,
    /// Received and sent.
    pub net_bytes: u64,
    /// Processor time of the process.
    pub cpu_user: Duration,
    /// The same in the kernel.
    pub cpu_system: Duration,
}

impl Spent {
    fn since(self, then: Self) -> Self {
        // CONFIG RESETSTAT resets the totals.
        Self {
            command_nanos: self.command_nanos.saturating_sub(then.command_nanos),
            net_bytes: self.net_bytes.saturating_sub(then.net_bytes),
            cpu_user: self.cpu_user.saturating_sub(then.cpu_user),
            cpu_system: self.cpu_system.saturating_sub(then.cpu_system),
        }
    }
}

struct Session {
    number: u32,
    selection: Selection,
    started_ms: i64,
    start_ns: u64,
    before: Spent,
    /// When it has been stopped: its length in milliseconds, and the totals.
    end: Option<(u64, Spent)>,
}

impl Session {
    fn age_ms(&self, now: u64) -> u64 {
        now.saturating_sub(self.start_ns) / 1_000_000
    }
}

/// The session of the server. Threads look at one number per batch to see that it has changed.
#[derive(Default)]
pub struct HotKeys {
    /// Grows with every start and stop; odd while a session is on.
    turn: AtomicU32,
    /// One in so many, and counters per thread, of the session that is on.
    ratio: AtomicU32,
    capacity: AtomicU32,
    session: Mutex<Option<Session>>,
}

impl HotKeys {
    /// Makes a thread's sampler take part in the session that is on.
    #[inline]
    pub fn follow(&self, sampler: &mut Sampler) {
        let turn = self.turn.load(Relaxed);
        if sampler.session != turn {
            self.join(sampler, turn);
        }
    }

    #[cold]
    fn join(&self, sampler: &mut Sampler, turn: u32) {
        // Under the lock, so that the ratio is that of this turn or of a later one.
        let _session = self.session.lock();
        sampler.session = turn;
        sampler.fix((turn % 2 == 1).then(|| u64::from(self.ratio.load(Relaxed))));
    }

    /// Counters per thread, if the session with this number is on.
    pub(super) fn joined(&self, number: u32) -> Option<usize> {
        (number % 2 == 1 && number == self.turn.load(Relaxed))
            .then(|| self.capacity.load(Relaxed) as usize)
    }

    /// Stops a session whose time is over. `now` is in monotonic nanoseconds; `spent` says what the server
    /// has spent so far.
    pub fn tick(&self, now: u64, spent: impl Fn() -> Spent) {
        if self.turn.load(Relaxed) % 2 == 1 {
            let mut session = self.session.lock();
            let over = session.as_ref().is_some_and(|s| {
                s.selection.duration_ms != 0 && s.age_ms(now) >= s.selection.duration_ms
            });
            if over {
                self.end(now, &spent, &mut session);
            }
        }
    }

    fn end(&self, now: u64, spent: &impl Fn() -> Spent, session: &mut Option<Session>) -> bool {
        let Some(s) = session.as_mut().filter(|s| s.end.is_none()) else { return false };
        let age = s.age_ms(now);
        // A delay by a busy moment does not count.
        let age = if s.selection.duration_ms == 0 { age } else { age.min(s.selection.duration_ms) };
        s.end = Some((age, spent().since(s.before)));
        self.turn.fetch_add(1, Relaxed);
        true
    }

    /// Begins a session; false when one is on. `now` as in [`tick`](Self::tick), and Unix milliseconds.
    pub fn start(
        &self,
        selection: Selection,
        (now, now_ms): (u64, i64),
        spent: impl Fn() -> Spent,
    ) -> bool {
        self.tick(now, &spent);
        let mut session = self.session.lock();
        if session.as_ref().is_some_and(|s| s.end.is_none()) {
            return false;
        }
        self.ratio.store(u32::try_from(selection.ratio).unwrap_or(u32::MAX), Relaxed);
        // More than are answered, or light keys would push each other out.
        self.capacity.store(selection.count as u32 * 10, Relaxed);
        let number = self.turn.fetch_add(1, Relaxed).wrapping_add(1);
        *session = Some(Session {
            number,
            selection,
            started_ms: now_ms,
            start_ns: now,
            before: spent(),
            end: None,
        });
        true
    }

    /// Ends the session; false when none is on.
    pub fn stop(&self, now: u64, spent: impl Fn() -> Spent) -> bool {
        self.tick(now, &spent);
        self.end(now, &spent, &mut self.session.lock())
    }

    /// Forgets the session and what `threads` have counted for it; false while it is on.
    pub fn reset<'t>(
        &self,
        threads: impl Iterator<Item = &'t TopKeys>,
        now: u64,
        spent: impl Fn() -> Spent,
    ) -> bool {
        self.tick(now, spent);
        let mut session = self.session.lock();
        if session.as_ref().is_some_and(|s| s.end.is_none()) {
            return false;
        }
        *session = None;
        threads.for_each(TopKeys::drop_session);
        true
    }

    /// The session's findings so far, if there is or was one.
    pub fn report<'t>(
        &self,
        threads: impl Iterator<Item = &'t TopKeys>,
        now: u64,
        spent: impl Fn() -> Spent,
    ) -> Option<Report> {
        self.tick(now, &spent);
        let session = self.session.lock();
        let s = session.as_ref()?;
        let (mut cpu, mut net) = (Merged::default(), Merged::default());
        for keys in threads {
            if let Some(tally) = &*keys.0.lock()
                && let Some((number, by_cpu, by_net)) = &tally.session
                && *number == s.number
            {
                cpu.add(by_cpu, 1.0);
                net.add(by_net, 1.0);
            }
        }
        let (duration_ms, spent) =
            s.end.unwrap_or_else(|| (s.age_ms(now), spent().since(s.before)));
        let list = |merged: Merged, unit: f64| {
            let (top, total) = merged.top(s.selection.count);
            // Something that was counted is not nothing.
            let whole = |n: f64| (n / unit).round().max(1.0) as u64;
            (top.into_iter().map(|(n, sum)| (n.key, whole(sum))).collect(), (total / unit) as u64)
        };
        let (by_cpu, _) = list(cpu, 1000.0);
        let (by_net, net_total) = list(net, 1.0);
        Some(Report {
            active: s.end.is_none(),
            selection: s.selection,
            started_ms: s.started_ms,
            duration_ms,
            spent,
            net_total,
            by_cpu,
            by_net,
        })
    }
}
