//! Which key a request takes, and how large a value is.

use stdx::rng::Rng;

/// A distribution over `0..keys`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dist {
    /// Each key as likely as any other.
    Uniform,
    /// Key `i` with a weight of `1/(i+1)^theta`.
    Zipf(f64),
    /// The first `fraction` of the keys get `share` of the requests, evenly.
    Hot { fraction: f64, share: f64 },
    /// One after the other, from 0 again after the last.
    Seq,
}

impl Dist {
    /// `uniform`, `zipf:THETA`, `hot:FRACTION:SHARE` or `seq`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = |t: &str, max: f64| match t.parse::<f64>() {
            Ok(n) if n > 0.0 && n <= max => Ok(n),
            _ => Err(format!("'{t}' in --dist {text} is not a number above 0, at most {max}")),
        };
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            ["uniform"] => Ok(Dist::Uniform),
            ["seq"] => Ok(Dist::Seq),
            ["zipf", theta] => Ok(Dist::Zipf(number(theta, 10.0)?)),
            ["hot", fraction, share] => {
                Ok(Dist::Hot { fraction: number(fraction, 1.0)?, share: number(share, 1.0)? })
            }
            _ => Err(format!(
                "--dist {text}: expected uniform, zipf:THETA, hot:FRACTION:SHARE or seq"
            )),
        }
    }

    /// A source of keys below `keys`, the `part`-th of `parts` that run at the same time.
    /// Sequences are divided: each source takes its own stretch of keys.
    pub(crate) fn keys(self, keys: u64, seed: u64, part: u64, parts: u64) -> Keys {
        let keys = keys.max(1);
        let stretch = |p: u64| (u128::from(keys) * u128::from(p) / u128::from(parts.max(1))) as u64;
        let mut from = stretch(part);
        let mut to = stretch(part + 1);
        if from == to {
            (from, to) = (0, keys);
        }
        let shape = match self {
            Dist::Uniform => Sequence::Uniform,
            Dist::Seq => Sequence::Seq { next: from, from, to },
            Dist::Zipf(theta) => Sequence::Zipf(Zipf::new(keys, theta)),
            Dist::Hot { fraction, share } => Sequence::Hot {
                hot: ((keys as f64 * fraction).round() as u64).clamp(1, keys),
                bound: (share * u64::MAX as f64) as u64,
            },
        };
        Keys { shape, keys, rng: Rng::from_seed(seed) }
    }
}

impl std::fmt::Display for Dist {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dist::Uniform => write!(f, "uniform"),
            Dist::Zipf(theta) => write!(f, "zipf:{theta}"),
            Dist::Hot { fraction, share } => write!(f, "hot:{fraction}:{share}"),
            Dist::Seq => write!(f, "seq"),
        }
    }
}

/// Draws keys.
#[derive(Debug)]
pub(crate) struct Keys {
    shape: Sequence,
    keys: u64,
    rng: Rng,
}

#[derive(Debug)]
enum Sequence {
    Uniform,
    Seq { next: u64, from: u64, to: u64 },
    Zipf(Zipf),
    Hot { hot: u64, bound: u64 },
}

impl Keys {
    /// The next key.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        match &mut self.shape {
            Sequence::Uniform => self.rng.below(self.keys),
            Sequence::Seq { next, from, to } => {
                let key = *next;
                *next = if key + 1 == *to { *from } else { key + 1 };
                key
            }
            Sequence::Zipf(zipf) => zipf.draw(&mut self.rng),
            Sequence::Hot { hot, bound } => {
                if *hot == self.keys || self.rng.next_u64() < *bound {
                    self.rng.below(*hot)
                } else {
                    *hot + self.rng.below(self.keys - *hot)
                }
            }
        }
    }

    /// A number below the key count, evenly, whatever the distribution of keys.
    #[inline]
    pub(crate) fn even(&mut self) -> u64 {
        self.rng.below(self.keys)
    }
}

/// Zipf by rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", 1996): exact for any theta and any number of
/// keys, and without tables that would take the client's caches.
#[derive(Debug)]
struct Zipf {
    theta: f64,
    keys: f64,
    /// The integral up to the first key and to beyond the last.
    low: f64,
    high: f64,
    /// Below this distance a candidate needs no second test.
    sure: f64,
}

impl Zipf {
    fn new(keys: u64, theta: f64) -> Self {
        let mut zipf = Zipf { theta, keys: keys as f64, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.keys + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the weight, `(x^(1-theta) - 1) / (1-theta)`, which is `ln x` for theta 1.
    fn integral(&self, x: f64) -> f64 {
        let (power, log) = (1.0 - self.theta, x.ln());
        if (power * log).abs() < 1e-8 { log } else { (power * log).exp_m1() / power }
    }

    fn inverse(&self, y: f64) -> f64 {
        let power = 1.0 - self.theta;
        if (power * y).abs() < 1e-8 {
            return y.exp();
        }
        ((power * y).max(-1.0).ln_1p() / power).exp()
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.high + rng.unit_f64() * (self.low - self.high);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.keys);
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.weight(k) {
                return k as u64 - 1;
            }
        }
    }
}

/// Sizes of values in bytes: ranges with weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(Vec<(usize, usize, u64)>);

/// What a server takes by default as the largest value.
const SIZE_MAX: usize = 512 << 20;

impl Sizes {
    /// Always `n` bytes.
    pub(crate) fn fixed(n: usize) -> Self {
        Sizes(vec![(n, n, 1)])
    }

    /// `N`, `A-B`, or a list of these with weights: `64:9,1000-2000:1`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is not a size: N, A-B, or a list like 64:9,1000-2000:1");
        let size = |t: &str| t.parse::<usize>().ok().filter(|n| *n <= SIZE_MAX).ok_or_else(bad);
        let mut all = Vec::new();
        for part in text.split(',') {
            let (range, weight) = match part.split_once(':') {
                Some((range, weight)) => (range, weight.parse::<u32>().map_err(|_| bad())?),
                None => (part, 1),
            };
            let (from, to) = match range.split_once('-') {
                Some((from, to)) => (size(from)?, size(to)?),
                None => (size(range)?, size(range)?),
            };
            if from > to || weight == 0 {
                return Err(bad());
            }
            all.push((from, to, u64::from(weight)));
        }
        Ok(Sizes(all))
    }

    /// As [`Sizes::parse`] takes it.
    pub(crate) fn text(&self) -> String {
        let range = |(from, to, weight): &(usize, usize, u64)| {
            let range = if from == to { from.to_string() } else { format!("{from}-{to}") };
            if self.0.len() == 1 { range } else { format!("{range}:{weight}") }
        };
        self.0.iter().map(range).collect::<Vec<_>>().join(",")
    }

    /// Whether all values are of the same size.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.0[..], [(from, to, _)] if from == to)
    }

    /// The average.
    pub(crate) fn mean(&self) -> usize {
        let weights: u64 = self.0.iter().map(|s| s.2).sum();
        let sum: u128 = self.0.iter().map(|(a, b, w)| (a + b) as u128 / 2 * u128::from(*w)).sum();
        (sum / u128::from(weights.max(1))) as usize
    }

    /// The next size.
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let weights = self.0.iter().map(|s| s.2).sum();
        let mut pick = rng.below(weights);
        for (from, to, weight) in &self.0 {
            if pick < *weight {
                return from + rng.index(to - from + 1);
            }
            pick -= weight;
        }
        self.0[0].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn counts(dist: &str, keys: u64) -> Vec<f64> {
        let mut source = Dist::parse(dist).unwrap().keys(keys, 7, 0, 1);
        let mut counts = vec![0.0; keys as usize];
        for _ in 0..DRAWS {
            counts[source.draw() as usize] += 1.0 / DRAWS as f64;
        }
        counts
    }

    #[test]
    fn uniform_takes_all_keys_alike() {
        for share in counts("uniform", 100) {
            assert!((0.008..0.012).contains(&share), "{share}");
        }
    }

    #[test]
    fn zipf_falls_as_its_law_says() {
        for theta in [0.5, 0.99, 1.0, 1.5] {
            let got = counts(&format!("zipf:{theta}"), 1000);
            let sum: f64 = (1..=1000).map(|i| f64::from(i).powf(-theta)).sum();
            for rank in [1, 2, 3, 10, 50] {
                let wanted = f64::from(rank).powf(-theta) / sum;
                let share = got[rank as usize - 1];
                let sigma = (wanted / DRAWS as f64).sqrt();
                assert!((share - wanted).abs() < 5.0 * sigma, "{theta} {rank}: {share} {wanted}");
            }
        }
        assert_eq!(counts("zipf:0.99", 1), [1.0; 1].map(|_: f64| counts("uniform", 1)[0]));
    }

    #[test]
    fn hot_keys_get_their_share() {
        let got = counts("hot:0.1:0.9", 100);
        let hot: f64 = got[..10].iter().sum();
        assert!((0.89..0.91).contains(&hot), "{hot}");
        assert!(got.iter().all(|share| *share > 0.0));
        assert!((counts("hot:1:0.5", 10).iter().sum::<f64>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn sequences_are_divided() {
        let mut all: Vec<u64> = (0..3)
            .flat_map(|part| {
                let mut keys = Dist::Seq.keys(10, 0, part, 3);
                (0..4).map(move |_| keys.draw()).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, (0..10).collect::<Vec<u64>>());
        let mut alone = Dist::Seq.keys(2, 0, 5, 8);
        assert_eq!([(); 3].map(|()| alone.draw() < 2), [true; 3]);
    }

    #[test]
    fn sizes() {
        let mut rng = Rng::from_seed(1);
        let sizes = Sizes::parse("10:3,100-200:1").unwrap();
        let drawn: Vec<usize> = (0..4000).map(|_| sizes.draw(&mut rng)).collect();
        let small = drawn.iter().filter(|n| **n == 10).count();
        assert!((2850..3150).contains(&small), "{small}");
        assert!(drawn.iter().all(|n| *n == 10 || (100..=200).contains(n)));
        assert_eq!(drawn.iter().max(), Some(&200));
        assert_eq!(sizes.mean(), 45);
        assert_eq!(
            (sizes.text().as_str(), Sizes::fixed(3).text().as_str()),
            ("10:3,100-200:1", "3")
        );
        for text in ["uniform", "zipf:0.99", "hot:0.1:0.9", "seq"] {
            assert_eq!(Dist::parse(text).unwrap().to_string(), text);
        }
        assert!(!sizes.is_fixed() && Sizes::parse("3").unwrap().is_fixed());
        for bad in ["", "x", "5-2", "5:0", "5:x", "1,,2", "999999999999"] {
            assert!(Sizes::parse(bad).is_err(), "{bad}");
        }
        for bad in ["zipf", "zipf:0", "zipf:x", "hot:0.1", "hot:2:0.5", "hot:0.1:nan", "normal"] {
            assert!(Dist::parse(bad).is_err(), "{bad}");
        }
    }
}
