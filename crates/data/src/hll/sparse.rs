//! Registers as runs, from the first to the last of them:
//!
//! | bits | registers |
//! |---|---|
//! | `00nnnnnn` | n + 1 of 0 |
//! | `01nnnnnn nnnnnnnn` | n + 1 of 0 |
//! | `1vvvvvnn` | n + 1 of v + 1 |
//!
//! What [`raise`] makes of a value is byte for byte what Redis makes of it.

use super::{Corrupt, HEAD, REGISTERS, dense, to_dense};

/// The highest register a run can have.
const VALUE_MAX: u8 = 32;
/// The longest run of registers that are not 0.
const VALUES_MAX: usize = 4;
/// The longest run of zeros in one byte.
const ZEROS_MAX: usize = 64;
/// Runs that are looked at for joining after a change.
const JOIN_LOOK: usize = 5;

/// Some equal registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Zeros, in one byte.
    Zeros(usize),
    /// Zeros, in two bytes.
    LongZeros(usize),
    /// Registers of a value above 0.
    Values(u8, usize),
}

impl Run {
    /// Registers in it.
    pub fn len(self) -> usize {
        match self {
            Self::Zeros(n) | Self::LongZeros(n) | Self::Values(_, n) => n,
        }
    }

    /// Whether there are none: never.
    pub fn is_empty(self) -> bool {
        false
    }

    fn bytes(self) -> usize {
        if let Self::LongZeros(_) = self { 2 } else { 1 }
    }
}

/// The run at offset `at`. The second byte of a long run that is cut off counts as 0, as in Redis.
#[inline]
fn run_at(value: &[u8], at: usize) -> Option<Run> {
    let first = *value.get(at)?;
    Some(match first >> 6 {
        0 => Run::Zeros(usize::from(first) + 1),
        1 => {
            let low = value.get(at + 1).copied().unwrap_or(0);
            Run::LongZeros((usize::from(first & 0x3f) << 8 | usize::from(low)) + 1)
        }
        _ => Run::Values((first >> 2 & 0x1f) + 1, usize::from(first & 3) + 1),
    })
}

/// All runs with their offsets.
pub(super) fn runs(value: &[u8]) -> impl Iterator<Item = (usize, Run)> + '_ {
    let mut at = HEAD;
    std::iter::from_fn(move || {
        let run = run_at(value, at)?;
        let this = at;
        at += run.bytes();
        Some((this, run))
    })
}

/// Appends a run of `n` zeros (1 to [`REGISTERS`]).
pub(super) fn push_zeros(out: &mut Vec<u8>, n: usize) {
    let n1 = n - 1;
    if n > ZEROS_MAX {
        out.push(0x40 | (n1 >> 8) as u8);
    }
    out.push(n1 as u8);
}

/// A run of `n` (1 to 4) registers of `value` (1 to 32).
fn values(value: u8, n: usize) -> u8 {
    0x80 | (value - 1) << 2 | (n - 1) as u8
}

/// Calls `f` for every register above 0.
pub(super) fn each_set(value: &[u8], mut f: impl FnMut(usize, u8)) -> Result<(), Corrupt> {
    let mut index = 0;
    for (_, run) in runs(value) {
        let end = index + run.len();
        if let Run::Values(v, _) = run {
            if end > REGISTERS {
                return Err(Corrupt);
            }
            (index..end).for_each(|i| f(i, v));
        }
        index = end;
    }
    if index == REGISTERS { Ok(()) } else { Err(Corrupt) }
}

/// Counts the registers by what they hold.
pub(super) fn histogram(value: &[u8], histogram: &mut [u32; 64]) -> Result<(), Corrupt> {
    let mut index = 0;
    for (_, run) in runs(value) {
        let held = if let Run::Values(v, _) = run { v } else { 0 };
        histogram[usize::from(held)] += run.len() as u32;
        index += run.len();
    }
    if index == REGISTERS { Ok(()) } else { Err(Corrupt) }
}

/// Where to begin looking for a register, when registers are raised in ascending order: the offset
/// of a run and its first register, two runs before the last one changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hint {
    at: usize,
    first: usize,
}

impl Default for Hint {
    fn default() -> Self {
        Self { at: HEAD, first: 0 }
    }
}

/// Raises register `index` to `count`. Returns whether it was lower. The value becomes dense where
/// a run cannot say it, or where it would grow beyond `max` bytes.
pub(super) fn raise(
    value: &mut Vec<u8>,
    hint: &mut Hint,
    index: usize,
    count: u8,
    max: usize,
) -> Result<bool, Corrupt> {
    if count > VALUE_MAX {
        return promote(value, index, count);
    }
    // The run that covers the register, and the two before it.
    let (mut at, mut first) = (hint.at, hint.first);
    let (mut previous, mut second) = (None, *hint);
    let run = loop {
        let run = run_at(value, at).ok_or(Corrupt)?;
        if index < first + run.len() {
            break run;
        }
        if let Some((at, first)) = previous {
            second = Hint { at, first };
        }
        previous = Some((at, first));
        at += run.bytes();
        first += run.len();
    };
    *hint = second;
    let (before, after) = (index - first, first + run.len() - 1 - index);
    let mut new = Vec::with_capacity(5);
    match run {
        Run::Values(v, _) if v >= count => return Ok(false),
        Run::Values(v, _) => {
            new.extend((before > 0).then(|| values(v, before)));
            new.push(values(count, 1));
            new.extend((after > 0).then(|| values(v, after)));
        }
        Run::Zeros(_) | Run::LongZeros(_) => {
            if before > 0 {
                push_zeros(&mut new, before);
            }
            new.push(values(count, 1));
            if after > 0 {
                push_zeros(&mut new, after);
            }
        }
    }
    let old = run.bytes();
    if new.len() > old && value.len() + new.len() - old > max {
        return promote(value, index, count);
    }
    // The last run may be one whose second byte is missing.
    let end = (at + old).min(value.len());
    value.splice(at..end, new);
    join(value, previous.map_or(HEAD, |(at, _)| at));
    super::forget(value);
    Ok(true)
}

/// Joins neighbours of the same value, near offset `at`.
fn join(value: &mut Vec<u8>, mut at: usize) {
    for _ in 0..JOIN_LOOK {
        let Some(run) = run_at(value, at) else { return };
        if let Run::Values(v, n) = run
            && let Some(Run::Values(w, more)) = run_at(value, at + 1)
            && v == w
            && n + more <= VALUES_MAX
        {
            value[at + 1] = values(v, n + more);
            value.remove(at);
        } else {
            at += run.bytes();
        }
    }
}

fn promote(value: &mut Vec<u8>, index: usize, count: u8) -> Result<bool, Corrupt> {
    *value = to_dense(value)?;
    dense::raise(&mut value[HEAD..], index, count);
    Ok(true)
}
