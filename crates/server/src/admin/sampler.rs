//! Takes samples of all threads' stacks, 99 times per second of processor time of each.
//!
//! Every thread gets a timer on its own processor clock, whose signal goes to that thread: idle
//! threads are not woken, and each is sampled in proportion to its use (one timer for the process
//! would be served by whichever thread the kernel likes). The handler unwinds the stack with the
//! tables that the compiler writes for it, so that no register is spent on frame pointers, and
//! copies addresses into a log that was allocated beforehand; they are resolved when the profile is
//! over. Without a profile there is no timer, and so no signal.
//!
//! Why not the `pprof` crate: its timer is the process's, its handler hashes into a table under a
//! lock that it skips samples for, and it brings some fifty crates for the work of this file.
//!
//! In the handler nothing is allocated, locked or freed. The unwinder is asynchronously safe where
//! it finds its tables without a lock: with glibc 2.35 and libgcc 12, or later. With older ones it
//! takes the dynamic loader's recursive lock, which only a thread inside `dlopen` holds for long;
//! Apus loads nothing at run time.

#![expect(unsafe_code, reason = "a signal handler and POSIX timers")]

use std::collections::HashMap;
use std::io;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// Samples per second: not a hundred, so as not to keep step with events that happen every 10 ms.
pub(super) const HZ: u64 = 99;
/// Frames of a stack that are kept, innermost first.
const DEPTH: usize = 96;
/// Words of the log at most: 32 MiB.
const WORDS_MAX: usize = 4 << 20;
/// Words of one sample on average, generously.
const WORDS: usize = 40;

/// The log that handlers write to, while there is one.
static LOG: AtomicPtr<Log> = AtomicPtr::new(null_mut());
/// Handlers that may be looking at it.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Whether a profile is being taken.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Samples: for each the thread, the number of frames, and as many addresses.
struct Log {
    words: Box<[AtomicUsize]>,
    next: AtomicUsize,
    lost: AtomicUsize,
}

/// Why no profile is taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// Another one is.
    Busy,
    /// The system does not let it.
    System(io::Error),
}

/// One thread's stack, and how often it was seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stack {
    pub(super) thread: String,
    /// Innermost first. The first is where the thread was, the others are return addresses.
    pub(super) frames: Vec<usize>,
    pub(super) count: u64,
}

/// All that was seen.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) stacks: Vec<Stack>,
    /// Samples for which the log had no room.
    pub(super) lost: u64,
    /// Unix nanoseconds of the beginning.
    pub(super) started: u64,
    pub(super) duration: Duration,
}

/// A profile in the making; dropping it ends it.
pub(super) struct Sampler {
    /// Thread and its timer.
    timers: HashMap<libc::pid_t, Timer>,
    names: HashMap<usize, String>,
    began: std::time::Instant,
    started: u64,
}

struct Timer(libc::timer_t);

// SAFETY: a timer's number may be used by any thread of the process.
unsafe impl Send for Timer {}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: it was created and is deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

impl Sampler {
    /// Begins a profile that is to last so long.
    pub(super) fn start(seconds: u64) -> Result<Self, Refused> {
        if BUSY.swap(true, SeqCst) {
            return Err(Refused::Busy);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let words = (seconds * HZ) as usize * cores * WORDS;
        let words = (words + 16 * WORDS).min(WORDS_MAX);
        let log = Box::new(Log {
            words: (0..words).map(|_| AtomicUsize::new(0)).collect(),
            next: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
        });
        // The unwinder's setup at its first use must not happen in the handler.
        backtrace::trace(|_| true);
        LOG.store(Box::into_raw(log), SeqCst);
        let mut sampler = Self {
            timers: HashMap::new(),
            names: HashMap::new(),
            began: std::time::Instant::now(),
            started: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos() as u64),
        };
        // From here on, dropping the sampler undoes everything.
        install().map_err(Refused::System)?;
        sampler.add_threads();
        if sampler.timers.is_empty() {
            return Err(Refused::System(io::Error::last_os_error()));
        }
        Ok(sampler)
    }

    /// Takes in threads that are not sampled yet.
    pub(super) fn add_threads(&mut self) {
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
        for task in tasks.flatten() {
            let name = task.file_name();
            let Some(tid) = name.to_str().and_then(|n| n.parse::<libc::pid_t>().ok()) else {
                continue;
            };
            if let std::collections::hash_map::Entry::Vacant(place) = self.timers.entry(tid)
                && let Ok(timer) = timer(tid)
            {
                place.insert(timer);
                let comm = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
                self.names.insert(tid as usize, comm.trim().to_owned());
            }
        }
    }

    /// Ends the profile.
    pub(super) fn finish(mut self) -> Samples {
        self.timers.clear();
        let mut samples =
            Samples { started: self.started, duration: self.began.elapsed(), ..Samples::default() };
        if let Some(log) = take_log() {
            samples.lost = log.lost.load(Relaxed) as u64;
            let end = log.next.load(Relaxed).min(log.words.len());
            samples.stacks = stacks_of(&log.words[..end], &self.names);
        }
        samples
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.timers.clear();
        drop(take_log());
        BUSY.store(false, SeqCst);
    }
}

/// Takes the log away from the handlers.
fn take_log() -> Option<Box<Log>> {
    let log = LOG.swap(null_mut(), SeqCst);
    // A handler that has seen the log says so before it looks, and is done in microseconds. One that
    // comes later sees none.
    while INSIDE.load(SeqCst) != 0 {
        std::thread::yield_now();
    }
    // SAFETY: it came from `Box::into_raw`, no other thread can reach it any more, and it is taken
    // once.
    (!log.is_null()).then(|| unsafe { Box::from_raw(log) })
}

/// Adds up equal stacks.
fn stacks_of(words: &[AtomicUsize], names: &HashMap<usize, String>) -> Vec<Stack> {
    let mut counts: HashMap<(usize, Vec<usize>), u64> = HashMap::new();
    let mut at = 0;
    let word = |i: usize| words.get(i).map_or(0, |w| w.load(Relaxed));
    while at + 2 <= words.len() {
        let (tid, depth) = (word(at), word(at + 1));
        let end = at + 2 + depth;
        if depth == 0 || end > words.len() {
            break;
        }
        let frames = (at + 2..end).map(word).collect();
        *counts.entry((tid, frames)).or_default() += 1;
        at = end;
    }
    let name = |tid: usize| names.get(&tid).cloned().unwrap_or_else(|| tid.to_string());
    counts
        .into_iter()
        .map(|((tid, frames), count)| Stack { thread: name(tid), frames, count })
        .collect()
}

/// Installs the handler, for ever: a signal that is late must find one, or it ends the process.
fn install() -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid; the handler has the type that SA_SIGINFO asks for.
    let done = unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGPROF, &raw const action, null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A timer on the processor clock of thread `tid`, which gets its signal.
fn timer(tid: libc::pid_t) -> io::Result<Timer> {
    /// From the kernel's posix-timers.h: the clock of one thread, in scheduler time.
    const PER_THREAD: libc::clockid_t = 4;
    const SCHED: libc::clockid_t = 2;
    let clock = (!tid << 3) | PER_THREAD | SCHED;
    let nanos = (1_000_000_000 / HZ) as libc::c_long;
    // SAFETY: all-zero structures are valid; the pointers are to live values.
    unsafe {
        let mut event: libc::sigevent = zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = tid;
        let mut timer: libc::timer_t = zeroed();
        if libc::timer_create(clock, &raw mut event, &raw mut timer) != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Timer(timer);
        let step = libc::timespec { tv_sec: 0, tv_nsec: nanos };
        let spec = libc::itimerspec { it_interval: step, it_value: step };
        if libc::timer_settime(timer.0, 0, &raw const spec, null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(timer)
    }
}

/// The handler.
extern "C" fn on_signal(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: errno is this thread's; the interrupted code may be about to read it.
    let errno = unsafe { *libc::__errno_location() };
    INSIDE.fetch_add(1, SeqCst);
    let log = LOG.load(SeqCst);
    if !log.is_null() {
        // SAFETY: the thread that takes the log away waits for INSIDE to become 0 before freeing it.
        record(unsafe { &*log }, context);
    }
    INSIDE.fetch_sub(1, SeqCst);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn record(log: &Log, context: *mut libc::c_void) {
    let pc = interrupted(context);
    let mut frames = [0usize; DEPTH];
    frames[0] = pc;
    let mut n = 1;
    // The handler's own frames come first, up to where the thread was interrupted.
    let mut found = false;
    // SAFETY: the function's lock is against other threads that resolve symbols; nothing but
    // unwinding happens here.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            let ip = frame.ip() as usize;
            if found {
                frames[n] = ip;
                n += 1;
            } else {
                found = ip == pc;
            }
            n < DEPTH
        });
    }
    // SAFETY: takes nothing and returns a number.
    let tid = unsafe { libc::gettid() } as usize;
    let at = log.next.fetch_add(2 + n, Relaxed);
    let Some(place) = log.words.get(at..at + 2 + n) else {
        log.lost.fetch_add(1, Relaxed);
        return;
    };
    place[0].store(tid, Relaxed);
    for (word, frame) in place[2..].iter().zip(&frames[..n]) {
        word.store(*frame, Relaxed);
    }
    place[1].store(n, Relaxed);
}

/// Where the thread was when the signal came.
fn interrupted(context: *mut libc::c_void) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    if context.is_null() {
        return 0;
    }
    // SAFETY: with SA_SIGINFO the kernel passes a ucontext.
    let machine = unsafe { &(*context).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return machine.gregs[libc::REG_RIP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return machine.pc as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = machine;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_added_up() {
        let words: Vec<AtomicUsize> = [7, 2, 100, 200, 8, 1, 100, 7, 2, 100, 200, 7, 9, 1]
            .map(AtomicUsize::new)
            .into_iter()
            .collect();
        let names = HashMap::from([(7, "worker".to_owned())]);
        let mut stacks = stacks_of(&words, &names);
        stacks.sort_by_key(|s| s.count);
        let stack = |thread: &str, frames: &[usize], count| Stack {
            thread: thread.into(),
            frames: frames.into(),
            count,
        };
        // The last one was cut off.
        assert_eq!(stacks, [stack("8", &[100], 1), stack("worker", &[100, 200], 2)]);
    }

    /// A stack of one's own is found again, and only one profile is taken at a time.
    #[test]
    fn a_busy_thread_is_seen() {
        #[inline(never)]
        fn spin(until: &AtomicBool) -> u64 {
            let mut n = 0u64;
            while !until.load(Relaxed) {
                n = std::hint::black_box(n.wrapping_add(1));
            }
            n
        }
        static STOP: AtomicBool = AtomicBool::new(false);
        let busy = std::thread::Builder::new()
            .name("busy-thread".into())
            .spawn(|| spin(&STOP))
            .expect("a thread");
        // Other tests' threads are seen, too, and may have most of the processor for a while.
        let mut seen = 0;
        for _ in 0..100 {
            let sampler = Sampler::start(10).expect("timers");
            assert!(matches!(Sampler::start(1), Err(Refused::Busy)));
            // SAFETY: the log is only taken away by `finish`, below.
            let log = unsafe { &*LOG.load(SeqCst) };
            while log.next.load(Relaxed) < 200 {
                std::thread::sleep(Duration::from_millis(20));
            }
            let samples = sampler.finish();
            let profile = super::super::symbols::resolve(&samples);
            let busy = profile.stacks.iter().filter(|s| s.thread == "busy-thread");
            let spinning = busy.filter(|s| s.names().any(|name| name.contains("sampler::spin")));
            seen += spinning.map(|s| s.count).sum::<u64>();
            if seen > 2 {
                break;
            }
        }
        STOP.store(true, Relaxed);
        busy.join().expect("no panic");
        assert!(seen > 2, "seen {seen} times");
        assert!(Sampler::start(1).is_ok(), "the next one may be taken");
    }
}
