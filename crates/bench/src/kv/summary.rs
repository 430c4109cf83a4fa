//! What is reported of a test: the medians of its repetitions, what limited it, and how one
//! target compares with another.

use super::frames::Errors;
use super::histogram::Histogram;
use super::run::Measured;

/// The percentiles that are reported.
pub(crate) const PERCENTILES: [f64; 5] = [50.0, 95.0, 99.0, 99.9, 99.99];

/// A thread that is busy for more of the time than this has none to spare.
const BUSY: f64 = 0.95;

/// An open loop that keeps less of its rate than this has not kept it.
const KEPT: f64 = 0.99;

/// A shorter run is not judged: the kernel writes down what threads ran in steps of milliseconds.
const JUDGED_NS: u64 = 200_000_000;

/// A test at a depth on a target.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) test: String,
    pub(crate) depth: usize,
    /// Its name; empty when there is only one.
    pub(crate) target: String,
    pub(crate) address: String,
    pub(crate) summary: Summary,
}

/// Medians over repetitions; each figure is the median of its own.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// Requests and time of the run with the median rate.
    pub(crate) requests: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) rps: f64,
    /// The slowest and the fastest repetition.
    pub(crate) rps_range: (f64, f64),
    pub(crate) latency: Latency,
    /// CPU nanoseconds per request.
    pub(crate) client_ns: f64,
    pub(crate) server_ns: Option<f64>,
    /// Share of the time that the busiest thread had work.
    pub(crate) client_busy: f64,
    pub(crate) server_busy: Option<f64>,
    /// Over all repetitions.
    pub(crate) errors: Errors,
    /// Command of a mix, requests, latency.
    pub(crate) commands: Vec<(String, u64, Latency)>,
    /// Milliseconds and replies since the start, of the run with the median rate.
    pub(crate) timeline: Vec<(u64, u64)>,
    pub(crate) limit: Limit,
    /// What share of an open loop's rate was reached.
    pub(crate) kept: Option<f64>,
}

/// Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Latency {
    pub(crate) mean: f64,
    pub(crate) min: f64,
    /// Of [`PERCENTILES`].
    pub(crate) percentiles: [f64; 5],
    pub(crate) max: f64,
}

/// What the client had to do with the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// It had time to spare, or no more work than the server.
    Other,
    /// It had no time to spare, the server had.
    Client,
    /// It had no time to spare; of the server nothing is known.
    Perhaps,
    /// It kept the rate, but had no time to spare.
    Tight,
}

impl Limit {
    /// By the shares of the time that the busiest threads were busy, and by what share of an open
    /// loop's rate was kept.
    pub(crate) fn of(client: f64, server: Option<f64>, kept: Option<f64>) -> Self {
        match (kept, server) {
            _ if client < BUSY => Limit::Other,
            (Some(kept), _) if kept >= KEPT => Limit::Tight,
            (_, Some(server)) if server < BUSY => Limit::Client,
            (_, Some(_)) => Limit::Other,
            (_, None) => Limit::Perhaps,
        }
    }

    /// A sentence for the report.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Limit::Other => None,
            Limit::Client => Some(
                "the client was the bottleneck, not the server: give it more --threads and cores",
            ),
            Limit::Perhaps => Some(
                "the client had no time to spare and may be the bottleneck; of the server's CPU \
                 nothing is known (--server-pid, if it runs here)",
            ),
            Limit::Tight => Some(
                "the client kept the rate but had no time to spare: latencies include its own \
                 delays; give it more --threads and cores",
            ),
        }
    }

    /// For machines.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Limit::Other => "",
            Limit::Client => "client",
            Limit::Perhaps => "client?",
            Limit::Tight => "tight",
        }
    }
}

/// The middle value, or the mean of the two; 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => 0.0,
        n => (all[(n - 1) / 2] + all[n / 2]) / 2.0,
    }
}

impl Latency {
    fn of(h: &Histogram) -> Self {
        Latency {
            mean: h.mean(),
            min: h.min() as f64,
            percentiles: PERCENTILES.map(|p| h.percentile(p) as f64),
            max: h.max() as f64,
        }
    }

    fn medians<'h>(all: impl Iterator<Item = &'h Histogram>) -> Self {
        let all: Vec<Latency> = all.map(Latency::of).collect();
        let of = |f: &dyn Fn(&Latency) -> f64| median(all.iter().map(f));
        Latency {
            mean: of(&|l| l.mean),
            min: of(&|l| l.min),
            percentiles: std::array::from_fn(|i| of(&|l| l.percentiles[i])),
            max: of(&|l| l.max),
        }
    }
}

impl Summary {
    /// Of at least one run; `names` are the commands of a mix, `rate` that of an open loop.
    pub(crate) fn of(runs: &[Measured], names: &[String], rate: Option<u64>) -> Self {
        assert!(!runs.is_empty(), "a row has runs");
        let mut by_rate: Vec<&Measured> = runs.iter().collect();
        by_rate.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
        let typical = by_rate[by_rate.len() / 2];
        let of = |f: &dyn Fn(&Measured) -> f64| median(runs.iter().map(f));
        let all = |f: &dyn Fn(&Measured) -> Option<f64>| {
            let known: Option<Vec<f64>> = runs.iter().map(f).collect();
            known.map(|k| median(k.into_iter()))
        };
        let mut errors = Errors::default();
        runs.iter().for_each(|r| errors.merge(&r.errors));
        let command = |(i, name): (usize, &String)| {
            let of_runs = || runs.iter().filter_map(move |r| r.commands.get(i));
            let requests = of_runs().map(Histogram::total).sum::<u64>() / runs.len() as u64;
            (name.clone(), requests, Latency::medians(of_runs()))
        };
        let rps = of(&Measured::rate);
        let (client_busy, server_busy) = (of(&|r| r.client_busy), all(&|r| r.server_busy));
        let kept = rate.map(|rate| rps / rate as f64);
        Summary {
            requests: typical.latency.total(),
            elapsed_ns: typical.elapsed_ns,
            rps,
            rps_range: (by_rate[0].rate(), by_rate[by_rate.len() - 1].rate()),
            latency: Latency::medians(runs.iter().map(|r| &r.latency)),
            client_ns: of(&Measured::client_ns),
            server_ns: all(&Measured::server_ns),
            client_busy,
            server_busy,
            errors,
            commands: match typical.commands.is_empty() {
                true => Vec::new(),
                false => names.iter().enumerate().map(command).collect(),
            },
            timeline: typical.timeline.clone(),
            limit: match typical.elapsed_ns >= JUDGED_NS {
                true => Limit::of(client_busy, server_busy, kept),
                false => Limit::Other,
            },
            kept,
        }
    }

    /// What is compared between targets: name, value, and how the value is shown.
    pub(crate) fn figures(&self) -> [(&'static str, Option<f64>); 5] {
        let p = |i: usize| Some(self.latency.percentiles[i]);
        [
            ("rps", Some(self.rps)),
            ("p50", p(0)),
            ("p99", p(2)),
            ("p99.9", p(3)),
            ("server_cpu", self.server_ns),
        ]
    }

    /// Each of [`Summary::figures`] as a multiple of another target's, where both are known.
    pub(crate) fn ratios(&self, base: &Summary) -> [(&'static str, Option<f64>); 5] {
        let theirs = base.figures();
        let mut ratios = self.figures();
        for ((_, value), (_, base)) in ratios.iter_mut().zip(theirs) {
            *value = value.zip(base).filter(|(_, b)| *b > 0.0).map(|(v, b)| v / b);
        }
        ratios
    }

    /// Sentences that a reader of the figures should know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(kept) = self.kept
            && kept < KEPT
        {
            let percent = kept * 100.0;
            notes.push(format!("only {percent:.1} % of the asked rate was reached"));
        }
        notes.extend(self.limit.note().map(str::to_owned));
        notes
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    fn measured(ns: u64, requests: u64, elapsed_ms: u64, server: Option<u64>) -> Measured {
        let mut m = Measured::default();
        m.latency.record(ns, requests);
        m.elapsed_ns = elapsed_ms * 1_000_000;
        m.client_cpu_ns = 10 * requests;
        m.server_cpu_ns = server.map(|s| s * requests);
        m
    }

    #[test]
    fn medians_are_of_each_figure() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0].into_iter()), 2.5);
        assert_eq!(median(std::iter::empty()), 0.0);
        // The fastest run has the worst latency, and is the median of neither.
        let runs = [
            measured(900, 1000, 100, Some(5)),
            measured(100, 1000, 300, Some(9)),
            measured(200, 1000, 200, Some(7)),
        ];
        let s = Summary::of(&runs, &[], None);
        assert_eq!((s.rps, s.rps_range.1, s.elapsed_ns), (5000.0, 10_000.0, 200_000_000));
        assert_eq!((s.latency.percentiles[0], s.latency.max), (200.0, 200.0));
        assert_eq!((s.client_ns, s.server_ns, s.kept), (10.0, Some(7.0), None));
        let unknown = [runs[0].clone(), measured(1, 1, 1, None)];
        assert_eq!(Summary::of(&unknown, &[], None).server_ns, None);
    }

    #[test]
    fn ratios_are_to_the_base_and_only_of_what_is_known() {
        let base = Summary::of(&[measured(1000, 100, 10, Some(50))], &[], None);
        let mut other = Summary::of(&[measured(250, 100, 5, Some(20))], &[], None);
        let got = other.ratios(&base).map(|(_, r)| r);
        assert_eq!(got, [2.0, 0.25, 0.25, 0.25, 0.4].map(Some));
        other.server_ns = None;
        assert_eq!(other.ratios(&base)[4], ("server_cpu", None));
        assert_eq!(base.ratios(&other)[4].1, None);
    }

    #[test]
    fn says_when_the_client_was_the_bottleneck() {
        assert_eq!(Limit::of(0.99, Some(0.6), None), Limit::Client);
        assert_eq!(Limit::of(0.99, Some(0.99), None), Limit::Other);
        assert_eq!(Limit::of(0.5, Some(0.6), None), Limit::Other);
        assert_eq!(Limit::of(0.99, None, None), Limit::Perhaps);
        assert_eq!(Limit::of(0.99, Some(0.3), Some(1.0)), Limit::Tight);
        assert_eq!(Limit::of(0.6, Some(0.3), Some(1.0)), Limit::Other);
        assert_eq!(Limit::of(0.99, Some(0.3), Some(0.7)), Limit::Client);
        let busy = |ms| {
            let mut m = measured(1, 10, ms, None);
            m.client_busy = 1.0;
            Summary::of(&[m], &[], None).limit
        };
        assert_eq!((busy(1000), busy(100)), (Limit::Perhaps, Limit::Other));
        let late = Summary::of(&[measured(1, 900, 1000, None)], &[], Some(1000));
        assert_eq!(late.notes(), ["only 90.0 % of the asked rate was reached"]);
    }
}
