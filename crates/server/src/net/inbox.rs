//! The part of a worker that other threads reach: connections on their way to it, and the sockets of those that
//! it has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::{Client, Endpoint, Session};
use parking_lot::{Mutex, MutexGuard};

use super::Stream;
use super::listen::Door;

/// Where the acceptor leaves new connections, and others leave messages.
pub(crate) struct Inbox {
    pub(crate) worker: Arc<engine::Worker>,
    arrivals: Mutex<Vec<Arrival>>,
    /// The connections that have arrived.
    pub(super) sockets: Sockets,
}

/// A connection on its way to its thread.
pub(crate) struct Arrival {
    pub(crate) stream: Stream,
    pub(super) door: Door,
    pub(super) endpoint: Endpoint,
    /// It has begun already, while the thread was stuck.
    pub(super) session: Option<Session>,
}

impl Arrival {
    /// Begins its session, unless that was done.
    pub(crate) fn begin(&mut self, engine: &engine::Engine, thread: usize) -> Arc<engine::Client> {
        let endpoint = &self.endpoint;
        let begin = || Session::new(engine, thread, endpoint.clone());
        Arc::clone(&self.session.get_or_insert_with(begin).client)
    }
}

impl Inbox {
    pub(crate) fn new(worker: Arc<engine::Worker>) -> Arc<Self> {
        Arc::new(Self { worker, arrivals: Mutex::default(), sockets: Sockets::default() })
    }

    /// Hands a connection over to the worker, which sees it when it is woken.
    pub(crate) fn give(&self, s: Stream, e: Endpoint, door: Door) {
        self.arrivals.lock().push(Arrival { stream: s, door, endpoint: e, session: None });
    }

    /// See [`Sockets::has_gone`].
    pub(crate) fn has_gone(&self, client: &Client) -> bool {
        self.sockets.has_gone(client)
    }

    pub(crate) fn arrivals(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrivals.lock()
    }
}

/// A connection as other threads know it, and its socket.
pub(super) type Known = (Arc<Client>, Arc<Stream>);

/// The connections of a thread, by client number.
#[derive(Default)]
pub(crate) struct Sockets(Mutex<BTreeMap<u64, Known>>);

impl Sockets {
    pub(crate) fn insert(&self, client: Arc<Client>, stream: Arc<Stream>) {
        self.0.lock().insert(client.id, (client, stream));
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Known> {
        self.0.lock().values().cloned().collect()
    }

    pub(crate) fn remove(&self, client: &Client) {
        self.0.lock().remove(&client.id);
    }

    /// Whether the peer of a connection has closed it and no reply is due to it. The thread of the
    /// connection will close it as well, as soon as it sees that.
    pub(crate) fn has_gone(&self, client: &Client) -> bool {
        client.output_bytes.load(Relaxed) == 0
            && client.blocked.lock().is_none()
            && self.0.lock().get(&client.id).is_some_and(|(_, stream)| stream.is_closed_by_peer())
    }
}
