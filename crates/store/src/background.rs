//! Threads for work that no client waits for: snapshots, rewrites, freeing.
//!
//! Where such a thread shares a core with one that serves connections, clients wait for it. A high nice
//! value is not enough: a thread that a request wakes takes the core from another thread only at the
//! next tick (Linux with EEVDF: up to 4 ms later), whatever that thread's nice value. So these threads
//! pause ([`Background::yield_point`]) whenever they have worked for `WORK`; a request waits for them no
//! longer than that.
//!
//! How long they pause depends on whether the cores are wanted, which is the case when the process's
//! other threads need the greater part of them, or when a thread gets its core back late. Then these
//! threads work one after the other, and all of them together get a bounded share: [`SHARE`], or
//! [`SHARE_OF_MORE`] while the others need less. A thread that is alone on its core gets it back at
//! once. These threads keep the usual nice value, since they lock shards at times: a nice thread that
//! has lost the core to another process gets it back late.
//!
//! The idle class (`SCHED_IDLE`), which gives way at once, was tried: beside busy threads such a thread
//! gets no time, even while it has shards locked, and only a privileged process can leave the class.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

/// How long a thread works at a time.
const WORK: Duration = Duration::from_micros(100);
/// How long it pauses on a core that no other thread wants.
const PAUSE: Duration = Duration::from_micros(30);
/// The share of all of them together on cores of which the other threads need the greater part.
const SHARE: f64 = 0.4;
/// Their share on cores that are wanted at times.
const SHARE_OF_MORE: f64 = 0.7;
/// A thread that gets the core back this much too late has seen that the core is wanted.
const LATE: Duration = Duration::from_micros(30);
/// After so many pauses without such a delay, the core counts as free.
const CALM: u8 = 20;
/// How often the need of the threads that serve connections is measured.
const WINDOW: Duration = Duration::from_millis(5);

/// State that these threads share.
static PACE: LazyLock<Mutex<Pace>> = LazyLock::new(|| Mutex::new(Pace::new(Instant::now())));

/// The turns on cores that are wanted: one thread at a time per core, and a rest after each.
#[derive(Debug)]
struct Pace {
    cores: u32,
    /// When the next one may work.
    next: Instant,
    /// When the need of the other threads was last measured.
    looked: Instant,
    /// The process's processor time by then.
    all: Duration,
    /// The processor time of these threads since.
    ours: Duration,
    /// The other threads need the greater part of the cores.
    wanted: bool,
}

impl Pace {
    fn new(now: Instant) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let all = cpu_time(ClockId::ProcessCPUTime);
        Self { cores, next: now, looked: now, all, ours: Duration::ZERO, wanted: false }
    }

    /// Notes that a thread of these has used so much processor time; `all` is that of the process.
    fn add(&mut self, now: Instant, worked: Duration, all: impl FnOnce() -> Duration) {
        self.ours += worked;
        let elapsed = now.duration_since(self.looked);
        if elapsed >= WINDOW {
            let all = all();
            let others = all.saturating_sub(self.all).saturating_sub(self.ours);
            self.wanted = others > elapsed * self.cores / 2;
            (self.looked, self.all, self.ours) = (now, all, Duration::ZERO);
        }
    }

    /// How long a thread pauses that has used so much processor time until `now`; `late`: it got the core back late.
    fn pause(&mut self, now: Instant, worked: Duration, late: bool) -> Duration {
        let share = match (self.wanted, late) {
            (true, _) => SHARE,
            (false, true) => SHARE_OF_MORE,
            (false, false) => return PAUSE,
        };
        let turn = worked.max(WORK) / self.cores;
        let at = self.next.max(now + PAUSE);
        self.next = at + turn.div_f64(share);
        at.duration_since(now)
    }
}

fn cpu_time(clock: ClockId) -> Duration {
    let t = clock_gettime(clock);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// The pauses of a thread.
#[derive(Debug)]
pub struct Background {
    /// When it last paused.
    since: Instant,
    /// The thread's processor time by then.
    used: Duration,
    /// Pauses until the core is considered free.
    wanted: u8,
}

impl Background {
    /// For the calling thread.
    pub fn begin() -> Self {
        precise_pauses();
        Self { since: Instant::now(), used: cpu_time(ClockId::ThreadCPUTime), wanted: CALM }
    }

    /// Called often, while the thread has nothing locked: pauses when the thread has worked for long.
    pub fn yield_point(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.since) < WORK {
            return;
        }
        let used = cpu_time(ClockId::ThreadCPUTime);
        let pause = {
            let mut pace = PACE.lock();
            let worked = used.saturating_sub(self.used);
            pace.add(now, worked, || cpu_time(ClockId::ProcessCPUTime));
            pace.pause(now, worked, self.wanted > 0)
        };
        std::thread::sleep(pause);
        self.since = Instant::now();
        self.used = used;
        let late = self.since.duration_since(now).saturating_sub(pause) > LATE;
        self.wanted = if late { CALM } else { self.wanted.saturating_sub(1) };
    }
}

/// Has the system wake the calling thread exactly when its pause is over.
fn precise_pauses() {
    #[cfg(target_os = "linux")]
    // SAFETY: takes numbers only.
    #[expect(unsafe_code, reason = "std has no word for it")]
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1000);
    }
}

/// Makes the calling thread as nice as can be: for work that cannot be interrupted by pauses.
pub(crate) fn step_back() {
    #[cfg(target_os = "linux")]
    // SAFETY: takes numbers only. On Linux, 0 means the calling thread; a failure changes nothing.
    #[expect(unsafe_code, reason = "std has no thread priorities")]
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 19);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pauses_when_it_has_worked_for_long() {
        let mut b = Background::begin();
        b.since = Instant::now() + WORK;
        let before = b.since;
        b.yield_point();
        assert_eq!(b.since, before, "not yet");
        b.since = Instant::now().checked_sub(WORK).expect("the machine has run for so long");
        b.wanted = 1;
        let before = Instant::now();
        b.yield_point();
        assert!(b.since >= before + PAUSE);
        assert!(b.wanted == 0 || b.wanted == CALM);
    }

    #[test]
    fn on_wanted_cores_they_work_one_after_the_other() {
        for (wanted, share) in [(true, SHARE), (false, SHARE_OF_MORE)] {
            take_turns(wanted, share);
        }
    }

    fn take_turns(wanted: bool, share: f64) {
        let now = Instant::now();
        let mut pace = Pace { cores: 1, ..Pace::new(now) };
        assert_eq!(pace.pause(now, WORK, false), PAUSE, "not wanted");
        pace.wanted = wanted;
        // Two threads that have worked at the same time, against the rules.
        let mut at = [now; 2];
        let mut turns = Vec::new();
        for turn in 0..10 {
            let pause = pace.pause(at[turn % 2], WORK, true);
            turns.push(at[turn % 2] + pause);
            at[turn % 2] += pause + WORK;
        }
        for pair in turns.windows(2) {
            assert_eq!(pair[1] - pair[0], WORK.div_f64(share));
        }
    }

    #[test]
    fn cores_that_others_need_are_wanted() {
        let now = Instant::now();
        let mut pace = Pace { cores: 1, ..Pace::new(now) };
        (pace.looked, pace.all, pace.ours) = (now, WINDOW, Duration::ZERO);
        pace.add(now + WINDOW, WINDOW / 2, || 2 * WINDOW);
        assert!(!pace.wanted, "half of it was theirs");
        pace.add(now + 2 * WINDOW, WINDOW / 4, || 3 * WINDOW);
        assert!(pace.wanted);
    }
}
