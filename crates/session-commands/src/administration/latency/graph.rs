//! The drawing of LATENCY GRAPH: one column per spike, oldest first, each with its age below.
//!
//! ```text
//! command - high 500 ms, low 100 ms (all time high 500 ms)
//! --------------------------------------------------------------------------------
//!    #
//!   _|
//!  o||
//! _|||
//!
//! 3210
//! ssss
//! ```

use observe::latency::Series;

/// Columns of a drawing; more spikes go into further drawings below.
const COLUMNS: usize = 80;
/// Lines of a drawing, each of which has three heights.
const LINES: u64 = 4;
const HEIGHTS: [char; 3] = ['_', 'o', '#'];

pub(super) fn draw(event: &str, series: &Series, now_s: i64) -> String {
    let latencies = || series.samples.iter().map(|(_, ms)| *ms);
    let (high, low) = (latencies().max().unwrap_or(0), latencies().min().unwrap_or(0));
    let mut text = format!(
        "{event} - high {high} ms, low {low} ms (all time high {} ms)\n{}\n",
        series.max_ms,
        "-".repeat(COLUMNS)
    );
    let columns: Vec<(u64, Vec<char>)> = series
        .samples
        .iter()
        .map(|(at, ms)| {
            let steps = LINES * HEIGHTS.len() as u64;
            // The lowest has height 0, the highest the last one.
            let step = (ms - low) * steps / (high - low).max(1);
            (step.min(steps - 1), age(now_s - at).chars().collect())
        })
        .collect();
    for (i, part) in columns.chunks(COLUMNS).enumerate() {
        if i > 0 {
            text.push('\n');
        }
        for line in (0..LINES).rev() {
            let base = line * HEIGHTS.len() as u64;
            text.extend(part.iter().map(|(step, _)| match step.checked_sub(base) {
                None => ' ',
                Some(h) => HEIGHTS.get(h as usize).copied().unwrap_or('|'),
            }));
            text.push('\n');
        }
        text.push('\n');
        let longest = part.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
        for row in 0..longest {
            text.extend(part.iter().map(|(_, label)| label.get(row).copied().unwrap_or(' ')));
            text.push('\n');
        }
    }
    text
}

/// How long ago, in the largest unit that fits.
fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m", s / 60),
        s @ 3600..86_400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_rise_with_latency() {
        let samples = [(10, 100), (11, 200), (70, 300), (100, 500)].into();
        let text = draw("command", &Series { samples, max_ms: 900 }, 100);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "command - high 500 ms, low 100 ms (all time high 900 ms)");
        assert_eq!(lines[1], "-".repeat(80));
        assert_eq!(lines[2..], ["   #", "  _|", " _||", "_|||", "", "1130", "mm0s", "  s "]);
    }

    #[test]
    fn equal_latencies_and_many() {
        let samples = (0..100).map(|i| (i, 7)).collect();
        let text = draw("x", &Series { samples, max_ms: 7 }, 100_000);
        assert_eq!(text.matches('_').count(), 100);
        assert!(text.lines().all(|l| l.len() <= 80));
    }
}
