//! The command line of `apus bench kv`: redis-benchmark's flags, and our own.

use super::client::{Address, Login, Target};
use super::dist::{Dist, Sizes};
use super::reel::{KEYS_MAX, Template};
use super::tests::{self, Test};
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Usage: apus bench kv [OPTIONS] [COMMAND ARG...]

Where
  -h HOST, -p PORT, -s SOCKET   the server (127.0.0.1:6379)
  -u, --url URL                 redis://[user:password@]host[:port][/db] or unix:PATH
  --target NAME=HOST:PORT       compare servers, interleaved (repeat; also NAME=unix:PATH)
  -a, --password PASSWORD, --user NAME, --dbnum N
  --resp 2|3, -3                protocol version
Load
  -c N                          connections (50)      --threads N   threads (half the cores)
  -P N[,N...]                   requests per pipeline (1); a list runs each
  -t TEST[,TEST...]             redis-benchmark's tests (all)
  --mix get=9,set=1             tests mixed by weight
  --command '[WEIGHT@]SET key:{key} {value}'   any command; several are a mix
                                {key} by --dist, {rand} even, {value} by --size
  -n, --count N                 requests (100000)     --duration SECONDS instead
  --rate R                      open loop: R requests per second, latency from when each was due
  -r, --keys N                  key space (-t: one key; --mix, --command: 100000)
  --dist uniform|zipf:THETA|hot:FRACTION:SHARE|seq
  -d, --size N|A-B|N:WEIGHT,... bytes of a value (3)
  --fill                        first SET every key
  --seed N                      repeats the same choices (1)
Report
  -q, --csv, --json FILE
  --reps N                      repetitions; medians are reported (1)
  --server-pid PID              whose CPU time is read (a local server's, by INFO)
";

/// A parsed command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) targets: Vec<Target>,
    pub(crate) login: Login,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) depths: Vec<usize>,
    pub(crate) tests: Vec<Test>,
    pub(crate) count: u64,
    pub(crate) duration: Option<Duration>,
    pub(crate) rate: Option<u64>,
    /// The key space, and whether keys are drawn from it at all.
    pub(crate) keys: u64,
    pub(crate) random: bool,
    pub(crate) dist: Dist,
    pub(crate) sizes: Sizes,
    pub(crate) fill: bool,
    pub(crate) seed: u64,
    pub(crate) quiet: bool,
    pub(crate) csv: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) reps: usize,
    pub(crate) server_pid: Option<u32>,
    pub(crate) help: bool,
}

impl Options {
    /// Reads a command line; an error says what is wrong with it.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut o = Options {
            targets: Vec::new(),
            login: Login::default(),
            connections: 50,
            threads: (cores / 2).max(1),
            depths: vec![1],
            tests: Vec::new(),
            count: 100_000,
            duration: None,
            rate: None,
            keys: 0,
            random: false,
            dist: Dist::Uniform,
            sizes: Sizes::fixed(3),
            fill: false,
            seed: 1,
            quiet: false,
            csv: false,
            json: None,
            reps: 1,
            server_pid: None,
            help: false,
        };
        let (mut host, mut port, mut socket) = ("127.0.0.1".to_owned(), 6379u16, None);
        let (mut names, mut mix, mut commands) = (None, None, Vec::new());
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            // `--keys=5` is `--keys 5`.
            let (flag, inline) = match arg.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            let mut value = || {
                inline
                    .clone()
                    .or_else(|| rest.next().cloned())
                    .ok_or(format!("{flag} lacks a value"))
            };
            match flag {
                "--help" => o.help = true,
                "-h" | "--host" => host = value()?,
                "-p" | "--port" => port = number(flag, &value()?, 1, 65535)? as u16,
                "-s" | "--socket" => socket = Some(PathBuf::from(value()?)),
                "-u" | "--url" | "--uri" => {
                    let address = url(&value()?, &mut o.login)?;
                    o.targets.push(Target { name: String::new(), address });
                }
                "--target" => {
                    let text = value()?;
                    let (name, address) =
                        text.split_once('=').ok_or("--target is NAME=HOST:PORT")?;
                    o.targets
                        .push(Target { name: name.to_owned(), address: Address::parse(address)? });
                }
                "-a" | "--password" => o.login.password = Some(value()?),
                "--user" => o.login.user = Some(value()?),
                "--dbnum" => o.login.db = number(flag, &value()?, 0, u32::MAX.into())? as u32,
                "-3" => o.login.resp3 = true,
                "--resp" => o.login.resp3 = number(flag, &value()?, 2, 3)? == 3,
                "-c" | "--connections" => {
                    o.connections = number(flag, &value()?, 1, 60_000)? as usize
                }
                "--threads" => o.threads = number(flag, &value()?, 1, 1024)? as usize,
                "-P" | "--pipeline" => {
                    let depth = |t: &str| Ok(number(flag, t, 1, 1_000_000)? as usize);
                    o.depths = value()?.split(',').map(depth).collect::<Result<_, String>>()?;
                }
                "-t" | "--tests" => names = Some(value()?),
                "--mix" => mix = Some(value()?),
                "--command" => commands.push(value()?),
                "-n" | "--count" => o.count = number(flag, &value()?, 1, u64::MAX / 2)?,
                "--duration" => {
                    let text = value()?;
                    let seconds = text.trim_end_matches('s').parse::<f64>().ok();
                    let seconds = seconds.filter(|s| *s > 0.0 && *s <= 1e6);
                    let seconds = seconds.ok_or(format!("--duration {text} is not in seconds"))?;
                    o.duration = Some(Duration::from_secs_f64(seconds));
                }
                "--rate" => o.rate = Some(number(flag, &value()?, 1, 1_000_000_000)?),
                "-r" | "--keys" => o.keys = number(flag, &value()?, 1, KEYS_MAX)?,
                "--dist" => o.dist = Dist::parse(&value()?)?,
                "-d" | "--size" => o.sizes = Sizes::parse(&value()?)?,
                "--fill" => o.fill = true,
                "--seed" => o.seed = number(flag, &value()?, 0, u64::MAX)?,
                "-q" | "--quiet" => o.quiet = true,
                "--csv" => o.csv = true,
                "--json" => o.json = Some(value()?.into()),
                "--reps" => o.reps = number(flag, &value()?, 1, 1000)? as usize,
                "--server-pid" => {
                    o.server_pid = Some(number(flag, &value()?, 1, u32::MAX.into())? as u32)
                }
                "--precision" => drop(value()?),
                "-k" => {
                    if value()? != "1" {
                        return Err("-k 0 (a connection per request) is not offered".into());
                    }
                }
                _ if flag.starts_with('-') && flag.len() > 1 => {
                    return Err(format!("there is no option {flag}; see apus bench kv --help"));
                }
                _ => {
                    let words = std::iter::once(arg).chain(rest.by_ref());
                    let args = words.map(|w| w.clone().into_bytes()).collect();
                    o.tests.push(Test::custom(vec![Template { weight: 1, args }]));
                }
            }
        }
        if o.targets.is_empty() {
            let address = socket.map_or(Address::Tcp(host, port), Address::Unix);
            o.targets.push(Target { name: String::new(), address });
        }
        if o.server_pid.is_some() && o.targets.len() > 1 {
            return Err("--server-pid is of one server; leave it out with several".into());
        }
        if o.login.user.is_some() && o.login.password.is_none() {
            return Err("--user needs --password".into());
        }
        o.random = o.keys > 0;
        if mix.is_some() || !commands.is_empty() {
            o.random = true;
            o.keys = if o.keys == 0 { 100_000 } else { o.keys };
        }
        if let Some(mix) = mix {
            o.tests.push(tests::mix(&mix)?);
        }
        if !commands.is_empty() {
            o.tests.push(tests::commands(&commands)?);
        }
        if o.tests.is_empty() {
            o.tests = tests::named(names.as_deref())?;
        }
        o.keys = o.keys.max(1);
        o.threads = o.threads.min(o.connections);
        Ok(o)
    }
}

/// A number within bounds; `k`, `m` and `g` stand for thousands, millions and billions.
fn number(flag: &str, text: &str, min: u64, max: u64) -> Result<u64, String> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" => Some(1000),
        "m" => Some(1_000_000),
        "g" => Some(1_000_000_000),
        _ => None,
    };
    let number = digits.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    number
        .filter(|n| (min..=max).contains(n))
        .ok_or(format!("{flag} {text} is not a number from {min} to {max}"))
}

/// `redis://[[user]:password@]host[:port][/db]`, `unix:PATH` or `HOST:PORT`.
fn url(text: &str, login: &mut Login) -> Result<Address, String> {
    let Some(rest) = text.strip_prefix("redis://") else {
        return match text.split_once("://") {
            Some((scheme, _)) => Err(format!("{scheme}:// is not offered; use redis://")),
            None => Address::parse(text),
        };
    };
    let (who, place) = rest.rsplit_once('@').map_or((None, rest), |(w, p)| (Some(w), p));
    if let Some(who) = who {
        let (user, password) = who.split_once(':').unwrap_or(("", who));
        login.user = (!user.is_empty()).then(|| user.to_owned());
        login.password = Some(password.to_owned());
    }
    let (place, db) = place.split_once('/').unwrap_or((place, ""));
    if !db.is_empty() {
        login.db = number("database", db, 0, u32::MAX.into())? as u32;
    }
    match Address::parse(place) {
        Err(_) if !place.is_empty() && !place.contains(':') => {
            Ok(Address::Tcp(place.to_owned(), 6379))
        }
        other => other,
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_of_redis_benchmark() {
        let line = "-h ::1 -p 7000 -c 10 -n 5000 -P 16 -r 1000 -d 64 -t set,get -q --csv \
                    --threads 3 -a secret --user me --dbnum 2 -3";
        let o = parse(line).unwrap();
        assert_eq!(o.targets[0].address, Address::Tcp("::1".into(), 7000));
        assert_eq!((o.connections, o.count, &o.depths[..], o.keys), (10, 5000, &[16][..], 1000));
        assert_eq!((o.threads, o.sizes.mean(), o.tests.len(), o.random), (3, 64, 2, true));
        assert!(o.quiet && o.csv && o.login.resp3 && o.login.db == 2);
        assert_eq!(o.login.password.as_deref(), Some("secret"));
        let o = parse("-s /tmp/x.sock -n 10 lpush list -t").unwrap();
        assert_eq!(o.targets[0].address, Address::Unix("/tmp/x.sock".into()));
        assert_eq!(o.tests[0].templates[0].args, ["lpush", "list", "-t"].map(str::as_bytes));
        assert!(!o.random);
    }

    #[test]
    fn our_own() {
        let o = parse("--target a=h:1 --target b=unix:/x -P 1,16 --mix get=9,set=1 --keys 5m");
        let o = o.unwrap();
        assert_eq!((o.targets.len(), o.targets[1].name.as_str(), o.keys), (2, "b", 5_000_000));
        assert_eq!((&o.depths[..], o.tests[0].templates[0].weight), (&[1, 16][..], 9));
        let o =
            parse("--url redis://me:p@w@host/3 --rate 10k --duration 1.5 --command GET").unwrap();
        assert_eq!(o.targets[0].address, Address::Tcp("host".into(), 6379));
        assert_eq!(
            (o.login.user.as_deref(), o.login.password.as_deref()),
            (Some("me"), Some("p@w"))
        );
        assert_eq!((o.rate, o.duration), (Some(10_000), Some(Duration::from_millis(1500))));
        assert_eq!((o.keys, o.random, o.login.db), (100_000, true, 3));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, what) in [
            ("-n", "lacks a value"),
            ("-n x", "not a number"),
            ("-c 0", "from 1"),
            ("--frob 1", "no option --frob"),
            ("-t nope", "nope"),
            ("--mix get=0", "get=0"),
            ("--user me", "--password"),
            ("-k 0", "-k 0"),
            ("--url rediss://h", "rediss"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }
}
