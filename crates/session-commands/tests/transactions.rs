//! MULTI, EXEC and WATCH: the changes that make a transaction fail, and those that do not.

mod common;

use common::Server;

const NOTHING: &str = "*-1\r\n";

/// Runs `lines` on one connection and `other` on another one after WATCH; returns the reply of
/// EXEC.
fn exec_after(before: &[&str], watch: &str, other: &[&str], wait_ms: u64) -> String {
    let mut s = Server::new();
    let (mut a, mut b) = (s.connect(), s.connect());
    for line in before {
        s.send(&mut b, line);
    }
    assert_eq!(s.send(&mut a, watch), "+OK\r\n");
    for line in other {
        s.send(&mut b, line);
    }
    s.wait_ms(wait_ms);
    assert_eq!(s.send(&mut a, "MULTI"), "+OK\r\n");
    assert_eq!(s.send(&mut a, "PING"), "+QUEUED\r\n");
    s.send(&mut a, "EXEC")
}

/// Commands before WATCH, WATCH, another connection's commands, time that passes, the reply of
/// EXEC.
type Case<'a> = (&'a [&'a str], &'a str, &'a [&'a str], u64, &'a str);

#[test]
fn what_makes_a_watch_dirty() {
    const RAN: &str = "*1\r\n+PONG\r\n";
    let cases: &[Case<'_>] = &[
        (&[], "WATCH k", &[], 0, RAN),
        (&[], "WATCH k", &["SET k 1"], 0, NOTHING),
        (&[], "WATCH k", &["SET other 1"], 0, RAN),
        (&["SET k 1"], "WATCH k", &["DEL k"], 0, NOTHING),
        (&[], "WATCH k", &["DEL k"], 0, RAN),
        (&["SET k 1"], "WATCH k", &["GET k", "TTL k", "OBJECT ENCODING k"], 0, RAN),
        (&["SET k 1"], "WATCH k", &["EXPIRE k 100"], 0, NOTHING),
        (&["SET k 1"], "WATCH k", &["SELECT 1", "SET k 2"], 0, RAN),
        (&["SET k 1"], "WATCH k", &["RENAME k l"], 0, NOTHING),
        (&["SET l 1"], "WATCH k", &["RENAME l k"], 0, NOTHING),
        (&["HSET k f 1"], "WATCH k", &["HINCRBY k f 1"], 0, NOTHING),
        (&["HSET k f 1"], "WATCH k", &["HSET k f 1"], 0, NOTHING),
        (&["SADD k m"], "WATCH k", &["SADD k m"], 0, RAN),
        (&["ZADD k 1 m"], "WATCH k", &["ZADD k NX 2 m"], 0, RAN),
        (&["RPUSH k a b"], "WATCH k", &["LTRIM k 0 0"], 0, NOTHING),
        (&["RPUSH k a", "SADD t x"], "WATCH k t", &["LPUSHX none a"], 0, RAN),
        (&["SET k 1"], "WATCH k", &["FLUSHALL"], 0, NOTHING),
        (&[], "WATCH k", &["SET x 1", "FLUSHDB"], 0, RAN),
        (&["SET k 1"], "WATCH k", &["SWAPDB 0 1"], 0, NOTHING),
        (&[], "WATCH k", &["SWAPDB 0 1"], 0, RAN),
        (&["SELECT 1", "SET k 1"], "WATCH k", &["SWAPDB 0 1"], 0, NOTHING),
        (&["SET k 1 PX 10"], "WATCH k", &[], 20, NOTHING),
        (&["XADD k 1-1 a b"], "WATCH k", &["XADD k 1-2 a b"], 0, NOTHING),
        (&["XADD k 1-1 a b"], "WATCH k", &["XGROUP CREATE k g 0", "XSETID k 2-2"], 0, RAN),
        (&[], "WATCH k", &["XGROUP CREATE k g 0 MKSTREAM"], 0, NOTHING),
    ];
    for (before, watch, other, wait, expected) in cases {
        let got = exec_after(before, watch, other, *wait);
        assert_eq!(got, *expected, "{before:?}, {watch}, {other:?}");
    }
}

#[test]
fn a_key_that_had_expired_before_makes_nothing_dirty() {
    // With events, the one that says that it has gone is no change either.
    for events in ["", "KEA"] {
        let mut s = Server::with(&[("notify-keyspace-events", events)]);
        s.engine.active_expire.store(false, std::sync::atomic::Ordering::Relaxed);
        let (mut c, mut other) = (s.connect(), s.connect());
        for after in ["PING", "DEL k", "FLUSHDB", "SWAPDB 0 1"] {
            s.send(&mut c, "SET k 1 PX 10");
            s.wait_ms(20);
            s.send(&mut c, "WATCH k");
            s.send(&mut other, after);
            s.send(&mut c, "MULTI");
            assert_eq!(s.send(&mut c, "EXEC"), "*0\r\n", "{events:?}, {after}");
        }
    }
}

#[test]
fn a_watch_is_good_for_one_exec() {
    let mut s = Server::new();
    let mut c = s.connect();
    for end in ["UNWATCH", "EXEC", "DISCARD", "RESET"] {
        s.send(&mut c, "WATCH k k");
        if end != "UNWATCH" {
            s.send(&mut c, "MULTI");
        }
        s.send(&mut c, end);
        s.send(&mut c, "SET k 1");
        s.send(&mut c, "MULTI");
        s.send(&mut c, "PING");
        assert_eq!(s.send(&mut c, "EXEC"), "*1\r\n+PONG\r\n", "after {end}");
    }
    // The client's own change counts, too.
    s.send(&mut c, "WATCH k");
    s.send(&mut c, "SET k 2");
    s.send(&mut c, "MULTI");
    assert_eq!(s.send(&mut c, "EXEC"), NOTHING);
}

#[test]
fn a_client_that_leaves_ends_its_watches() {
    let mut s = Server::new();
    let (mut a, mut b) = (s.connect(), s.connect());
    s.send(&mut a, "WATCH k");
    assert!(s.send(&mut b, "INFO clients").contains("watching_clients:1"));
    s.thread.leave(&s.engine, &mut a.session);
    assert!(s.send(&mut b, "INFO clients").contains("watching_clients:0"));
}

#[test]
fn refused_commands_abort() {
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    for wrong in ["GET", "NOSUCH", "OBJECT NOSUCH", "CONFIG"] {
        let mut s = Server::new();
        let mut c = s.connect();
        s.send(&mut c, "MULTI");
        s.send(&mut c, "SET k 1");
        assert!(s.send(&mut c, wrong).starts_with("-ERR"), "{wrong}");
        assert_eq!(s.send(&mut c, "EXEC"), aborted, "{wrong}");
        assert_eq!(s.send(&mut c, "EXISTS k"), ":0\r\n");
    }
    // These do not: they are no commands of the transaction.
    let mut s = Server::new();
    let mut c = s.connect();
    s.send(&mut c, "MULTI");
    assert!(s.send(&mut c, "MULTI").starts_with("-ERR MULTI calls"));
    assert!(s.send(&mut c, "WATCH k").starts_with("-ERR WATCH inside"));
    assert_eq!(s.send(&mut c, "EXEC"), "*0\r\n");
}

#[test]
fn nothing_waits_inside() {
    let mut s = Server::new();
    let mut c = s.connect();
    s.send(&mut c, "MULTI");
    for line in ["BLPOP k 0", "BLMOVE k l LEFT LEFT 0", "BZPOPMIN k 0", "XREAD BLOCK 0 STREAMS s $"]
    {
        assert_eq!(s.send(&mut c, line), "+QUEUED\r\n");
    }
    assert_eq!(s.send(&mut c, "EXEC"), "*4\r\n*-1\r\n$-1\r\n*-1\r\n*-1\r\n");
}

#[test]
fn commands_that_need_everything_run_inside() {
    let mut s = Server::new();
    let mut c = s.connect();
    s.send(&mut c, "MULTI");
    for line in ["MSET a 1 b 2", "DBSIZE", "RANDOMKEY", "FLUSHALL", "INFO keyspace", "SELECT 3"] {
        s.send(&mut c, line);
    }
    s.send(&mut c, "SET c 3");
    s.send(&mut c, "SCAN 0");
    s.send(&mut c, "MEMORY USAGE c");
    let replies = common::replies(s.send(&mut c, "EXEC").as_bytes());
    let transcript::Reply::Array(items) = &replies[0] else { panic!("{replies:?}") };
    assert_eq!(items.len(), 9);
    assert!(items.iter().all(|r| !matches!(r, transcript::Reply::Error(_))), "{items:?}");
    // SELECT inside stays in force.
    assert_eq!(s.send(&mut c, "GET c"), "$1\r\n3\r\n");
}
