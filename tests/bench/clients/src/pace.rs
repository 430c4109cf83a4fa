//! A pace: a thread of its own starts commands at random times with a fixed mean (Poisson).
//!
//! So commands come one by one from outside of the client's runtime, as those of a service come from its other
//! threads. The thread polls their futures itself: the client's runtime has the client alone, and only its CPU counts.
//! The thread is of the class SCHED_IDLE and looks at the clock all the time. Any other thread of its core displaces
//! it at once, so it takes no time from the client, and a core that is never idle does not have to be woken up.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is too late by so much is left out: the client cannot keep the pace.
const LATE: Duration = Duration::from_millis(100);

/// The thread; it ends when this is dropped.
pub(crate) struct Pace {
    thread: Option<JoinHandle<()>>,
    number: Arc<AtomicU32>,
    ends: Arc<AtomicBool>,
}

impl Pace {
    /// `call` is given the number of one of so many callers, each of which has one command under way at most; `count`
    /// counts those that are done.
    pub(crate) fn new<Fut: Future<Output = ()> + 'static>(
        rate: u64,
        callers: usize,
        count: Arc<AtomicU64>,
        call: impl Fn(usize) -> Fut + Send + 'static,
    ) -> Self {
        let (number, ends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::spawn({
            let (number, ends) = (number.clone(), ends.clone());
            move || {
                let _within = runtime.enter();
                number.store(be_idle(), Ordering::Relaxed);
                run(rate, callers, &count, &ends, call);
            }
        });
        Self { thread: Some(thread), number, ends }
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

/// A caller's number in a list of those whose futures are to be polled.
struct Ready {
    caller: usize,
    all: Arc<[AtomicU64]>,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.all[self.caller / 64].fetch_or(1 << (self.caller % 64), Ordering::Release);
    }
}

/// Makes this thread one that runs when its core has nothing else to do; its number.
fn be_idle() -> u32 {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter outlives the call, which is about this thread alone.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &none) };
    assert_eq!(set, 0, "the class of a thread");
    // SAFETY: it has no condition.
    u32::try_from(unsafe { libc::gettid() }).expect("positive")
}

fn run<Fut: Future<Output = ()>>(
    rate: u64,
    callers: usize,
    count: &AtomicU64,
    ends: &AtomicBool,
    call: impl Fn(usize) -> Fut,
) {
    let ready: Arc<[AtomicU64]> = (0..callers.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    let waker = |caller| Waker::from(Arc::new(Ready { caller, all: ready.clone() }));
    let wakers: Vec<Waker> = (0..callers).map(waker).collect();
    let mut futures: Vec<Option<Pin<Box<Fut>>>> = (0..callers).map(|_| None).collect();
    let mut poll = |caller: usize, begins: bool| {
        let future = &mut futures[caller];
        if begins {
            if future.is_some() {
                return false;
            }
            *future = Some(Box::pin(call(caller)));
        }
        let mut cx = Context::from_waker(&wakers[caller]);
        if future.as_mut().is_some_and(|running| running.as_mut().poll(&mut cx).is_ready()) {
            *future = None;
            count.fetch_add(1, Ordering::Relaxed);
        }
        true
    };
    let mut due = Due { at: Instant::now(), mean: 1e9 / rate as f64, random: 0x9e37_79b9_7f4a_7c15 };
    let mut next = 0;
    while !ends.load(Ordering::Relaxed) {
        for (i, word) in ready.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut woken = word.swap(0, Ordering::Acquire);
            while woken != 0 {
                poll(64 * i + woken.trailing_zeros() as usize, false);
                woken &= woken - 1;
            }
        }
        let now = Instant::now();
        if now < due.at {
            continue;
        }
        if now - due.at > LATE {
            due.at = now;
        }
        // The next one whose last command is done; with none, the command comes late.
        for _ in 0..callers {
            next = (next + 1) % callers;
            if poll(next, true) {
                due.advance();
                break;
            }
        }
    }
}

/// The time of the next command.
struct Due {
    at: Instant,
    /// Nanoseconds.
    mean: f64,
    random: u64,
}

impl Due {
    fn advance(&mut self) {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let part = ((self.random >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        self.at += Duration::from_nanos((-part.ln() * self.mean) as u64);
    }
}

/// Nanoseconds of CPU that the threads of this process have used, without that of the pace.
pub(crate) fn cpu_of_others(pace: Option<&Pace>) -> u64 {
    let own = pace.map_or(0, |pace| pace.number.load(Ordering::Relaxed)).to_string();
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let task = task.ok().filter(|task| task.file_name().to_str() != Some(&own))?;
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.filter_map(of).sum()
}
