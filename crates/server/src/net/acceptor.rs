//! The thread that accepts connections and deals them out to the workers.

use std::cell::RefCell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use config::Id;
use engine::{Endpoint, log};
use mio::net::{TcpStream, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;

use super::tcp_listener::Listening;
use super::tls::{PROTECTED, is_refused};
use super::{Bound, Door, Inbox, Stream, rebind};
use crate::Shared;

/// How long to wait before trying again when the process has no descriptors left.
const BACKOFF: Duration = Duration::from_millis(50);
const WAKE: Token = Token(usize::MAX);
/// Connections that a worker is woken for once, while more of them wait: to wake it costs as much as to accept one.
const WAKE_AFTER: usize = 16;

/// What a client of the web port is told that is one too many.
const WEB_TOO_MANY: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
Content-Length: 0\r\nConnection: close\r\n\r\n";
const TOO_MANY: &str = "-ERR max number of clients reached\r\n";

/// How long CONFIG SET waits for the acceptor, which may have to wait for names to be resolved.
const PATIENCE: Duration = Duration::from_secs(20);

/// TCP addresses of one door to listen on instead of the present ones.
struct Order {
    door: Door,
    bind: Vec<String>,
    port: u16,
    backlog: i32,
    done: SyncSender<io::Result<()>>,
}

/// Orders for the acceptor from other threads.
pub(crate) struct Doors {
    orders: Mutex<Vec<Order>>,
    waker: Waker,
}

impl Doors {
    /// Listens on these TCP addresses of a door and on no others. Connections stay open, and those that wait to be
    /// accepted are accepted.
    ///
    /// # Errors
    /// One of them cannot be listened on; then all is as before.
    pub(crate) fn rebind(
        &self,
        door: Door,
        bind: Vec<String>,
        port: u16,
        backlog: i32,
    ) -> io::Result<()> {
        let (done, outcome) = sync_channel(1);
        self.orders.lock().push(Order { door, bind, port, backlog, done });
        self.waker.wake()?;
        let gone = |_| io::Error::other("the server is shutting down");
        outcome.recv_timeout(PATIENCE).map_err(gone)?
    }

    /// Makes the acceptor look at the stop flag.
    pub(crate) fn wake(&self) {
        let _ = self.waker.wake();
    }
}

enum Listener {
    Tcp(Listening),
    Unix(UnixListener, Option<std::path::PathBuf>),
}

/// See the module's text.
pub(crate) struct Acceptor {
    poll: Poll,
    doors: Arc<Doors>,
    listeners: Vec<Option<Listener>>,
    inboxes: Vec<Arc<Inbox>>,
    /// Connections in each inbox that its worker was not woken for.
    unseen: Vec<usize>,
    shared: Arc<Shared>,
}

impl Acceptor {
    pub(crate) fn new(
        bound: Vec<Bound>,
        inboxes: Vec<Arc<Inbox>>,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let doors = Arc::new(Doors { orders: Mutex::default(), waker });
        let unseen = vec![0; inboxes.len()];
        let mut a = Self { poll, doors, listeners: Vec::new(), unseen, inboxes, shared };
        for b in bound {
            a.open(b)?;
        }
        Ok(a)
    }

    pub(crate) fn doors(&self) -> Arc<Doors> {
        Arc::clone(&self.doors)
    }

    /// Returns the listener's index.
    fn open(&mut self, bound: Bound) -> io::Result<usize> {
        let place = self.listeners.iter().position(Option::is_none).unwrap_or(self.listeners.len());
        let token = Token(place);
        let r = self.poll.registry();
        let door = match bound {
            Bound::Web(_) => Door::Web,
            Bound::Tls(_) => Door::Tls,
            _ => Door::Resp,
        };
        let listener = match bound {
            Bound::Tcp(l) | Bound::Tls(l) | Bound::Web(l) => {
                let config = &self.shared.engine.config;
                // The system lets one more wait.
                let waiting_max = config.int(Id::TcpBacklog).max(0) as usize + 1;
                let options = (config.int(Id::TcpKeepalive), waiting_max);
                Listener::Tcp(Listening::open(r, l, (token, door), options)?)
            }
            Bound::Unix(l, path) => {
                l.set_nonblocking(true)?;
                let mut l = UnixListener::from_std(l);
                r.register(&mut l, token, Interest::READABLE)?;
                Listener::Unix(l, path)
            }
        };
        match self.listeners.get_mut(place) {
            Some(free) => *free = Some(listener),
            None => self.listeners.push(Some(listener)),
        }
        Ok(place)
    }

    fn rebind(&mut self, door: Door, bind: &[String], port: u16, backlog: i32) -> io::Result<()> {
        let tcp = |l: &Option<Listener>| match l {
            Some(Listener::Tcp(l)) if l.door == door => l.local_addr().ok(),
            _ => None,
        };
        let mut open: Vec<(SocketAddr, usize)> =
            self.listeners.iter().enumerate().filter_map(|(i, l)| Some((tcp(l)?, i))).collect();
        let this = RefCell::new(self);
        let close = |i: usize| {
            let mut this = this.borrow_mut();
            // Clients that have connected already are served.
            this.accept_all(i);
            this.listeners[i] = None;
        };
        let start = |l| {
            let bound = match door {
                Door::Resp => Bound::Tcp(l),
                Door::Tls => Bound::Tls(l),
                Door::Web => Bound::Web(l),
            };
            this.borrow_mut().open(bound)
        };
        rebind(&mut open, bind, port, backlog, close, start)
    }

    pub(crate) fn run(mut self) {
        yield_to_workers();
        let mut events = Events::with_capacity(64);
        // Listeners with connections that could not be accepted yet.
        let mut again: Vec<usize> = Vec::new();
        loop {
            let timeout = (!again.is_empty()).then_some(BACKOFF);
            match self.poll.poll(&mut events, timeout) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => {
                    log!(self.shared.engine.log, Warning, "accepting: {}", e);
                    std::thread::sleep(BACKOFF);
                }
                _ => {}
            }
            if self.shared.stopping() {
                break;
            }
            let mut ready = std::mem::take(&mut again);
            ready.extend(events.iter().map(|e| e.token().0).filter(|t| *t != WAKE.0));
            for i in ready {
                if !self.accept_all(i) {
                    again.push(i);
                }
            }
            let orders = std::mem::take(&mut *self.doors.orders.lock());
            for Order { door, bind, port, backlog, done } in orders {
                let outcome = self.rebind(door, &bind, port, backlog);
                // CONFIG SET may have given up.
                let _ = done.try_send(outcome);
            }
        }
        for l in self.listeners.iter().flatten() {
            if let Listener::Unix(_, Some(path)) = l {
                let _ = std::fs::remove_file(path);
            }
        }
        self.listeners.clear();
        self.shared.shut();
    }

    /// Accepts the waiting connections, and wakes the workers that have got some. Returns false when it must be tried
    /// again later.
    fn accept_all(&mut self, i: usize) -> bool {
        let all = self.accept_some(i);
        for at in 0..self.inboxes.len() {
            self.wake_worker(at);
        }
        all
    }

    fn wake_worker(&mut self, at: usize) {
        if std::mem::take(&mut self.unseen[at]) > 0 {
            self.inboxes[at].worker.mailbox.wake();
        }
    }

    fn accept_some(&mut self, i: usize) -> bool {
        loop {
            let keepalive_s = self.shared.engine.config.int(Id::TcpKeepalive);
            let accepted = match self.listeners.get_mut(i) {
                Some(Some(Listener::Tcp(l))) => {
                    let door = l.door;
                    l.accept(keepalive_s).map(|(tcp, peer, local)| {
                        let stream = self.stream(tcp, door)?;
                        let endpoint = stream.between(peer, local);
                        Some((stream, endpoint, door))
                    })
                }
                Some(Some(Listener::Unix(l, _))) => l.accept().map(|(s, _)| {
                    let stream = Stream::Unix(s);
                    let endpoint = stream.endpoint();
                    Some((stream, endpoint, Door::Resp))
                }),
                _ => return true,
            };
            match accepted {
                Ok(s) => s.into_iter().for_each(|(s, e, door)| self.admit(s, e, door)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return true,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => match e.raw_os_error() {
                    // The client has gone already.
                    Some(libc::ECONNABORTED | libc::EPROTO | libc::EPERM) => {}
                    _ => {
                        // No descriptors or no memory: connections stay in the backlog, and the
                        // ones that are open are served meanwhile.
                        if self.shared.complain() {
                            log!(
                                self.shared.engine.log,
                                Warning,
                                "Accepting client connection: {}. Trying again every {} ms.",
                                e,
                                BACKOFF.as_millis()
                            );
                        }
                        return false;
                    }
                },
            }
        }
    }

    /// A new connection, with TLS where its door wants it.
    fn stream(&self, tcp: TcpStream, door: Door) -> Option<Stream> {
        match door {
            Door::Tls => self.secure(tcp, self.shared.tls.resp()),
            Door::Web if self.shared.tls.web_is_on() => self.secure(tcp, self.shared.tls.web()),
            Door::Web | Door::Resp => Some(Stream::Tcp(tcp)),
        }
    }

    /// Puts TLS over a new connection. Without a certificate there is none, and the connection ends.
    fn secure(&self, tcp: TcpStream, side: Option<Arc<transport::Server>>) -> Option<Stream> {
        let session = side?.session();
        session
            .inspect_err(|e| log!(self.shared.engine.log, Warning, "TLS: {}", e))
            .ok()
            .map(|session| Stream::secured(tcp, session))
    }

    fn admit(&mut self, s: Stream, endpoint: Endpoint, door: Door) {
        let engine = &self.shared.engine;
        let (at, inbox) = self
            .inboxes
            .iter()
            .enumerate()
            .min_by_key(|(_, i)| i.worker.connections.load(Relaxed))
            .expect("there is at least one worker");
        let open: u64 = self.inboxes.iter().map(|i| i.worker.connections.load(Relaxed)).sum();
        if open >= engine.config.int(Id::Maxclients) as u64 {
            // Best effort: the error is lost if the socket does not take it at once. With TLS no word can be
            // said before the handshake, as in Redis.
            if !s.is_tls() {
                let text = if door == Door::Web { WEB_TOO_MANY } else { TOO_MANY };
                let _ = (&s).write(text.as_bytes());
            }
            inbox.worker.stats.rejected_connections.fetch_add(1, Relaxed);
            return;
        }
        // Pages are for everybody, and read only. With TLS a client is told so when the handshake is done.
        if door == Door::Resp && !s.is_tls() && is_refused(engine, &endpoint) {
            let _ = (&s).write(PROTECTED.as_bytes());
            inbox.worker.stats.rejected_connections.fetch_add(1, Relaxed);
            return;
        }
        inbox.worker.connections.fetch_add(1, Relaxed);
        inbox.give(s, endpoint, door);
        self.unseen[at] += 1;
        if self.unseen[at] == WAKE_AFTER {
            self.wake_worker(at);
        }
    }
}

/// Has the system let a worker that runs on this processor finish its turn before this thread runs: connections gather
/// meanwhile, and are accepted together. On a processor that has nothing else to do it makes no difference.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the system's interface for the policy of a thread")]
fn yield_to_workers() {
    // SAFETY: It is about the calling thread and reads the parameter, of which all zeros are a value.
    unsafe {
        let priority: libc::sched_param = std::mem::zeroed();
        // What is refused is left as it is: it only takes longer.
        let _ = libc::sched_setscheduler(0, libc::SCHED_BATCH, &priority);
    }
}

#[cfg(not(target_os = "linux"))]
fn yield_to_workers() {}
