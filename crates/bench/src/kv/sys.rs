//! What only the operating system tells: CPU time of threads and processes, and timers finer than
//! the milliseconds of a poll.

#![expect(unsafe_code, reason = "thread clocks and timer descriptors exist only in libc")]

use std::collections::HashMap;
use std::io;

/// CPU nanoseconds of the calling thread; 0 where the clock is missing.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing during the call.
    match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } {
        0 => time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
        _ => 0,
    }
}

/// CPU nanoseconds of every thread of a process so far; nothing where /proc does not tell.
pub(crate) fn process_cpu_ns(pid: u32) -> HashMap<String, u64> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return HashMap::new();
    };
    let read = |task: io::Result<std::fs::DirEntry>| {
        let task = task.ok()?;
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let ns = text.split_whitespace().next()?.parse().ok()?;
        Some((task.file_name().to_string_lossy().into_owned(), ns))
    };
    tasks.filter_map(read).collect()
}

/// The sum and the largest of what threads took between two readings.
pub(crate) fn cpu_between(
    before: &HashMap<String, u64>,
    after: &HashMap<String, u64>,
) -> Option<(u64, u64)> {
    let spent = |(task, ns): (&String, &u64)| ns.saturating_sub(*before.get(task).unwrap_or(&0));
    let max = after.iter().map(spent).max()?;
    Some((after.iter().map(spent).sum(), max))
}

#[cfg(target_os = "linux")]
pub(crate) use linux::Timer;

#[cfg(target_os = "linux")]
mod linux {
    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    /// Wakes a poll after a time in nanoseconds, once per [`Timer::arm`].
    pub(crate) struct Timer(OwnedFd);

    impl Timer {
        /// A timer that reports as `token`.
        pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            // SAFETY: takes no pointers; the result is checked.
            let fd = unsafe {
                libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
            };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor was just opened and nobody else has it.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Timer(fd))
        }

        /// Wakes the poll in `ns` nanoseconds, whatever was armed before. Setting the time also
        /// takes back what has expired, so that the timer need not be read.
        pub(crate) fn arm(&self, ns: u64) -> io::Result<()> {
            let ns = ns.max(1);
            let time = libc::itimerspec {
                it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: libc::timespec {
                    tv_sec: (ns / 1_000_000_000) as libc::time_t,
                    tv_nsec: (ns % 1_000_000_000) as libc::c_long,
                },
            };
            // SAFETY: `time` is valid for reading, the descriptor is open, no old value is asked.
            match unsafe {
                libc::timerfd_settime(self.0.as_raw_fd(), 0, &time, std::ptr::null_mut())
            } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

/// Elsewhere a poll's own milliseconds have to do.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Timer;

#[cfg(not(target_os = "linux"))]
impl Timer {
    pub(crate) fn new(_: &mio::Registry, _: mio::Token) -> io::Result<Self> {
        Ok(Timer)
    }

    pub(crate) fn arm(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_counted() {
        let cpu = thread_cpu_ns();
        let before = process_cpu_ns(std::process::id());
        let mut x = 1u64;
        while thread_cpu_ns() < cpu + 20_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        if before.is_empty() {
            eprintln!("left out: there is no /proc");
            return;
        }
        // The scheduler may not have written the last tick down yet.
        let (sum, max) = cpu_between(&before, &process_cpu_ns(std::process::id())).unwrap();
        assert!(sum >= max && max > 0, "{sum} {max}");
    }
}
