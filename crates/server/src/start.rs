//! Putting a server together: listeners, engine, threads, in the order in which they depend on each other.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use config::{Config, Id, Loaded};
use durable::Durable;
use engine::log::Log;
use engine::{Engine, Mailbox, Options, log};

use crate::net::{Acceptor, Bound, Inbox, Worker, bind_tcp, bind_unix, dial};
use crate::{
    Handle, Server, Shared, admin, backlog_of, http, http_connections, live, raise_file_limit,
    start_thread, threads_of, tls, web,
};

/// A server that is being put together.
#[derive(Default)]
pub struct Builder {
    config: Config,
    loaded: Loaded,
    pub(crate) bound: Vec<Bound>,
    log: Option<Log>,
    open_configured: bool,
}

impl Builder {
    /// Sets an option by its name in redis.conf.
    ///
    /// # Errors
    /// `InvalidInput` with Redis's text: there is no such option, or the value does not fit.
    pub fn option(self, name: &str, value: &str) -> io::Result<Self> {
        let line = format!("{name} {}", stdx::repr::quoted(value.as_bytes()));
        config::load_text(&self.config, "option", line.as_bytes())
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e.to_string()))?;
        Ok(self)
    }

    /// Uses a configuration that was loaded, and opens the listeners that it names.
    pub fn config(mut self, config: Config, loaded: Loaded) -> Self {
        self.config = config;
        self.loaded = loaded;
        self.open_configured = true;
        self
    }

    /// Serves a TCP listener.
    pub fn tcp(mut self, listener: TcpListener) -> Self {
        self.bound.push(Bound::Tcp(listener));
        self
    }

    /// Serves a Unix listener.
    pub fn unix(mut self, listener: UnixListener) -> Self {
        self.bound.push(Bound::Unix(listener, None));
        self
    }

    /// Writes the log here. Without it an embedded server is silent.
    pub fn log(mut self, log: Log) -> Self {
        self.log = Some(log);
        self
    }

    /// Opens the listeners and starts the threads.
    ///
    /// # Errors
    /// A listener cannot be opened, or a thread not be started; nothing is left running.
    pub fn start(mut self) -> io::Result<Server> {
        let log = self.log.take().unwrap_or_else(Log::silent);
        if self.open_configured {
            self.open_listeners(&log)?;
        }
        let Self { config, loaded, bound, log: _, open_configured } = self;
        let (addresses, secured) = addresses_of(&bound);
        let tls = Arc::new(tls::Tls::default());
        tls.follow(&config, &log, true)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, format!("TLS: {e}")))?;
        let threads = threads_of(&config);
        let engine = new_engine(config, loaded, log)?;
        if open_configured {
            durable::snapshots::warn_unless_writable(&engine);
            engine.warn_at_start();
        }
        engine.info.tcp_port.store(first_port(&addresses), Relaxed);
        engine.info.tls_port.store(first_port(&secured), Relaxed);
        let shared = Arc::new(Shared {
            engine: Arc::clone(&engine),
            tls,
            stop: AtomicBool::new(false),
            shut: AtomicBool::new(false),
            complained: AtomicU64::new(0),
            web: web::Web::new(&engine),
            live: live::Live::load(&engine)?,
        });
        if shared.live.is_some() && !bound.iter().any(|one| matches!(one, Bound::Web(_))) {
            log!(engine.log, Warning, "live-config without web-port: browsers cannot connect");
        }
        let workers = (0..threads)
            .map(|index| NewWorker::new(&shared, index, threads))
            .collect::<io::Result<Vec<_>>>()?;
        let inboxes: Vec<_> = workers.iter().map(|w| Arc::clone(&w.inbox)).collect();
        replicator::role::take_configured(&engine);
        // Before any worker runs, so that no command comes before the data.
        let loading = begin_loading(&engine, open_configured)?;
        shared.web.follow(&engine.config)?;
        web::watch(&shared)?;
        live::reload::watch(&shared)?;
        let acceptor = Acceptor::new(bound, inboxes.clone(), Arc::clone(&shared))?;
        let handle = Arc::new(Handle {
            admin: admin::Admin::default(),
            http: http::Http::default(),
            shared,
            inboxes,
            doors: acceptor.doors(),
            open_configured,
        });
        install_hooks(&handle);
        open_side_ports(&handle)?;
        let mut running = Vec::new();
        for worker in workers {
            running.push(worker.start()?);
        }
        running.push(start_living(&engine, "apus-acceptor".to_owned(), move || acceptor.run())?);
        Ok(Server { handle, addresses, secured, running, loading })
    }

    /// Opens the listeners that the configuration names.
    fn open_listeners(&mut self, log: &Log) -> io::Result<()> {
        let c = &self.config;
        let backlog = backlog_of(c);
        for (option, kind) in [(Id::Port, "TCP"), (Id::TlsPort, "TLS")] {
            let port = c.int(option) as u16;
            let open = if port == 0 { Vec::new() } else { listen(c, log, port, kind)? };
            let kind = if option == Id::TlsPort { Bound::Tls } else { Bound::Tcp };
            self.bound.extend(open.into_iter().map(kind));
        }
        let mode = c.int(Id::Unixsocketperm) as u32;
        for path in c.string(Id::Unixsocket).split_whitespace() {
            self.bound.push(bind_unix(Path::new(path), mode, backlog)?);
        }
        let port = c.int(Id::WebPort) as u16;
        if port != 0 {
            let bound = bind_tcp(&c.list(Id::WebBind), port, backlog)
                .map_err(|e| io::Error::new(e.kind(), format!("web-port: {e}")))?;
            let scheme = if c.flag(Id::WebTls) { "https" } else { "http" };
            for address in bound.iter().filter_map(|listener| listener.local_addr().ok()) {
                log!(log, Notice, "Web on {}://{}", scheme, address);
            }
            self.bound.extend(bound.into_iter().map(Bound::Web));
        }
        if self.bound.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "nothing to listen on: set `port`, `tls-port`, `bind` or `unixsocket`",
            ));
        }
        Ok(())
    }
}

/// Opens the listeners of one port.
fn listen(c: &Config, log: &Log, port: u16, kind: &str) -> io::Result<Vec<TcpListener>> {
    bind_tcp(&c.list(Id::Bind), port, backlog_of(c)).inspect_err(|e| {
        let text = config::os_text(e);
        log!(log, Warning, "Could not create server {} listening socket {}", kind, text);
        log!(log, Warning, "Failed listening on port {} ({}), aborting.", port, kind);
    })
}

/// The addresses of the listeners for plain TCP, and for TLS.
fn addresses_of(bound: &[Bound]) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
    let (mut plain, mut secured) = (Vec::new(), Vec::new());
    for listener in bound {
        match listener {
            Bound::Tcp(l) => plain.extend(l.local_addr().ok()),
            Bound::Tls(l) => secured.extend(l.local_addr().ok()),
            Bound::Web(_) | Bound::Unix(..) => {}
        }
    }
    (plain, secured)
}

/// The port that INFO shows; 0 is none.
fn first_port(addresses: &[SocketAddr]) -> u32 {
    addresses.first().map_or(0, |a| u32::from(a.port()))
}

/// The engine, with the users of the configuration.
fn new_engine(config: Config, loaded: Loaded, log: Log) -> io::Result<Arc<Engine>> {
    let executable =
        std::env::current_exe().map_or_else(|_| "apus".into(), |p| p.display().to_string());
    let engine = Engine::new(Options {
        config,
        commands: session_commands::ALL,
        durability: Arc::<Durable>::default(),
        renames: loaded.renames,
        clock: stdx::clock::Clock::real(),
        log,
        config_file: loaded.file,
        executable,
    });
    engine.load_users(&loaded.users).map_err(|e| {
        let text = match &engine.info.config_file {
            Some(file) if !loaded.users.is_empty() => format!("{}: {e}", file.display()),
            _ => e,
        };
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    Ok(engine)
}

/// Loads the data on disk in the background, if there is to be any, and begins replication behind it.
fn begin_loading(engine: &Arc<Engine>, open_configured: bool) -> io::Result<Arc<Outcome>> {
    let loading = Arc::new(Outcome::default());
    if open_configured || engine.config.flag(Id::Appendonly) {
        let told = Arc::clone(&loading);
        let begun = Arc::clone(engine);
        durable::load_at_start(engine, move |outcome| {
            if outcome.is_ok() {
                replicator::role::begin_configured(&begun);
            }
            told.tell(outcome);
        })?;
    } else {
        replicator::role::begin_configured(engine);
        loading.tell(Ok(()));
    }
    Ok(loading)
}

/// Hands the engine what it calls in the server. The references to the server are weak: the engine must not
/// keep itself alive through its own hooks.
fn install_hooks(handle: &Arc<Handle>) {
    let shared = &handle.shared;
    let engine = &shared.engine;
    if let Some(live) = &shared.live {
        *engine.hooks.live.write() = Some(live::commands(Arc::clone(live)));
    }
    let weak = Arc::downgrade(handle);
    *Durable::of(engine).shutdown.hook.write() = Some(Box::new(move |_| {
        if let Some(h) = weak.upgrade() {
            h.stop();
        }
    }));
    // Another handle of this engine has set the same.
    let _ = Durable::of(engine).shutdown.waits.set(replicator::leaving::waits);
    let weak = Arc::downgrade(handle);
    *engine.hooks.config.write() = Some(Box::new(move |id, config| match weak.upgrade() {
        Some(h) => h.reconfigure(id, config),
        None => Ok(()),
    }));
    let weak = Arc::downgrade(shared);
    *engine.hooks.web_info.write() =
        Some(Box::new(move || weak.upgrade().map_or_else(Vec::new, |shared| shared.web.info())));
    let weak = Arc::downgrade(shared);
    *engine.hooks.live_info.write() = Some(Box::new(move || {
        let shared = weak.upgrade();
        let live = shared.as_ref().and_then(|shared| shared.live.as_ref());
        live.map_or_else(Vec::new, |live| live.info())
    }));
    *engine.hooks.dial.write() = Some(dial(Arc::clone(&shared.tls), engine));
    let inboxes = handle.inboxes.clone();
    *engine.hooks.look.write() = Some(Arc::new(move |client| {
        inboxes.get(client.thread).is_some_and(|inbox| inbox.has_gone(client))
    }));
}

/// Opens the admin port and the topics with their HTTP port, and makes room among the open files.
fn open_side_ports(handle: &Handle) -> io::Result<()> {
    let engine = &handle.shared.engine;
    handle.follow_admin().map_err(|e| io::Error::new(e.kind(), format!("admin-port: {e}")))?;
    if !handle.open_configured {
        return Ok(());
    }
    let clients = engine.config.int(Id::Maxclients) as u64;
    let files = raise_file_limit(clients, handle.inboxes.len(), http_connections(&engine.config));
    // Without it, topics use their default.
    if let Ok(files) = files {
        engine.topics.descriptors.store(files.topics as usize, Relaxed);
    }
    engine::topics::Topics::wake(engine).map_err(|e| io::Error::other(format!("topics: {e}")))?;
    let http = handle.follow_http();
    http.map_err(|e| io::Error::new(e.kind(), format!("topic-http-port: {e}")))
}

/// A worker whose thread does not run yet. Its inbox exists before the others' threads begin.
struct NewWorker {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    poll: mio::Poll,
    index: usize,
    threads: usize,
}

impl NewWorker {
    fn new(shared: &Arc<Shared>, index: usize, threads: usize) -> io::Result<Self> {
        let (poll, waker) = Worker::poll()?;
        let mailbox = Mailbox::new(move || {
            // It fails only when the thread is gone.
            let _ = waker.wake();
        });
        let (_, worker) = shared.engine.add_worker(mailbox);
        Ok(Self { shared: Arc::clone(shared), inbox: Inbox::new(worker), poll, index, threads })
    }

    fn start(self) -> io::Result<JoinHandle<()>> {
        let Self { shared, inbox, poll, index, threads } = self;
        let engine = Arc::clone(&shared.engine);
        let worker = Worker::new(shared, inbox, poll, index, threads);
        start_living(&engine, format!("apus-worker-{index}"), move || worker.run())
    }
}

/// Starts a thread that [`Server::join`] waits for.
fn start_living(
    engine: &Arc<Engine>,
    name: String,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let engine = Arc::clone(engine);
    start_thread(name, move || {
        let _alive = engine.ends.alive();
        run();
    })
}

/// How loading has ended, for the thread that waits for it.
#[derive(Default)]
pub(crate) struct Outcome(Mutex<Option<Result<(), String>>>, Condvar);

impl Outcome {
    fn tell(&self, outcome: Result<(), String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.1.notify_all();
    }

    /// A server that is ordered to stop meanwhile is not waited for: no thread is left to report the end
    /// of loading.
    pub(crate) fn wait(&self, stopping: impl Fn() -> bool) -> Result<(), String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &*known {
                return outcome.clone();
            }
            if stopping() {
                return Ok(());
            }
            let wait = std::time::Duration::from_millis(50);
            known = self.1.wait_timeout(known, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
