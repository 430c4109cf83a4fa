//! Several worker threads over one keyspace: one thread's command is whole or not there for another.

mod workers;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use workers::{Worker, engine, on_threads};

#[test]
fn no_increment_is_lost() {
    let engine = engine("");
    const ROUNDS: usize = 300;
    const DEPTH: usize = 100;
    on_threads(&engine, 4, |_, mut w| {
        let pipeline = "INCR n\r\n*2\r\n$4\r\nINCR\r\n$1\r\nm\r\n".repeat(DEPTH);
        for _ in 0..ROUNDS {
            w.run(&pipeline);
        }
    });
    let total = 4 * ROUNDS * DEPTH;
    let reply = Worker::new(&engine).run("MGET n m\r\n");
    let text = total.to_string();
    assert_eq!(reply, format!("*2\r\n${0}\r\n{1}\r\n${0}\r\n{1}\r\n", text.len(), text));
}

#[test]
fn a_command_over_several_shards_is_seen_whole() {
    let engine = engine("");
    let stop = AtomicBool::new(false);
    on_threads(&engine, 4, |i, mut w| {
        if i < 2 {
            for n in 0..4000 {
                // The two writers name the keys in different orders: locks are not taken in theirs.
                let keys = if i == 0 { ["a", "b", "c", "d"] } else { ["d", "b", "a", "c"] };
                let v = format!("{i}-{n}");
                let pairs = keys.map(|k| format!("{k} {v}")).join(" ");
                assert_eq!(w.run(&format!("MSET {pairs}\r\n")), "+OK\r\n");
            }
            stop.store(true, Relaxed);
        } else {
            while !stop.load(Relaxed) {
                let reply = w.run("MGET a b c d\r\n");
                let mut values = reply.split("\r\n").filter(|l| l.contains('-'));
                let first = values.next().unwrap_or_default().to_owned();
                assert!(values.all(|v| v == first), "a torn MSET: {reply:?}");
            }
        }
    });
}

#[test]
fn tables_grow_and_shrink_while_others_prefetch_from_them() {
    let engine = engine("");
    on_threads(&engine, 4, |i, mut w| {
        for round in 0..6 {
            for first in (0..40_000).step_by(200) {
                let command = match (i, round % 2) {
                    (0, 0) => "SET",
                    (0, _) => "DEL",
                    _ => "GET",
                };
                let tail = if command == "SET" { " v" } else { "" };
                let line = |k: usize| format!("{command} key:{k}{tail}\r\n");
                let pipeline: String = (first..first + 200).map(line).collect();
                w.run(&pipeline);
            }
            if i == 0 {
                w.thread.cron(&w.engine.clone(), 1, u64::MAX);
            }
        }
    });
    assert_eq!(Worker::new(&engine).run("DBSIZE\r\n"), ":0\r\n");
}

/// Fast commands of a group are timed together; one that takes long is found all the same.
#[test]
fn a_slow_command_among_fast_ones_is_in_the_slow_log() {
    let engine = engine("slowlog-log-slower-than 1000");
    let mut w = Worker::new(&engine);
    let members: Vec<String> = (0..400_000).map(|i| i.to_string()).collect();
    for part in members.chunks(10_000) {
        let mut words = vec!["RPUSH", "l"];
        words.extend(part.iter().map(String::as_str));
        w.call(&words);
    }
    // Anything may be slow while the machine does something else: not every time.
    let mut others = true;
    for _ in 0..1000 {
        w.call(&["SLOWLOG", "RESET"]);
        w.run("LLEN l\r\nLPOP l 200000\r\nLLEN l\r\n");
        w.run("LLEN l\r\nLRANGE l 0 -1\r\nLLEN l\r\n");
        let log = w.call(&["SLOWLOG", "GET"]);
        assert_eq!((log.contains("LPOP"), log.contains("LRANGE")), (true, true), "{log}");
        others = log.contains("LLEN");
        if !others {
            break;
        }
        for part in members[..200_000].chunks(10_000) {
            let mut words = vec!["LPUSH", "l"];
            words.extend(part.iter().map(String::as_str));
            w.call(&words);
        }
    }
    assert!(!others, "LLEN is always slow");
}

/// However little time a turn has, the turns that follow at once get round.
#[test]
fn what_is_due_goes_in_one_round_of_short_turns() {
    let engine = engine("");
    let mut w = Worker::new(&engine);
    w.run("SET k v PX 1\r\n");
    std::thread::sleep(std::time::Duration::from_millis(5));
    while w.thread.cron(&engine, 1, 0) {}
    assert_eq!(w.run("DBSIZE\r\n"), ":0\r\n");
}

/// A big value that goes as a side effect of a command is not freed by the serving thread.
#[test]
fn what_goes_because_of_something_else_is_freed_in_the_background() {
    let engine = engine("");
    let mut w = Worker::new(&engine);
    let members: Vec<String> = (0..100_000).map(|i| format!("m{i}")).collect();
    let ways = [
        &["RENAME", "small", "big"][..],
        &["COPY", "small", "big", "REPLACE"],
        &["PEXPIREAT", "big", "1"],
        &["SET", "big", "x"],
        &["SUNIONSTORE", "big", "other"],
    ];
    for over in ways {
        let mut words = vec!["SADD", "big"];
        words.extend(members.iter().map(String::as_str));
        w.call(&words);
        w.call(&["SET", "small", "x"]);
        w.call(&["CONFIG", "RESETSTAT"]);
        w.call(over);
        let count = |info: String, name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name)).expect("it is told");
            line.trim().parse::<u64>().expect("a number")
        };
        let pending = count(w.call(&["INFO", "memory"]), "lazyfree_pending_objects:");
        let freed = count(w.call(&["INFO", "memory"]), "lazyfreed_objects:");
        assert!(pending + freed > 0, "{over:?}");
        w.call(&["DEL", "big"]);
    }
}
