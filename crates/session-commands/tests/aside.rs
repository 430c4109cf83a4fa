//! Long commands run beside the event loops: what their own connection and others see meanwhile, and that
//! they do all that a command does on a worker.

mod workers;

use std::sync::Arc;

use engine::{Attention, Endpoint, Engine, Message, Next, Session};
use resp::{Out, Parser};
use store::ShardSet;
use testing::eventually;
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
    eventually("it has its reply", || answered(w))
}

fn answered(w: &mut Worker) -> Option<String> {
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
        return Some(String::from_utf8(out.join()).expect("text"));
    }
    None
}

/// Waits until shards are announced, or until none are.
fn until_announced(engine: &Engine, announced: bool) {
    let is = || engine.attention.get() & Attention::LONG != 0;
    eventually("shards are announced", || (is() == announced).then_some(()));
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
    until_announced(&engine, true);
    let (mut a, mut b) = (Beside::new(&w), Beside::new(&w));
    assert_eq!(a.send(&mut w, "PING\r\n"), ("+PONG\r\n".to_owned(), Next::Read));
    assert_eq!(a.send(&mut w, "PING\r\nGET text\r\n"), ("+PONG\r\n".to_owned(), Next::Wait));
    let queued = "+OK\r\n+QUEUED\r\n".to_owned();
    assert_eq!(b.send(&mut w, "MULTI\r\nGET text\r\nEXEC\r\n"), (queued, Next::Wait));
    // To clients it is no blocking command.
    let id = w.session.client.id.to_string();
    assert_eq!(Beside::new(&w).send(&mut w, &format!("CLIENT UNBLOCK {id}\r\n")).0, ":0\r\n");
    holder.thread.worker().mailbox.take();
    engine.keyspace.release(&mut holder.thread.cx);
    assert!(answer(&mut w).starts_with("*1\r\n$30\r\n"));
    // Every thread looks at its waiting connections again.
    let messages = holder.thread.worker().mailbox.take();
    assert!(messages.iter().any(|m| matches!(m, Message::Resume)), "{messages:?}");
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
    until_announced(&engine, true);
    engine.keyspace.release(&mut holder.thread.cx);
    until_announced(&engine, false);
    assert_eq!(holder.run("LLEN l\r\n"), ":1\r\n");
}

#[test]
fn several_for_the_same_shards_take_turns() {
    let first = filled("");
    let engine = Arc::clone(&first.engine);
    let mut holder = Worker::new(&engine);
    lock(&engine, &mut holder, "other");
    let mut all = vec![first];
    // More than there are helpers.
    all.resize_with(6, || Worker::new(&engine));
    for (w, i) in all.iter_mut().zip(0..) {
        let sent = w.run(&format!("SORT big ALPHA BY w_* LIMIT 0 {} STORE l{i}\r\n", i + 1));
        assert_eq!(sent, "");
    }
    until_announced(&engine, true);
    engine.keyspace.release(&mut holder.thread.cx);
    for (w, i) in all.iter_mut().zip(1..) {
        // Those that came after the announcement have not been handed over yet.
        let sent = eventually("it is handed over", || {
            let sent = if w.session.blocked.is_none() { w.resume() } else { String::new() };
            (!sent.is_empty() || w.session.blocked.is_some()).then_some(sent)
        });
        let sent = if sent.is_empty() { answer(w) } else { sent };
        assert_eq!(sent, format!(":{i}\r\n"));
    }
    until_announced(&engine, false);
    assert_eq!(holder.run("LLEN l0\r\nLLEN l5\r\n"), ":1\r\n:6\r\n");
}

#[test]
fn it_runs_as_its_client() {
    let mut w = filled("");
    let engine = Arc::clone(&w.engine);
    // In its database, too.
    w.run("SELECT 3\r\n");
    fill(&mut w);
    assert_eq!(aside(&mut w, "SUNIONSTORE d big small\r\n"), ":60003\r\n");
    assert_eq!(w.run("SCARD d\r\n"), ":60003\r\n");
    // Other keys than those that it names are subject to the user's permissions.
    w.run("ACL SETUSER u on nopass +@all ~big ~l\r\n");
    let mut other = Worker::new(&engine);
    other.run("AUTH u x\r\nSELECT 3\r\n");
    let denied = aside(&mut other, "SORT big ALPHA BY w_* LIMIT 0 1 STORE l\r\n");
    assert!(denied.starts_with("-ERR BY option of SORT denied"), "{denied}");
}
