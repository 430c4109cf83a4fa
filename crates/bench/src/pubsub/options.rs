//! The command line of `apus bench pubsub`.

use std::time::Duration;

use crate::kv::client::{Address, Login, Target};
use crate::kv::tls::TlsOptions;
use crate::words::{Word, Words};

pub(super) const HELP: &str = "\
Publishes to subscribers and measures deliveries: their rate, how long each took, what the server spent.

Usage: apus bench pubsub [OPTIONS]

Where
  -h HOST, -p PORT, -s SOCKET   the server (127.0.0.1:6379)
  --target NAME=HOST:PORT|NAME=unix:PATH   compare servers, one after the other (repeat)
  -a, --password PASSWORD, --user NAME
  --resp 2|3, -3                protocol version of the subscribers (2)
Load
  --publishers N                connections that publish (1)
  --subscribers N               connections that subscribe, to one channel each (100)
  --channels N                  channels, which subscribers and messages share evenly (1)
  --mode channel|pattern|shard  SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE (channel)
  -d, --size BYTES              of a message, at least 16 (64)
  -P, --pipeline N[,N...]       messages a publisher sends at once; each of a list is run (1)
  --rate R                      open loop: R messages per second in all, delays measured from when each
                                was due (as fast as publishes are answered)
  --threads N                   threads that receive (1)
  --duration SECONDS            (5)
  --reps N                      repetitions; medians are reported (1)
Report
  --json FILE                   the figures
  --plot FILE                   SVG: deliveries per second, and p50 and p99, over -P, a line per server
  --server-pid PID              whose CPU time is read (a local server's, by INFO)
";

/// How subscribers subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Channel,
    Pattern,
    Shard,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Pattern => "pattern",
            Self::Shard => "shard",
        }
    }
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) targets: Vec<Target>,
    pub(super) publishers: usize,
    pub(super) subscribers: usize,
    pub(super) channels: usize,
    pub(super) mode: Mode,
    pub(super) size: usize,
    pub(super) depths: Vec<usize>,
    pub(super) rate: Option<u64>,
    pub(super) threads: usize,
    pub(super) duration: Duration,
    pub(super) reps: usize,
    pub(super) json: Option<String>,
    pub(super) plot: Option<String>,
    pub(super) pid: Option<u32>,
}

impl Options {
    /// Options from the arguments; none if help is wanted.
    pub(super) fn parse(args: &[String]) -> Result<Option<Self>, String> {
        let mut o = Self {
            targets: Vec::new(),
            publishers: 1,
            subscribers: 100,
            channels: 1,
            mode: Mode::Channel,
            size: 64,
            depths: vec![1],
            rate: None,
            threads: 1,
            duration: Duration::from_secs(5),
            reps: 1,
            json: None,
            plot: None,
            pid: None,
        };
        let mut server = Place { host: "127.0.0.1".to_owned(), port: 6379, socket: None };
        let mut tls = TlsOptions::default();
        let mut login = Login::default();
        let mut words = Words::new(args);
        while let Some(word) = words.next()? {
            let (Word::Option(name) | Word::Text(name)) = word;
            match name.as_str() {
                "--help" => return Ok(None),
                "-3" => {
                    login.resp3 = true;
                    continue;
                }
                _ => {}
            }
            if tls.take(&name, &mut || words.value(&name))? {
                continue;
            }
            let value = &words.value(&name).map_err(crate::or_no_option)?;
            if !o.place(&name, value, &mut server, &mut login)? && !o.load(&name, value)? {
                return Err(format!("there is no option '{name}'; --help lists the options"));
            }
        }
        if o.targets.is_empty() {
            let address = match server.socket {
                Some(path) => Address::Unix(path.into()),
                None => Address::Tcp(server.host, server.port),
            };
            o.targets.push(Target {
                name: String::new(),
                address,
                login: Login::default(),
                tls: None,
            });
        }
        if o.targets.len() > 1 && o.pid.is_some() {
            return Err("--server-pid goes with one server".to_owned());
        }
        let tls = tls.finish()?;
        o.targets.iter_mut().for_each(|t| (t.login, t.tls) = (login.clone(), tls.clone()));
        o.threads = o.threads.min(o.subscribers);
        Ok(Some(o))
    }

    /// Options of where servers are, and of the login; whether it was one.
    fn place(
        &mut self,
        name: &str,
        value: &str,
        server: &mut Place,
        login: &mut Login,
    ) -> Result<bool, String> {
        let number = |least: u64, most: u64| crate::number(name, value, least, most);
        match name {
            "-h" | "--host" => value.clone_into(&mut server.host),
            "-p" | "--port" => server.port = number(1, 65535)? as u16,
            "-s" | "--socket" => server.socket = Some(value.to_owned()),
            "-a" | "--password" => login.password = Some(value.to_owned()),
            "--user" => login.user = Some(value.to_owned()),
            "--resp" => login.resp3 = number(2, 3)? == 3,
            "--target" => {
                let (name, at) = value.split_once('=').ok_or("--target is NAME=HOST:PORT")?;
                let (name, address) = (name.to_owned(), Address::parse(at)?);
                self.targets.push(Target { name, address, login: Login::default(), tls: None });
            }
            "--server-pid" => self.pid = Some(number(1, u64::from(u32::MAX))? as u32),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options of the load and the report; whether it was one.
    fn load(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let number = |least: u64, most: u64| crate::number(name, value, least, most);
        match name {
            "--publishers" => self.publishers = number(1, 1000)? as usize,
            "--subscribers" => self.subscribers = number(1, 100_000)? as usize,
            "--channels" => self.channels = number(1, 1_000_000)? as usize,
            "--mode" => {
                let modes = [Mode::Channel, Mode::Pattern, Mode::Shard];
                self.mode = modes
                    .into_iter()
                    .find(|m| m.name() == value)
                    .ok_or_else(|| format!("--mode is channel, pattern or shard, not '{value}'"))?;
            }
            "-d" | "--size" => self.size = number(16, 1 << 20)? as usize,
            "-P" | "--pipeline" => {
                let depth = |n: &str| Ok(crate::number(name, n, 1, 10_000)? as usize);
                self.depths = value.split(',').map(depth).collect::<Result<_, String>>()?;
            }
            "--rate" => self.rate = Some(number(1, 1 << 30)?),
            "--threads" => self.threads = number(1, 256)? as usize,
            "--duration" => {
                let seconds: f64 = value.parse().unwrap_or(f64::NAN);
                if !(0.01..=86_400.0).contains(&seconds) {
                    return Err(format!("--duration is seconds from 0.01 on, not '{value}'"));
                }
                self.duration = Duration::from_secs_f64(seconds);
            }
            "--reps" => self.reps = number(1, 1000)? as usize,
            "--json" => self.json = Some(value.to_owned()),
            "--plot" => self.plot = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Where a server is, in several words.
struct Place {
    host: String,
    port: u16,
    socket: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Options>, String> {
        Options::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let o =
            parse("-p 7 -3 --mode shard --subscribers 2 --threads 9 -d 20 -P 3 --rate 10").unwrap();
        let o = o.unwrap();
        assert_eq!((o.mode, o.threads, o.size, o.rate), (Mode::Shard, 2, 20, Some(10)));
        assert_eq!(o.depths, [3]);
        assert_eq!(o.targets[0].address, Address::Tcp("127.0.0.1".into(), 7));
        assert!(o.targets[0].login.resp3);
        let o = parse("-P 1,16 --plot f.svg").unwrap().unwrap();
        assert_eq!((o.depths, o.plot), (vec![1, 16], Some("f.svg".to_owned())));
        let o = parse("--target a=h:1 --target b=unix:/x -a secret").unwrap().unwrap();
        assert_eq!(o.targets.len(), 2);
        assert!(o.targets.iter().all(|t| t.login.password.as_deref() == Some("secret")));
        assert!(parse("--help").unwrap().is_none());
        for wrong in [
            "-d 15",
            "--mode x",
            "--nothing 1",
            "-d",
            "--duration 0",
            "-p 70000",
            "-P 1,",
            "-P 0",
            "--target h:1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
