//! The HTTP interface of topics: Seb's API at the root, Apus's own under `/v1`.
//!
//! It has a runtime of its own beside the RESP threads, and reaches the log through the engine. What
//! may wait for a disk runs on the runtime's blocking threads, or answers through a callback.
//!
//! - [`serve`]: connections, their bounds, and the orderly end.
//! - [`intake`]: what connections hold of requests, bounded in bytes and in time.
//! - [`exchange`]: what all routes share: queries, bodies, answers, the key.
//! - [`seb`]: Seb's four routes. [`multipart`]: the form of their bodies.
//! - [`v1`]: everything else.

mod exchange;
mod intake;
mod multipart;
mod seb;
mod serve;
mod text;
mod v1;

pub(crate) use exchange::is_local;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use config::{Config, Id};
use engine::log;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::Shared;
use crate::net::bind_tcp;

/// Connections the kernel may queue.
const BACKLOG: i32 = 1024;
/// Threads at most: copying between sockets and the disk is all they do.
const THREADS_MAX: usize = 4;
/// Threads that wait for the storage at most.
const BLOCKING_MAX: usize = 64;

/// The running interface.
pub(crate) struct Http {
    addresses: Vec<SocketAddr>,
    /// Becomes true when it is to end.
    stop: watch::Sender<bool>,
    runtime: Runtime,
    connections: Arc<serve::Places>,
}

impl Http {
    /// Opens what `http-port` and `http-bind` say, if anything.
    ///
    /// # Errors
    /// It would listen beyond loopback without a key; an address cannot be listened on, unless it is
    /// on the default port: then the log says so, and there is none.
    pub(crate) fn start(config: &Config, shared: &Arc<Shared>) -> io::Result<Option<Self>> {
        let port = config.int(Id::HttpPort) as u16;
        if port == 0 {
            return Ok(None);
        }
        let bind = config.list(Id::HttpBind);
        let listeners = match bind_tcp(&bind, port, BACKLOG) {
            Ok(l) if l.is_empty() => return Ok(None),
            Ok(l) => l,
            Err(e) if config.is_default(Id::HttpPort) => {
                let log = &shared.engine.log;
                log!(log, Warning, "No HTTP interface for topics: http-port {}", e);
                log!(log, Warning, "Choose another http-port, or 0 to do without.");
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        let addresses: Vec<SocketAddr> =
            listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        let keyless = config.with_bytes(Id::HttpApiKey, <[u8]>::is_empty);
        if keyless && addresses.iter().any(|a| !a.ip().is_loopback()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "http-bind goes beyond loopback, so an http-api-key is needed",
            ));
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.min(THREADS_MAX))
            .max_blocking_threads(BLOCKING_MAX)
            .enable_io()
            .enable_time()
            .thread_name("apus-http")
            .build()?;
        let (stop, stopped) = watch::channel(false);
        for a in &addresses {
            log!(shared.engine.log, Notice, "Topics on http://{}", a);
        }
        let connections = serve::Places::new(config.int(Id::HttpMaxConnections) as usize);
        let state = Arc::new(exchange::State {
            engine: Arc::clone(&shared.engine),
            key: config.with_bytes(Id::HttpApiKey, <[u8]>::to_vec),
            stopped,
            intake: intake::Intake::new(),
        });
        for listener in listeners {
            let (state, places) = (Arc::clone(&state), Arc::clone(&connections));
            runtime.spawn(serve::accept(listener, state, places));
        }
        Ok(Some(Self { addresses, stop, runtime, connections }))
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes no more requests.
    pub(crate) fn begin_stop(&self) {
        // Nobody listens any more only if all has ended.
        let _ = self.stop.send(true);
    }

    /// The same, and answers the requests that it has, for at most so long.
    pub(crate) fn stop(self, within: Duration) {
        self.begin_stop();
        self.runtime.block_on(self.connections.all_free(within));
        self.runtime.shutdown_background();
    }
}
