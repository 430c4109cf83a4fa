//! MIGRATE against targets that are made of a script of answers: the clients that wait meanwhile, and
//! the fate of keys when the target refuses, breaks off, or is never there.

mod common;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use common::{Conn, Server};
use engine::{Message, Unreached, Wire};
use parking_lot::Mutex;

/// The target's action when it is next read from.
enum Step {
    Says(&'static str),
    Fails(ErrorKind),
}

use Step::{Fails, Says};

/// A target: every connection to it takes the next of these lists of steps.
#[derive(Clone, Default)]
struct Target {
    connections: Arc<Mutex<VecDeque<Vec<Step>>>>,
    /// The bytes that it has been sent.
    received: Arc<Mutex<Vec<u8>>>,
    /// Holds it back until there is something to take.
    gate: Option<Arc<Mutex<Receiver<()>>>>,
}

struct Connection {
    steps: VecDeque<Step>,
    target: Target,
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(gate) = &self.target.gate {
            gate.lock().recv().expect("the test lets it go on");
        }
        match self.steps.pop_front() {
            Some(Says(text)) => {
                buffer[..text.len()].copy_from_slice(text.as_bytes());
                Ok(text.len())
            }
            Some(Fails(kind)) => Err(kind.into()),
            None => Ok(0),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.target.received.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire for Connection {
    fn limit(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }
}

impl Target {
    fn new(connections: Vec<Vec<Step>>) -> Self {
        Self { connections: Arc::new(Mutex::new(connections.into())), ..Self::default() }
    }

    fn gated(connections: Vec<Vec<Step>>) -> (Self, Sender<()>) {
        let (open, gate) = channel();
        let gate = Some(Arc::new(Mutex::new(gate)));
        (Self { gate, ..Self::new(connections) }, open)
    }

    /// Makes the server find it wherever it connects to.
    fn serve(&self, s: &Server) {
        let target = self.clone();
        *s.engine.hooks.dial.write() = Some(Arc::new(move |_, _, _, _| {
            let steps = target.connections.lock().pop_front();
            let steps = steps.ok_or(Unreached::Refused)?.into();
            Ok(Box::new(Connection { steps, target: target.clone() }) as Box<dyn Wire>)
        }));
    }

    fn received(&self) -> String {
        String::from_utf8_lossy(&self.received.lock()).into_owned()
    }
}

/// Sends a command that waits, and returns the reply that comes at last.
fn wait_for(s: &mut Server, c: &mut Conn, line: &str) -> String {
    let mut sent = s.send(c, line).into_bytes();
    while sent.is_empty() {
        sent = s.deliver(c);
        std::thread::yield_now();
    }
    String::from_utf8(sent).expect("text")
}

#[test]
fn what_the_target_has_taken_is_gone_and_the_rest_stays() {
    let mut s = Server::new();
    let target = Target::new(vec![vec![
        Says("+OK\r\n+OK\r\n-BUSYKEY Target key name already exists.\r\n"),
        Says("+OK\r\n"),
    ]]);
    target.serve(&s);
    let mut c = s.connect();
    s.send(&mut c, "MSET a 1 b 2 c 3");
    s.send(&mut c, "PEXPIRE c 5000");
    let reply = wait_for(&mut s, &mut c, "MIGRATE h 1 '' 3 100 KEYS a b nothing c");
    let text = "-ERR Target instance replied with error: BUSYKEY Target key name already exists.";
    assert_eq!(reply, format!("{text}\r\n"));
    assert_eq!(s.send(&mut c, "EXISTS a b c"), ":1\r\n");
    assert_eq!(s.send(&mut c, "GET b"), "$1\r\n2\r\n");
    let received = target.received();
    assert!(received.starts_with(
        "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*4\r\n$7\r\nRESTORE\r\n$1\r\na\r\n$1\r\n0\r\n"
    ));
    assert!(received.contains("RESTORE\r\n$1\r\nc\r\n$4\r\n5000\r\n"), "{received:?}");
}

#[test]
fn commands_over_a_key_that_is_moved_wait_and_others_do_not() {
    let mut s = Server::new();
    let (target, open) = Target::gated(vec![vec![Says("+OK\r\n"), Says("+OK\r\n")]]);
    target.serve(&s);
    let (mut c, mut other) = (s.connect(), s.connect());
    s.send(&mut c, "SET a 1");
    assert_eq!(s.send(&mut c, "MIGRATE h 1 a 0 100"), "");
    s.deliver(&mut c);
    assert_eq!(s.send(&mut other, "SET b 2"), "+OK\r\n");
    s.send(&mut other, "MULTI");
    assert_eq!(s.send(&mut other, "INCR a"), "+QUEUED\r\n");
    assert_eq!(s.send(&mut other, "EXEC"), "", "it names the key");
    open.send(()).expect("it waits");
    open.send(()).expect("it waits");
    let mut sent = Vec::new();
    while sent.is_empty() {
        sent = s.deliver(&mut c);
    }
    assert_eq!(sent, b"+OK\r\n");
    other.waiting = false;
    assert_eq!(s.feed(&mut other, b""), b"*1\r\n:1\r\n", "it comes after the move");
}

#[test]
fn one_that_was_ended_from_outside_answers_nothing_that_waits_later() {
    let mut s = Server::new();
    let target = Target::new(vec![vec![Says("+OK\r\n"), Says("+OK\r\n")]]);
    target.serve(&s);
    let (mut c, mut other) = (s.connect(), s.connect());
    s.send(&mut c, "SET a 1");
    assert_eq!(s.send(&mut c, "MIGRATE h 1 a 0 100"), "");
    let begins = s.thread.worker().mailbox.take();
    let unblock = format!("CLIENT UNBLOCK {}", c.session.client.id);
    assert_eq!(s.send(&mut other, &unblock), ":1\r\n");
    s.send(&mut c, "BLPOP list 0");
    for message in begins {
        if let Message::Run(job) = message {
            job.run(&s.engine, &mut s.thread);
        }
    }
    assert_eq!(s.deliver(&mut c), b"$-1\r\n", "the answer to MIGRATE alone");
    assert_eq!(s.send(&mut other, "SET a 2"), "+OK\r\n", "the key is not on its way");
    assert_eq!(target.received(), "");
    s.send(&mut other, "RPUSH list x");
    assert_eq!(s.deliver(&mut c), b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n");
}

#[test]
fn a_script_that_changes_the_key_keeps_it_here() {
    let mut s = Server::new();
    let (target, open) = Target::gated(vec![vec![Says("+OK\r\n"), Says("+OK\r\n")]]);
    target.serve(&s);
    let (mut c, mut other) = (s.connect(), s.connect());
    s.send(&mut c, "SET a 1");
    s.send(&mut c, "MIGRATE h 1 a 0 100");
    s.deliver(&mut c);
    let script = "EVAL \"return redis.call('set', 'a', '2')\" 0";
    assert_eq!(s.send(&mut other, script), "+OK\r\n");
    open.send(()).expect("it waits");
    open.send(()).expect("it waits");
    let mut sent = Vec::new();
    while sent.is_empty() {
        sent = s.deliver(&mut c);
    }
    assert!(sent.starts_with(b"-ERR a script has changed 'a' meanwhile"));
    assert_eq!(s.send(&mut c, "GET a"), "$1\r\n2\r\n");
}

#[test]
fn connections_are_kept_and_made_anew_when_the_other_side_has_closed() {
    let mut s = Server::new();
    let target = Target::new(vec![
        vec![Says("+OK\r\n+OK\r\n"), Says("+OK\r\n")],
        vec![Says("+OK\r\n+OK\r\n")],
    ]);
    target.serve(&s);
    let mut c = s.connect();
    s.send(&mut c, "MSET a 1 b 2 c 3");
    assert_eq!(wait_for(&mut s, &mut c, "MIGRATE h 1 a 3 100"), "+OK\r\n");
    assert!(s.send(&mut c, "INFO stats").contains("migrate_cached_sockets:1\r\n"));
    assert_eq!(wait_for(&mut s, &mut c, "MIGRATE h 1 b 3 100"), "+OK\r\n");
    assert_eq!(target.received().matches("SELECT").count(), 1);
    assert_eq!(wait_for(&mut s, &mut c, "MIGRATE h 1 c 3 100"), "+OK\r\n", "the second one");
    assert_eq!(target.received().matches("SELECT").count(), 2);
    s.wait_ms(10_001);
    s.thread.cron(&s.engine, 1, 1_000_000);
    assert!(s.send(&mut c, "INFO stats").contains("migrate_cached_sockets:0\r\n"));
}

#[test]
fn nothing_is_lost_with_a_target_that_fails() {
    let mut s = Server::new();
    let mut c = s.connect();
    let cases: [(Vec<Vec<Step>>, &str); 4] = [
        (vec![], "-IOERR error or timeout writing to target instance\r\n"),
        (
            vec![vec![Fails(ErrorKind::TimedOut)], vec![Says("+OK\r\n+OK\r\n")]],
            "-IOERR error or timeout reading to target instance\r\n",
        ),
        (
            vec![vec![Fails(ErrorKind::ConnectionReset)], vec![]],
            "-IOERR error or timeout reading to target instance\r\n",
        ),
        (
            vec![vec![Says("-NOAUTH Authentication required.\r\n+OK\r\n")]],
            "-ERR Target instance replied with error: NOAUTH Authentication required.\r\n",
        ),
    ];
    for (connections, expected) in cases {
        Target::new(connections).serve(&s);
        s.send(&mut c, "SET a 1");
        assert_eq!(wait_for(&mut s, &mut c, "MIGRATE h 1 a 0 100"), expected);
        assert_eq!(s.send(&mut c, "GET a"), "$1\r\n1\r\n");
        assert_eq!(s.send(&mut c, "SET a 2"), "+OK\r\n", "it is not frozen any more");
    }
}

#[test]
fn within_a_transaction_or_a_script() {
    let mut s = Server::new();
    let target = Target::new(vec![vec![Says("+OK\r\n+OK\r\n"), Says("+OK\r\n")]]);
    target.serve(&s);
    let mut c = s.connect();
    s.send(&mut c, "MSET a 1 b 2");
    s.send(&mut c, "MULTI");
    s.send(&mut c, "MIGRATE h 1 a 0 100 AUTH p");
    s.send(&mut c, "EXISTS a");
    assert_eq!(s.send(&mut c, "EXEC"), "*2\r\n+OK\r\n:0\r\n");
    let target = Target::new(vec![vec![Says("+OK\r\n+OK\r\n")]]);
    target.serve(&s);
    let script = "EVAL \"return redis.call('migrate', 'g', 1, KEYS[1], 0, 100)\" 1 b";
    assert_eq!(s.send(&mut c, script), "+OK\r\n");
    assert_eq!(s.send(&mut c, "EXISTS b"), ":0\r\n");
}

#[test]
fn the_journal_gets_what_was_deleted() {
    let mut s = Server::new();
    let (mut c, mut m) = (s.connect(), s.connect());
    s.configure("notify-keyspace-events", "KEA");
    let target = Target::new(vec![vec![Says("+OK\r\n+OK\r\n")]]);
    target.serve(&s);
    s.send(&mut c, "SET a 1");
    s.send(&mut m, "SUBSCRIBE __keyevent@0__:del");
    assert_eq!(wait_for(&mut s, &mut c, "MIGRATE h 1 a 0 100"), "+OK\r\n");
    assert!(s.send(&mut m, "PING").contains("__keyevent@0__:del"));
    assert!(s.send(&mut c, "INFO persistence").contains("rdb_changes_since_last_save:2\r\n"));
}

#[test]
fn thousands_of_keys_in_one_command() {
    const KEYS: usize = 20_000;
    let mut s = Server::new();
    // One read returns at most 4,096 bytes.
    let mut steps = vec![Says("+OK\r\n")];
    let many: &'static str = "+OK\r\n".repeat(500).leak();
    steps.extend((0..KEYS / 500).map(|_| Says(many)));
    Target::new(vec![steps]).serve(&s);
    let mut c = s.connect();
    let pairs: String = (0..KEYS).map(|i| format!(" k{i} v")).collect();
    s.send(&mut c, &format!("MSET{pairs}"));
    // A key that is named twice is deleted once.
    let names: String = (0..KEYS - 1).map(|i| format!(" k{i}")).collect();
    let reply = wait_for(&mut s, &mut c, &format!("MIGRATE h 1 '' 0 100 KEYS{names} k0"));
    assert_eq!(reply, "+OK\r\n");
    assert_eq!(s.send(&mut c, "DBSIZE"), ":1\r\n");
}
