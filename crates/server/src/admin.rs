//! The admin port: HTTP for operators and their tools, on a thread and addresses of its own.
//!
//! It is never served where data is: whoever may send commands must not get profiles by that, and a
//! page in a browser must not reach commands. It asks for no password, so it listens on loopback
//! unless told otherwise. While `admin-port` is 0, none of this exists: no thread, no runtime.
//!
//! - [`http`]: connections, their bounds, and which path is answered by what.
//! - [`metrics`]: `/metrics`, made from INFO, so that the two can never disagree.
//! - [`profile`]: `/debug/profile`; [`sampler`] takes the samples, [`symbols`] names them,
//!   [`pprof`] writes them down.
//! - [`heap`]: `/debug/heap`. [`topkeys`]: `/debug/topkeys`.
//!
//! The keyspace may only be looked at by worker threads; what needs it is sent to one ([`ask`]).

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
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use config::{Config, Id};
use engine::log;
use tokio::sync::oneshot;

use crate::Shared;
use crate::net::bind_tcp;

/// Connections the kernel may queue: operators' tools are few.
const BACKLOG: i32 = 32;

/// What the options ask for: a port, and the addresses.
type Wish = (u16, Vec<String>);

/// The admin port of a server; [`Admin::follow`] opens and closes it.
#[derive(Default)]
pub(crate) struct Admin {
    open: parking_lot::Mutex<Option<Open>>,
}

struct Open {
    wish: Wish,
    addresses: Vec<SocketAddr>,
    /// Dropped to end the thread.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Admin {
    /// Does what `admin-port` and `admin-bind` say now.
    ///
    /// # Errors
    /// An address cannot be listened on, or the thread not be started; then nothing is open.
    pub(crate) fn follow(&self, config: &Config, shared: &Arc<Shared>) -> io::Result<()> {
        let wish: Wish = (config.int(Id::AdminPort) as u16, config.list(Id::AdminBind));
        let mut open = self.open.lock();
        if open.as_ref().is_some_and(|o| o.wish == wish) {
            return Ok(());
        }
        // Closed first: the new addresses may be among the old ones.
        close(open.take());
        if wish.0 != 0 && !wish.1.is_empty() {
            let listeners = bind_tcp(&wish.1, wish.0, BACKLOG)?;
            *open = Some(start(wish, listeners, Arc::clone(shared))?);
        }
        Ok(())
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.open.lock().as_ref().map(|o| o.addresses.clone()).unwrap_or_default()
    }

    /// Ends it.
    pub(crate) fn stop(&self) {
        close(self.open.lock().take());
    }
}

fn close(open: Option<Open>) {
    if let Some(Open { stop, thread, .. }) = open {
        drop(stop);
        // A panic has been reported by the thread itself.
        let _ = thread.join();
    }
}

fn start(wish: Wish, listeners: Vec<TcpListener>, shared: Arc<Shared>) -> io::Result<Open> {
    let addresses: Vec<SocketAddr> =
        listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
    // One thread is enough for answers of kilobytes, and disturbs the workers least.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .thread_name("apus-admin-job")
        .max_blocking_threads(2)
        .build()?;
    let (stop, stopped) = oneshot::channel::<()>();
    for a in &addresses {
        log!(shared.engine.log, Notice, "Admin interface on http://{}", a);
    }
    let thread = std::thread::Builder::new().name("apus-admin".into()).spawn(move || {
        runtime.block_on(http::serve(listeners, shared, stopped));
        // A profile that is being written must not hold up whoever waits for this thread.
        runtime.shutdown_background();
    })?;
    Ok(Open { wish, addresses, stop, thread })
}
