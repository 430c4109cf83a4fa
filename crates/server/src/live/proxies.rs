//! Questions to applications, counted by event and proxy: for metrics, and INFO.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::live::options::{Endpoint, Proxy};
use ::live::proxy::Outcome;
use parking_lot::Mutex;

/// Upper ends of the steps in which the times of answers are counted, in milliseconds: Prometheus's own.
pub(crate) const STEPS_MS: [u64; 11] = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/// What is asked of whom: a proxy's name alone does not say it, one may be asked about several events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    /// `connect`, `publish` …
    pub(crate) event: &'static str,
    pub(crate) proxy: String,
    /// `http`, or `function`.
    pub(crate) protocol: &'static str,
}

/// Counts of questions since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    /// No answer, or none that can be used: time-outs, statuses that mean nothing, what is not JSON.
    errors: AtomicU64,
    timeouts: AtomicU64,
    answered: AtomicU64,
    micros: AtomicU64,
    /// Each time is counted in one step; longer ones than the last step in none.
    steps: [AtomicU64; STEPS_MS.len()],
}

/// The figures of one kind of question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) timeouts: u64,
    /// Questions that have no answer yet.
    pub(crate) waiting: u64,
    pub(crate) seconds: f64,
    /// Questions whose end was seen: those that `seconds` is of.
    pub(crate) answered: u64,
    /// Those that took as long as each step at most.
    pub(crate) within: [u64; STEPS_MS.len()],
}

impl Counts {
    fn end(&self, proxy: &Proxy, outcome: &Outcome, took: Duration) {
        if matches!(outcome, Outcome::TimedOut(_)) {
            self.timeouts.fetch_add(1, Relaxed);
        }
        if outcome.is_failure(proxy) {
            self.errors.fetch_add(1, Relaxed);
        }
        let step = STEPS_MS.iter().position(|ms| took <= Duration::from_millis(*ms));
        if let Some(step) = step {
            self.steps[step].fetch_add(1, Relaxed);
        }
        self.micros.fetch_add(took.as_micros() as u64, Relaxed);
        self.answered.fetch_add(1, Relaxed);
    }

    fn figures(&self) -> Figures {
        // In this order a question that ends meanwhile does not make a difference below zero.
        let answered = self.answered.load(Relaxed);
        let requests = self.requests.load(Relaxed);
        let mut seen = 0;
        let within = std::array::from_fn(|step| {
            seen += self.steps[step].load(Relaxed);
            seen
        });
        Figures {
            requests,
            errors: self.errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            waiting: requests.saturating_sub(answered),
            seconds: self.micros.load(Relaxed) as f64 / 1e6,
            answered,
            within,
        }
    }
}

/// The counts of all proxies that have been asked.
#[derive(Default)]
pub(super) struct Proxies(Mutex<BTreeMap<Asked, Arc<Counts>>>);

/// A question on its way.
pub(super) struct Question {
    counts: Arc<Counts>,
    proxy: Arc<Proxy>,
    began: Instant,
}

impl Question {
    /// It has its outcome.
    pub(super) fn ends(self, outcome: &Outcome) {
        self.counts.end(&self.proxy, outcome, self.began.elapsed());
    }
}

impl Proxies {
    /// A question begins.
    pub(super) fn asks(&self, event: &'static str, proxy: &Arc<Proxy>) -> Question {
        let protocol = match proxy.endpoint {
            Endpoint::Http(_) => "http",
            Endpoint::Function(_) => "function",
        };
        let asked = Asked { event, proxy: proxy.name.clone(), protocol };
        let counts = Arc::clone(self.0.lock().entry(asked).or_default());
        counts.requests.fetch_add(1, Relaxed);
        Question { counts, proxy: Arc::clone(proxy), began: Instant::now() }
    }

    /// The figures of all of them.
    pub(super) fn figures(&self) -> Vec<(Asked, Figures)> {
        let all = self.0.lock();
        all.iter().map(|(asked, counts)| (asked.clone(), counts.figures())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_is_counted_as_what_it_is() {
        let text = br#"{"client": {"proxy": {"connect": {"enabled": true, "endpoint": "http://app", "http": {
            "status_to_code_transforms": [{"status_code": 404, "to_error": {"code": 1404, "message": "gone"}}]}}}}}"#;
        let options = ::live::options::load(text, &[]).expect("options").options;
        let proxy = options.client.connect_proxy.clone().expect("a proxy");
        let all = Proxies::default();
        let _waits = all.asks("connect", &proxy);
        let took = |ms, outcome: &Outcome| {
            let question = all.asks("connect", &proxy);
            question.counts.end(&proxy, outcome, Duration::from_millis(ms));
        };
        took(5, &Outcome::Answer(b"{}".to_vec()));
        took(6, &Outcome::Answer(b"nothing".to_vec()));
        took(7, &Outcome::Status(404));
        took(8, &Outcome::Status(500));
        took(20_000, &Outcome::TimedOut(Duration::from_secs(20)));
        took(1, &Outcome::Failed("refused".into()));
        let figures = all.figures();
        let [(asked, figures)] = &*figures else { panic!("one proxy") };
        assert_eq!((asked.event, &*asked.proxy, asked.protocol), ("connect", "connect", "http"));
        let expected = Figures {
            requests: 7,
            errors: 4,
            timeouts: 1,
            waiting: 1,
            seconds: 20.027,
            answered: 6,
            within: [2, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
        };
        assert_eq!(*figures, expected);
    }
}
