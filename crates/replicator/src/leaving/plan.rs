//! The shutdown that waits for the replicas, if one does, and the clients that wait for it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use commands::Fail;
use durable::ShutdownRequest;
use engine::{Engine, Thread};
use parking_lot::Mutex;
use store::Waiter;

/// What the clients that wait in SHUTDOWN are told when the server does not end.
const FAILED: Fail = Fail::text("ERR Errors trying to SHUTDOWN. Check logs.");

/// See the module's text.
#[derive(Default)]
pub struct Leaving {
    pub(super) plan: Mutex<Option<Plan>>,
    /// Clients in SHUTDOWN. Those that find no plan are told that the server goes on.
    clients: Mutex<Vec<Arc<Waiter>>>,
}

/// A shutdown that waits.
pub(super) struct Plan {
    pub(super) request: ShutdownRequest,
    pub(super) manner: u8,
    /// When the replicas are not waited for any more, in Unix milliseconds.
    pub(super) ends_ms: i64,
    /// Threads that may still execute what began before the pause.
    pub(super) left: Arc<AtomicUsize>,
    /// What the replicas are to have; none before all threads have paused.
    pub(super) target: Option<i64>,
    /// The end has begun.
    pub(super) is_over: bool,
}

impl Leaving {
    /// A client waits for the end, too.
    pub fn join(&self, client: Arc<Waiter>) {
        self.clients.lock().push(client);
    }

    /// The server goes on: clients in SHUTDOWN are told.
    pub(super) fn answer(&self, engine: &Engine, thread: &mut Thread) {
        let clients = std::mem::take(&mut *self.clients.lock());
        for client in clients {
            let bytes = format!("-{}\r\n", FAILED.0).into_bytes();
            thread.answer_waiter(engine, &client, bytes, Some(&FAILED));
        }
    }

    /// How long the shutdown waits yet, in milliseconds, if one does.
    pub fn left_ms(&self, engine: &Engine) -> Option<i64> {
        self.plan.lock().as_ref().map(|plan| plan.ends_ms - engine.clock.wall_ms() as i64)
    }
}
