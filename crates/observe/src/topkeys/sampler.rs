//! The choice of commands to sample: few enough that sampling costs nothing.
//!
//! A thread takes about [`PER_SECOND`] samples per second: while it has little to do it looks at every
//! command, while it executes ten million per second at one in thousands. Each sample then stands for as
//! many commands as were between two on average (its weight). The distance varies at random around
//! that average, or a pipeline with a period would always show the same command.

/// Samples per second and thread: at half a microsecond each, a tenth of a percent of its time.
const PER_SECOND: u64 = 2000;
/// The distance is computed again after this many samples.
const WINDOW: u32 = 32;
/// The greatest distance: 2.5 samples in a thousand batches of the deepest usual pipelines.
const GAP_MAX: u64 = 1 << 14;

/// One thread's countdown.
#[derive(Debug)]
pub struct Sampler {
    /// Commands before the next sample.
    left: u64,
    /// The mean distance of samples at present, and when `left` was drawn.
    gap: u64,
    weight: u64,
    /// Set by HOTKEYS START: the distance does not adapt.
    fixed: bool,
    /// Number of the HOTKEYS session that is followed; see [`super::HotKeys`].
    pub(super) session: u32,
    /// Samples since `since`, in monotonic nanoseconds.
    samples: u32,
    since: u64,
    seed: u64,
}

impl Sampler {
    /// A countdown that begins with a sample. `seed` is of the distances.
    pub fn new(seed: u64) -> Self {
        Self { left: 0, gap: 1, weight: 1, fixed: false, session: 0, samples: 0, since: 0, seed }
    }

    /// How many of the next `n` commands are executed together; 0: the next one is a sample.
    #[inline]
    pub fn ahead(&self, n: usize) -> usize {
        if self.left >= n as u64 { n } else { self.left as usize }
    }

    /// Counts commands that were no samples.
    #[inline]
    pub fn pass(&mut self, n: usize) {
        self.left = self.left.saturating_sub(n as u64);
    }

    /// Commands that the present sample stands for; draws the distance to the next one.
    pub(super) fn taken(&mut self, now: u64) -> u64 {
        let weight = self.weight;
        self.samples += 1;
        if !self.fixed && self.samples >= WINDOW {
            self.adapt(now);
        }
        self.draw();
        weight
    }

    /// Takes `gap` as distance, or goes back to adapting it.
    pub(super) fn fix(&mut self, gap: Option<u64>) {
        self.fixed = gap.is_some();
        self.gap = gap.unwrap_or(1).max(1);
        self.draw();
    }

    /// Called some times per second: samples that do not come any more, since there is less to do,
    /// come sooner.
    pub fn tick(&mut self, now: u64) {
        let silent = now.saturating_sub(self.since) > 1_000_000_000 / PER_SECOND * 256;
        if !self.fixed && self.gap > 1 && silent {
            self.adapt(now);
            self.left = self.left.min(self.gap - 1);
            // The commands before it were not executed as often as drawn for.
            self.weight = self.weight.min(self.gap);
        }
    }

    fn adapt(&mut self, now: u64) {
        let took = now.saturating_sub(self.since).max(1);
        let wanted = u64::from(self.samples) * (1_000_000_000 / PER_SECOND);
        // From 1 to the distance that ten million commands per second need in five steps: together
        // not more than 160 samples, even when a burst follows upon silence.
        let gap = u128::from(self.gap) * u128::from(wanted) / u128::from(took);
        let gap = u64::try_from(gap).unwrap_or(GAP_MAX);
        self.gap = gap.clamp(self.gap / 8, self.gap * 8).clamp(1, GAP_MAX);
        (self.samples, self.since) = (0, now);
    }

    fn draw(&mut self) {
        self.weight = self.gap;
        // 0 to twice the distance, so that the mean of the step, sample included, is the distance.
        self.left = stdx::rng::splitmix64(&mut self.seed) % (2 * self.gap - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `n` commands that take `ns` each; returns samples and the sum of their weights.
    fn run(p: &mut Sampler, now: &mut u64, n: u64, ns: u64) -> (u64, u64) {
        let (mut samples, mut weights) = (0, 0);
        let mut left = n;
        while left > 0 {
            let ahead = p.ahead(left.min(32) as usize);
            let done = ahead.max(1);
            *now += done as u64 * ns;
            left -= done as u64;
            if ahead == 0 {
                samples += 1;
                weights += p.taken(*now);
            } else {
                p.pass(ahead);
            }
        }
        (samples, weights)
    }

    #[test]
    fn the_rate_of_samples_does_not_follow_the_rate_of_commands() {
        let mut p = Sampler::new(1);
        let mut now = 1;
        // Ten million per second: about 2,000 samples of each second, and at first few more.
        let (first, _) = run(&mut p, &mut now, 10_000_000, 100);
        assert!((1500..3000).contains(&first), "{first}");
        let (samples, weights) = run(&mut p, &mut now, 10_000_000, 100);
        assert!((1500..2500).contains(&samples), "{samples}");
        // The weights stand for all commands.
        assert!((8_000_000..12_000_000).contains(&weights), "{weights}");
        // A hundred per second: after some seconds all of them.
        for _ in 0..100 {
            now += 100_000_000;
            p.tick(now);
        }
        let (samples, weights) = run(&mut p, &mut now, 1000, 10_000_000);
        assert_eq!((samples, weights), (1000, 1000));
    }

    #[test]
    fn a_fixed_distance_stays() {
        let mut p = Sampler::new(7);
        p.fix(Some(1));
        let mut now = 0;
        assert_eq!(run(&mut p, &mut now, 10_000, 10), (10_000, 10_000));
        p.fix(Some(10));
        let (samples, weights) = run(&mut p, &mut now, 100_000, 10);
        assert!((9_000..11_000).contains(&samples), "{samples}");
        assert!((90_000..110_000).contains(&weights), "{weights}");
    }
}
