//! Messages and invalidations between threads, without a server: the threads are values, and take their
//! turns as the test says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pubsub::tracking::{Tracker, Tracking};
use pubsub::{ChannelKind, Hub, Inbox, Local, Payload, Peer, Peers, Receiver, Wanted};
use resp::Proto;

#[derive(Default)]
struct Worker {
    inbox: Inbox,
    wakes: AtomicUsize,
}

impl Peer for Worker {
    fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn wake(&self) {
        self.wakes.fetch_add(1, Relaxed);
    }
}

/// The shared half of a server of some threads.
#[derive(Default)]
struct Server {
    workers: Vec<Arc<Worker>>,
    receivers: Vec<Arc<Receiver>>,
    hub: Hub,
    tracking: Tracking,
}

impl Peers for Server {
    type Peer = Worker;

    fn peer(&self, thread: usize) -> Option<Arc<Worker>> {
        self.workers.get(thread).cloned()
    }

    fn peers(&self) -> Vec<Arc<Worker>> {
        self.workers.clone()
    }

    fn receiver(&self, id: u64) -> Option<Arc<Receiver>> {
        self.receivers.iter().find(|r| r.id == id).cloned()
    }
}

impl Server {
    fn new(threads: usize) -> (Self, Vec<Local<Worker>>) {
        let workers: Vec<Arc<Worker>> = (0..threads).map(|_| Arc::default()).collect();
        let locals = workers.iter().enumerate();
        let locals = locals.map(|(i, w)| Local::new(i, Arc::clone(w), Arc::default())).collect();
        (Self { workers, ..Self::default() }, locals)
    }

    /// A connection on a thread, with an outbox.
    fn connect(&mut self, local: &mut Local<Worker>, thread: usize, proto: Proto) -> Connection {
        let id = self.receivers.len() as u64 + 1;
        let receiver = Arc::new(Receiver::new(id, thread));
        receiver.set_proto(proto);
        self.receivers.push(Arc::clone(&receiver));
        Connection { receiver, slot: local.open(id, proto) }
    }

    fn send(&self, local: &mut Local<Worker>) {
        self.tracking.broadcast(self, local);
        local.send(self);
    }

    fn wakes(&self, thread: usize) -> usize {
        self.workers[thread].wakes.swap(0, Relaxed)
    }
}

struct Connection {
    receiver: Arc<Receiver>,
    slot: u32,
}

impl Connection {
    fn subscribe(
        &self,
        s: &Server,
        local: &mut Local<Worker>,
        kind: ChannelKind,
        name: &str,
    ) -> usize {
        let mut subs = self.receiver.subscriptions.lock();
        let subs = subs.get_or_insert_default();
        let name = (kind, name.as_bytes());
        let told = local.subscribe(&s.hub, &self.receiver, subs, name, self.slot);
        self.receiver.note(&s.hub, kind, subs);
        told
    }

    fn tracker(&self) -> Tracker {
        Tracker {
            receiver: Arc::clone(&self.receiver),
            redirect: 0,
            bcast: false,
            optin: false,
            optout: false,
            noloop: false,
            prefixes: Vec::new(),
        }
    }
}

fn publish(s: &Server, local: &mut Local<Worker>, channel: &str, message: &str) -> u64 {
    let message = Payload::of(message.as_bytes());
    local.publish(&s.hub, ChannelKind::Channel, Wanted::new(channel.as_bytes()), message)
}

/// The bytes that wait for each connection, with their numbers, after a look into the inbox.
fn sent(local: &mut Local<Worker>) -> Vec<(u64, String)> {
    local.receive();
    let mut all = Vec::new();
    while let Some(ready) = local.next_ready() {
        all.push((ready.client, String::from_utf8(ready.out.buf.clone()).expect("text")));
        local.recycle(ready.out);
    }
    all
}

fn message(words: &[&str]) -> String {
    let words = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len()));
    words.collect()
}

#[test]
fn a_message_reaches_subscribers_on_all_threads_and_wakes_each_once() {
    let (mut s, mut locals) = Server::new(3);
    let [zero, one, two] = &mut locals[..] else { panic!("three threads") };
    let a = s.connect(zero, 0, Proto::V2);
    let b = s.connect(one, 1, Proto::V3);
    assert_eq!(a.subscribe(&s, zero, ChannelKind::Channel, "news"), 1);
    assert_eq!(a.subscribe(&s, zero, ChannelKind::Channel, "news"), 1);
    assert_eq!(b.subscribe(&s, one, ChannelKind::Channel, "news"), 1);
    assert_eq!(b.subscribe(&s, one, ChannelKind::Pattern, "n*"), 2);
    assert_eq!((s.hub.clients(), b.receiver.told(ChannelKind::Pattern)), (2, 2));
    assert_eq!(publish(&s, zero, "news", "x"), 3);
    assert_eq!(publish(&s, zero, "nobody", "x"), 1);
    assert_eq!((s.wakes(1), zero.ready()), (0, 1), "nobody is woken before the batch ends");
    s.send(zero);
    assert_eq!((s.wakes(0), s.wakes(1), s.wakes(2)), (0, 1, 0));
    let news = message(&["message", "news", "x"]);
    assert_eq!(sent(zero), [(1, format!("*3\r\n{news}"))]);
    let matched = |channel| format!(">4\r\n{}", message(&["pmessage", "n*", channel, "x"]));
    let all = format!(">3\r\n{news}{}{}", matched("news"), matched("nobody"));
    assert_eq!(sent(one), [(2, all)]);
    assert_eq!(sent(two), []);
}

#[test]
fn subscriptions_end_one_by_one() {
    let (mut s, mut locals) = Server::new(1);
    let local = &mut locals[0];
    let a = s.connect(local, 0, Proto::V2);
    for name in ["x", "y"] {
        a.subscribe(&s, local, ChannelKind::Channel, name);
    }
    let bytes = || a.receiver.subscription_bytes.load(Relaxed);
    let two = bytes();
    assert!(local.unsubscribe(&s.hub, &a.receiver, (ChannelKind::Channel, b"x"), a.slot));
    assert!(!local.unsubscribe(&s.hub, &a.receiver, (ChannelKind::Channel, b"x"), a.slot));
    assert_eq!(bytes() * 2, two);
    assert_eq!((publish(&s, local, "x", "m"), publish(&s, local, "y", "m")), (0, 1));
    assert_eq!(a.receiver.names(ChannelKind::Channel).len(), 1);
    assert!(local.unsubscribe(&s.hub, &a.receiver, (ChannelKind::Channel, b"y"), a.slot));
    assert_eq!((bytes(), s.hub.clients(), s.hub.names(ChannelKind::Channel)), (0, 0, 0));
    assert!(!a.receiver.subscribed.load(Relaxed));
    local.close(a.receiver.id);
    assert_eq!(sent(local), []);
}

#[test]
fn a_publisher_learns_which_thread_has_too_much_to_deliver() {
    let (mut s, mut locals) = Server::new(2);
    let [zero, one] = &mut locals[..] else { panic!("two threads") };
    let b = s.connect(one, 1, Proto::V2);
    b.subscribe(&s, one, ChannelKind::Channel, "c");
    let big = "x".repeat(600 << 10);
    publish(&s, zero, "c", &big);
    s.send(zero);
    assert_eq!(zero.crowded, None);
    publish(&s, zero, "c", &big);
    s.send(zero);
    assert_eq!(zero.crowded, Some(1));
    let backlog = &s.workers[1].inbox.backlog;
    assert!(backlog.is_over() && !backlog.room_or_wait(0));
    s.wakes(0);
    // Its subscriber is sent everything, and the publisher's thread is woken.
    assert_eq!(sent(one).len(), 1);
    one.relieve(&s);
    assert_eq!((s.wakes(0), backlog.bytes(), backlog.room_or_wait(0)), (1, 0, true));
}

#[test]
fn a_change_is_told_to_those_that_have_read_the_key() {
    let (mut s, mut locals) = Server::new(2);
    let [zero, one] = &mut locals[..] else { panic!("two threads") };
    let reader = s.connect(zero, 0, Proto::V3);
    let old = s.connect(one, 1, Proto::V2);
    for c in [&reader, &old] {
        s.tracking.begin(&Arc::new(c.tracker()));
        s.tracking.remember(b"k", c.receiver.id);
    }
    assert_eq!((s.tracking.clients(), s.tracking.keys(), s.tracking.items()), (2, 1, 2));
    s.tracking.invalidate(&s, one, 9, b"k");
    s.tracking.invalidate(&s, one, 9, b"k");
    s.send(one);
    let told = format!(">2\r\n{}*1\r\n$1\r\nk\r\n", message(&["invalidate"]));
    assert_eq!(sent(zero), [(1, told)]);
    assert_eq!(sent(one), [], "RESP2 has no push messages");
    s.tracking.end(&reader.tracker());
    s.tracking.end(&old.tracker());
    assert_eq!((s.tracking.clients(), reader.receiver.redirect.load(Relaxed)), (0, -1));
}

#[test]
fn invalidations_are_redirected_until_the_other_is_gone() {
    let (mut s, mut locals) = Server::new(1);
    let local = &mut locals[0];
    let other = s.connect(local, 0, Proto::V2);
    other.subscribe(&s, local, ChannelKind::Channel, "__redis__:invalidate");
    let c = s.connect(local, 0, Proto::V3);
    s.tracking.begin(&Arc::new(Tracker { redirect: other.receiver.id, ..c.tracker() }));
    s.tracking.invalidate_all(&s, local);
    let all = format!("*3\r\n{}$-1\r\n", message(&["message", "__redis__:invalidate"]));
    assert_eq!(sent(local), [(1, all)]);
    s.receivers.remove(0);
    s.tracking.invalidate_all(&s, local);
    let broken = format!(">2\r\n{}:1\r\n", message(&["tracking-redir-broken"]));
    assert_eq!(sent(local), [(2, broken)]);
    assert!(c.receiver.redirect_broken.load(Relaxed));
}

#[test]
fn prefixes_are_told_once_per_batch() {
    let (mut s, mut locals) = Server::new(1);
    let local = &mut locals[0];
    let c = s.connect(local, 0, Proto::V3);
    let prefixes = vec![b"a:".to_vec()];
    let tracker = Arc::new(Tracker { bcast: true, noloop: true, prefixes, ..c.tracker() });
    s.tracking.begin(&tracker);
    for (key, by) in [("a:1", 9), ("b", 9), ("a:2", c.receiver.id), ("a:1", 9)] {
        s.tracking.invalidate(&s, local, by, key.as_bytes());
    }
    assert_eq!(sent(local), []);
    s.send(local);
    let told = format!(">2\r\n{}*1\r\n$3\r\na:1\r\n", message(&["invalidate"]));
    assert_eq!(sent(local), [(1, told)]);
    s.tracking.end(&tracker);
    assert_eq!(s.tracking.prefixes(), 0);
}

#[test]
fn the_table_stays_below_its_limit() {
    let (mut s, mut locals) = Server::new(1);
    let local = &mut locals[0];
    let c = s.connect(local, 0, Proto::V3);
    let tracker = Arc::new(c.tracker());
    s.tracking.begin(&tracker);
    assert!(tracker.wants(false) && tracker.wants(true));
    assert!(!Tracker { optin: true, ..c.tracker() }.wants(false));
    assert!(!Tracker { optout: true, ..c.tracker() }.wants(true));
    for i in 0..10u8 {
        s.tracking.remember(&[b'0' + i], c.receiver.id);
    }
    s.tracking.limit(&s, local, 0, 100);
    assert_eq!(s.tracking.keys(), 10);
    s.tracking.limit(&s, local, 4, 3);
    assert_eq!(s.tracking.keys(), 7);
    s.tracking.upkeep(&s, local, 4);
    assert_eq!(s.tracking.keys(), 4);
    assert_eq!(sent(local)[0].1.matches("invalidate").count(), 6);
}

#[test]
fn with_noloop_a_client_is_not_told_of_its_own_changes() {
    let (mut s, mut locals) = Server::new(1);
    let local = &mut locals[0];
    let c = s.connect(local, 0, Proto::V3);
    let id = c.receiver.id;
    s.tracking.begin(&Arc::new(Tracker { noloop: true, ..c.tracker() }));
    s.tracking.remember(b"k", id);
    s.tracking.invalidate(&s, local, id, b"k");
    assert_eq!(sent(local), []);
    s.tracking.remember(b"k", id);
    s.tracking.invalidate(&s, local, id + 1, b"k");
    assert_eq!(sent(local).len(), 1);
}
