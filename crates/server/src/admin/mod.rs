//! The admin port: HTTP for operators and their tools, on a thread and addresses of its own.
//!
//! It is never served on the data ports: the right to send commands must not give access to profiles, and a
//! page in a browser must not reach commands. It listens on loopback unless configured otherwise, and asks
//! for the same users and passwords as the data port ([`crate::access`]). While `admin-port` is 0, none of
//! this exists: no thread, no runtime.
//!
//! - [`http`]: connections, their bounds, and which path is answered by what.
//! - [`metrics`]: `/metrics`, made from INFO, so that the two can never disagree.
//! - [`profile`]: `/debug/profile`; [`sampler`] takes the samples, [`symbols`] names them,
//!   [`pprof`] writes them down.
//! - [`heap`]: `/debug/heap`. [`topkeys`]: `/debug/topkeys`.
//!
//! The keyspace may only be looked at by worker threads; requests that need it are sent to one ([`ask`]).

mod answer;
mod ask;
mod heap;
mod http;
mod metrics;
#[cfg(all(feature = "profiling", target_os = "linux"))]
mod pprof;
mod profile;
#[cfg(all(feature = "profiling", target_os = "linux"))]
mod sampler;
#[cfg(all(feature = "profiling", target_os = "linux"))]
mod symbols;
mod topkeys;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::JoinHandle;

use config::{Config, Id};
use engine::log;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Shared;
use crate::net::{Accepting, rebind, warn_if_open};

/// Connections the kernel may queue: operators' tools are few.
const BACKLOG: i32 = 32;

/// The admin port of a server; [`Admin::follow`] opens, moves and closes it.
#[derive(Default)]
pub(crate) struct Admin {
    running: parking_lot::Mutex<Running>,
}

#[derive(Default)]
struct Running {
    open: Vec<(SocketAddr, Accepting)>,
    served: Option<Served>,
}

/// The thread and its shared state.
struct Served {
    runtime: Handle,
    places: Arc<AtomicUsize>,
    /// Dropped to end the thread.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Admin {
    /// Listens where `admin-port` and `admin-bind` say now. Connections that are open stay, unless there is
    /// nothing left to listen on.
    ///
    /// # Errors
    /// An address cannot be listened on, or the thread not be started; then it listens where it did.
    pub(crate) fn follow(&self, config: &Config, shared: &Arc<Shared>) -> io::Result<()> {
        let (port, bind) = (config.int(Id::AdminPort) as u16, config.list(Id::AdminBind));
        let mut running = self.running.lock();
        let Running { open, served } = &mut *running;
        if port == 0 || bind.is_empty() {
            end(&mut running);
            return Ok(());
        }
        let Served { runtime, places, .. } = match served {
            Some(s) => s,
            None => served.insert(serve()?),
        };
        let before: Vec<SocketAddr> = open.iter().map(|(address, _)| *address).collect();
        let moved = rebind(open, &bind, port, BACKLOG, Accepting::close, |listener| {
            let (shared, places) = (Arc::clone(shared), Arc::clone(places));
            Ok(Accepting::start(runtime, http::accept(listener, shared, places)))
        });
        for (address, _) in open.iter().filter(|(address, _)| !before.contains(address)) {
            let scheme = if config.flag(Id::AdminTls) { "https" } else { "http" };
            log!(shared.engine.log, Notice, "Admin interface on {}://{}", scheme, address);
            warn_if_open(&shared.engine, "admin-bind", *address);
        }
        if open.is_empty() {
            end(&mut running);
        }
        moved
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.running.lock().open.iter().map(|(address, _)| *address).collect()
    }

    /// Ends it.
    pub(crate) fn stop(&self) {
        end(&mut self.running.lock());
    }
}

fn end(running: &mut Running) {
    let Running { open, served } = std::mem::take(running);
    if let Some(Served { stop, thread, .. }) = served {
        open.into_iter().for_each(|(_, accepting)| accepting.close());
        drop(stop);
        // A panic has been reported by the thread itself.
        let _ = thread.join();
    }
}

fn serve() -> io::Result<Served> {
    // One thread is enough for answers of kilobytes, and disturbs the workers least.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .thread_name("apus-admin-job")
        .max_blocking_threads(2)
        .build()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let handle = runtime.handle().clone();
    let thread = std::thread::Builder::new().name("apus-admin".into()).spawn(move || {
        // Its sender is only ever dropped.
        let _ = runtime.block_on(stopped);
        // A profile that is being written must not hold up callers that wait for this thread.
        runtime.shutdown_background();
    })?;
    let places = Arc::new(AtomicUsize::new(http::CONNECTIONS));
    Ok(Served { runtime: handle, places, stop, thread })
}
