//! A task of a runtime that accepts connections, and releases its address on request.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};

use config::Id;
use engine::{Engine, log};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// See the module's text.
pub(crate) struct Accepting {
    task: AbortHandle,
    /// Says that there will never be anything, as soon as the task is gone, and its listener with it.
    gone: Receiver<()>,
}

impl Accepting {
    /// Runs `accept`, which owns its listener.
    pub(crate) fn start(
        runtime: &Handle,
        accept: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let (guard, gone): (Sender<()>, _) = channel();
        // In this order, so that the guard is dropped behind the listener, also if the task never runs.
        let both = (accept, guard);
        let task = runtime.spawn(async move {
            let (accept, _guard) = both;
            accept.await;
        });
        Self { task: task.abort_handle(), gone }
    }

    /// Ends it. The address is free when this returns; the connections stay.
    pub(crate) fn close(self) {
        self.task.abort();
        // Always an error, since nothing is ever sent.
        let _ = self.gone.recv();
    }
}

/// Warns of a port that others can reach without a password.
pub(crate) fn warn_if_open(engine: &Engine, option: &str, address: SocketAddr) {
    if address.ip().is_loopback() || !engine.acl.takes_any_password() {
        return;
    }
    let text = if engine.config.flag(Id::ProtectedMode) {
        "other machines are refused until it has one (protected-mode)"
    } else {
        "anybody who can reach it may use it"
    };
    log!(
        engine.log,
        Warning,
        "{} is open to other machines on {}, and the default user has no password: {}",
        option,
        address,
        text
    );
}
