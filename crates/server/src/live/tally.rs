//! What only the metrics with Centrifugo's names tell: connections and messages by transport, ends and errors by code,
//! times by method.
//!
//! Each thread has a [`Tally`] of its own. What happens with every message is a [`Count`], which its thread changes
//! without an instruction that locks. All else is kept by its labels behind the tally's lock, which of all
//! other threads only `/metrics` takes; times are measured while `prometheus.enabled` is on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use parking_lot::Mutex;

use super::hub::wire::Transport;
use super::proxies::STEPS_MS;

/// Transports.
pub(crate) const KINDS: usize = Transport::ALL.len();
/// Whether clients have told a name and a version: which they are is not counted, since clients can make names up.
pub(crate) const NAMES: usize = 4;
/// Upper ends of the steps of a publication's way to the subscribers of a thread, in microseconds.
pub(crate) const BROADCAST_US: [u64; 19] = [
    1, 5, 10, 50, 100, 250, 500, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];
/// The same of pings and their answers.
pub(crate) const PING_US: [u64; 15] = [
    100, 250, 500, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];
/// The same of the time from a publication to its delivery.
pub(crate) const LAG_US: [u64; 12] = [
    1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000,
];
/// Finer steps, for quantiles: four for each power of two of microseconds.
const FINE: usize = 128;

/// A count that one thread changes and others read.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Messages and their bytes, without what frames them.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) messages: Count,
    pub(crate) bytes: Count,
}

impl Traffic {
    pub(crate) fn add(&self, messages: u64, bytes: u64) {
        self.messages.add(messages);
        self.bytes.add(bytes);
    }
}

/// Times that one thread counts in steps.
#[derive(Debug)]
pub(crate) struct Steps<const N: usize> {
    ends_us: [u64; N],
    within: [Count; N],
    n: Count,
    nanos: Count,
}

impl<const N: usize> Steps<N> {
    fn new(ends_us: [u64; N]) -> Self {
        let within = std::array::from_fn(|_| Count::default());
        Self { ends_us, within, n: Count::default(), nanos: Count::default() }
    }

    pub(crate) fn add(&self, took: Duration) {
        let micros = took.as_nanos().div_ceil(1000) as u64;
        if let Some(step) = self.ends_us.iter().position(|end| micros <= *end) {
            self.within[step].add(1);
        }
        self.n.add(1);
        self.nanos.add(took.as_nanos() as u64);
    }

    /// Adds them to the sum over threads: the counts of the steps, of all, and the seconds.
    pub(crate) fn add_to(&self, (within, n, seconds): &mut (Vec<u64>, u64, f64)) {
        within.resize(N, 0);
        for (sum, count) in within.iter_mut().zip(&self.within) {
            *sum += count.get();
        }
        *n += self.n.get();
        *seconds += self.nanos.get() as f64 / 1e9;
    }
}

/// Beginnings and ends.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    pub(crate) begun: Count,
    pub(crate) ended: Count,
}

/// What is pushed to the subscribers of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Publication,
    Join,
    Leave,
}

impl Pushed {
    pub(crate) const ALL: [Self; 3] = [Self::Publication, Self::Join, Self::Leave];

    /// The name of such a message between servers; to clients it is `push_…`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Publication => "publication",
            Self::Join => "join",
            Self::Leave => "leave",
        }
    }
}

/// What a thread counts in one namespace.
#[derive(Debug)]
pub(crate) struct Space {
    /// Messages of channels that have come, and what of them was sent, by what they are.
    pub(crate) came: [Count; 3],
    pub(crate) sent: [[Traffic; KINDS]; 3],
    /// Publications that a subscriber's filter has left out, each.
    pub(crate) filtered: Count,
    /// Subscriptions, by whether their client has a name.
    pub(crate) subscriptions: [Spans; 2],
    /// Channels that the thread has followed.
    pub(crate) followed: Spans,
    pub(crate) broadcasts: Steps<{ BROADCAST_US.len() }>,
}

impl Default for Space {
    fn default() -> Self {
        Self {
            came: Default::default(),
            sent: Default::default(),
            filtered: Count::default(),
            subscriptions: Default::default(),
            followed: Spans::default(),
            broadcasts: Steps::new(BROADCAST_US),
        }
    }
}

impl Space {
    /// Bytes that were sent over a transport.
    pub(crate) fn sent(&self, what: Pushed, kind: Transport) -> &Traffic {
        &self.sent[what as usize][kind as usize]
    }
}

/// What is counted by labels. A namespace is the last of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Messages of a transport, by what they are.
    Sent(Transport, &'static str),
    Received(Transport, &'static str),
    /// Commands of clients, by method.
    Command(&'static str, Arc<str>),
    /// The errors among them, by code.
    Error(&'static str, u32, Arc<str>),
    Unsubscribed(u32, Arc<str>),
    Disconnected(u32),
    /// What was asked of the store.
    Action(&'static str, Arc<str>),
    /// Messages between servers.
    Told(&'static str, Arc<str>),
    Heard(&'static str),
    /// Requests of the API, by protocol and method; and the errors among them, by code.
    Api(&'static str, &'static str),
    ApiError(&'static str, &'static str, u32),
    Survey(&'static str),
}

/// What is counted with a key.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) n: u64,
    /// Bytes or nanoseconds.
    pub(crate) sum: u64,
    /// Times within each of [`STEPS_MS`], and in finer steps; empty where no time is.
    within: Vec<u64>,
    fine: Vec<u64>,
}

impl Measured {
    const NONE: Self = Self { n: 0, sum: 0, within: Vec::new(), fine: Vec::new() };

    fn add_time(&mut self, took: Duration) {
        self.n += 1;
        self.sum += took.as_nanos() as u64;
        self.within.resize(STEPS_MS.len(), 0);
        if let Some(step) = STEPS_MS.iter().position(|ms| took <= Duration::from_millis(*ms)) {
            self.within[step] += 1;
        }
        self.fine.resize(FINE, 0);
        self.fine[fine_of(took.as_micros() as u64)] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        for (sum, more) in [(&mut self.within, &other.within), (&mut self.fine, &other.fine)] {
            sum.resize(sum.len().max(more.len()), 0);
            sum.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.sum as f64 / 1e9
    }

    /// How many took as long as each of [`STEPS_MS`] at most.
    pub(crate) fn within(&self) -> Vec<u64> {
        let mut seen = 0;
        let all = self.within.iter().copied().chain(std::iter::repeat(0));
        let add = |n| {
            seen += n;
            seen
        };
        all.take(STEPS_MS.len()).map(add).collect()
    }

    /// The seconds that a part of all stay within, about: a fifth more at most.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let wanted = ((part * self.n as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let all = self.fine.iter().position(|n| {
            seen += n;
            seen >= wanted
        });
        all.map_or(f64::NAN, |at| end_of_fine(at) as f64 / 1e6)
    }
}

/// The finer step of a time in microseconds.
fn fine_of(micros: u64) -> usize {
    let micros = micros.max(1);
    let power = micros.ilog2();
    let quarter = if power >= 2 { micros >> (power - 2) & 3 } else { micros << (2 - power) & 3 };
    (power as usize * 4 + quarter as usize).min(FINE - 1)
}

/// The upper end of a finer step, in microseconds.
fn end_of_fine(step: usize) -> u64 {
    let (power, quarter) = (step / 4, step as u64 % 4);
    ((5 + quarter) << power).div_ceil(4)
}

/// Counts of one thread. See the module's text.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Connections, by transport and by what their clients have told of themselves.
    pub(crate) connections: [[Spans; NAMES]; KINDS],
    pub(crate) pings: [Steps<{ PING_US.len() }>; KINDS],
    pub(crate) lag: Steps<{ LAG_US.len() }>,
    spaces: Mutex<BTreeMap<String, Arc<Space>>>,
    others: Mutex<BTreeMap<Key, Measured>>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            connections: Default::default(),
            pings: std::array::from_fn(|_| Steps::new(PING_US)),
            lag: Steps::new(LAG_US),
            spaces: Mutex::default(),
            others: Mutex::default(),
        }
    }
}

impl Tally {
    /// The counts of a namespace.
    pub(crate) fn space(&self, namespace: &str) -> Arc<Space> {
        let mut all = self.spaces.lock();
        match all.get(namespace) {
            Some(there) => Arc::clone(there),
            None => Arc::clone(all.entry(namespace.to_owned()).or_default()),
        }
    }

    pub(crate) fn count(&self, key: Key) {
        self.others.lock().entry(key).or_insert(Measured::NONE).n += 1;
    }

    /// Counts messages of so many bytes.
    pub(crate) fn message(&self, key: Key, bytes: usize) {
        let mut all = self.others.lock();
        let measured = all.entry(key).or_insert(Measured::NONE);
        measured.n += 1;
        measured.sum += bytes as u64;
    }

    /// Counts a request of the API.
    pub(crate) fn api(
        &self,
        protocol: &'static str,
        method: &'static str,
        error: Option<u32>,
        took: Duration,
    ) {
        if let Some(code) = error {
            self.count(Key::ApiError(protocol, method, code));
        }
        self.time(Key::Api(protocol, method), took);
    }

    pub(crate) fn time(&self, key: Key, took: Duration) {
        self.others.lock().entry(key).or_insert(Measured::NONE).add_time(took);
    }
}

/// The counts of several threads as one.
pub(crate) struct Sum {
    pub(crate) threads: Vec<Arc<Tally>>,
    pub(crate) spaces: BTreeMap<String, Vec<Arc<Space>>>,
    pub(crate) others: BTreeMap<Key, Measured>,
}

impl Sum {
    pub(crate) fn of(threads: Vec<Arc<Tally>>) -> Self {
        let mut spaces: BTreeMap<String, Vec<Arc<Space>>> = BTreeMap::new();
        let mut others: BTreeMap<Key, Measured> = BTreeMap::new();
        for tally in &threads {
            for (name, space) in &*tally.spaces.lock() {
                spaces.entry(name.clone()).or_default().push(Arc::clone(space));
            }
            for (key, measured) in &*tally.others.lock() {
                others.entry(key.clone()).or_insert(Measured::NONE).add(measured);
            }
        }
        Self { threads, spaces, others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_a_step_that_ends_behind_it() {
        for micros in (1..5000).chain([1 << 20, 3_000_000, u32::MAX.into(), u64::MAX / 2]) {
            let step = fine_of(micros);
            assert!(step == FINE - 1 || end_of_fine(step) >= micros, "{micros} in {step}");
            assert!(
                step == 0 || step == FINE - 1 || end_of_fine(step) <= micros * 5 / 4 + 1,
                "{micros}"
            );
        }
    }

    #[test]
    fn threads_are_summed() {
        let threads: Vec<Arc<Tally>> = (0..2).map(|_| Arc::default()).collect();
        let key = || Key::Command("publish", "chat".into());
        for (tally, ms) in threads.iter().zip([4, 400]) {
            tally.time(key(), Duration::from_millis(ms));
            tally.message(Key::Sent(Transport::Sse, "connect"), 10);
            tally.space("chat").sent(Pushed::Join, Transport::Sse).add(1, 20);
        }
        let sum = Sum::of(threads);
        let times = &sum.others[&key()];
        assert_eq!((times.n, times.within()), (2, vec![1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]));
        assert!((0.404..0.405).contains(&times.seconds()), "{}", times.seconds());
        assert!((0.004..0.005).contains(&times.quantile(0.5)), "{}", times.quantile(0.5));
        assert!((0.4..0.5).contains(&times.quantile(0.99)), "{}", times.quantile(0.99));
        let sent = &sum.others[&Key::Sent(Transport::Sse, "connect")];
        assert_eq!((sent.n, sent.sum), (2, 20));
        assert_eq!(sum.spaces["chat"].len(), 2);
    }
}
