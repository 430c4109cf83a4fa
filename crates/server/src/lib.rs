//! Apus: a Redis-compatible data server that uses every core.
//!
//! This is the library behind the `apus` binary, for programs that want the server inside them:
//! hand it listeners and a configuration, ask its addresses, stop it.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//!
//! let server = apus::Server::builder()
//!     .option("threads", "1")?
//!     .tcp(TcpListener::bind("127.0.0.1:0")?)
//!     .start()?;
//! let mut client = TcpStream::connect(server.addresses()[0])?;
//! client.write_all(b"PING\r\n")?;
//! let mut pong = [0; 7];
//! client.read_exact(&mut pong)?;
//! assert_eq!(&pong, b"+PONG\r\n");
//! server.stop();
//! server.join();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `used_memory` and `maxmemory` count the memory that the global allocator hands out, if it is
//! [`Allocator`]; a program that embeds the server and wants them installs it:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;
//! # fn main() {}
//! ```

mod access;
mod admin;
mod check;
pub mod client;
pub mod docs;
pub mod give_back;
mod http;
pub mod huge_pages;
mod live;
pub mod log_tool;
mod net;
mod reply;
mod sink;
pub mod site_tool;
mod start;
mod tls;
mod web;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

pub use check::check;
pub use config::{Config, Loaded};
pub use durable::ShutdownRequest;
pub use engine::Engine;
pub use engine::log::{Level, Log, Sink};
pub use sink::LineSink;
pub use start::Builder;

use config::{Caller, Id};
use engine::log;
use net::{Door, Doors, Inbox};
use start::Outcome;

/// mimalloc, counted. See the [crate] text.
pub type Allocator = stdx::mem::Counting<mimalloc::MiMalloc>;

/// The one value of [`Allocator`].
pub const ALLOCATOR: Allocator = stdx::mem::Counting(mimalloc::MiMalloc);

/// How long connections have at a shutdown to take the replies they are owed, in nanoseconds.
pub(crate) const DRAIN_NS: u64 = 3_000_000_000;

/// How long records that were accepted have at a shutdown to be stored.
const FLUSH: Duration = Duration::from_secs(10);

/// State that the threads of one server share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    /// What the options say of TLS.
    pub(crate) tls: Arc<tls::Tls>,
    stop: AtomicBool,
    /// No client can connect any more.
    shut: AtomicBool,
    /// When the last complaint about accepting was logged, in monotonic nanoseconds.
    complained: AtomicU64,
    /// The site, and its pages.
    pub(crate) web: web::Web,
    /// Live channels, if `live-config` asks for them.
    pub(crate) live: Option<Arc<live::Live>>,
}

impl Shared {
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// The listeners are closed.
    pub(crate) fn shut(&self) {
        self.shut.store(true, Relaxed);
    }

    /// Waits until they are closed: a client whose connection ends with the server, and that connects
    /// again, is refused, and not accepted by the ending server. That takes a moment; should the acceptor
    /// be stuck, the end does not wait for it.
    pub(crate) fn await_shut(&self) {
        for _ in 0..1000 {
            if self.shut.load(Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether a repeated complaint may be logged again: once per second.
    pub(crate) fn complain(&self) -> bool {
        let now = self.engine.clock.monotonic_ns();
        let last = self.complained.load(Relaxed);
        if last != 0 && now.saturating_sub(last) < 1_000_000_000 {
            return false;
        }
        self.complained.store(now.max(1), Relaxed);
        true
    }
}

/// The answer to a CONFIG SET with which TLS cannot be; the log says why.
const NO_TLS: &str = "Unable to update TLS configuration. Check server logs.";

/// Connections that the kernel may queue for a listener.
fn backlog_of(c: &Config) -> i32 {
    c.int(Id::TcpBacklog).clamp(1, i64::from(i32::MAX)) as i32
}

/// Starts a thread that the server cannot do without.
///
/// # Errors
/// The system gives none.
pub fn start_thread(name: String, f: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let started = std::thread::Builder::new().name(name).spawn(f);
    started.map_err(|e| io::Error::new(e.kind(), format!("a thread cannot be started: {e}")))
}

/// The handles that stopping and reconfiguring need.
struct Handle {
    admin: admin::Admin,
    http: http::Http,
    shared: Arc<Shared>,
    inboxes: Vec<Arc<Inbox>>,
    doors: Arc<Doors>,
    /// The limit of open files is this server's to change.
    open_configured: bool,
}

impl Handle {
    fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
        self.doors.wake();
        // Before any connection ends, that of the requesting client included.
        self.shared.await_shut();
        self.inboxes.iter().for_each(|i| i.worker.mailbox.wake());
    }

    fn follow_http(&self) -> io::Result<()> {
        self.http.follow(&self.shared.engine.config, &self.shared)
    }

    fn follow_admin(&self) -> io::Result<()> {
        self.admin.follow(&self.shared.engine.config, &self.shared)
    }

    /// Makes room among the open files for the connections of an HTTP port that is about to be opened, beside
    /// those for clients and topics, which the server has already promised.
    fn make_room_for_http(&self, c: &Config) -> Result<(), String> {
        let (clients, http) = (c.int(Id::Maxclients) as u64, http_connections(c));
        if !self.open_configured || http == 0 || !self.http.addresses().is_empty() {
            return Ok(());
        }
        let topics = self.shared.engine.topics.descriptors.load(Relaxed) as u64;
        match raise_file_limit(clients, self.inboxes.len(), http) {
            Ok(f) if f.clients == clients && f.http == http && f.topics >= topics => Ok(()),
            Ok(_) => Err(format!(
                "The limit of open files is too low for topic-http-max-connections {http} beside \
                 maxclients {clients}. Lower maxclients by so many, or raise the limit with `ulimit -n`"
            )),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Listens where `port`, `tls-port` and `bind` say now.
    fn listen_anew(&self, id: Id, c: &Config) -> Result<(), String> {
        let log = &self.shared.engine.log;
        if id == Id::TlsPort {
            self.shared.tls.follow(c, log, false).map_err(|_| NO_TLS.to_owned())?;
        }
        let backlog = backlog_of(c);
        let engine = &self.shared.engine;
        let ports = [
            (Id::Port, Door::Resp, &engine.info.tcp_port),
            (Id::TlsPort, Door::Tls, &engine.info.tls_port),
        ];
        for (option, door, shown) in ports {
            if id != Id::Bind && id != option {
                continue;
            }
            let port = c.int(option) as u16;
            self.doors.rebind(door, c.list(Id::Bind), port, backlog).map_err(|e| {
                log!(log, Warning, "{}", e);
                match id {
                    Id::Bind => "Failed to bind to specified addresses.",
                    _ => "Unable to listen on this port. Check server logs.",
                }
                .to_owned()
            })?;
            shown.store(u32::from(port), Relaxed);
        }
        Ok(())
    }

    /// CONFIG SET of options that the network follows.
    fn reconfigure(&self, id: Id, c: &Config) -> Result<(), String> {
        match id {
            Id::Port | Id::Bind | Id::TlsPort => self.listen_anew(id, c),
            id if tls::is_one(id) => {
                let followed = self.shared.tls.follow(c, &self.shared.engine.log, false);
                followed.map_err(|_| NO_TLS.to_owned())
            }
            Id::ReplicaServeStaleData => {
                replicator::role::follow_config(&self.shared.engine);
                Ok(())
            }
            Id::WebPort | Id::WebBind => {
                let backlog = c.int(Id::TcpBacklog).clamp(1, i64::from(i32::MAX)) as i32;
                let port = c.int(Id::WebPort) as u16;
                self.doors.rebind(Door::Web, c.list(Id::WebBind), port, backlog).map_err(|e| {
                    log!(self.shared.engine.log, Warning, "web-port: {}", e);
                    "Unable to listen on the web port. Check server logs.".to_owned()
                })
            }
            Id::WebAccessLog | Id::WebTrustedProxies | Id::WebSecret => {
                self.shared.web.follow(c).map_err(|e| {
                    log!(self.shared.engine.log, Warning, "{}", e);
                    "Unable to open the access log. Check server logs.".to_owned()
                })
            }
            Id::LiveConfig => live::reload::reconfigure(&self.shared, c),
            Id::AdminPort | Id::AdminBind => self.follow_admin().map_err(|e| {
                log!(self.shared.engine.log, Warning, "admin-port: {}", e);
                "Unable to listen on the admin port. Check server logs.".to_owned()
            }),
            Id::TopicHttpPort | Id::TopicHttpBind => {
                self.make_room_for_http(c)?;
                self.follow_http().map_err(|e| {
                    log!(self.shared.engine.log, Warning, "topic-http-port: {}", e);
                    "Unable to listen on the HTTP port of topics. Check server logs.".to_owned()
                })
            }
            Id::Maxclients => {
                let wanted = c.int(Id::Maxclients) as u64;
                let text =
                    "The operating system is not able to handle the specified number of clients";
                match raise_file_limit(wanted, self.inboxes.len(), http_connections(c)) {
                    Ok(files) if files.clients < wanted => {
                        Err(format!("{text}, try with {}", files.clients))
                    }
                    Ok(_) => Ok(()),
                    Err(e) => Err(format!("{text}: {e}")),
                }
            }
            _ => Ok(()),
        }
    }
}

/// A running server. Dropping it does not stop it.
pub struct Server {
    handle: Arc<Handle>,
    addresses: Vec<SocketAddr>,
    secured: Vec<SocketAddr>,
    running: Vec<JoinHandle<()>>,
    loading: Arc<Outcome>,
}

impl Server {
    /// Puts a server together. Without [`Builder::config`] it opens no listeners of its own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The TCP addresses it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The addresses it listens on for TLS.
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        &self.secured
    }

    /// The addresses of the admin port, if it is on.
    pub fn admin_addresses(&self) -> Vec<SocketAddr> {
        self.handle.admin.addresses()
    }

    /// The addresses of the HTTP interface of topics, if it is on.
    pub fn http_addresses(&self) -> Vec<SocketAddr> {
        self.handle.http.addresses()
    }

    /// The engine, to look at and to call in process.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.handle.shared.engine
    }

    /// Waits until the data on disk is in memory; until then commands are answered `-LOADING`.
    ///
    /// # Errors
    /// It is damaged: the text says where. The server must be stopped then.
    pub fn wait_until_loaded(&self) -> Result<(), String> {
        self.loading.wait(|| self.handle.shared.stopping())
    }

    /// Begins an orderly stop: no new connections, input that has arrived is executed and answered.
    pub fn stop(&self) {
        self.handle.stop();
    }

    /// Waits until all threads have ended. One that SHUTDOWN NOSAVE has stopped amid a script which has
    /// written never does: it sleeps as long as the process lives.
    pub fn join(self) {
        let engine = &self.handle.shared.engine;
        if engine.ends.wait(self.running.len(), Duration::from_nanos(DRAIN_NS)) {
            for t in self.running {
                // A panic has been reported by the thread itself.
                let _ = t.join();
            }
        }
        if let Some(live) = &self.handle.shared.live {
            live.finish();
        }
        self.handle.shared.web.access.write_out();
        let http = &self.handle.http;
        http.begin_stop();
        if !engine.topics.close(FLUSH) {
            log!(engine.log, Warning, "Not all records that were accepted could be stored in time");
        }
        // Those whose records were stored are answered before it goes.
        http.stop(Duration::from_nanos(DRAIN_NS));
        replicator::Replicator::of(engine).following.cease();
        durable::journal::close_at_the_end(engine);
        // Until here it has answered that the server is shutting down.
        self.handle.admin.stop();
    }
}

/// Worker threads that a configuration asks for.
pub fn threads_of(config: &Config) -> usize {
    match config.int(Id::Threads) {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n as usize,
    }
}

/// Files that topics have use for.
const TOPICS_MAX: u64 = 512;

/// How the process's open files are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// Connections of clients.
    pub clients: u64,
    /// Connections of the HTTP interface of topics.
    pub http: u64,
    /// Files that topics have open at once.
    pub topics: u64,
}

/// Shares `files` out. The process's own files come first: `reserved` are for the journal, snapshots,
/// listeners and threads. Where there are too few, HTTP gets an eighth of the rest at most, and topics an
/// eighth or as many as they work well with.
fn share(files: u64, reserved: u64, clients: u64, http: u64) -> Files {
    /// Files that topics work well with.
    const TOPICS: u64 = 64;
    /// And at least.
    const LEAST: u64 = 8;
    let rest = files.saturating_sub(reserved);
    let others = clients.saturating_add(http);
    if rest >= others.saturating_add(TOPICS) {
        return Files { clients, http, topics: (rest - others).min(TOPICS_MAX) };
    }
    let part = (rest / 8).max(LEAST);
    let (topics, http) = (part.min(TOPICS), http.min(part));
    Files { clients: clients.min(rest.saturating_sub(topics + http)), http, topics }
}

/// Makes room for `clients` connections of `threads` worker threads and `http` connections among the
/// process's open files, as far as the system allows. Returns for how many there is room.
///
/// # Errors
/// The limit cannot be read, or there is room for no client.
#[expect(unsafe_code, reason = "getrlimit and setrlimit")]
pub fn raise_file_limit(clients: u64, threads: usize, http: u64) -> io::Result<Files> {
    /// Descriptors for listeners, log, journal and snapshots, as Redis reserves.
    const RESERVED: u64 = 32;
    let reserved = RESERVED + 2 * threads as u64; // a poll and its waker each
    let wanted = clients.saturating_add(reserved).saturating_add(http).saturating_add(TOPICS_MAX);
    // SAFETY: the pointer is to a live value; a zeroed rlimit is valid.
    let mut limit = unsafe {
        let mut l = std::mem::zeroed::<libc::rlimit>();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut l) != 0 {
            return Err(io::Error::last_os_error());
        }
        l
    };
    if limit.rlim_cur < wanted {
        let hard = limit.rlim_max;
        // Not every user may raise the hard limit: then the limit is used as it is.
        for max in [hard.max(wanted), hard] {
            let raised = libc::rlimit { rlim_cur: wanted.min(max), rlim_max: max };
            // SAFETY: the pointer is to a live value.
            if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } == 0 {
                limit = raised;
                break;
            }
        }
    }
    let files = share(limit.rlim_cur, reserved, clients, http);
    if files.clients == 0 {
        return Err(io::Error::other(format!(
            "{} open files are too few: at least {} are needed. Raise the limit with `ulimit -n`, \
             or LimitNOFILE= of the service",
            limit.rlim_cur,
            reserved + 8 + http.min(8) + 1
        )));
    }
    Ok(files)
}

/// Connections that the HTTP interface may have, if there is one.
pub fn http_connections(config: &Config) -> u64 {
    if config.int(Id::TopicHttpPort) == 0 {
        0
    } else {
        config.int(Id::TopicHttpMaxConnections) as u64
    }
}

/// Takes over options at CONFIG SET and at start that concern the process: `dir`, `loglevel`.
///
/// # Errors
/// The directory cannot be entered.
pub fn enter_dir(config: &Config) -> io::Result<()> {
    let dir = PathBuf::from(config.string(Id::Dir));
    std::env::set_current_dir(&dir)
        .map_err(|e| io::Error::new(e.kind(), format!("dir {}: {e}", dir.display())))
}

/// The level that `loglevel` names.
pub fn level_of(config: &Config) -> Level {
    match config.chosen(Id::Loglevel) {
        config::Loglevel::Debug => Level::Debug,
        config::Loglevel::Verbose => Level::Verbose,
        config::Loglevel::Notice => Level::Notice,
        config::Loglevel::Warning => Level::Warning,
        config::Loglevel::Nothing => Level::Nothing,
    }
}

/// A caller of CONFIG SET with all rights, for hooks and tests.
pub const LOCAL: Caller = Caller { local: true, loading: false, owner: false };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_out() {
        let files = |clients, http, topics| Files { clients, http, topics };
        assert_eq!(share(20_000, 36, 10_000, 1024), files(10_000, 1024, 512));
        assert_eq!(share(256, 36, 10_000, 1024), files(166, 27, 27));
        assert_eq!(share(256, 36, 166, 27), files(166, 27, 27), "the same once more");
        assert_eq!(share(10_136, 36, 10_000, 0), files(10_000, 0, 100));
        assert_eq!(share(10_032, 36, 10_000, 0), files(9932, 0, 64));
        assert_eq!(share(64, 36, 10_000, 0), files(20, 0, 8));
        assert_eq!(share(40, 36, 10_000, 0).clients, 0);
    }
}
