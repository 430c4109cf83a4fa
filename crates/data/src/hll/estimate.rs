//! The estimator of Otmar Ertl ("New cardinality estimation algorithms for HyperLogLog sketches",
//! arXiv:1702.01284), in double precision and in the order of operations that Redis has, so that
//! the same registers give the same number.

use super::{COUNTED, REGISTERS};

/// 0.5 / ln(2)
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// The cardinality for `histogram[c]` registers that hold `c`.
pub fn estimate(histogram: &[u32; 64]) -> u64 {
    let m = REGISTERS as f64;
    let highest = COUNTED as usize;
    let mut z = m * tau((m - f64::from(histogram[highest + 1])) / m);
    for count in histogram[1..=highest].iter().rev() {
        z = (z + f64::from(*count)) * 0.5;
    }
    z += m * sigma(f64::from(histogram[0]) / m);
    let e = (ALPHA * m * m / z).round();
    // Registers that no element can have led to may give infinity, which Redis's conversion to an
    // integer makes the lowest of all.
    if e < i64::MAX as f64 { e as u64 } else { i64::MIN as u64 }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before || z.is_nan() {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before || z.is_nan() {
            return z / 3.0;
        }
    }
}
