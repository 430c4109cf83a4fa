//! The parts that ran, that failed, and that were left out, with the reason.
//!
//! A part that could not run is neither passed nor failed. It is shown as loudly as a
//! failure, since a green run that tested half is worse than a red one.

use std::fmt::Write as _;

use crate::process::REFUSED;

/// The result of one part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartResult {
    pub(crate) name: String,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Why something was left out, one entry per thing.
    pub(crate) left_out: Vec<String>,
    /// Names of the tests that failed.
    pub(crate) failures: Vec<String>,
    /// More about failures than their number.
    pub(crate) notes: Vec<String>,
}

impl PartResult {
    pub(crate) fn new(name: &str) -> PartResult {
        PartResult { name: name.to_owned(), ..PartResult::default() }
    }

    /// A part whose preparation failed, so that nothing of it ran.
    pub(crate) fn left_out(name: &str, why: String) -> PartResult {
        PartResult { left_out: vec![why], ..PartResult::new(name) }
    }

    /// A part that is a single check.
    pub(crate) fn single(name: &str, result: crate::Result<bool>) -> PartResult {
        let mut part = PartResult::new(name);
        match result {
            Ok(true) => part.passed = 1,
            Ok(false) => part.failed = 1,
            Err(message) => part.fail(message),
        }
        part
    }

    pub(crate) fn fail(&mut self, message: String) {
        self.failed += 1;
        self.notes.push(message);
    }

    /// Counts a run that ended badly, or that ran nothing at all, as a failure.
    pub(crate) fn conclude(mut self, result: crate::Result<bool>) -> PartResult {
        match result {
            Err(message) => self.fail(message),
            Ok(false) if self.failed == 0 => self.fail("it ended with an error".into()),
            Ok(true) if self.passed + self.failed == 0 && self.left_out.is_empty() => {
                self.fail("it ran no test".into());
            }
            Ok(_) => {}
        }
        self
    }
}

/// The results of all parts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) parts: Vec<PartResult>,
}

impl Report {
    /// Nothing failed, and when that is asked for, nothing was left out that could have been run.
    pub(crate) fn is_success(&self, strict: bool) -> bool {
        let excused = |part: &PartResult| part.left_out.iter().all(|why| why.starts_with(REFUSED));
        let clean = |part: &PartResult| part.failed == 0 && (!strict || excused(part));
        !self.parts.is_empty() && self.parts.iter().all(clean)
    }

    pub(crate) fn print(&self) {
        print!("{}", self.text());
    }

    fn text(&self) -> String {
        let mut out = format!("\n{:14} {:>7} {:>7}\n", "part", "passed", "failed");
        for part in &self.parts {
            _ = write!(out, "{:14} {:>7} {:>7}", part.name, part.passed, part.failed);
            let left_out = match part.left_out.len() {
                0 => String::new(),
                _ if part.passed + part.failed == 0 => "   LEFT OUT".into(),
                n => format!("   {n} LEFT OUT"),
            };
            let failed = if part.failed > 0 { "   FAILED" } else { "" };
            _ = writeln!(out, "{left_out}{failed}");
        }
        for part in &self.parts {
            for name in part.failures.iter().chain(&part.notes) {
                _ = writeln!(out, "\nFAILED: {}: {name}", part.name);
            }
        }
        if self.parts.iter().any(|part| !part.left_out.is_empty()) {
            out.push_str("\n!!! LEFT OUT: the following did NOT run\n");
        }
        for part in &self.parts {
            for why in &part.left_out {
                _ = writeln!(out, "!!! {}: {why}", part.name);
            }
        }
        let total = |count: fn(&PartResult) -> u64| self.parts.iter().map(count).sum::<u64>();
        let (passed, failed) = (total(|part| part.passed), total(|part| part.failed));
        _ = writeln!(out, "\n{passed} passed, {failed} failed");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{PartResult, REFUSED, Report};

    fn report(parts: &[(u64, u64, &[&str])]) -> Report {
        let part = |&(passed, failed, why): &(u64, u64, &[&str])| PartResult {
            passed,
            failed,
            left_out: why.iter().map(|why| why.to_string()).collect(),
            ..PartResult::new("p")
        };
        Report { parts: parts.iter().map(part).collect() }
    }

    #[test]
    fn success() {
        assert!(report(&[(1, 0, &[]), (2, 0, &[])]).is_success(true));
        assert!(!report(&[(1, 0, &[]), (2, 1, &[])]).is_success(false));
        assert!(report(&[(1, 0, &["no network"])]).is_success(false));
        assert!(!report(&[(1, 0, &["no network"])]).is_success(true));
        let refused = format!("{REFUSED}a@v1");
        assert!(report(&[(1, 0, &[&refused])]).is_success(true));
        assert!(!report(&[(1, 0, &[&refused, "no network"])]).is_success(true));
        assert!(!report(&[]).is_success(false), "nothing ran");
    }

    #[test]
    fn the_last_line_counts_and_what_is_missing_is_loud() {
        let mut report = report(&[(3, 1, &[]), (0, 0, &["no network"])]);
        report.parts[0].failures.push("a::b".into());
        let text = report.text();
        assert!(text.contains("FAILED: p: a::b\n"), "{text}");
        assert_eq!(text.lines().last(), Some("3 passed, 1 failed"));
        assert!(text.contains("p                    0       0   LEFT OUT\n"), "{text}");
        assert!(text.contains("!!! p: no network\n"), "{text}");
    }

    #[test]
    fn a_run_that_ran_nothing_or_crashed_has_failed() {
        let part = || PartResult { passed: 1, ..PartResult::new("p") };
        assert_eq!(part().conclude(Ok(true)).failed, 0);
        assert_eq!(part().conclude(Ok(false)).failed, 1);
        assert_eq!(part().conclude(Err("x".into())).failed, 1);
        assert_eq!(PartResult::new("p").conclude(Ok(true)).failed, 1);
    }
}
