//! `cargo xtask`: the commands that developers and CI run. See `HELP` below.
//!
//! Plain Rust and `std`, so that a fresh clone needs nothing but cargo to begin with.
//! All packages that tests need are installed in a cache directory outside of the
//! source tree (`paths`). A package that cannot be installed is reported, never
//! silently skipped (`report`).

// The terminal is this program's interface.
#![expect(clippy::print_stdout, reason = "a command line tool talks on stdout")]

mod access;
mod ci;
mod circles;
mod compat;
mod docs;
mod fuzz;
mod nightly;
mod paths;
mod process;
mod prose;
mod report;
mod setup;
mod suite;
mod tidy;

use std::process::ExitCode;

/// An error here is shown to a person; no code reacts to its kind.
type Result<T> = std::result::Result<T, String>;

const HELP: &str = "\
cargo xtask COMMAND

  test [--only PART]... [--strict]
        Installs what the tests need (outside of the source tree), runs all of them and
        says which had to be left out. --strict makes that a failure, unless a registry
        does not give what is needed.
        PART: rust, model, transcripts, compat, access, fuzz, s3, azure, gcs, python, cli,
        raw, go, brokers, node, java, seb
  ci    Formatting, lints, tidiness, documentation, a little Miri, short fuzzing, then `test
        --strict`.
  tidy  The tidiness checks alone.
  compat [--server HOST:PORT]
        Replays every transcript on a real redis-server (started here, or the given
        server) and prints the differences.
  access
        Asks Apus and a real redis-server what users may do (ACL DRYRUN of every command), and
        compares.
  fuzz [--seconds N] [--seed N] [--rounds N] [--keep-going] [--scenes] [--print FILE]
        Sends the same random commands to Apus and to a real redis-server and compares. Each
        round has a seed of its own, counted up from --seed. `test` runs 60 s of it, or
        APUS_FUZZ_SECONDS. --print writes the rounds to a file for tests/soak/replicas.py.
  miri [--quick]
        The tests of the crates with unsafe code under Miri, the fuzz targets' included: an hour
        or more. --quick is the part that `ci` runs.
  tsan  The tests of what threads share under ThreadSanitizer: half an hour.
        Both install a nightly toolchain with rustup.
  gen [--check]
        Writes docs/commands.md, docs/configuration.md and crates/client/src/commands from the
        binary.
  bench [--help | OPTIONS] [NAME]...
        Microbenchmarks of parser, table and families of commands: nanoseconds and
        allocations per operation. `test` runs them tiny.

  APUS_BIN    the server to test, instead of the one built here
  APUS_CACHE  where test tools are installed (default: ~/.cache/apus)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        None => ("help", &[][..]),
        Some((command, rest)) => (command.as_str(), rest),
    };
    let result = match command {
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(true)
        }
        "test" => suite::Options::parse(rest).and_then(|options| {
            let report = suite::run(&options)?;
            report.print();
            Ok(report.is_success(options.strict))
        }),
        "ci" => none(rest).and_then(|()| {
            let report = ci::run()?;
            report.print();
            Ok(report.is_success(true))
        }),
        "tidy" => none(rest).and_then(|()| ci::tidy()),
        "compat" => compat::run(rest).map(|report| {
            report.print();
            report.failed == 0
        }),
        "access" => none(rest).and_then(|()| Ok(alone(access::run()?))),
        "fuzz" => fuzz::run(rest).map(alone),
        "miri" => match rest {
            [quick] if quick == "--quick" => Ok(alone(nightly::miri(false))),
            _ => none(rest).map(|()| alone(nightly::miri(true))),
        },
        "tsan" => none(rest).map(|()| alone(nightly::tsan())),
        "gen" => docs::run(rest),
        "bench" => bench(rest),
        other => Err(format!("no command {other:?}; see `cargo xtask help`")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Prints the report of one part; whether it succeeded.
fn alone(part: report::PartResult) -> bool {
    let report = report::Report { parts: vec![part] };
    report.print();
    report.is_success(true)
}

fn none(args: &[String]) -> Result<()> {
    match args {
        [] => Ok(()),
        [first, ..] => Err(format!("{first:?} is not expected here; see `cargo xtask help`")),
    }
}

/// The microbenchmarks, with whatever options they take.
fn bench(args: &[String]) -> Result<bool> {
    let mut command =
        process::cargo(&["bench", "--quiet", "--package", "apus", "--bench", "micro", "--"]);
    process::run(command.args(args))
}
