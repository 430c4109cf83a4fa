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
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A delay that can be waited for again and again.
    #[derive(Debug)]
    pub(crate) struct Delay {
        timer: AsyncFd<OwnedFd>,
        length: Itimerspec,
        is_running: bool,
    }

    impl Delay {
        pub(crate) fn new(length: Duration) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let length = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec {
                    tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: i64::from(length.subsec_nanos()),
                },
            };
            #[expect(deprecated, reason = "an OwnedFd is open and the same until it is dropped")]
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Self { timer, length, is_running: false })
        }

        /// Starts the delay with the first call; ready when it is over, or if the system has no timer.
        pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            if !self.is_running {
                if timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &self.length)
                    .is_err()
                {
                    return Poll::Ready(());
                }
                self.is_running = true;
            }
            loop {
                let Poll::Ready(ready) = self.timer.poll_read_ready(cx) else {
                    return Poll::Pending;
                };
                let Ok(mut guard) = ready else { break };
                let read = |timer: &AsyncFd<OwnedFd>| {
                    rustix::io::read(timer, &mut [0; 8]).map_err(io::Error::from)
                };
                if guard.try_io(read).is_ok() {
                    break;
                }
            }
            self.is_running = false;
            Poll::Ready(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Context, Duration, Poll, io};
    use std::future::Future;
    use std::pin::Pin;
    use tokio::time::{Sleep, sleep};

    /// A delay that can be waited for again and again.
    #[derive(Debug)]
    pub(crate) struct Delay {
        length: Duration,
        running: Option<Pin<Box<Sleep>>>,
    }

    impl Delay {
        pub(crate) fn new(length: Duration) -> io::Result<Self> {
            Ok(Self { length, running: None })
        }

        /// Starts the delay with the first call; ready when it is over.
        pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            let running = self.running.get_or_insert_with(|| Box::pin(sleep(self.length)));
            if running.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.running = None;
            Poll::Ready(())
        }
    }
}

pub(crate) use system::Delay;
