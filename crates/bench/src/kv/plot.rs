//! The plot: throughput and latency over pipeline depth, a line per target, written as SVG by hand.
//!
//! Every axis is logarithmic, since depths go from 1 to 1,000 and what is plotted over them follows.
//! One row of two panels per test:
//!
//! ```text
//! | requests per second | latency: p50 solid, p99 dashed |
//! ```
//!
//! `apus bench pubsub` draws its deliveries in the same way.

use super::summary::Row;
use std::fmt::Write;

/// Of one panel with its axes, in pixels.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
/// Around the plotted area: left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 40.0, 20.0, 45.0];
/// Of the line that names the targets.
const LEGEND: f64 = 30.0;

/// Letters of a test's name that fit above a panel.
const TITLE_MAX: usize = 28;

/// Also readable for people who see few colours (P. Tol's bright scheme).
const COLOURS: [&str; 7] =
    ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888"];

/// One line: its colour, whether it is dashed, and points of depth and value.
struct Line<'a> {
    colour: &'a str,
    dashed: bool,
    points: Vec<(f64, f64)>,
}

/// What was measured of one target at one depth.
pub(crate) struct Point<'a> {
    pub(crate) test: &'a str,
    pub(crate) target: &'a str,
    pub(crate) depth: usize,
    pub(crate) per_second: f64,
    /// Milliseconds.
    pub(crate) p50: f64,
    /// Milliseconds.
    pub(crate) p99: f64,
}

/// The plot of all rows.
pub(crate) fn svg(rows: &[Row]) -> String {
    let mut points = Vec::new();
    for row in rows {
        let percentiles = &row.summary.latency.percentiles;
        points.push(Point {
            test: &row.test,
            target: if row.target.is_empty() { &row.address } else { &row.target },
            depth: row.depth,
            per_second: row.summary.rps,
            p50: percentiles[0] / 1e6,
            p99: percentiles[2] / 1e6,
        });
    }
    draw(&points, "requests")
}

/// The plot of points, each of which says how many `things` there were per second.
pub(crate) fn draw(rows: &[Point<'_>], things: &str) -> String {
    let mut tests: Vec<&str> = rows.iter().map(|r| r.test).collect();
    tests.dedup();
    let mut targets: Vec<&str> = Vec::new();
    for row in rows {
        if !targets.contains(&row.target) {
            targets.push(row.target);
        }
    }
    let (width, height) = (2.0 * WIDTH, LEGEND + HEIGHT * tests.len() as f64);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let mut x = MARGIN[0];
    for (target, colour) in targets.iter().zip(COLOURS.iter().cycle()) {
        _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"10\" width=\"14\" height=\"14\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"22\">{}</text>",
            x + 20.0,
            escaped(target)
        );
        x += 40.0 + 8.0 * target.chars().count() as f64;
    }
    for (i, test) in tests.iter().enumerate() {
        let y = LEGEND + HEIGHT * i as f64;
        let lines = |dashed: bool, value: &dyn Fn(&Point<'_>) -> f64| -> Vec<Line<'_>> {
            let line = |(target, colour): (&&str, &&'static str)| {
                let of_it = rows.iter().filter(|r| r.test == *test && r.target == *target);
                let mut points: Vec<_> = of_it.map(|r| (r.depth as f64, value(r))).collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Line { colour, dashed, points }
            };
            targets.iter().zip(COLOURS.iter().cycle()).map(line).collect()
        };
        let title: String = test.chars().take(TITLE_MAX).collect();
        let rate = lines(false, &|r| r.per_second);
        panel(&mut text, 0.0, y, &format!("{title}: {things} per second"), &rate);
        let mut latency = lines(false, &|r| r.p50);
        latency.extend(lines(true, &|r| r.p99));
        panel(
            &mut text,
            WIDTH,
            y,
            &format!("{title}: latency in ms, p50 and p99 (dashed)"),
            &latency,
        );
    }
    text.push_str("</svg>\n");
    text
}

/// A logarithmic axis: the range of values, and the pixels that it is spread over.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        self.from + share * (self.to - self.from)
    }

    /// From a 1, 2 or 5 below to one above, so that the outermost marks are at the ends.
    fn around(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        // What is not above 0 has no place on a logarithmic axis.
        let values = values.filter(|v| *v > 0.0 && v.is_finite());
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        if low > high {
            return Axis { low: 1.0, high: 10.0, from, to };
        }
        let all = marks(low / 10.0, high * 10.0);
        let low = all.iter().rev().copied().find(|m| *m <= low).unwrap_or(low);
        let high = all.iter().copied().find(|m| *m >= high && *m > low).unwrap_or(low * 10.0);
        Axis { low, high, from, to }
    }
}

/// 1, 2 and 5 times the powers of ten between two values.
fn marks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let all = (first..=last).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e)));
    all.filter(|m| *m >= low * 0.999 && *m <= high * 1.001).collect()
}

fn panel(text: &mut String, x: f64, y: f64, title: &str, lines: &[Line<'_>]) {
    let (left, right) = (x + MARGIN[0], x + WIDTH - MARGIN[2]);
    let (top, bottom) = (y + MARGIN[1], y + HEIGHT - MARGIN[3]);
    let points = lines.iter().flat_map(|l| &l.points);
    let depths = Axis::around(points.clone().map(|p| p.0), left + 15.0, right - 15.0);
    let values = Axis::around(points.clone().map(|p| p.1), bottom, top);
    _ = writeln!(
        text,
        "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}</text>\n\
         <rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999999\"/>",
        top - 10.0,
        escaped(title),
        right - left,
        bottom - top
    );
    for mark in marks(values.low, values.high) {
        let at = values.at(mark);
        _ = writeln!(
            text,
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            short(mark)
        );
    }
    let mut seen: Vec<f64> = points.map(|p| p.0).collect();
    seen.sort_by(f64::total_cmp);
    seen.dedup();
    for depth in seen {
        let at = depths.at(depth);
        _ = writeln!(
            text,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\" stroke=\"#999999\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{depth}</text>",
            bottom + 4.0,
            bottom + 17.0
        );
    }
    _ = writeln!(
        text,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">requests per pipeline</text>",
        (left + right) / 2.0,
        bottom + 34.0
    );
    for line in lines {
        let dash = if line.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let place = |p: &(f64, f64)| format!("{:.1},{:.1}", depths.at(p.0), values.at(p.1));
        let places: Vec<String> = line.points.iter().map(place).collect();
        _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dash}/>",
            places.join(" "),
            line.colour
        );
        for p in &line.points {
            _ = writeln!(
                text,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{}\"/>",
                depths.at(p.0),
                values.at(p.1),
                line.colour
            );
        }
    }
}

/// 2000000 as 2M, 0.05 as 0.05.
fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    // Ten digits hide that 5 times 10^-2 is not quite 0.05.
    let text = format!("{scaled:.10}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '&' => "&amp;".to_owned(),
        '"' => "&quot;".to_owned(),
        // Not allowed in XML at all.
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod checks {
    use super::super::run::Measured;
    use super::super::summary::Summary;
    use super::*;

    fn row(test: &str, target: &str, depth: usize, ns: u64, requests: u64) -> Row {
        let mut m = Measured { elapsed_ns: 1_000_000_000, ..Measured::default() };
        m.latency.record(ns, requests);
        Row {
            test: test.into(),
            depth,
            target: target.into(),
            address: "h:1".into(),
            summary: Summary::of(&[m], &[], None),
        }
    }

    #[test]
    fn a_line_per_target_and_figure() {
        let mut rows = Vec::new();
        for test in ["GET", "SET <&\">"] {
            for depth in [1, 16, 100] {
                rows.push(row(test, "a", depth, 50_000, 100_000 * depth as u64));
                rows.push(row(test, "b", depth, 80_000, 70_000 * depth as u64));
            }
        }
        let text = svg(&rows);
        let count = |what: &str| text.matches(what).count();
        // Two tests, each with 2 lines of throughput and 2 x 2 of latency, of 3 points each.
        assert_eq!((count("<polyline"), count("<circle"), count("dasharray")), (12, 36, 4));
        assert!(text.contains("SET &lt;&amp;&quot;&gt;: requests per second"));
        let open = count("<text") + count("<svg");
        assert_eq!(open, count("</text>") + count("</svg>"));
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn even_what_has_no_range_is_drawn() {
        let text = svg(&[row("GET", "", 1, 0, 0)]);
        assert!(text.contains(">h:1<") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn axes_end_on_marks_and_lines_stay_inside() {
        let axis = Axis::around([130.0, 4100.0].into_iter(), 0.0, 100.0);
        assert_eq!((axis.low, axis.high), (100.0, 5000.0));
        assert!(axis.at(130.0) > 0.0 && axis.at(4100.0) < 100.0);
        assert!((axis.at(5000.0) - 100.0).abs() < 1e-9);
        let alone = Axis::around([10.0].into_iter(), 0.0, 1.0);
        assert!(alone.low <= 10.0 && alone.high > alone.low);
        assert_eq!(marks(1.0, 10.0), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!([2e6, 500.0, 0.05].map(short), ["2M", "500", "0.05"]);
    }
}
