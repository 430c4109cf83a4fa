//! Long commands run beside the event loops: what their own connection and others see meanwhile, and that
//! they do all that a command does on a worker.

mod workers;

use std::sync::Arc;

use engine::{Attention, Endpoint, Engine, Message, Next, Session};
use resp::{Out, Parser};
use store::ShardSet;
use workers::{Worker, engine};

const MEMBERS: usize = 60_000;

/// A worker whose database has big values.
fn filled(options: &str) -> Worker {
    let mut w = Worker::new(&engine(options));
    fill(&mut w);
    w
}

fn fill(w: &mut Worker) {
    let members = |i: usize| (i..i + 100).map(|n| format!(" {n:030}")).collect::<String>();
    let pipeline = |command: &str| {
        (0..MEMBERS)
            .step_by(100)
            .map(|i| format!("{command}{}\r\n", members(i)))
            .collect::<String>()
    };
    w.run(&pipeline("SADD big"));
    w.run("SADD small 1 2 3\r\nSET text x\r\n");
}

/// Another connection of the same thread.
struct Beside {
    session: Session,
    parser: Parser,
}

impl Beside {
    fn new(w: &Worker) -> Self {
        let peer = "127.0.0.1:2".to_owned();
        let endpoint =
            Endpoint { peer: peer.clone(), local: peer, unix: false, loopback: true, fd: 0 };
        Self {
            session: Session::new(&w.engine, w.thread.index, endpoint),
            parser: Parser::default(),
        }
    }

    fn send(&mut self, w: &mut Worker, input: &str) -> (String, Next) {
        let mut out = Out::default();
        let engine = Arc::clone(&w.engine);
        let batch =
            w.thread.run(&engine, &mut self.session, &mut self.parser, input.as_bytes(), &mut out);
        (String::from_utf8(out.join()).expect("text"), batch.next)
    }
}

/// Sends a command that is handed over.
fn hand_over(w: &mut Worker, line: &str) {
    let sent = w.run(line);
    assert!(sent.is_empty() && w.session.blocked.is_some(), "{line} was answered {sent}");
}

/// Does the jobs of the worker's mailbox until the connection has its reply.
fn answer(w: &mut Worker) -> String {
    loop {
        let engine = Arc::clone(&w.engine);
        for message in w.thread.worker().mailbox.take() {
            let out = match message {
                Message::Run(job) => {
                    job.run(&engine, &mut w.thread);
                    continue;
                }
                Message::Answer(_, buf) => Out { buf, ..Out::default() },
                Message::Pieces(_, out) => out,
                _ => continue,
            };
            w.session.unblocked();
            return String::from_utf8(out.join()).expect("text");
        }
        std::thread::yield_now();
    }
}

fn aside(w: &mut Worker, line: &str) -> String {
    hand_over(w, line);
    answer(w)
}

#[test]
fn long_commands_do_what_they_do() {
    for options in ["", "threads 1"] {
        let mut w = filled(options);
        let all = format!(":{MEMBERS}\r\n");
        assert_eq!(aside(&mut w, "SUNIONSTORE d big small nothing\r\n"), ":60003\r\n");
        assert_eq!(w.run("SCARD d\r\n"), ":60003\r\n");
        assert_eq!(aside(&mut w, "SINTERSTORE d big d\r\n"), all);
        assert_eq!(aside(&mut w, "COPY big copy\r\n"), ":1\r\n");
        assert_eq!(aside(&mut w, "SORT big LIMIT 0 1 ALPHA STORE l\r\n"), ":1\r\n");
        assert_eq!(aside(&mut w, "ZUNIONSTORE z 2 big copy\r\n"), all);
        assert_eq!(aside(&mut w, "ZDIFF 2 z big\r\n"), "*0\r\n");
        assert!(aside(&mut w, "SMEMBERS big\r\n").starts_with("*60000\r\n$30\r\n"));
        assert!(
            aside(&mut w, "SSCAN big 0 COUNT 1000000\r\n").starts_with("*2\r\n$1\r\n0\r\n*60000")
        );
        assert!(aside(&mut w, "SUNION big text\r\n").starts_with("-WRONGTYPE"));
        let stats = w.call(&["INFO", "everything"]);
        assert!(stats.contains("cmdstat_sunion:calls=1,"), "{stats}");
        assert!(stats.contains("errorstat_WRONGTYPE:count=1"), "{stats}");
        assert!(stats.contains("blocked_clients:0"), "{stats}");
        assert_eq!(w.engine.keyspace.is_single(), options == "threads 1");
    }
}

#[test]
fn short_commands_stay() {
    let mut w = filled("");
    for line in [
        "SUNION small small",
        "SINTERCARD 2 small big",
        "SINTERSTORE d small big",
        "SSCAN big 0 COUNT 100",
        "SCAN 0 COUNT 1000000",
        "SRANDMEMBER big",
        "SMEMBERS small",
    ] {
        assert!(!w.run(&format!("{line}\r\n")).is_empty(), "{line}");
        assert!(w.session.blocked.is_none(), "{line}");
    }
    // A transaction and a script are whole.
    let sent = w.run("MULTI\r\nSUNIONSTORE d big\r\nEXEC\r\n");
    assert!(sent.ends_with("*1\r\n:60000\r\n"), "{sent}");
    let sent = w.run("EVAL \"return redis.call('SUNIONSTORE', 'd', 'big')\" 2 d big\r\n");
    assert_eq!(sent, ":60000\r\n");
}

/// Locks the shard of a key that the next command does not look at until it runs.
fn lock(engine: &Engine, w: &mut Worker, key: &str) {
    let mut set = ShardSet::default();
    set.add(stdx::hash::hash64(key.as_bytes()));
    engine.keyspace.hold(&mut w.thread.cx, Some(set));
}

#[test]
fn others_go_on_or_wait_without_their_thread() {
    let mut w = filled("");
    let engine = Arc::clone(&w.engine);
    let mut holder = Worker::new(&engine);
    lock(&engine, &mut holder, "other");
    // It needs all shards.
    hand_over(&mut w, "SORT big ALPHA BY w_* LIMIT 0 1\r\n");
    while engine.attention.get() & Attention::LONG == 0 {
        std::thread::yield_now();
    }
    let (mut a, mut b) = (Beside::new(&w), Beside::new(&w));
    assert_eq!(a.send(&mut w, "PING\r\n"), ("+PONG\r\n".to_owned(), Next::Read));
    assert_eq!(a.send(&mut w, "PING\r\nGET text\r\n"), ("+PONG\r\n".to_owned(), Next::Wait));
    let queued = "+OK\r\n+QUEUED\r\n".to_owned();
    assert_eq!(b.send(&mut w, "MULTI\r\nGET text\r\nEXEC\r\n"), (queued, Next::Wait));
    // To clients it is no blocking command.
    let id = w.session.client.id.to_string();
    assert_eq!(Beside::new(&w).send(&mut w, &format!("CLIENT UNBLOCK {id}\r\n")).0, ":0\r\n");
    engine.keyspace.release(&mut holder.thread.cx);
    assert!(answer(&mut w).starts_with("*1\r\n$30\r\n"));
    assert_eq!(engine.attention.get() & Attention::LONG, 0);
    assert_eq!(a.send(&mut w, ""), ("$1\r\nx\r\n".to_owned(), Next::Read));
    assert_eq!(b.send(&mut w, ""), ("*1\r\n$1\r\nx\r\n".to_owned(), Next::Read));
}

#[test]
fn what_it_writes_wakes_and_is_told_of() {
    let mut w = filled("notify-keyspace-events KEA");
    let mut popper = Worker::new(&w.engine);
    popper.run("BLPOP l 0\r\n");
    let mut reader = Worker::new(&w.engine);
    reader.call(&["PSUBSCRIBE", "__keyspace@0__:l"]);
    let mut cacher = Worker::new(&w.engine);
    cacher.run("HELLO 3\r\nCLIENT TRACKING ON\r\nLLEN l\r\n");
    assert_eq!(aside(&mut w, "SORT big LIMIT 0 2 ALPHA STORE l\r\n"), ":2\r\n");
    assert!(answer(&mut popper).starts_with("*2\r\n$1\r\nl\r\n$30\r\n"));
    assert_eq!(w.run("LLEN l\r\n"), ":1\r\n");
    assert!(reader.deliver() > 0);
    assert!(cacher.deliver() > 0);
}

#[test]
fn a_key_that_is_read_is_remembered_for_its_client() {
    let mut w = filled("");
    w.run("HELLO 3\r\nCLIENT TRACKING ON\r\n");
    aside(&mut w, "SMEMBERS big\r\n");
    let mut writer = Worker::new(&w.engine);
    writer.run("SADD big new\r\n");
    assert!(w.deliver() > 0);
}

#[test]
fn a_connection_that_ends_leaves_its_command() {
    let mut w = filled("");
    let engine = Arc::clone(&w.engine);
    let mut holder = Worker::new(&engine);
    lock(&engine, &mut holder, "other");
    hand_over(&mut w, "SORT big ALPHA BY w_* LIMIT 0 1 STORE l\r\n");
    w.thread.leave(&engine, &mut w.session);
    while engine.attention.get() & Attention::LONG == 0 {
        std::thread::yield_now();
    }
    engine.keyspace.release(&mut holder.thread.cx);
    while engine.attention.get() & Attention::LONG != 0 {
        std::thread::yield_now();
    }
    assert_eq!(holder.run("LLEN l\r\n"), ":1\r\n");
}
