//! Waits of some microseconds, which tokio's clock, of milliseconds, cannot measure.
//!
//! On Linux a descriptor of the system's timers; elsewhere tokio's clock, which makes of every delay at least
//! a millisecond.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

#[cfg(target_os = "linux")]
mod system {
    use super::{Context, Duration, Poll, io};
    use rustix::fd::OwnedFd;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::time::Instant;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// The time between two writes.
    ///
    /// The timer is set if a command comes before that time is over. Nothing is read of it: an event that came says
    /// that it is time to look at the clock, and a new setting takes back what has not been read.
    #[derive(Debug)]
    pub(crate) struct Delay {
        timer: AsyncFd<OwnedFd>,
        length: Duration,
        /// When the time is over.
        until: Instant,
        is_set: bool,
    }

    impl Delay {
        pub(crate) fn new(length: Duration) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(deprecated, reason = "an OwnedFd is open and the same until it is dropped")]
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Self { timer, length, until: Instant::now(), is_set: false })
        }

        /// Something is written: the time begins.
        pub(crate) fn restart(&mut self) {
            self.until = Instant::now() + self.length;
            self.is_set = false;
        }

        /// Ready when the time is over, or if the system has no timer.
        pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            let now = Instant::now();
            if now >= self.until {
                return Poll::Ready(());
            }
            if !self.is_set {
                let left = self.until - now;
                let value = Itimerspec {
                    it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                    it_value: Timespec {
                        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                        tv_nsec: i64::from(left.subsec_nanos()),
                    },
                };
                let flags = TimerfdTimerFlags::empty();
                if timerfd_settime(self.timer.get_ref(), flags, &value).is_err() {
                    return Poll::Ready(());
                }
                self.is_set = true;
            }
            loop {
                match self.timer.poll_read_ready(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(mut guard)) => guard.clear_ready(),
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                }
                // The event may be one of an earlier setting.
                if Instant::now() >= self.until {
                    return Poll::Ready(());
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Context, Duration, Poll, io};
    use std::future::Future;
    use std::pin::Pin;
    use tokio::time::{Instant, Sleep, sleep_until};

    /// The time between two writes.
    #[derive(Debug)]
    pub(crate) struct Delay {
        length: Duration,
        until: Instant,
        running: Option<Pin<Box<Sleep>>>,
    }

    impl Delay {
        pub(crate) fn new(length: Duration) -> io::Result<Self> {
            Ok(Self { length, until: Instant::now(), running: None })
        }

        /// Something is written: the time begins.
        pub(crate) fn restart(&mut self) {
            self.until = Instant::now() + self.length;
            self.running = None;
        }

        /// Ready when the time is over.
        pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            if Instant::now() >= self.until {
                return Poll::Ready(());
            }
            let until = self.until;
            let running = self.running.get_or_insert_with(|| Box::pin(sleep_until(until)));
            running.as_mut().poll(cx)
        }
    }
}

pub(crate) use system::Delay;
