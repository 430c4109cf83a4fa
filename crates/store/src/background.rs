//! Threads whose work nobody waits for: snapshots, rewrites, freeing.
//!
//! Where such a thread shares a core with one that serves connections, clients wait for it. To make
//! it nice is not enough: a thread that wakes up, because a request has come, takes the core from
//! another one at the next tick only (Linux with EEVDF: up to 4 ms later), however nice that is. So
//! these threads pause ([`Background::breathe`]) whenever they have worked for `WORK`, and that is
//! how long a request waits for them.
//!
//! How long they pause depends on whether the core is wanted: a thread that is alone gets it back at
//! once. They are not nice, since they hold shards now and then: who is nice, and has lost the core
//! to another process, gets it back late.
//!
//! The idle class (`SCHED_IDLE`), which gives way at once, was tried: among others that are busy it
//! gets nothing, shards that it holds included, and only a privileged process can leave it.

use std::time::{Duration, Instant};

/// How long a thread works at a time.
const WORK: Duration = Duration::from_micros(200);
/// How long it pauses on a core that nobody else wants, and on one that is wanted.
const PAUSE: (Duration, Duration) = (Duration::from_micros(30), Duration::from_micros(200));
/// Having got the core back so much too late, a thread has seen that it is wanted.
const LATE: Duration = Duration::from_micros(30);
/// After so many pauses without that it is not wanted any more.
const CALM: u8 = 20;

/// The pauses of a thread.
#[derive(Debug)]
pub struct Background {
    /// When it last paused.
    since: Instant,
    /// Pauses until the core is taken for free.
    wanted: u8,
}

impl Background {
    /// For the calling thread.
    pub fn begin() -> Self {
        precise_pauses();
        Self { since: Instant::now(), wanted: CALM }
    }

    /// Called often, where the thread holds nothing: pauses when it has worked for long.
    pub fn breathe(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.since) < WORK {
            return;
        }
        let pause = if self.wanted > 0 { PAUSE.1 } else { PAUSE.0 };
        std::thread::sleep(pause);
        self.since = Instant::now();
        let late = self.since.duration_since(now).saturating_sub(pause) > LATE;
        self.wanted = if late { CALM } else { self.wanted.saturating_sub(1) };
    }
}

/// Has the system wake the calling thread when its pause is over, not some time later.
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
        let began = b.since;
        b.since = Instant::now() + WORK;
        let before = b.since;
        b.breathe();
        assert_eq!(b.since, before, "not yet");
        b.since = began.checked_sub(WORK).unwrap_or(began);
        b.wanted = 1;
        let before = b.since;
        b.breathe();
        assert!(b.since >= before + WORK);
        assert!(b.wanted == 0 || b.wanted == CALM);
    }
}
