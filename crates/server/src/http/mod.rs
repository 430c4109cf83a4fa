//! The HTTP interface of topics: Seb's API at the root, Apus's own under `/v1`.
//!
//! It has a runtime of its own beside the RESP threads, and reaches the log through the engine. Work
//! that may wait for a disk runs on the runtime's blocking threads, or answers through a callback.
//!
//! - [`serve`]: connections, their bounds, and the orderly end.
//! - [`intake`]: the parts of requests that connections hold, bounded in bytes and in time.
//! - [`exchange`]: shared parts of all routes: queries, bodies, answers, authentication.
//! - [`seb`]: Seb's four routes. [`multipart`]: the form of their bodies.
//! - [`v1`]: everything else.

mod exchange;
mod intake;
mod multipart;
mod route;
mod seb;
mod serve;
mod text;
mod v1;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, Id};
use engine::log;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::Shared;
use crate::net::{Accepting, rebind, warn_if_open};

/// Connections the kernel may queue.
const BACKLOG: i32 = 1024;
/// Threads at most: copying between sockets and the disk is all they do.
const THREADS_MAX: usize = 4;
/// Threads that wait for the storage at most.
const BLOCKING_MAX: usize = 64;

/// The HTTP interface of a server; [`Http::follow`] opens, moves and closes it.
#[derive(Default)]
pub(crate) struct Http {
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    open: Vec<(SocketAddr, Accepting)>,
    /// While something is open, and until the end.
    served: Option<Served>,
    ended: bool,
}

struct Served {
    /// Becomes true when it is to end.
    stop: watch::Sender<bool>,
    runtime: Runtime,
    state: Arc<exchange::State>,
    connections: Arc<serve::Places>,
}

impl Served {
    fn new(config: &Config, shared: &Arc<Shared>) -> io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.min(THREADS_MAX))
            .max_blocking_threads(BLOCKING_MAX)
            .enable_io()
            .enable_time()
            .thread_name("apus-http")
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let connections = serve::Places::new(config.int(Id::TopicHttpMaxConnections) as usize);
        let state = Arc::new(exchange::State {
            engine: Arc::clone(&shared.engine),
            tls: Arc::clone(&shared.tls),
            key: config.with_bytes(Id::TopicHttpApiKey, <[u8]>::to_vec),
            stopped,
            intake: intake::Intake::new(),
        });
        Ok(Self { stop, runtime, state, connections })
    }
}

impl Http {
    /// Listens where `topic-http-port` and `topic-http-bind` say now. Connections that are open stay.
    ///
    /// # Errors
    /// An address cannot be listened on; then it listens where it did.
    pub(crate) fn follow(&self, config: &Config, shared: &Arc<Shared>) -> io::Result<()> {
        let port = config.int(Id::TopicHttpPort) as u16;
        let bind = config.list(Id::TopicHttpBind);
        let mut running = self.running.lock();
        let Running { open, served, ended } = &mut *running;
        if *ended || port == 0 && open.is_empty() {
            return Ok(());
        }
        let served = match served {
            Some(s) => s,
            None => served.insert(Served::new(config, shared)?),
        };
        let before: Vec<SocketAddr> = open.iter().map(|(address, _)| *address).collect();
        let Served { runtime, state, connections, .. } = served;
        rebind(open, &bind, port, BACKLOG, Accepting::close, |listener| {
            let (state, places) = (Arc::clone(state), Arc::clone(connections));
            Ok(Accepting::start(runtime.handle(), serve::accept(listener, state, places)))
        })?;
        let keyless = state.key.is_empty();
        for (address, _) in open.iter().filter(|(address, _)| !before.contains(address)) {
            let scheme = if config.flag(Id::TopicHttpTls) { "https" } else { "http" };
            log!(shared.engine.log, Notice, "Topics on {}://{}", scheme, address);
            if keyless {
                warn_if_open(&shared.engine, "topic-http-bind", *address);
            }
        }
        Ok(())
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.running.lock().open.iter().map(|(address, _)| *address).collect()
    }

    /// Takes no more requests.
    pub(crate) fn begin_stop(&self) {
        let mut running = self.running.lock();
        running.ended = true;
        if let Some(served) = &running.served {
            // Sending fails only when all connections have ended.
            let _ = served.stop.send(true);
        }
    }

    /// The same, and answers the requests that it has, for at most so long.
    pub(crate) fn stop(&self, within: Duration) {
        self.begin_stop();
        let Running { served, .. } = std::mem::take(&mut *self.running.lock());
        if let Some(Served { runtime, connections, .. }) = served {
            runtime.block_on(connections.all_free(within));
            runtime.shutdown_background();
        }
        self.running.lock().ended = true;
    }
}
