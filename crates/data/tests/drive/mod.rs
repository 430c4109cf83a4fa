//! How long a random drive goes on.
//!
//! Under Miri: `MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-tree-borrows -Zmiri-ignore-leaks"`.
//! crossbeam-epoch breaks the rules of stacked borrows, and garbage that it holds when the process
//! ends counts as leaked.

use std::time::{Duration, Instant};

/// Seeds to drive with: a fixed number of them, or as many as fit into `APUS_FUZZ_SECONDS`.
/// A failure names its seed, and the seed alone decides what happens.
pub(crate) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let seconds = std::env::var("APUS_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    (0..).take_while(move |seed| match end {
        Some(end) => Instant::now() < end,
        None => *seed < count,
    })
}

/// `count`, or far less of it under Miri, which is slower by some hundred times.
pub(crate) fn steps(count: usize) -> usize {
    if cfg!(miri) { count.div_ceil(20) } else { count }
}
