//! Facts about the process and the machine, for INFO and MEMORY.
//!
//! All are cheap system calls made on request; a value that a system does not report is 0 or empty.

#![expect(
    unsafe_code,
    reason = "uname, getrusage, setpriority, sysconf and raise are plain C calls"
)]

use std::ffi::CStr;
use std::time::Duration;

/// Name, release and machine of the operating system: `Linux 6.1.0 x86_64`.
pub fn os() -> String {
    // SAFETY: all-zero bytes are a valid `utsname`: arrays of characters.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is a valid place for the call to fill.
    if unsafe { libc::uname(&raw mut name) } != 0 {
        return String::new();
    }
    let text = |field: &[libc::c_char]| {
        // SAFETY: uname ends its texts with NUL within the array; the array was zeroed before.
        unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned()
    };
    format!("{} {} {}", text(&name.sysname), text(&name.release), text(&name.machine))
}

/// Processor time of something: in the kernel, and outside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime {
    /// In the kernel.
    pub system: Duration,
    /// Outside it.
    pub user: Duration,
}

fn usage(who: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: all-zero bytes are a valid `rusage`: numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for the call to fill.
    (unsafe { libc::getrusage(who, &raw mut usage) } == 0).then_some(usage)
}

fn cpu(who: libc::c_int) -> CpuTime {
    let time = |t: libc::timeval| {
        let micros = u32::try_from(t.tv_usec).unwrap_or(0);
        Duration::new(u64::try_from(t.tv_sec).unwrap_or(0), micros * 1000)
    };
    usage(who).map_or(CpuTime::default(), |u| CpuTime {
        system: time(u.ru_stime),
        user: time(u.ru_utime),
    })
}

/// The CPU time of the process.
pub fn cpu_self() -> CpuTime {
    cpu(libc::RUSAGE_SELF)
}

/// The CPU time of the process's children that have ended.
pub fn cpu_children() -> CpuTime {
    cpu(libc::RUSAGE_CHILDREN)
}

/// The CPU time of the calling thread, where the system reports it.
pub fn cpu_thread() -> Option<CpuTime> {
    #[cfg(target_os = "linux")]
    return Some(cpu(libc::RUSAGE_THREAD));
    #[cfg(not(target_os = "linux"))]
    None
}

fn page_bytes() -> u64 {
    // SAFETY: takes and returns numbers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Bytes of memory in the machine.
pub fn total_memory() -> u64 {
    // SAFETY: takes and returns numbers.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * page_bytes()
}

/// Bytes of memory that the process occupies in the machine. Linux reports the present value, other
/// systems the peak.
pub fn rss() -> u64 {
    if cfg!(target_os = "linux") {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
        return pages.unwrap_or(0) * page_bytes();
    }
    let most = usage(libc::RUSAGE_SELF).map_or(0, |u| u64::try_from(u.ru_maxrss).unwrap_or(0));
    // Only Apple's systems count in bytes.
    if cfg!(target_vendor = "apple") { most } else { most * 1024 }
}

/// Gives the calling thread the lowest priority, on Linux. Elsewhere a thread has no priority of its own, or the system
/// refuses: it then stays as it is.
pub fn lowest_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: takes numbers; Linux understands 0 as the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 19)
    };
}

/// Stops the process until another one sends it SIGCONT.
pub fn stop() {
    // SAFETY: takes a number; the signal stops all threads, and no handler runs.
    unsafe { libc::raise(libc::SIGSTOP) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells() {
        assert!(os().split(' ').count() >= 3);
        assert!(rss() > 100_000 && rss() < total_memory());
        let before = cpu_self();
        let mut n = 0u64;
        while cpu_self().user + cpu_self().system == before.user + before.system {
            n = std::hint::black_box(n + 1);
        }
        assert!(cpu_self().user >= before.user);
    }
}
