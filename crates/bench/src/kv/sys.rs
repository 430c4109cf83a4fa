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

/// What a thread has had of the processors so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// Nanoseconds on a core.
    pub(crate) ran_ns: u64,
    /// Nanoseconds ready to run, but without a core.
    pub(crate) waited_ns: u64,
}

impl Cpu {
    /// Nanoseconds in which the thread had work to do.
    pub(crate) fn busy_ns(self) -> u64 {
        self.ran_ns + self.waited_ns
    }

    fn since(self, before: Cpu) -> Cpu {
        Cpu {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
        }
    }

    /// The first two numbers of a `schedstat`.
    fn parse(text: &str) -> Option<Cpu> {
        let mut numbers = text.split_whitespace().map(|n| n.parse().ok());
        Some(Cpu { ran_ns: numbers.next()??, waited_ns: numbers.next()?? })
    }
}

/// Nanoseconds that the calling thread was ready but had no core; 0 where /proc does not tell.
pub(crate) fn thread_waited_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat");
    text.ok().and_then(|t| Cpu::parse(&t)).unwrap_or_default().waited_ns
}

/// Every thread of a process, by its number; nothing where /proc does not tell.
pub(crate) fn process_cpu(pid: u32) -> HashMap<String, Cpu> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return HashMap::new();
    };
    let read = |task: io::Result<std::fs::DirEntry>| {
        let task = task.ok()?;
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((task.file_name().to_string_lossy().into_owned(), Cpu::parse(&text)?))
    };
    tasks.filter_map(read).collect()
}

/// Nanoseconds that all threads ran between two readings, and that the busiest was busy.
pub(crate) fn cpu_between(
    before: &HashMap<String, Cpu>,
    after: &HashMap<String, Cpu>,
) -> Option<(u64, u64)> {
    let spent =
        |(task, cpu): (&String, &Cpu)| cpu.since(before.get(task).copied().unwrap_or_default());
    let busiest = after.iter().map(spent).map(Cpu::busy_ns).max()?;
    Some((after.iter().map(spent).map(|cpu| cpu.ran_ns).sum(), busiest))
}

/// Bytes of memory that a process has; nothing where /proc does not tell.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Makes room for `files` open files as far as the system allows; connecting says when it did not
/// suffice.
pub(crate) fn raise_file_limit(files: u64) {
    // SAFETY: the pointer is to a live value; a zeroed rlimit is valid.
    let mut limit = unsafe { std::mem::zeroed::<libc::rlimit>() };
    // SAFETY: as above.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 || limit.rlim_cur >= files {
        return;
    }
    limit.rlim_cur = files.min(limit.rlim_max);
    // SAFETY: the pointer is to a live value, which the call only reads.
    _ = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
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
        /// Whether there are such timers here.
        pub(crate) const WAKES: bool = true;

        /// A timer that reports as `token`.
        pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            // SAFETY: takes no pointers; the result is checked.
            let fd = unsafe {
                libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
            };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor was just opened and no other code has it.
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
    pub(crate) const WAKES: bool = false;

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
    fn the_busiest_thread_is_found_and_new_ones_count() {
        let cpu = |ran_ns, waited_ns| Cpu { ran_ns, waited_ns };
        let at = |all: &[(&str, Cpu)]| all.iter().map(|(t, c)| ((*t).to_owned(), *c)).collect();
        let before = at(&[("1", cpu(100, 10)), ("2", cpu(500, 0))]);
        let after = at(&[("1", cpu(150, 40)), ("2", cpu(560, 0)), ("3", cpu(7, 0))]);
        assert_eq!(cpu_between(&before, &after), Some((117, 80)));
        assert_eq!(cpu_between(&before, &at(&[])), None);
        assert_eq!(Cpu::parse("12 34 5\n"), Some(cpu(12, 34)));
        assert_eq!(Cpu::parse("12"), None);
    }

    #[test]
    fn cpu_is_counted() {
        let cpu = thread_cpu_ns();
        let before = process_cpu(std::process::id());
        let mut x = 1u64;
        while thread_cpu_ns() < cpu + 20_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        if before.is_empty() {
            eprintln!("left out: there is no /proc");
            return;
        }
        // The scheduler may not have written the last tick down yet.
        let (sum, busiest) = cpu_between(&before, &process_cpu(std::process::id())).unwrap();
        assert!(sum > 0 && busiest > 0, "{sum} {busiest}");
    }
}
