//! `cargo xtask ci`: all checks before a change goes in. CI runs just this.

use crate::process::{self, WORKSPACE_FEATURES, cargo};
use crate::report::{PartResult, Report};
use crate::suite::{self, headline};
use crate::{Result, docs, nightly, paths, tidy};
use std::process::Command;

/// How long each fuzz target runs; longer runs are for a person to start.
const FUZZ_SECONDS: &str = "5";

/// Runs every step, also after one has failed, so that one run shows everything to repair.
pub(crate) fn run() -> Result<Report> {
    let mut report = Report::default();
    let mut step = |name: &str, check: &dyn Fn() -> Result<bool>| {
        headline(name);
        report.parts.push(PartResult::single(name, check()));
    };
    step("format", &|| process::run(&mut cargo(&["fmt", "--all", "--check"])));
    let clippy = |what: &[&str]| {
        let mut command = cargo(&["clippy", "--all-targets"]);
        process::run(command.args(what).args(["--", "--deny", "warnings"]))
    };
    step("clippy", &|| clippy(&[&["--workspace"][..], &WORKSPACE_FEATURES].concat()));
    // The default features of `cargo build`, which leave parts out.
    step("clippy, plain", &|| clippy(&["--package", "apus", "--package", "apus-client"]));
    step("tidy", &tidy);
    step("rustdoc", &|| {
        let mut command = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
        process::run(command.args(WORKSPACE_FEATURES).env("RUSTDOCFLAGS", "--deny warnings"))
    });
    step("gen", &|| docs::run(&["--check".to_owned()]));
    headline("gofmt");
    report.parts.push(gofmt());
    headline("miri");
    report.parts.push(nightly::miri(false));
    headline("fuzz");
    report.parts.extend(fuzz()?);
    report.parts.extend(suite::run(&suite::Options::strict())?.parts);
    Ok(report)
}

/// The Go client tests keep to gofmt, which prints the names of files that do not.
fn gofmt() -> PartResult {
    if process::which("gofmt").is_none() {
        return PartResult::left_out("gofmt", "there is no gofmt".into());
    }
    let mut command = Command::new("gofmt");
    command.arg("-l").arg(paths::root().join("tests/clients/go"));
    let unformatted = process::output(&mut command);
    PartResult::single(
        "gofmt",
        unformatted.map(|names| {
            print!("{names}");
            names.is_empty()
        }),
    )
}

/// Prints the findings; returns whether there are none.
pub(crate) fn tidy() -> Result<bool> {
    let findings = tidy::check(paths::root())?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} findings", findings.len());
    Ok(findings.is_empty())
}

/// A short run of every `crates/*/tests/fuzz_*.rs`, which read `APUS_FUZZ_SECONDS`.
fn fuzz() -> Result<Vec<PartResult>> {
    let targets = paths::targets("tests", "fuzz_")?;
    if targets.is_empty() {
        println!("There are no fuzz targets yet (crates/*/tests/fuzz_*.rs).");
    }
    let run = |(package, target): &(String, String)| {
        let mut command = cargo(&["test", "--package", package, "--test", target]);
        let result = process::run(command.env("APUS_FUZZ_SECONDS", FUZZ_SECONDS));
        PartResult::single(target, result)
    };
    Ok(targets.iter().map(run).collect())
}
