//! What a connection is to be: read from a URL as other clients write them, or set field by field.

use crate::error::{Error, Result};
use crate::parse::Limits;
use crate::tls::Tls;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// A host name or an IP address, and a port.
    Tcp(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') && !host.starts_with('[') => {
                write!(f, "[{host}]:{port}")
            }
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// `host:port`, or the path of a socket, which has a `/`. An error does not say what the text is: it may be a password
/// that stands where the parser takes it for a port.
impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.contains('/') {
            return Ok(Self::Unix(text.into()));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port))
                if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) =>
            {
                let number = port.parse();
                (host, number.map_err(|_| Error::usage("a port is a number up to 65535"))?)
            }
            _ => (text, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        Ok(Self::Tcp(host.to_owned(), port))
    }
}

/// Redis's port, for a URL without one.
const PORT: u16 = 6379;

/// The protocol that a connection asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP3, and RESP2 if the server has no `HELLO`.
    #[default]
    Auto,
    /// RESP2.
    Resp2,
}

/// The pauses between attempts to connect: each is twice the one before, give or take a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub max: Duration,
}

impl Backoff {
    /// The pause after `attempt` failed attempts, counted from 0.
    pub(crate) fn pause(&self, attempt: u32) -> Duration {
        let pause = self.first.saturating_mul(1 << attempt.min(20)).min(self.max);
        // Clients that lost the same server do not come back at the same time.
        pause.mul_f64(0.75 + 0.5 * crate::random::unit())
    }
}

/// The sentinels, and which master.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentinelConfig {
    /// The master's name.
    pub master: String,
    /// Sentinels; others that they know are learned.
    pub addresses: Vec<Address>,
    /// The user of sentinels.
    pub username: Option<String>,
    /// The password of sentinels.
    pub password: Option<String>,
}

/// Everything that can be chosen. `Config::default()` is a server on this machine; a URL sets the rest:
/// `"redis://user:password@host:6379/2".parse::<Config>()`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The server.
    pub address: Address,
    /// The sentinels that know the address, if there are some.
    pub sentinel: Option<SentinelConfig>,
    /// Nodes of a cluster, if it is one: any that are there know the others.
    pub cluster: Vec<Address>,
    /// TLS over TCP.
    pub tls: Option<Tls>,
    /// The user; `default` if there is a password alone.
    pub username: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The database.
    pub database: u32,
    /// The name of our connections (`CLIENT SETNAME`).
    pub name: Option<String>,
    /// The protocol.
    pub protocol: Protocol,
    /// Connections that callers share; more than one pays when a single task's CPU is not enough.
    pub connections: usize,
    /// How far apart writes are at least while several commands are under way: what is queued meanwhile is written
    /// together. A caller alone never waits. None: a write waits for nothing.
    pub flush_delay: Option<Duration>,
    /// How long it may take to connect, the handshake included.
    pub connect_timeout: Duration,
    /// How long a reply may take, up to a quarter more. None: for ever.
    pub response_timeout: Option<Duration>,
    /// The pauses between attempts to connect.
    pub backoff: Backoff,
    /// Commands fail at once while there is no connection; otherwise they wait for one, up to their time-out.
    pub fail_while_down: bool,
    /// Commands that may wait for their replies on a connection; callers of more wait.
    pub commands_max: usize,
    /// Bytes that may wait on a connection to be written and answered; callers of more wait.
    pub bytes_max: usize,
    /// What a reply may be at most.
    pub limits: Limits,
    /// Connections for blocking commands, transactions and subscriptions that are kept for use again.
    pub idle_max: usize,
    /// Reads may go to replicas (`READONLY` is sent; topologies send reads there).
    pub read_from_replicas: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: Address::Tcp("127.0.0.1".into(), PORT),
            sentinel: None,
            cluster: Vec::new(),
            tls: None,
            username: None,
            password: None,
            database: 0,
            name: None,
            protocol: Protocol::Auto,
            connections: 1,
            flush_delay: None,
            connect_timeout: Duration::from_secs(5),
            response_timeout: Some(Duration::from_secs(10)),
            backoff: Backoff { first: Duration::from_millis(20), max: Duration::from_secs(2) },
            fail_while_down: false,
            commands_max: 65_536,
            bytes_max: 64 << 20,
            limits: Limits::default(),
            idle_max: 8,
            read_from_replicas: false,
        }
    }
}

impl FromStr for Config {
    type Err = Error;

    /// Reads `redis://[user[:password]@]host[:port][/database]`, `rediss://…`, `unix:///path?db=2`,
    /// `redis+unix:///path`, `tcp://…`, or `host:port`; `redis+sentinel://host:port?sentinel_master_name=…&addr=…` and
    /// `redis+cluster://host:port?addr=…`, as centrifuge has them.
    fn from_str(url: &str) -> Result<Self> {
        let mut config = Self::default();
        let Some((scheme, rest)) = url.split_once("://") else {
            if url.contains('@') {
                return Err(Error::usage("a URL with a user or a password begins with a scheme"));
            }
            config.address = url.parse()?;
            return Ok(config);
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let is_unix = match scheme {
            "redis" | "tcp" | "valkey" | "redis+sentinel" | "redis+cluster" => false,
            "rediss" | "valkeys" | "rediss+sentinel" | "rediss+cluster" => {
                config.tls = Some(Tls::system()?);
                false
            }
            "unix" | "redis+unix" | "valkey+unix" => true,
            _ => {
                let known = "redis, rediss, unix, redis+sentinel and redis+cluster";
                return Err(Error::usage(format!("schemes of URLs are {known}")));
            }
        };
        // A password may contain an @ that was not escaped; a path of a socket, too.
        let authority_end = if is_unix { rest.find('/') } else { None }.unwrap_or(rest.len());
        let at = rest[..authority_end].rfind('@');
        let rest = match at {
            Some(at) => {
                config.set_user(&rest[..at])?;
                &rest[at + 1..]
            }
            None => rest,
        };
        if is_unix {
            config.address = Address::Unix(decoded(rest)?.into());
        } else {
            let (host, database) = rest.split_once('/').unwrap_or((rest, ""));
            config.address = match host {
                "" => Address::Tcp("127.0.0.1".into(), PORT),
                host => decoded(host)?.parse()?,
            };
            if !matches!(config.address, Address::Tcp(..)) {
                return Err(Error::usage("a host has no /"));
            }
            config.set_database(database.trim_end_matches('/'))?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            config.set_parameter(name, &decoded(value)?)?;
        }
        config.set_topology(scheme)?;
        Ok(config)
    }
}

impl Config {
    fn set_user(&mut self, text: &str) -> Result<()> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        self.username = Some(decoded(user)?).filter(|user| !user.is_empty());
        self.password = Some(decoded(password)?).filter(|password| !password.is_empty());
        Ok(())
    }

    /// What the scheme says beyond the server: its address and those of `addr` are others' then.
    fn set_topology(&mut self, scheme: &str) -> Result<()> {
        let more = std::mem::take(&mut self.cluster);
        let addresses = std::iter::once(self.address.clone()).chain(more).collect();
        if scheme.ends_with("+cluster") {
            self.cluster = addresses;
        } else if let Some(sentinel) = &mut self.sentinel {
            sentinel.addresses = addresses;
        }
        let has_master = self.sentinel.as_ref().is_some_and(|sentinel| !sentinel.master.is_empty());
        match scheme.ends_with("+sentinel") || self.sentinel.is_some() {
            true if !has_master => Err(Error::usage("sentinel_master_name is missing")),
            _ => Ok(()),
        }
    }

    fn set_database(&mut self, text: &str) -> Result<()> {
        if !text.is_empty() {
            let number = text.parse();
            self.database = number.map_err(|_| Error::usage("a database is a number"))?;
        }
        Ok(())
    }

    /// Parameters that other clients know; those that only other clients need are no mistake.
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "db" | "database" => self.set_database(value)?,
            "user" | "username" => self.username = Some(value.to_owned()),
            "pass" | "password" => self.password = Some(value.to_owned()),
            "client_name" | "name" => self.name = Some(value.to_owned()),
            "protocol" => {
                self.protocol = match value {
                    "2" | "resp2" => Protocol::Resp2,
                    "3" | "resp3" => Protocol::Auto,
                    _ => return Err(Error::usage("protocols are 2 and 3")),
                }
            }
            "force_resp2" if value == "true" => self.protocol = Protocol::Resp2,
            "connect_timeout" => self.connect_timeout = duration(value)?,
            "io_timeout" | "response_timeout" => self.response_timeout = Some(duration(value)?),
            "flush_delay" => self.flush_delay = Some(duration(value)?),
            // Sorted out when all parameters are there.
            "addr" => self.cluster.push(value.parse()?),
            "sentinel_master_name" => {
                self.sentinel.get_or_insert_default().master = value.to_owned()
            }
            "sentinel_user" => {
                self.sentinel.get_or_insert_default().username = Some(value.to_owned())
            }
            "sentinel_password" => {
                self.sentinel.get_or_insert_default().password = Some(value.to_owned())
            }
            "read_from_replicas" | "replica_client_enabled" => {
                self.read_from_replicas = value == "true"
            }
            "connections" => {
                let count = value.parse().ok().filter(|count| (1..=1024).contains(count));
                self.connections = count.ok_or_else(|| {
                    Error::usage(format!("{value:?} is not a number of connections"))
                })?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn decoded(text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| Error::usage("an escape in a URL that is not UTF-8"))
}

/// `5s`, `100ms`, `100us`, or seconds without a unit.
fn duration(text: &str) -> Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number = digits.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    let unit = match &text[digits.len()..] {
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" | "" => Some(1.0),
        "m" => Some(60.0),
        _ => None,
    };
    match (number, unit) {
        (Some(number), Some(unit)) => Ok(Duration::from_secs_f64(number * unit)),
        _ => Err(Error::usage(format!("{text:?} is not a time, as 5s or 100ms are"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Config, Protocol};
    use std::time::Duration;

    fn config(url: &str) -> Config {
        url.parse().unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.into(), port)
    }

    #[test]
    fn urls_as_other_clients_write_them() {
        assert_eq!(config("redis://").address, tcp("127.0.0.1", 6379));
        assert_eq!(config("redis://example.com").address, tcp("example.com", 6379));
        assert_eq!(config("redis://example.com:7000/3").database, 3);
        assert_eq!(config("redis://[::1]:7000").address, tcp("::1", 7000));
        assert_eq!(config("redis://[::1]").address, tcp("::1", 6379));
        assert_eq!(config("localhost:7000").address, tcp("localhost", 7000));
        let full =
            config("redis://us%40er:p%2Fw@d@h:1/2?protocol=2&connect_timeout=1s&io_timeout=250ms");
        assert_eq!(
            (full.username.as_deref(), full.password.as_deref()),
            (Some("us@er"), Some("p/w@d"))
        );
        assert_eq!((full.address, full.database, full.protocol), (tcp("h", 1), 2, Protocol::Resp2));
        assert_eq!(full.connect_timeout, Duration::from_secs(1));
        assert_eq!(full.response_timeout, Some(Duration::from_millis(250)));
        let password = config("redis://:secret@h");
        assert_eq!((password.username, password.password.as_deref()), (None, Some("secret")));
        let unix = config("unix:///tmp/a%20b.sock?db=4");
        assert_eq!((unix.address, unix.database), (Address::Unix("/tmp/a b.sock".into()), 4));
        let unix = config("redis+unix://u:p@/tmp/x.sock");
        assert_eq!(
            (unix.address, unix.username.as_deref()),
            (Address::Unix("/tmp/x.sock".into()), Some("u"))
        );
        assert_eq!(
            config("redis://h?flush_delay=100us").flush_delay,
            Some(Duration::from_micros(100))
        );
    }

    #[test]
    fn urls_of_topologies() {
        let sentinel = config(
            "redis+sentinel://:p@s1:26379/2?sentinel_master_name=m&addr=s2:26380&sentinel_password=x",
        );
        let found = sentinel.sentinel.expect("sentinels");
        assert_eq!(found.addresses, [tcp("s1", 26379), tcp("s2", 26380)]);
        assert_eq!((found.master.as_str(), found.password.as_deref()), ("m", Some("x")));
        assert_eq!(
            (sentinel.database, sentinel.password.as_deref(), sentinel.cluster.len()),
            (2, Some("p"), 0)
        );
        let cluster = config("redis+cluster://n1:7000?addr=n2:7001");
        assert_eq!(cluster.cluster, [tcp("n1", 7000), tcp("n2", 7001)]);
        assert!(config("redis://h").cluster.is_empty());
        assert!("redis+sentinel://s1".parse::<Config>().is_err());
    }

    #[test]
    fn wrong_urls_do_not_tell_passwords() {
        for url in [
            "http://:secret@x",
            "secret://x",
            "redis://user:secret",
            "redis://:secret?x@h",
            "redis://h/secret",
            "redis://h:secret/1",
            "redis://h%2Fsecret",
            "redis://h?addr=x:secret",
            "redis:secret@h",
            "redis//:secret@h",
            "u:secret@h:6379",
            "redis://u:secret%ff@h",
        ] {
            let error = url.parse::<Config>().expect_err(url);
            assert!(!error.to_string().contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn wrong_urls_are_errors() {
        for url in [
            "http://h",
            "redis://h:port",
            "redis://h:70000",
            "redis://h/x",
            "redis://h/-1",
            "redis://h?protocol=4",
            "redis://h?connect_timeout=soon",
            "redis://h?connections=0",
            "redis://%ff",
        ] {
            assert!(url.parse::<Config>().is_err(), "{url}");
        }
        #[cfg(not(feature = "tls"))]
        assert!("rediss://h".parse::<Config>().expect_err("no TLS").to_string().contains("`tls`"));
    }
}
