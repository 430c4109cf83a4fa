//! KEYS over many keys is executed in turns, and other clients are served in between.

mod common;

use std::collections::BTreeSet;

use common::{Conn, Server};

const KEYS: usize = 60_000;

fn filled() -> (Server, Conn) {
    let mut s = Server::new();
    let mut c = s.connect();
    let sets: String = (0..KEYS).map(|i| format!("SET key:{i} x\r\n")).collect();
    assert_eq!(s.feed(&mut c, sets.as_bytes()).len(), 5 * KEYS);
    (s, c)
}

/// The keys in a reply, which has as many as it says, none of them twice.
fn keys(reply: &str) -> BTreeSet<&str> {
    let (header, rest) = reply.split_once("\r\n").expect("a header");
    let found: Vec<&str> = rest.split("\r\n").filter(|line| line.starts_with("key:")).collect();
    assert_eq!(header, format!("*{}", found.len()));
    let unique: BTreeSet<&str> = found.iter().copied().collect();
    assert_eq!(unique.len(), found.len());
    unique
}

#[test]
fn others_are_served_while_keys_runs() {
    let (mut s, mut c) = filled();
    let mut d = s.connect();
    assert_eq!(s.feed(&mut c, b"KEYS *\r\nECHO behind\r\n"), b"");
    assert!(c.waiting);
    assert_eq!(s.send(&mut d, "SET other x"), "+OK\r\n");
    let id = c.session.client.id;
    assert_eq!(s.send(&mut d, &format!("CLIENT UNBLOCK {id}")), ":0\r\n");
    let reply = String::from_utf8(s.deliver(&mut c)).expect("text");
    let reply = reply.strip_suffix("$6\r\nbehind\r\n").expect("what follows");
    let reply = reply.replace("$5\r\nother\r\n", "$5\r\nkey:other\r\n");
    let found = keys(&reply);
    assert_eq!(found.len(), KEYS + 1);
    assert!((0..KEYS).all(|i| found.contains(format!("key:{i}").as_str())));
    let info = s.send(&mut d, "INFO commandstats");
    assert!(info.contains("cmdstat_keys:calls=1,"), "{info}");
    // With a pattern, too; one name is looked up.
    assert_eq!(s.feed(&mut c, b"KEYS *9999\r\n"), b"");
    let reply = String::from_utf8(s.deliver(&mut c)).expect("text");
    assert_eq!(keys(&reply).len(), 6);
    assert_eq!(s.send(&mut c, "KEYS key:7"), "*1\r\n$5\r\nkey:7\r\n");
}

#[test]
fn transactions_and_scripts_see_one_moment() {
    let (mut s, mut c) = filled();
    let reply = String::from_utf8(s.feed(&mut c, b"MULTI\r\nKEYS *\r\nEXEC\r\n")).expect("text");
    let reply = reply.strip_prefix("+OK\r\n+QUEUED\r\n*1\r\n").expect("a transaction");
    assert_eq!(keys(reply).len(), KEYS);
    let count = s.send(&mut c, "EVAL \"return #redis.call('KEYS', '*')\" 0");
    assert_eq!(count, format!(":{KEYS}\r\n"));
}

#[test]
fn it_ends_with_its_connection() {
    let (mut s, mut c) = filled();
    let mut d = s.connect();
    assert_eq!(s.feed(&mut c, b"KEYS *\r\n"), b"");
    s.thread.leave(&s.engine, &mut c.session);
    assert_eq!(s.deliver(&mut c), b"");
    assert!(s.thread.worker().mailbox.take().is_empty());
    assert!(s.send(&mut d, "INFO clients").contains("\r\nblocked_clients:0\r\n"));
}
