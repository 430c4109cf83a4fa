//! `cargo xtask compat`: every transcript against a real Redis, difference by difference.
//!
//! The transcripts come from the binary (`apus transcripts`), one after the other, each
//! under a line `=== NAME SINCE` with the version of Redis that the command came with.

use crate::process::{self, Server};
use crate::report::PartResult;
use crate::{Result, setup};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use transcript::{Client, Reply, Target, Version};

/// A transcript and the command it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transcript {
    name: String,
    since: Version,
    text: String,
}

/// The result of a replay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// The server it ran on.
    server: String,
    /// Transcripts in which every reply was the expected one.
    pub(crate) passed: u64,
    /// Transcripts with a difference.
    pub(crate) failed: u64,
    /// Steps replayed.
    steps: u64,
    /// Steps that are not for this server, those of newer commands included.
    skipped: u64,
    differences: Vec<String>,
}

impl Report {
    pub(crate) fn print(&self) {
        for difference in &self.differences {
            println!("{difference}");
        }
        println!(
            "{}: {} replies compared, {} steps not for this server; {} transcripts as expected, \
             {} with differences",
            self.server, self.steps, self.skipped, self.passed, self.failed
        );
    }

    pub(crate) fn into_part(self, name: &str) -> PartResult {
        self.print();
        let part = PartResult {
            passed: self.passed,
            failed: self.failed,
            notes: self.differences,
            ..PartResult::new(name)
        };
        part.conclude(Ok(true))
    }
}

/// Replays on the server given with `--server HOST:PORT`, or on a redis-server of our own.
pub(crate) fn run(args: &[String]) -> Result<Report> {
    match args {
        [] => {
            setup::redis()?;
            on_redis(&process::apus(false)?)
        }
        [flag, address] if flag == "--server" => {
            replay(address, &transcripts(&process::apus(false)?)?)
        }
        _ => Err("compat takes nothing but --server HOST:PORT".into()),
    }
}

/// Replays on a real redis-server, started for it.
pub(crate) fn on_redis(apus: &Path) -> Result<Report> {
    let transcripts = transcripts(apus)?;
    let server = Server::start(Command::new("redis-server"))?;
    replay(&server.address, &transcripts)
}

/// All transcripts of the binary.
pub(crate) fn transcripts(apus: &Path) -> Result<Vec<Transcript>> {
    split(&process::output(Command::new(apus).arg("transcripts"))?)
}

fn split(text: &str) -> Result<Vec<Transcript>> {
    let mut all: Vec<Transcript> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("=== ") {
            let (name, since) =
                head.rsplit_once(' ').ok_or_else(|| format!("{line:?} lacks a version"))?;
            let since = since.parse().map_err(|e| format!("{line:?}: {e}"))?;
            all.push(Transcript { name: name.to_owned(), since, text: String::new() });
        } else if let Some(transcript) = all.last_mut() {
            transcript.text.push_str(line);
            transcript.text.push('\n');
        } else if !line.trim().is_empty() {
            return Err(format!("{line:?} stands before the first `=== NAME SINCE`"));
        }
    }
    match all.is_empty() {
        true => Err("there are no transcripts".into()),
        false => Ok(all),
    }
}

/// Replays `transcripts` on the server at `address`, each from an empty keyspace and on a
/// connection of its own. Wipes that server.
pub(crate) fn replay(address: &str, transcripts: &[Transcript]) -> Result<Report> {
    let target = target(address)?;
    let server = match target {
        Target::Apus => "Apus".to_owned(),
        Target::Redis(version) => format!("Redis {version}"),
    };
    let mut report = Report { server: format!("{server} at {address}"), ..Report::default() };
    for transcript in transcripts {
        let steps = match transcript::parse(&transcript.text) {
            Ok(steps) => steps,
            Err(e) => {
                report.failed += 1;
                report.differences.push(format!("{}: {e}", transcript.name));
                continue;
            }
        };
        let total = steps.len() as u64;
        let known = match target {
            Target::Apus => true,
            Target::Redis(version) => transcript.since <= version,
        };
        let steps: Vec<_> =
            steps.into_iter().filter(|step| known && step.only.includes(target)).collect();
        report.skipped += total - steps.len() as u64;
        if steps.is_empty() {
            continue;
        }
        report.steps += steps.len() as u64;
        let differences = steadily(|| match replay_one(address, &steps) {
            Ok(differences) => differences,
            Err(e) => vec![e],
        });
        match differences.is_empty() {
            true => report.passed += 1,
            false => report.failed += 1,
        }
        let named = |difference| format!("{}: {difference}", transcript.name);
        report.differences.extend(differences.into_iter().map(named));
    }
    Ok(report)
}

/// Some replies depend on the time since the step before, as that of TTL does. A transcript that took
/// so long that this may be why it differs is played again: the machine was busy.
fn steadily(mut play: impl FnMut() -> Vec<String>) -> Vec<String> {
    const GOES: u32 = 5;
    const LONG: Duration = Duration::from_millis(150);
    for _ in 1..GOES {
        let begin = Instant::now();
        let differences = play();
        if differences.is_empty() || begin.elapsed() < LONG {
            return differences;
        }
    }
    play()
}

/// The differences in one transcript; an error where it could not go on.
fn replay_one(address: &str, steps: &[transcript::Step]) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    let mut connection: Option<(Client, u8)> = None;
    for step in steps {
        let failed =
            |e: &dyn std::fmt::Display| format!("line {}: > {}\n  {e}", step.line, step.source);
        if step.reset {
            connection = None;
        }
        let (mut client, mut resp) = match connection.take() {
            Some(connection) => connection,
            None => (fresh(address)?, 2),
        };
        if resp != step.resp {
            let hello = client.call(&["HELLO", &step.resp.to_string()]).map_err(|e| failed(&e))?;
            if let Reply::Error(_) = hello {
                return Err(failed(&transcript::format(&hello)));
            }
            resp = step.resp;
        }
        let reply = client.call(&step.args).map_err(|e| failed(&e))?;
        if let Err(mismatch) = transcript::check(step, &reply) {
            differences.push(mismatch.to_string());
        }
        connection = Some((client, resp));
    }
    Ok(differences)
}

/// A new connection to a server that holds nothing.
fn fresh(address: &str) -> Result<Client> {
    let mut client = Client::connect(address).map_err(|e| format!("{address}: {e}"))?;
    match client.call(&["FLUSHALL"]).map_err(|e| format!("FLUSHALL: {e}"))? {
        Reply::Status(_) => Ok(client),
        other => Err(format!("FLUSHALL: {}", transcript::format(&other))),
    }
}

fn target(address: &str) -> Result<Target> {
    let mut client = Client::connect(address).map_err(|e| format!("{address}: {e}"))?;
    let info = client.call(&["INFO", "server"]).map_err(|e| format!("INFO: {e}"))?;
    let Reply::Bulk(info) = info else {
        return Err(format!("INFO: {}", transcript::format(&info)));
    };
    target_of(&String::from_utf8_lossy(&info))
}

fn target_of(info: &str) -> Result<Target> {
    let version = info
        .lines()
        .find_map(|line| line.strip_prefix("redis_version:"))
        .ok_or("INFO has no redis_version")?
        .parse()?;
    // Not the word alone: paths are in there, too.
    Ok(match info.lines().any(|line| line.starts_with("apus_version:")) {
        true => Target::Apus,
        false => Target::Redis(version),
    })
}

#[cfg(test)]
mod tests {
    use super::{Report, split, target_of};
    use transcript::{Target, Version};

    #[test]
    fn framing() {
        let all = split("\n=== get 1.0.0\n> GET k\n(nil)\n\n=== config get 2.0\n").expect("valid");
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].name.as_str(), all[0].since), ("get", Version(1, 0, 0)));
        assert_eq!(all[0].text, "> GET k\n(nil)\n\n");
        assert_eq!(all[1].name, "config get");
        for bad in ["", "x\n=== get 1.0.0", "=== get", "=== get one"] {
            assert!(split(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn who_is_there() {
        let redis = "# Server\r\nredis_version:7.0.15\r\n";
        assert_eq!(target_of(redis), Ok(Target::Redis(Version(7, 0, 15))));
        let there = "# Server\r\nredis_version:7.0.15\r\nexecutable:/apus/redis-server\r\n";
        assert_eq!(target_of(there), Ok(Target::Redis(Version(7, 0, 15))));
        let apus = "# Server\r\nredis_version:7.4.0\r\napus_version:0.1.0\r\n";
        assert_eq!(target_of(apus), Ok(Target::Apus));
        assert!(target_of("# Server\r\n").is_err());
    }

    #[test]
    fn differences_fail_and_so_does_a_replay_of_nothing() {
        let report = Report { passed: 1, failed: 1, ..Report::default() };
        assert_eq!(report.into_part("compat").failed, 1);
        assert_eq!(Report::default().into_part("compat").failed, 1);
    }
}
