//! The command line of `apus bench kv`: redis-benchmark's flags, and our own.
//!
//! The help is written by hand: it is grouped by what a flag is for.

use super::client::{Address, Login, Target};
use super::dist::{Dist, Sizes};
use super::reel::{KEYS_MAX, Template};
use super::tests::{self, Test};
use super::tls::TlsOptions;
use crate::words::{Word, Words};
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Usage: apus bench kv [OPTIONS] [COMMAND ARG...]

Where
  -h HOST, -p PORT, -s SOCKET   the server (127.0.0.1:6379)
  -u, --url URL                 redis://[user:password@]host[:port][/db] or unix:PATH
  --target NAME=URL|HOST:PORT|unix:PATH
                                compare servers, interleaved (repeat)
  -a, --password PASSWORD, --user NAME, --dbnum N
  --resp 2|3, -3                protocol version (2)
  --tls                         speaks TLS, to every server; with
  --cacert FILE, --cacertdir DIR   whose authorities the server's certificate is checked against
  --insecure                    or not at all
  --cert FILE, --key FILE       the client's certificate
  --sni NAME                    the name that the server is called by
  --tls-ciphers LIST, --tls-ciphersuites LIST  by OpenSSL's names
Load
  -c, --connections N           connections (50)
  --threads N                   threads of the client (half the cores)
  -P, --pipeline N[,N...]       requests per pipeline (1); a list runs each
  -t, --tests TEST[,TEST...]    redis-benchmark's tests (all)
  --mix get=9,set=1             tests mixed by weight, latency per command
  --command '[WEIGHT@]SET key:{key} {value}'   any command; several are a mix
                                {key} by --dist, {rand} even, {value} by --size
  -n, --count N                 requests (100000)
  --duration SECONDS            time instead of a count; with both, what ends first
  --rate R                      open loop: R requests per second, latency from when each was due
  -r, --keys N                  key space (-t: one key; --mix, --command: 100000)
  --dist uniform|zipf:THETA|hot:FRACTION:SHARE|seq
                                which keys (uniform)
  -d, --size N|A-B|N:WEIGHT,... bytes of a value (3)
  --fill                        first SET key:{key} {value} for every key
  --fill-command 'HSET h:{key} f {value}'      first this for every key
  --seed N                      repeats the same choices (1)
Report
  -q, --quiet                   one line per test
  --csv                         as redis-benchmark's, with more columns
  --json FILE                   everything, throughput over time included
  --timeline FILE               throughput over time as CSV
  --plot FILE                   throughput and latency over pipeline depth as SVG
  --reps N                      repetitions; medians are reported (1)
  --server-pid PID              whose CPU time is read (a local server's, by INFO)
Numbers may end in k, m or g. Exit codes: 1 for error replies or a server that cannot be driven, 2 for
a wrong command line.
";

/// Options of redis-benchmark that are not offered.
const NOT_OFFERED: [&str; 5] = ["-I", "-l", "-x", "--cluster", "--enable-tracking"];

/// A parsed command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) targets: Vec<Target>,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) depths: Vec<usize>,
    pub(crate) tests: Vec<Test>,
    /// Requests; none when only the duration ends a run.
    pub(crate) count: Option<u64>,
    pub(crate) duration: Option<Duration>,
    pub(crate) rate: Option<u64>,
    /// The key space, and whether keys are drawn from it at all.
    pub(crate) keys: u64,
    pub(crate) random: bool,
    pub(crate) dist: Dist,
    pub(crate) sizes: Sizes,
    /// What is run for every key first.
    pub(crate) fill: Option<Test>,
    pub(crate) seed: u64,
    pub(crate) quiet: bool,
    pub(crate) csv: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) timeline: Option<PathBuf>,
    pub(crate) plot: Option<PathBuf>,
    pub(crate) reps: usize,
    pub(crate) server_pid: Option<u32>,
    pub(crate) help: bool,
    /// The load speaks HTTP/1.1.
    pub(crate) http: bool,
    /// Processes whose CPU time is read, by the names of their targets.
    pub(crate) pids: Vec<(String, u32)>,
}

impl Options {
    /// The defaults.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        Options {
            targets: Vec::new(),
            connections: 50,
            threads: (cores / 2).max(1),
            depths: vec![1],
            tests: Vec::new(),
            count: None,
            duration: None,
            rate: None,
            keys: 0,
            random: false,
            dist: Dist::Uniform,
            sizes: Sizes::fixed(3),
            fill: None,
            seed: 1,
            quiet: false,
            csv: false,
            json: None,
            timeline: None,
            plot: None,
            reps: 1,
            server_pid: None,
            help: false,
            http: false,
            pids: Vec::new(),
        }
    }

    /// Reads a command line; an error says what is wrong with it.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let (mut o, mut asked) = (Self::new(), Asked::default());
        let mut words = Words::new(args);
        while let Some(word) = words.next()? {
            let flag = match word {
                Word::Option(flag) => flag,
                Word::Text(name) => {
                    let words = std::iter::once(name).chain(words.rest());
                    let args = words.map(String::into_bytes).collect();
                    o.tests.push(Test::custom(vec![Template { weight: 1, args, raw: false }]));
                    break;
                }
            };
            let mut value = || words.value(&flag);
            if !(asked.place(&flag, &mut value)?
                || asked.commands(&flag, &mut value, &mut o)?
                || o.load(&flag, &mut value)?
                || o.report(&flag, &mut value)?
                || asked.tls.take(&flag, &mut value)?)
            {
                return Err(match NOT_OFFERED.contains(&&*flag) {
                    true => format!("redis-benchmark's {flag} is not offered"),
                    false => format!("there is no option {flag}; see apus bench kv --help"),
                });
            }
        }
        asked.find_servers(&mut o)?;
        asked.find_tests(&mut o)?;
        o.keys = o.keys.max(1);
        o.threads = o.threads.min(o.connections);
        Ok(o)
    }

    /// Options of the load; whether it was one.
    pub(crate) fn load(&mut self, flag: &str, value: Value<'_>) -> Result<bool, String> {
        match flag {
            "-c" | "--connections" => {
                self.connections = number(flag, &value()?, 1, 60_000)? as usize
            }
            "--threads" => self.threads = number(flag, &value()?, 1, 1024)? as usize,
            "-P" | "--pipeline" => {
                let depth = |t: &str| Ok(number(flag, t, 1, 1_000_000)? as usize);
                self.depths = value()?.split(',').map(depth).collect::<Result<_, String>>()?;
            }
            "-n" | "--count" => self.count = Some(number(flag, &value()?, 1, u64::MAX / 2)?),
            "--duration" => {
                let text = value()?;
                let seconds = text.trim_end_matches('s').parse::<f64>().ok();
                let seconds = seconds.filter(|s| *s > 0.0 && *s <= 1e6);
                let seconds = seconds.ok_or(format!("--duration {text} is not in seconds"))?;
                self.duration = Some(Duration::from_secs_f64(seconds));
            }
            "--rate" => self.rate = Some(number(flag, &value()?, 1, 1_000_000_000)?),
            "-r" | "--keys" => self.keys = number(flag, &value()?, 1, KEYS_MAX)?,
            "--seed" => self.seed = number(flag, &value()?, 0, u64::MAX)?,
            "--reps" => self.reps = number(flag, &value()?, 1, 1000)? as usize,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options of the report, and the help; whether it was one.
    pub(crate) fn report(&mut self, flag: &str, value: Value<'_>) -> Result<bool, String> {
        match flag {
            "--help" => self.help = true,
            "-q" | "--quiet" => self.quiet = true,
            "--csv" => self.csv = true,
            "--json" => self.json = Some(value()?.into()),
            "--timeline" => self.timeline = Some(value()?.into()),
            "--plot" => self.plot = Some(value()?.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The most requests of a run.
    pub(crate) fn requests(&self) -> u64 {
        match (self.count, self.duration) {
            (Some(count), _) => count,
            (None, None) => 100_000,
            (None, Some(_)) => u64::MAX / 2,
        }
    }
}

/// How an option gets its value.
pub(crate) type Value<'a> = &'a mut dyn FnMut() -> Result<String, String>;

/// What several options say together.
struct Asked {
    login: Login,
    tls: TlsOptions,
    host: String,
    port: u16,
    socket: Option<PathBuf>,
    /// The last of the options that say where the server is, in parts.
    placed: Option<String>,
    /// Servers by name and URL.
    places: Vec<(String, String)>,
    /// Names of redis-benchmark's tests, a mix of them, and commands.
    names: Option<String>,
    mix: Option<String>,
    custom: Vec<String>,
    fill: bool,
    fill_command: Option<String>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            login: Login::default(),
            tls: TlsOptions::default(),
            host: "127.0.0.1".to_owned(),
            port: 6379,
            socket: None,
            placed: None,
            places: Vec::new(),
            names: None,
            mix: None,
            custom: Vec::new(),
            fill: false,
            fill_command: None,
        }
    }
}

impl Asked {
    /// Options of where servers are, and of the login; whether it was one.
    fn place(&mut self, flag: &str, value: Value<'_>) -> Result<bool, String> {
        let placed = Some(flag.to_owned());
        match flag {
            "-h" | "--host" => (self.host, self.placed) = (value()?, placed),
            "-p" | "--port" => {
                (self.port, self.placed) = (number(flag, &value()?, 1, 65535)? as u16, placed);
            }
            "-s" | "--socket" => (self.socket, self.placed) = (Some(value()?.into()), placed),
            "-u" | "--url" | "--uri" => self.places.push((String::new(), value()?)),
            "--target" => {
                let text = value()?;
                match text.split_once('=') {
                    Some((name, place)) if !name.is_empty() => {
                        self.places.push((name.to_owned(), place.to_owned()));
                    }
                    _ => return Err(format!("--target {text} is not NAME=HOST:PORT")),
                }
            }
            "-a" | "--password" => self.login.password = Some(value()?),
            "--user" => self.login.user = Some(value()?),
            "--dbnum" => self.login.db = number(flag, &value()?, 0, u32::MAX.into())? as u32,
            "-3" => self.login.resp3 = true,
            "--resp" => self.login.resp3 = number(flag, &value()?, 2, 3)? == 3,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options of which commands are sent, and of which server's time is read; whether it was one.
    fn commands(&mut self, flag: &str, value: Value<'_>, o: &mut Options) -> Result<bool, String> {
        match flag {
            "-t" | "--tests" => self.names = Some(value()?),
            "--mix" => self.mix = Some(value()?),
            "--command" => self.custom.push(value()?),
            "--dist" => o.dist = Dist::parse(&value()?)?,
            "-d" | "--size" => o.sizes = Sizes::parse(&value()?)?,
            "--fill" => self.fill = true,
            "--fill-command" => (self.fill, self.fill_command) = (true, Some(value()?)),
            "--server-pid" => {
                o.server_pid = Some(number(flag, &value()?, 1, u32::MAX.into())? as u32)
            }
            "--precision" => drop(value()?),
            "-k" => {
                if value()? != "1" {
                    return Err("-k 0 (a connection per request) is not offered".into());
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The servers, from all that was said of them.
    fn find_servers(&mut self, o: &mut Options) -> Result<(), String> {
        if self.login.user.is_some() && self.login.password.is_none() {
            return Err("--user needs --password".into());
        }
        match &self.placed {
            Some(flag) if !self.places.is_empty() => {
                return Err(format!("{flag} and a --url or --target exclude each other"));
            }
            _ => {}
        }
        for (name, place) in std::mem::take(&mut self.places) {
            if o.targets.iter().any(|t| t.name == name) {
                let text = "several servers are compared with --target NAME=URL, each its own name";
                return Err(text.into());
            }
            o.targets.push(url(name, &place, &self.login)?);
        }
        if o.targets.is_empty() {
            let address = match self.socket.take() {
                Some(path) => Address::Unix(path),
                None => Address::Tcp(std::mem::take(&mut self.host), self.port),
            };
            let login = self.login.clone();
            o.targets.push(Target { name: String::new(), address, login, tls: None });
        }
        let tls = std::mem::take(&mut self.tls).finish()?;
        o.targets.iter_mut().for_each(|target| target.tls = tls.clone());
        match o.server_pid {
            Some(_) if o.targets.len() > 1 => {
                Err("--server-pid is of one server; leave it out with several".into())
            }
            Some(pid) if super::sys::process_cpu(pid).is_empty() => {
                Err(format!("--server-pid {pid}: there is no such process to read"))
            }
            _ => Ok(()),
        }
    }

    /// The tests, from all that was said of them.
    fn find_tests(&self, o: &mut Options) -> Result<(), String> {
        o.random = o.keys > 0;
        if self.mix.is_some() || !self.custom.is_empty() {
            o.random = true;
            o.keys = if o.keys == 0 { 100_000 } else { o.keys };
        }
        if let Some(mix) = &self.mix {
            o.tests.push(tests::mix(mix)?);
        }
        if !self.custom.is_empty() {
            o.tests.push(tests::commands(&self.custom)?);
        }
        if o.tests.is_empty() {
            o.tests = tests::named(self.names.as_deref())?;
        }
        if self.fill {
            if o.keys == 0 {
                return Err("--fill needs a key space: -r N".into());
            }
            o.fill = Some(tests::fill(self.fill_command.as_deref())?);
        }
        Ok(())
    }
}

/// A number within bounds; `k`, `m` and `g` stand for thousands, millions and billions.
pub(crate) fn number(flag: &str, text: &str, min: u64, max: u64) -> Result<u64, String> {
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

/// A target by `redis://[[user]:password@]host[:port][/db]`, `unix:PATH` or `HOST:PORT`; what it
/// does not say of the login is as in `login`.
fn url(name: String, text: &str, login: &Login) -> Result<Target, String> {
    let mut login = login.clone();
    let Some(rest) = text.strip_prefix("redis://") else {
        return match text.split_once("://") {
            Some((scheme, _)) => Err(format!("{scheme}:// is not offered; use redis://")),
            None => Ok(Target { name, address: Address::parse(text)?, login, tls: None }),
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
    let address = match place {
        "" => return Err(format!("{text} names no host")),
        host if !host.contains(':') || host.ends_with(']') => {
            Address::parse(&format!("{host}:6379"))?
        }
        _ => Address::parse(place)?,
    };
    Ok(Target { name, address, login, tls: None })
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
        assert_eq!((o.connections, o.count, &o.depths[..]), (10, Some(5000), &[16][..]));
        assert_eq!((o.threads, o.sizes.mean(), o.tests.len()), (3, 64, 2));
        assert_eq!((o.keys, o.random), (1000, true));
        let login = &o.targets[0].login;
        assert!(o.quiet && o.csv && login.resp3 && login.db == 2);
        assert_eq!(login.password.as_deref(), Some("secret"));
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
        let o = parse("--url redis://me:p@w@host/3 --rate 10k --duration 1.5 --command GET");
        let o = o.unwrap();
        let target = &o.targets[0];
        assert_eq!(target.address, Address::Tcp("host".into(), 6379));
        let login = |t: &Target| (t.login.user.clone(), t.login.password.clone(), t.login.db);
        assert_eq!(login(target), (Some("me".into()), Some("p@w".into()), 3));
        assert_eq!((o.rate, o.duration), (Some(10_000), Some(Duration::from_millis(1500))));
        assert_eq!((o.keys, o.random, o.requests()), (100_000, true, u64::MAX / 2));
        let o = parse("--target a=h:1 --target b=redis://:x@[::1] -a y --dbnum 7").unwrap();
        assert_eq!(login(&o.targets[0]), (None, Some("y".into()), 7));
        assert_eq!(login(&o.targets[1]), (None, Some("x".into()), 7));
        assert_eq!(o.targets[1].address, Address::Tcp("::1".into(), 6379));
        assert_eq!((o.requests(), o.fill.is_none()), (100_000, true));
        let o =
            parse("--fill-command x{key} -r 7 -n 5 --duration 2 --plot=p --timeline t").unwrap();
        assert_eq!(o.fill.unwrap().templates[0].args, [b"x{key}"]);
        assert_eq!((o.count, o.duration.is_some(), o.plot), (Some(5), true, Some("p".into())));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, what) in [
            ("-n", "needs a value"),
            ("-n x", "not a number"),
            ("-c 0", "from 1"),
            ("--frob 1", "no option --frob"),
            ("-t nope", "nope"),
            ("--mix get=0", "get=0"),
            ("--user me", "--password"),
            ("-k 0", "-k 0"),
            ("--url rediss://h", "rediss"),
            ("--url redis://", "no host"),
            ("--target h:1", "NAME="),
            ("--target a=h:1 --target a=h:2", "its own name"),
            ("--target a=h:1 -p 5", "-p and"),
            ("--target a=h:1 --target b=h:2 --server-pid 1", "of one server"),
            ("--server-pid 4294967295", "no such process"),
            ("--fill -t get", "-r N"),
            ("--tls", "--cacert"),
            ("--duration 0", "seconds"),
            ("--rate 0", "from 1"),
            ("--dist normal", "zipf"),
            ("-d 1-", "not a size"),
            ("-P 1,,2", "not a number"),
            ("--command ", "empty"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }
}
