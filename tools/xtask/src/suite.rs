//! `cargo xtask test`: every test, part by part.

use crate::process::{self, Server, WORKSPACE_FEATURES, cargo};
use crate::report::{PartResult, Report};
use crate::{Result, access, compat, fuzz, paths, setup};
use std::path::Path;
use std::process::Command;

/// The first seed, and how many rounds of the generator the tests of replicas play.
const ROUNDS: (u64, u64) = (1, 200);

const PARTS: [&str; 18] = [
    "rust",
    "model",
    "transcripts",
    "compat",
    "access",
    "fuzz",
    "s3",
    "azure",
    "gcs",
    "python",
    "cli",
    "raw",
    "browser",
    "go",
    "brokers",
    "node",
    "java",
    "seb",
];

/// The parts to run, and how strictly.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    only: Vec<String>,
    pub(crate) strict: bool,
}

impl Options {
    /// Every part, and nothing may be left out except packages that a registry does not give.
    pub(crate) fn strict() -> Options {
        Options { only: Vec::new(), strict: true }
    }

    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--strict" => options.strict = true,
                "--only" => {
                    let part = args.next().map(String::as_str).unwrap_or_default();
                    if !PARTS.contains(&part) {
                        return Err(format!("--only takes one of {}", PARTS.join(", ")));
                    }
                    options.only.push(part.to_owned());
                }
                other => return Err(format!("{other:?} is not an option of `test`")),
            }
        }
        Ok(options)
    }

    fn includes(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

/// Runs the parts one after the other. Parts that fail or cannot run are in the report; an error
/// means that nothing could run.
pub(crate) fn run(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let without_server = [("rust", rust as fn() -> PartResult), ("model", model)];
    for (name, part) in without_server {
        if options.includes(name) {
            headline(name);
            report.parts.push(part());
        }
    }
    let needs_server = |part: &&str| without_server.iter().all(|(name, _)| name != part);
    let rest: Vec<&str> =
        PARTS.into_iter().filter(needs_server).filter(|part| options.includes(part)).collect();
    if rest.is_empty() {
        return Ok(report);
    }
    let apus = match process::apus(options.includes("rust")) {
        Ok(apus) => apus,
        Err(message) => {
            let mut part = PartResult::new("apus");
            part.fail(message);
            report.parts.push(part);
            for part in rest {
                report.parts.push(PartResult::left_out(part, "the server was not built".into()));
            }
            return Ok(report);
        }
    };
    for name in rest {
        headline(name);
        report.parts.push(with_server(name, &apus));
    }
    Ok(report)
}

/// Runs a part that needs the server.
fn with_server(name: &'static str, apus: &Path) -> PartResult {
    match name {
        "transcripts" => transcripts(apus),
        "compat" => match setup::redis() {
            Ok(()) => compat::on_redis(apus).map_or_else(
                |message| PartResult::new(name).conclude(Err(message)),
                |report| report.into_part(name),
            ),
            Err(why) => PartResult::left_out(name, why),
        },
        "access" => access::for_tests(apus),
        "fuzz" => fuzz::for_tests(apus),
        "s3" => match setup::minio() {
            Ok(minio) => bucket(name, "MINIO", &minio),
            Err(why) => PartResult::left_out(name, why),
        },
        "azure" => match setup::azurite() {
            Ok(azurite) => bucket(name, "AZURITE", &azurite),
            Err(why) => PartResult::left_out(name, why),
        },
        // It comes with the tests.
        "gcs" => bucket(name, "GCS", Path::new("own")),
        "python" => match setup::python() {
            Ok(python) => python_suite(name, &python, apus),
            Err(why) => PartResult::left_out(name, why),
        },
        "cli" => match setup::redis() {
            Ok(()) => {
                // Without it one test leaves itself out, and says so.
                if let Err(why) = setup::browser() {
                    println!("{why}");
                }
                system_python(name, apus)
            }
            Err(why) => PartResult::left_out(name, why),
        },
        "raw" => system_python(name, apus),
        "java" => match setup::java() {
            Ok(()) => system_python(name, apus),
            Err(why) => PartResult::left_out(name, why),
        },
        "browser" => match setup::browser().and_then(|()| setup::redis()) {
            Ok(()) => {
                // The chat has the SDK from there. Without it these tests leave themselves out, and say so.
                if let Err(why) = setup::node() {
                    println!("{why}");
                }
                system_python(name, apus)
            }
            Err(why) => PartResult::left_out(name, why),
        },
        "go" => go_clients(name, &["."], apus),
        "brokers" => go_clients(name, &["./asynq/...", "./centrifuge/..."], apus),
        "seb" => match setup::seb() {
            Ok(options) => go(name, "seb", &options, &["./..."], apus),
            Err(why) => PartResult::left_out(name, why),
        },
        _ => match setup::node() {
            Ok(modules) => node(&modules, apus),
            Err(why) => PartResult::left_out(name, why),
        },
    }
}

pub(crate) fn headline(name: &str) {
    println!("\n==== {name}");
}

fn rust() -> PartResult {
    let mut part = PartResult::new("rust");
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
    let result =
        process::watch(command.args(WORKSPACE_FEATURES), |line| cargo_line(&mut part, line));
    part.conclude(result)
}

/// Protocols between threads under every order of their steps: `stdx::sync`. Built apart, with loom's
/// locks and atomics.
fn model() -> PartResult {
    let mut part = PartResult::new("model");
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" --cfg loom");
    let mut command = cargo(&["test", "--lib", "--no-fail-fast"]);
    for name in ["stream", "persist", "data", "store", "pubsub", "engine"] {
        command.args(["--package", name]);
    }
    command.args(["model::"]).env("RUSTFLAGS", flags);
    // Beside this program, so that nothing else is built anew because of the flags.
    let own = std::env::current_exe().map_err(|e| format!("the path of xtask: {e}"));
    let result = own.and_then(|own| {
        command.env("CARGO_TARGET_DIR", own.with_file_name("model"));
        process::watch(&mut command, |line| cargo_line(&mut part, line))
    });
    part.conclude(result)
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`, and `test name ... ignored, why`.
pub(crate) fn cargo_line(part: &mut PartResult, line: &str) {
    if let Some(counts) = line.strip_prefix("test result: ") {
        let count = |word: &str| {
            let before = counts.split(word).next().unwrap_or_default();
            before.split_whitespace().last().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        part.passed += count(" passed");
        part.failed += count(" failed");
    } else if let Some((name, verdict)) = line.split_once(" ... ")
        && let Some(name) = name.strip_prefix("test ")
    {
        if verdict.starts_with("ignored") {
            part.left_out.push(format!("{name}: {verdict}"));
        } else if verdict.starts_with("FAILED") {
            part.failures.push(name.to_owned());
        }
    }
}

/// Every transcript on the whole binary, over a socket.
fn transcripts(apus: &Path) -> PartResult {
    let result = (|| {
        let transcripts = compat::transcripts(apus)?;
        let mut command = Command::new(apus);
        command.arg("serve");
        let server = Server::start(command)?;
        compat::replay(&server.address, &transcripts)
    })();
    match result {
        Ok(report) => report.into_part("transcripts"),
        Err(message) => PartResult::new("transcripts").conclude(Err(message)),
    }
}

fn system_python(name: &str, apus: &Path) -> PartResult {
    match process::which("python3") {
        Some(python) => python_suite(name, &python, apus),
        None => PartResult::left_out(name, "there is no python3".into()),
    }
}

fn python_suite(name: &str, python: &Path, apus: &Path) -> PartResult {
    let mut part = PartResult::new(name);
    let mut command = Command::new(python);
    command
        .arg(paths::root().join("tests/clients/run.py"))
        .arg(name)
        .env("APUS_BIN", apus)
        .env("PYTHONUNBUFFERED", "1")
        // No __pycache__ in the source tree.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    if name == "raw" {
        // Load for the tests of replicas.
        let written = paths::cache().map(|cache| cache.join("rounds")).and_then(|rounds| {
            crate::fuzz::print_rounds(&rounds, ROUNDS.0, ROUNDS.1).map(|()| rounds)
        });
        match written {
            Ok(rounds) => _ = command.env("APUS_ROUNDS", rounds),
            Err(why) => return part.conclude(Err(why)),
        }
        // Without it the tests of a bucket leave themselves out, and say so.
        match setup::minio() {
            Ok(minio) => _ = command.env("MINIO", minio),
            Err(why) => println!("{why}"),
        }
    }
    let result = process::watch(&mut command, |line| python_line(&mut part, line));
    part.conclude(result)
}

/// `LEFT OUT name: why` and `RESULT passed failed left_out`, as run.py prints them last.
fn python_line(part: &mut PartResult, line: &str) {
    if let Some(counts) = line.strip_prefix("RESULT ") {
        let counts: Vec<u64> = counts.split(' ').filter_map(|n| n.parse().ok()).collect();
        if let [passed, failed, _] = counts[..] {
            part.passed += passed;
            part.failed += failed;
        }
    } else if let Some(what) = line.strip_prefix("LEFT OUT ")
        && what.contains(": ")
    {
        part.left_out.push(what.to_owned());
    } else if let Some(what) = line.strip_prefix("FAILED   ") {
        part.failures.push(what.rsplit_once("  (").map_or(what, |(name, _)| name).to_owned());
    }
}

/// The tests that need an object store's server, whose binary `variable` names: targets that a plain
/// `cargo test` does not run.
fn bucket(name: &str, variable: &str, binary: &Path) -> PartResult {
    let mut part = PartResult::new(name);
    // All of the workspace, as for "rust", so that nothing is built anew with other features.
    let mut command = cargo(&["test", "--workspace", "--features", "log/cloud"]);
    command.args(WORKSPACE_FEATURES).args(["--test", "bucket", "--test", "topics_bucket"]);
    for name in ["MINIO", "AZURITE", "GCS"] {
        command.env_remove(name);
    }
    command.env(variable, binary);
    let result = process::watch(&mut command, |line| cargo_line(&mut part, line));
    part.conclude(result)
}

/// Packages of the Go tests. Those whose modules a registry may not have are a part of their own.
fn go_clients(name: &str, packages: &[&str], apus: &Path) -> PartResult {
    match setup::go(packages) {
        Ok(()) => go(name, "go", &["-mod=readonly".to_owned()], packages, apus),
        Err(why) => PartResult::left_out(name, why),
    }
}

fn go(name: &str, dir: &str, options: &[String], packages: &[&str], apus: &Path) -> PartResult {
    let mut part = PartResult::new(name);
    let mut command = Command::new("go");
    command
        .args(["test", "-count=1", "-v"])
        .args(packages)
        .env("GOFLAGS", options.join(" "))
        .env("APUS_BIN", apus)
        .current_dir(paths::root().join("tests/clients").join(dir));
    let result = process::watch(&mut command, |line| go_line(&mut part, line));
    part.conclude(result)
}

/// `--- PASS: TestName (0.1s)`; subtests are indented and belong to their test.
fn go_line(part: &mut PartResult, line: &str) {
    if line.starts_with("--- PASS: ") {
        part.passed += 1;
    } else if let Some(what) = line.strip_prefix("--- FAIL: ") {
        part.failed += 1;
        part.failures.push(what.split(' ').next().unwrap_or(what).to_owned());
    } else if let Some(what) = line.strip_prefix("--- SKIP: ") {
        part.left_out.push(what.to_owned());
    }
}

fn node(modules: &Path, apus: &Path) -> PartResult {
    let mut part = PartResult::new("node");
    let mut command = Command::new("node");
    command
        .args(["--test", "--test-reporter=tap"])
        .env("NODE_PATH", modules)
        .env("APUS_BIN", apus)
        .current_dir(paths::root().join("tests/clients/node"));
    let result = process::watch(&mut command, |line| node_line(&mut part, line));
    part.conclude(result)
}

/// `# pass 3`, and so on, at the end of a TAP stream.
fn node_line(part: &mut PartResult, line: &str) {
    // Subtests are indented and belong to their test.
    if let Some((_, name)) = line.strip_prefix("not ok ").and_then(|rest| rest.split_once(" - ")) {
        part.failures.push(name.to_owned());
    }
    let Some((what, count)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(' ')) else {
        return;
    };
    let Ok(count) = count.parse::<u64>() else {
        return;
    };
    match what {
        "pass" => part.passed += count,
        "fail" | "cancelled" => part.failed += count,
        "skipped" | "todo" if count > 0 => part.left_out.push(format!("{count} {what}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, cargo_line, go_line, node_line, python_line};
    use crate::report::PartResult;

    fn counted(line: fn(&mut PartResult, &str), text: &str) -> (u64, u64, usize) {
        let mut part = PartResult::new("p");
        text.lines().for_each(|text| line(&mut part, text));
        (part.passed, part.failed, part.left_out.len())
    }

    #[test]
    fn what_the_runners_print_is_counted() {
        let cargo = "test a ... ok\ntest b ... ignored, slow\ntest c ... FAILED\n\
            test result: FAILED. 11 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(counted(cargo_line, cargo), (14, 2, 1));
        let python =
            "ok       a.b  (0.1 s)\nLEFT OUT a.c  (0.1 s)\nLEFT OUT a.c: why\nRESULT 4 2 1";
        assert_eq!(counted(python_line, python), (4, 2, 1));
        let go = "--- PASS: TestA (0.00s)\n    --- PASS: TestA/resp2 (0.00s)\n\
            --- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL";
        assert_eq!(counted(go_line, go), (1, 1, 1));
        let node = "ok 1 - strings\n# tests 7\n# pass 3\n# fail 1\n# cancelled 1\n# skipped 2";
        assert_eq!(counted(node_line, node), (3, 2, 1));
    }

    #[test]
    fn the_tests_that_failed_are_named() {
        let failures = |line: fn(&mut PartResult, &str), text: &str| {
            let mut part = PartResult::new("p");
            text.lines().for_each(|text| line(&mut part, text));
            part.failures
        };
        assert_eq!(
            failures(cargo_line, "test a::b ... ok\ntest c - d (line 3) ... FAILED"),
            ["c - d (line 3)"]
        );
        let python =
            "ok       a.b  (0.1 s)\nFAILED   a.B.test_c (n=1)  (0.1 s)\nFAILED (failures=1)";
        assert_eq!(failures(python_line, python), ["a.B.test_c (n=1)"]);
        assert_eq!(failures(go_line, "    --- FAIL: A/b (0s)\n--- FAIL: A (0.00s)"), ["A"]);
        assert_eq!(failures(node_line, "ok 1 - a\n    not ok 1 - b\nnot ok 2 - c"), ["c"]);
    }

    #[test]
    fn options() {
        let parse =
            |words: &str| Options::parse(&words.split(' ').map(Into::into).collect::<Vec<_>>());
        let options = parse("--only go --strict --only raw").expect("valid");
        assert!(options.strict && options.includes("go") && options.includes("raw"));
        assert!(!options.includes("rust"));
        assert!(Options::default().includes("rust"));
        assert!(parse("--only seb").expect("valid").includes("seb"));
        assert!(parse("--only").is_err());
        assert!(parse("--only nothing").is_err());
        assert!(parse("fast").is_err());
    }
}
