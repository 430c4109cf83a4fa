//! `cargo xtask fuzz`: random commands on Apus and on a real redis-server, compared by the
//! `differential` crate.

use crate::process::{self, Server};
use crate::report::PartResult;
use crate::{Result, setup};
use differential::{Round, Servers};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const NAME: &str = "fuzz";

/// How long the test command runs it, unless `APUS_FUZZ_SECONDS` says otherwise.
const SECONDS: u64 = 60;

/// The first seed of the test command, and rounds from there that are known to agree: it must not fail
/// without a change of the code. A run by hand draws a seed and looks for more.
const KNOWN: (u64, u64) = (1_795_259_990_260, 7_500);

/// Failures after which a run ends: more of them would rarely show more.
const FAILURES_MAX: usize = 5;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// `None` once rounds are counted.
    seconds: Option<u64>,
    seed: u64,
    rounds: u64,
    keep_going: bool,
    scenes: Scenes,
    /// Where to write the rounds instead of playing them.
    print: Option<PathBuf>,
}

/// Whether scenes of several clients are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenes {
    /// They take many small steps: not within the time of the test command.
    None,
    Too,
    Only,
}

impl Options {
    fn parse(args: &[String], seed: u64) -> Result<Options> {
        let mut options = Options {
            seconds: Some(SECONDS),
            seed,
            rounds: u64::MAX,
            keep_going: false,
            scenes: Scenes::Too,
            print: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--print" {
                options.print = Some(args.next().ok_or("--print takes the name of a file")?.into());
                continue;
            }
            let mut number = || {
                let text = args.next().map(String::as_str).unwrap_or_default();
                text.parse().map_err(|_| format!("{arg} takes a number, not {text:?}"))
            };
            match arg.as_str() {
                "--seconds" => options.seconds = Some(number()?),
                "--seed" => options.seed = number()?,
                "--rounds" => (options.rounds, options.seconds) = (number()?, None),
                "--keep-going" => options.keep_going = true,
                "--scenes" => options.scenes = Scenes::Only,
                other => return Err(format!("{other:?} is not an option of `fuzz`")),
            }
        }
        Ok(options)
    }
}

/// A seed that differs from run to run; it is printed.
fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(0)
}

pub(crate) fn run(args: &[String]) -> Result<PartResult> {
    let options = Options::parse(args, new_seed())?;
    if let Some(path) = &options.print {
        print_rounds(path, options.seed, options.rounds)?;
        let mut part = PartResult::new(NAME);
        part.passed = 1;
        return Ok(part.conclude(Ok(true)));
    }
    setup::redis()?;
    on_servers(&process::apus(false)?, &options)
}

/// Writes the requests of rounds to a file: before each its length in bytes, as a line. `tests/soak/replicas.py` plays
/// them on a primary.
pub(crate) fn print_rounds(path: &Path, seed: u64, rounds: u64) -> Result<()> {
    let failed = |e| format!("{}: {e}", path.display());
    let mut file = std::fs::File::create(path).map(std::io::BufWriter::new).map_err(failed)?;
    // Without `--rounds` there would be no end.
    for number in 0..rounds.min(100_000) {
        let request = Round::new(seed.wrapping_add(number)).request();
        if !request.is_empty() {
            writeln!(file, "{}", request.len()).map_err(failed)?;
            file.write_all(&request).map_err(failed)?;
        }
    }
    file.flush().map_err(failed)
}

/// As a part of the test command.
pub(crate) fn for_tests(apus: &Path) -> PartResult {
    if let Err(why) = setup::redis() {
        return PartResult::left_out(NAME, why);
    }
    let seconds = std::env::var("APUS_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let options = Options {
        seconds: Some(seconds.unwrap_or(SECONDS)),
        seed: KNOWN.0,
        rounds: KNOWN.1,
        keep_going: false,
        scenes: Scenes::None,
        print: None,
    };
    on_servers(apus, &options)
        .unwrap_or_else(|message| PartResult::new(NAME).conclude(Err(message)))
}

/// Each round is one test.
fn on_servers(apus: &Path, options: &Options) -> Result<PartResult> {
    let redis = Server::start(Command::new("redis-server"))?;
    let start_apus = || {
        let mut command = Command::new(apus);
        command.arg("serve");
        Server::start(command)
    };
    let mut apus = start_apus()?;
    println!("The first seed is {}", options.seed);
    let start = Instant::now();
    let mut told = start;
    let mut part = PartResult::new(NAME);
    let mut commands = 0;
    let mut by_command: BTreeMap<String, u64> = BTreeMap::new();
    for number in 0..options.rounds {
        if options.seconds.is_some_and(|s| start.elapsed() >= Duration::from_secs(s)) {
            break;
        }
        let round_seed = options.seed.wrapping_add(number);
        let round = Round::new(round_seed);
        match (options.scenes, round.is_scene()) {
            (Scenes::None, true) | (Scenes::Only, false) => continue,
            _ => {}
        }
        let servers = Servers { redis: redis.address.clone(), apus: apus.address.clone() };
        let mut found = round.run(&servers)?;
        if found.is_some() && options.rounds == KNOWN.1 && apus.is_running() {
            // A round that is known to agree may differ where the machine was busy between a deadline
            // and its effect. A run by hand shows the difference at once.
            println!("The round of seed {round_seed} differs; it is played again");
            found = round.run(&servers)?;
        }
        match found {
            None => part.passed += 1,
            Some(failure) => {
                let count = by_command.entry(failure.command.clone()).or_default();
                *count += 1;
                let text = format!(
                    "{}: again with `cargo xtask fuzz --seed {} --rounds 1`\n{}",
                    failure.command, failure.seed, failure.text
                );
                if *count <= 3 || !options.keep_going {
                    println!("\n{text}");
                    part.fail(text);
                } else {
                    part.failed += 1;
                }
                if by_command.len() >= FAILURES_MAX && !options.keep_going {
                    break;
                }
                if !apus.is_running() {
                    println!("Apus ended; it is started again");
                    apus = start_apus()?;
                }
            }
        }
        commands += round.commands();
        if told.elapsed() >= Duration::from_secs(10) {
            told = Instant::now();
            let seconds = start.elapsed().as_secs();
            println!("{seconds} s: {commands} commands, {} rounds differ", part.failed);
        }
    }
    for (command, count) in &by_command {
        println!("{count:6} rounds differ at {command}");
    }
    println!("{commands} commands compared, the first seed was {}", options.seed);
    Ok(part.conclude(Ok(true)))
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn options() {
        let parse = |text: &str| {
            let args: Vec<String> = text.split_whitespace().map(Into::into).collect();
            Options::parse(&args, 5)
        };
        let plain = parse("").expect("valid");
        assert_eq!((plain.seconds, plain.seed, plain.rounds), (Some(60), 5, u64::MAX));
        let one = parse("--seed 9 --rounds 1").expect("valid");
        assert_eq!((one.seconds, one.seed, one.rounds), (None, 9, 1));
        assert!(parse("--seed").is_err());
        assert!(parse("--seed x").is_err());
        assert!(parse("--fast").is_err());
    }
}
