//! The other server of a MIGRATE: a connection to it, the requests, its answers.
//!
//! Connections are kept for [`KEPT_MS`] after their last use, one per address, as in Redis: a
//! client that moves many keys makes one. A MIGRATE that finds the kept one in use makes another.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// A connection to another server.
pub trait Wire: Read + Write + Send {
    /// How long one read or write may take.
    ///
    /// # Errors
    /// The connection does not take the limit.
    fn limit(&self, each: Duration) -> io::Result<()>;

    /// What ends the connection from another thread: a read or write under way then returns at once. None: it ends when
    /// it is dropped.
    fn closer(&self) -> Option<Closer> {
        None
    }

    /// This end of the connection, as `address:port`, and its descriptor: CLIENT LIST shows them.
    fn local_end(&self) -> Option<(String, i32)> {
        None
    }
}

/// See [`Wire::closer`].
pub type Closer = Box<dyn Fn() + Send>;

/// What a connection to another server is for: options say for each whether it speaks TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// MIGRATE, as links between nodes of a cluster: `tls-cluster`.
    Migrate,
    /// The stream of a primary: `tls-replication`.
    Replicate,
}

/// Connects to a host and port within a time; set by the owner of the sockets.
pub type Dial =
    Arc<dyn Fn(Purpose, &str, u16, Duration) -> Result<Box<dyn Wire>, Unreached> + Send + Sync>;

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// The host has no address, or the lookup failed.
    NoAddress,
    /// The target does not accept connections, or not in time.
    Refused,
}

impl Unreached {
    /// Redis connects without blocking, and notices a refused connection when it begins to write.
    fn text(self) -> &'static str {
        match self {
            Self::NoAddress => "IOERR error or timeout connecting to the client",
            Self::Refused => "IOERR error or timeout writing to target instance",
        }
    }
}

/// Connections that are kept at most.
const KEPT: usize = 64;
/// How long they are kept, in milliseconds.
const KEPT_MS: i64 = 10_000;
/// Bytes that go with one write.
const CHUNK: usize = 64 << 10;
/// No server answers with a longer line.
const LINE_MAX: usize = 64 << 10;

/// The address, and the requests that come first.
pub struct Target {
    /// Name or address.
    pub host: String,
    /// None is no port at all.
    pub port: Option<u16>,
    /// The database there.
    pub db: i64,
    /// For each step: connecting, a write, an answer.
    pub timeout: Duration,
    /// User, if one was given, and password.
    pub auth: Option<(Option<Vec<u8>>, Vec<u8>)>,
}

/// The fate of the keys that were sent.
#[derive(Default)]
pub struct Report {
    /// By key, in order: the target has it.
    pub taken: Vec<bool>,
    /// The error that the client is sent.
    pub error: Option<String>,
}

impl Report {
    /// The target has none of them.
    pub fn failed(error: &str) -> Self {
        Self { taken: Vec::new(), error: Some(error.to_owned()) }
    }
}

struct Link {
    wire: Box<dyn Wire>,
    /// The input that has been read beyond the lines so far.
    ahead: Vec<u8>,
    /// The database that is selected there, if that is known.
    db: Option<i64>,
}

/// A try that has failed before the target is known to have taken anything.
struct Broken {
    doing: &'static str,
    timed_out: bool,
}

impl Broken {
    fn new(doing: &'static str, e: &io::Error) -> Self {
        let timed_out = matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock);
        Self { doing, timed_out }
    }
}

/// The connections that are kept, by address, and when each was last used (Unix milliseconds).
#[derive(Default)]
pub struct Links(Mutex<HashMap<String, (Link, i64)>>);

impl Links {
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Closes those that have not been used for a while.
    pub(super) fn expire(&self, now_ms: i64) {
        self.0.lock().retain(|_, (_, used)| now_ms.saturating_sub(*used) <= KEPT_MS);
    }

    fn keep(&self, name: String, link: Link, now_ms: i64) {
        let mut links = self.0.lock();
        if links.len() >= KEPT && !links.contains_key(&name) {
            let any = links.keys().next().cloned();
            any.and_then(|any| links.remove(&any));
        }
        links.insert(name, (link, now_ms));
    }

    /// Sends `requests`, of which each of `count` is answered with a line, and reads the answers.
    pub fn deliver(
        &self,
        dial: Option<&Dial>,
        to: &Target,
        (requests, count): (&[u8], usize),
        now_ms: i64,
    ) -> Report {
        let name = format!("{}:{}", to.host, to.port.unwrap_or(0));
        let mut may_retry = true;
        loop {
            let kept = self.0.lock().remove(&name);
            let link = match (kept, dial, to.port) {
                (Some((link, _)), ..) => Ok(link),
                (None, Some(dial), Some(port)) => {
                    dial(Purpose::Migrate, &to.host, port, to.timeout).map(|wire| Link {
                        wire,
                        ahead: Vec::new(),
                        db: None,
                    })
                }
                _ => Err(Unreached::NoAddress),
            };
            let mut link = match link {
                Ok(link) => link,
                Err(unreached) => return Report::failed(unreached.text()),
            };
            match link.attempt(to, requests, count) {
                Ok((report, usable)) => {
                    if usable {
                        self.keep(name, link, now_ms);
                    }
                    return report;
                }
                // The kept connection may be one that the other side has closed since.
                Err(broken) if may_retry && !broken.timed_out => may_retry = false,
                Err(broken) => {
                    let doing = broken.doing;
                    return Report::failed(&format!(
                        "IOERR error or timeout {doing} to target instance"
                    ));
                }
            }
        }
    }
}

/// Appends a request.
pub fn request<'a>(out: &mut Vec<u8>, words: impl ExactSizeIterator<Item = &'a [u8]>) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

impl Link {
    /// Returns also whether the connection is in a state that is known.
    fn attempt(
        &mut self,
        to: &Target,
        requests: &[u8],
        count: usize,
    ) -> Result<(Report, bool), Broken> {
        let mut first = Vec::new();
        if let Some((user, password)) = &to.auth {
            let words = [Some(&b"AUTH"[..]), user.as_deref(), Some(password.as_slice())];
            request(&mut first, words.into_iter().flatten().collect::<Vec<_>>().into_iter());
        }
        let selects = self.db != Some(to.db);
        if selects {
            let db = to.db.to_string();
            request(&mut first, [&b"SELECT"[..], db.as_bytes()].into_iter());
        }
        let broken = |doing| move |e: io::Error| Broken::new(doing, &e);
        self.wire.limit(to.timeout).map_err(broken("writing"))?;
        for chunk in std::iter::once(first.as_slice()).chain(requests.chunks(CHUNK)) {
            self.wire.write_all(chunk).map_err(broken("writing"))?;
        }
        let mut refusal = None;
        for asked in [to.auth.is_some(), selects] {
            if asked {
                let line = self.line().map_err(broken("reading"))?;
                refusal = refusal.or_else(|| refused(&line));
            }
        }
        let mut report = Report::default();
        for i in 0..count {
            let line = match self.line() {
                Ok(line) => line,
                Err(e) => {
                    let broken = Broken::new("reading", &e);
                    if i == 0 && refusal.is_none() && !broken.timed_out {
                        return Err(broken);
                    }
                    let text = "IOERR error or timeout reading to target instance";
                    report.error.get_or_insert_with(|| text.to_owned());
                    return Ok((report, false));
                }
            };
            let error = refusal.clone().or_else(|| refused(&line));
            report.taken.push(error.is_none());
            if let Some(text) = error {
                let tell = || format!("ERR Target instance replied with error: {text}");
                report.error.get_or_insert_with(tell);
            }
        }
        self.db = report.error.is_none().then_some(to.db);
        Ok((report, true))
    }

    /// The next line, without its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.ahead[searched..].iter().position(|b| *b == b'\n') {
                let mut line: Vec<u8> = self.ahead.drain(..=searched + at).collect();
                while matches!(line.last(), Some(b'\r' | b'\n')) {
                    line.pop();
                }
                return Ok(line);
            }
            searched = self.ahead.len();
            if searched > LINE_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            let mut buffer = [0; 4096];
            let n = match self.wire.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.ahead.extend_from_slice(&buffer[..n]);
        }
    }
}

/// The text of an error reply.
fn refused(line: &[u8]) -> Option<String> {
    let text = line.strip_prefix(b"-")?;
    Some(String::from_utf8_lossy(text).replace('\r', " "))
}
