//! The effects that the generic commands note: changes, keyspace events, journal forms. The
//! expectations are Redis's: `rdb_changes_since_last_save`, `notify-keyspace-events KEA`, the AOF.

mod harness;

use harness::Server;
use harness::effects::{check, effects, run};
use store::Class;
use transcript::Reply;

#[test]
fn deadlines() {
    check(&["SET k v", "EXPIRE k 10"], "1 expire@0:k as PEXPIREAT k NOW+10000");
    check(&["SET k v", "EXPIRE k 10 nx"], "1 expire@0:k as PEXPIREAT k NOW+10000 nx");
    check(&["SET k v", "PEXPIRE k 10"], "1 expire@0:k as PEXPIREAT k NOW+10");
    check(&["SET k v", "EXPIREAT k 33177117420"], "1 expire@0:k as PEXPIREAT k 33177117420000");
    check(&["SET k v", "PEXPIREAT k 33177117420000"], "1 expire@0:k");
    check(&["SET k v", "PEXPIREAT k 33177117420000 XX"], "0");
    check(&["EXPIRE k 10"], "0");
    check(&["SET k v", "EXPIRE k 10 LT", "PERSIST k"], "1 persist@0:k");
    check(&["SET k v", "PERSIST k"], "0");
    check(&["PERSIST k"], "0");
    for line in ["EXPIRE k -1", "EXPIRE k 0", "PEXPIRE k 0", "EXPIREAT k 1", "PEXPIREAT k -5 LT"] {
        check(&["SET k v", line], "1 del@0:k as DEL k");
    }
}

#[test]
fn a_past_deadline_is_an_unlink_when_expiry_is_lazy() {
    let mut server = Server::new();
    server.cx.lazy_expire = true;
    run(&mut server, "SET k v");
    run(&mut server, "EXPIRE k -1");
    assert_eq!(effects(&server), "1 del@0:k as UNLINK k");
}

#[test]
fn names_and_places() {
    check(&["SET a 1", "RENAME a b"], "1 new@0:b rename_from@0:a rename_to@0:b");
    check(&["SET a 1", "SET b 2", "RENAME a b"], "1 new@0:b rename_from@0:a rename_to@0:b");
    check(&["SET a 1", "RENAMENX a b"], "1 new@0:b rename_from@0:a rename_to@0:b");
    check(&["SET a 1", "SET b 2", "RENAMENX a b"], "0");
    check(&["SET a 1", "RENAME a a"], "0");
    check(&["RENAME a b"], "0");
    check(&["SET a 1", "MOVE a 3"], "1 new@3:a move_from@0:a move_to@3:a");
    check(&["MOVE a 3"], "0");
    check(&["SET a 1", "COPY a b"], "1 new@0:b copy_to@0:b");
    check(&["SET a 1", "COPY a b DB 2"], "1 new@2:b copy_to@2:b");
    check(&["SET a 1", "SET b 2", "COPY a b REPLACE"], "1 new@0:b copy_to@0:b");
    check(&["SET a 1", "SET b 2", "COPY a b"], "0");
    check(&["COPY a b"], "0 keymiss@0:a");
    check(&["SET a 1", "SET b 2", "UNLINK a b c a"], "2 del@0:a del@0:b");
    check(&["SET a 1", "SWAPDB 0 1"], "1");
    check(&["SWAPDB 0 0"], "1");
    check(&["SET a 1", "SET b 2", "COPY a c DB 1", "FLUSHDB"], "2");
    check(&["SET a 1", "SET b 2", "COPY a c DB 1", "FLUSHALL"], "3");
}

#[test]
fn questions_change_nothing_and_count() {
    // (line, hits, misses, events) with `k` there and `none` not.
    for (line, hits, misses, said) in [
        ("EXISTS k none k", 2, 1, "0 keymiss@0:none"),
        ("TOUCH k none", 1, 1, "0 keymiss@0:none"),
        ("TYPE k", 1, 0, "0"),
        ("TYPE none", 0, 1, "0 keymiss@0:none"),
        ("TTL none", 0, 1, "0 keymiss@0:none"),
        ("PEXPIRETIME k", 1, 0, "0"),
        // OBJECT counts but does not tell.
        ("OBJECT ENCODING k", 1, 0, "0"),
        ("OBJECT FREQ none", 0, 1, "0"),
        ("KEYS k", 0, 0, "0"),
        ("SCAN 0", 0, 0, "0"),
        ("RANDOMKEY", 0, 0, "0"),
        ("DBSIZE", 0, 0, "0"),
        ("EXPIRE none 1", 0, 0, "0"),
    ] {
        let mut server = Server::new();
        run(&mut server, "SET k v");
        run(&mut server, line);
        let counters = server.cx.counters;
        assert_eq!((counters.keyspace_hits, counters.keyspace_misses), (hits, misses), "{line}");
        assert_eq!(effects(&server), said, "{line}");
    }
}

/// Seconds a key was idle before and after a command.
#[test]
fn only_use_is_access() {
    for (line, idle) in [
        ("TYPE k", 10),
        ("TTL k", 10),
        ("EXISTS k", 10),
        ("OBJECT ENCODING k", 10),
        ("KEYS k", 10),
        ("SCAN 0", 10),
        ("TOUCH k", 0),
        ("EXPIRE k 100", 0),
        ("RENAMENX k k", 0),
        ("COPY k l", 0),
    ] {
        let mut server = Server::new();
        run(&mut server, "SET k v");
        server.cx.set_now(server.cx.now + 10_000);
        run(&mut server, line);
        assert_eq!(run(&mut server, "OBJECT IDLETIME k"), Reply::Integer(idle), "{line}");
    }
    // CLIENT NO-TOUCH stops reads, and not TOUCH.
    let mut server = Server::new();
    run(&mut server, "SET k v");
    server.cx.set_now(server.cx.now + 10_000);
    server.cx.no_touch = true;
    run(&mut server, "GET k");
    assert_eq!(run(&mut server, "OBJECT IDLETIME k"), Reply::Integer(10));
    run(&mut server, "TOUCH k");
    assert_eq!(run(&mut server, "OBJECT IDLETIME k"), Reply::Integer(0));
    assert!(server.cx.no_touch);
}

#[test]
fn object_under_an_lfu_policy() {
    let mut server = Server::new();
    server.cx.access.lfu = true;
    run(&mut server, "SET k v");
    assert_eq!(run(&mut server, "OBJECT FREQ k"), Reply::Integer(5));
    let Reply::Error(text) = run(&mut server, "OBJECT IDLETIME k") else { panic!("no error") };
    assert!(text.starts_with(b"ERR An LFU maxmemory policy is selected, idle time not tracked."));
    // Decays by one per minute.
    server.cx.set_now(server.cx.now + 180_000);
    assert_eq!(run(&mut server, "OBJECT FREQ k"), Reply::Integer(2));
    server.cx.shared_integers = false;
    run(&mut server, "SET k 1");
    assert_eq!(run(&mut server, "OBJECT REFCOUNT k"), Reply::Integer(1));
}

#[test]
fn expired_keys_are_not_there() {
    let expired = |lines: &[&str]| {
        let mut server = Server::new();
        lines.iter().for_each(|line| drop(run(&mut server, line)));
        server.cx.set_now(server.cx.now + 2_000);
        server
    };
    for (line, answer) in [
        ("EXISTS gone", Reply::Integer(0)),
        ("TTL gone", Reply::Integer(-2)),
        ("TYPE gone", Reply::Status(b"none".to_vec())),
        ("EXPIRE gone 10", Reply::Integer(0)),
        ("PERSIST gone", Reply::Integer(0)),
        ("UNLINK gone", Reply::Integer(0)),
        ("MOVE gone 1", Reply::Integer(0)),
        ("COPY gone here", Reply::Integer(0)),
        ("COPY stays gone", Reply::Integer(1)),
        ("RENAMENX stays gone", Reply::Integer(1)),
        ("RENAME gone here", Reply::Error(b"ERR no such key".to_vec())),
        ("OBJECT ENCODING gone", Reply::Nil),
    ] {
        let mut server = expired(&["SET gone 1 EX 1", "SET stays 2"]);
        assert_eq!(run(&mut server, line), answer, "{line}");
        let e = &server.cx.effects;
        assert_eq!(e.dropped, [(0, b"gone".to_vec())], "{line}");
        assert_eq!((e.events[0].class, e.events[0].name), (Class::Expired, "expired"), "{line}");
        assert_eq!(server.cx.counters.expired_keys, 1);
    }
    // In the target database too.
    let mut server = expired(&["SET k 1 EX 1", "MOVE k 1", "SET k 2"]);
    assert_eq!(run(&mut server, "MOVE k 1"), Reply::Integer(1));
    assert_eq!(server.cx.effects.dropped, [(1, b"k".to_vec())]);
    // Commands that go through the shards skip expired keys; they cannot remove them themselves.
    for (line, overdue) in
        [("KEYS *", 0), ("KEYS gone", 0), ("KEYS g*", 0), ("SCAN 0", 1), ("SCAN 0 MATCH s*", 0)]
    {
        let mut server = expired(&["SET gone 1 EX 1", "SET stays 2"]);
        let text = transcript::format(&run(&mut server, line));
        assert!(!text.contains("gone"), "{line}: {text}");
        assert!(server.cx.effects.dropped.is_empty());
        assert_eq!(server.cx.overdue.len(), overdue, "{line}");
    }
    let mut server = expired(&["SET gone 1 EX 1"]);
    assert_eq!(run(&mut server, "RANDOMKEY"), Reply::Nil);
    assert_eq!(run(&mut server, "DBSIZE"), Reply::Integer(1));
    run(&mut server, "GET gone");
    assert_eq!(run(&mut server, "DBSIZE"), Reply::Integer(0));
}

/// One living key among many expired ones is found.
#[test]
fn randomkey_finds_the_last_one() {
    let mut server = Server::new();
    (0..500).for_each(|i| drop(run(&mut server, &format!("SET gone:{i} 1 EX 1"))));
    run(&mut server, "SET stays 1");
    server.cx.set_now(server.cx.now + 2_000);
    for _ in 0..20 {
        assert_eq!(run(&mut server, "RANDOMKEY"), Reply::Bulk(b"stays".to_vec()));
    }
    run(&mut server, "DEL stays");
    assert_eq!(run(&mut server, "RANDOMKEY"), Reply::Nil);
}

#[test]
fn scans_of_what_was_large_go_in_steps() {
    for (add, remove, scan) in [
        ("ZADD k 1", "ZREM k", "ZSCAN"),
        ("SADD k", "SREM k", "SSCAN"),
        ("HSET k", "HDEL k", "HSCAN"),
    ] {
        let mut server = Server::new();
        let value = if scan == "HSCAN" { " 1" } else { "" };
        for i in 0..5000 {
            run(&mut server, &format!("{add} m{i}{value}"));
        }
        for i in 0..4999 {
            run(&mut server, &format!("{remove} m{i}"));
        }
        let (mut cursor, mut calls, mut found) = (Vec::from(b"0"), 0, 0);
        while calls == 0 || cursor != b"0" {
            let line = format!("{scan} k {} COUNT 1", String::from_utf8_lossy(&cursor));
            let Reply::Array(parts) = run(&mut server, &line) else { panic!("{line}") };
            let [Reply::Bulk(next), Reply::Array(members)] = &parts[..] else { panic!("{line}") };
            (cursor, calls, found) = (next.clone(), calls + 1, found + members.len());
        }
        assert!(found > 0 && calls > 5, "{scan}: {found} found in {calls} calls");
    }
}

/// Follows a scan to its end; the keys and the number of calls.
fn scan(server: &mut Server, options: &str) -> (Vec<Vec<u8>>, usize) {
    let (mut cursor, mut keys, mut calls) = ("0".to_owned(), Vec::new(), 0);
    loop {
        calls += 1;
        let Reply::Array(parts) = run(server, &format!("SCAN {cursor} {options}")) else {
            panic!("no array")
        };
        let [Reply::Bulk(next), Reply::Array(found)] = &parts[..] else { panic!("{parts:?}") };
        for key in found {
            let Reply::Bulk(key) = key else { panic!("{key:?}") };
            keys.push(key.clone());
        }
        cursor = String::from_utf8(next.clone()).expect("digits");
        if cursor == "0" {
            return (keys, calls);
        }
    }
}

#[test]
fn scan_visits_every_key_in_steps_of_about_count() {
    let mut server = Server::new();
    (0..1000).for_each(|i| drop(run(&mut server, &format!("SET key:{i} {i}"))));
    for (options, keys, calls) in [
        ("", 1000, 50..=100),
        ("COUNT 5", 1000, 100..=200),
        ("COUNT 1000", 1000, 1..=2),
        ("COUNT 9223372036854775807", 1000, 1..=1),
        // Filters reduce the keys found, not the work.
        ("MATCH key:1??", 100, 50..=100),
        ("MATCH nothing COUNT 100", 0, 9..=11),
        ("TYPE STRING", 1000, 50..=100),
        ("TYPE hash COUNT 100", 0, 9..=11),
        ("TYPE unheard-of COUNT 100", 0, 9..=11),
        ("MATCH x MATCH key:7 COUNT 3 COUNT 500", 1, 2..=3),
    ] {
        let (mut found, n) = scan(&mut server, options);
        found.sort();
        found.dedup();
        assert_eq!(found.len(), keys, "{options}");
        assert!(calls.contains(&n), "{options}: {n} calls");
    }
    // Any number is a cursor, as in Redis.
    for cursor in ["1", "4294967296", "18446744073709551615", "4398046511103"] {
        assert!(matches!(run(&mut server, &format!("SCAN {cursor}")), Reply::Array(_)), "{cursor}");
    }
}
