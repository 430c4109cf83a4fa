//! Tests under Miri and ThreadSanitizer, which only a nightly toolchain has.
//!
//! - **Miri** interprets the tests of the crates with unsafe code, and fails at undefined behaviour. It is some
//!   hundred times slower than the processor: [`SLOW`] names the tests that are left out, and CI runs those that
//!   [`QUICK`] names.
//! - **ThreadSanitizer** watches the memory accesses of the tests of [`TSAN`], the standard library's included, and
//!   fails at two of them that nothing orders.
//!
//! A toolchain that is missing is installed with rustup. Where that cannot be done the part is left out, and the
//! report says so; it is no failure, since this is the only part that stable Rust cannot run.

use crate::process::{self, REFUSED, cargo};
use crate::report::PartResult;
use crate::{Result, paths};
use std::process::Command;

/// What Miri looks at: the crates whose unsafe code other crates rely on, and the parser of what arrives.
const MIRI: [&str; 3] = ["resp", "data", "store"];

/// Tests that CI runs under Miri: a minute or so.
const QUICK: [(&str, &[&str]); 3] = [
    ("resp", &["reply::"]),
    ("data", &["chunked::tests::a_change_copies_one_chunk"]),
    ("store", &["interest::tests::"]),
];

/// Tests that would take hours under Miri, for their size and not for what they do.
const SLOW: [&str; 6] = [
    "commands_beyond_the_reach_of_spans_have_their_arguments",
    "hll::tests::estimates_are_close_and_the_same_in_both_encodings",
    "hll::tests::merging_gives_the_same_bytes_as_raising_one_by_one",
    "hll::tests::damaged_values_are_refused_or_read_without_harm",
    "list::tests::a_list_is_a_deque",
    "list::tests::names_follow_the_limit",
];

/// What ThreadSanitizer looks at: every crate with tests or code of several threads.
const TSAN: [&str; 8] =
    ["engine", "store", "pubsub", "persist", "stream", "durable", "replicator", "session-commands"];

/// Programs that rustup's toolchain brings, by their components.
const COMPONENTS: &str = "miri,rust-src";

/// The tests of the crates with unsafe code under Miri; all of them, or those that CI runs.
pub(crate) fn miri(all: bool) -> PartResult {
    let mut part = PartResult::new("miri");
    if let Err(why) = toolchain() {
        return PartResult::left_out("miri", why);
    }
    let quick = |name: &str| QUICK.iter().find(|(of, _)| *of == name).map(|(_, tests)| *tests);
    let result = MIRI.into_iter().try_fold(true, |good, package| {
        let mut command = nightly(&["miri", "test", "--no-fail-fast", "--package", package]);
        // Leaks: what crossbeam-epoch has not freed when the process ends.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
        command.arg("--lib");
        match quick(package).filter(|_| !all) {
            Some(tests) => command.arg("--").args(tests),
            None => command.arg("--"),
        };
        for slow in SLOW {
            command.args(["--skip", slow]);
        }
        println!("{package}");
        let ran = process::watch(&mut command, |line| crate::suite::cargo_line(&mut part, line))?;
        // The fuzz targets' own corpora, a few inputs of each.
        let fuzzed = !all || !has_fuzz(package)? || process::run(&mut fuzz(package)?)?;
        Ok(good && ran && fuzzed)
    });
    part.conclude(result)
}

fn fuzz_targets(package: &str) -> Result<Vec<String>> {
    let all = paths::targets("tests", "fuzz_")?;
    Ok(all.into_iter().filter(|(of, _)| of == package).map(|(_, target)| target).collect())
}

fn has_fuzz(package: &str) -> Result<bool> {
    Ok(!fuzz_targets(package)?.is_empty())
}

fn fuzz(package: &str) -> Result<Command> {
    let mut command = nightly(&["miri", "test", "--no-fail-fast", "--package", package]);
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
    for target in fuzz_targets(package)? {
        command.args(["--test", &target]);
    }
    Ok(command)
}

/// The tests of all that threads share under ThreadSanitizer. The standard library is built with it, too, or its
/// locks would order nothing.
pub(crate) fn tsan() -> PartResult {
    let mut part = PartResult::new("tsan");
    if let Err(why) = toolchain() {
        return PartResult::left_out("tsan", why);
    }
    let mut command = nightly(&["test", "-Zbuild-std", "--target", TARGET, "--no-fail-fast"]);
    for name in TSAN {
        command.args(["--package", name]);
    }
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.args(["--lib", "--tests"]).env("RUSTFLAGS", flags + " -Zsanitizer=thread");
    let result = process::watch(&mut command, |line| crate::suite::cargo_line(&mut part, line));
    part.conclude(result)
}

/// The only system that CI has.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Cargo of the nightly toolchain, with a target directory of its own: its flags would make everything else be
/// built anew.
fn nightly(args: &[&str]) -> Command {
    let mut command = cargo(&[]);
    let mut rustup = Command::new("rustup");
    rustup.args(["run", "nightly", "cargo"]).args(args).current_dir(paths::root());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => rustup.env(name, value),
            None => rustup.env_remove(name),
        };
    }
    command = rustup;
    // Rustup sets these for the toolchain that runs us.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command.env("CARGO_TARGET_DIR", paths::root().join("target").join("nightly"));
    command
}

/// Installs the toolchain, unless it is there.
///
/// # Errors
/// The reason that there is none.
fn toolchain() -> std::result::Result<(), String> {
    let why = |what: &str| format!("{REFUSED}{what}; there is no other way to a nightly toolchain");
    if process::which("rustup").is_none() {
        return Err(why("rustup is not installed"));
    }
    let works = |args: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo"]).args(args).env_remove("RUSTUP_TOOLCHAIN");
        process::output(&mut command).is_ok()
    };
    if works(&["miri", "--version"]) {
        return Ok(());
    }
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", "nightly", "--profile", "minimal", "--no-self-update"]);
    install.args(["--component", COMPONENTS]);
    match process::run(&mut install)? {
        true => Ok(()),
        false => Err(why("rustup could not install nightly with Miri")),
    }
}
