//! Scripts on several threads: whole or not there for others, and side by side where they may be.

mod workers;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use workers::{Worker, engine, on_threads};

/// Two threads run these scripts, two look: all four keys are always the same.
fn never_torn(scripts: [&[&str]; 2]) {
    let engine = engine("");
    let stop = AtomicBool::new(false);
    on_threads(&engine, 4, |i, mut w| {
        if i < 2 {
            for n in 0..1500 {
                let value = format!("{i}-{n}");
                let mut words = vec!["EVAL"];
                words.extend_from_slice(scripts[i]);
                words.push(&value);
                assert_eq!(w.call(&words), ":1\r\n");
            }
            stop.store(true, Relaxed);
        } else {
            while !stop.load(Relaxed) {
                let reply = w.call(&["MGET", "a", "b", "c", "d"]);
                let mut values = reply.split("\r\n").filter(|l| l.contains('-'));
                let first = values.next().unwrap_or_default().to_owned();
                assert!(values.all(|v| v == first), "a torn script: {reply:?}");
            }
        }
    });
}

#[test]
fn scripts_over_declared_keys_are_seen_whole() {
    let script = "for _, k in ipairs(KEYS) do redis.call('SET', k, ARGV[1]) end return 1";
    never_torn([&[script, "4", "a", "b", "c", "d"], &[script, "4", "d", "b", "a", "c"]]);
}

#[test]
fn scripts_over_keys_that_they_do_not_declare_are_seen_whole() {
    // One declares a and writes d first; one declares nothing; both go through the keys in an order
    // of their own.
    never_torn([
        &[
            "redis.call('GET', KEYS[1]) for _, k in ipairs({'d', 'c', 'b', 'a'}) do \
             redis.call('SET', k, ARGV[1]) end return 1",
            "1",
            "a",
        ],
        &[
            "for _, k in ipairs({'a', 'b', 'c', 'd'}) do redis.call('SET', k, ARGV[1]) end return 1",
            "0",
        ],
    ]);
}

#[test]
fn scripts_that_stray_after_they_have_written_are_seen_whole() {
    // The first write is to a declared key, the next to others, in crossing orders.
    let script = |own: &str, other: &str| {
        format!(
            "redis.call('SET', KEYS[1], ARGV[1]) for _, k in ipairs({{{other}}}) do \
             redis.call('SET', k, ARGV[1]) end return {own}"
        )
    };
    let (one, two) = (script("1", "'d', 'c', 'b'"), script("1", "'a', 'b', 'c'"));
    never_torn([&[&one, "1", "a"], &[&two, "1", "d"]]);
}

#[test]
fn a_script_that_begins_anew_leaves_no_trace_of_its_first_try() {
    let engine = engine("");
    let mut w = Worker::new(&engine);
    // Reads, counts, then writes: an unproven script, since the key is composed.
    let script = "local n = redis.call('GET', KEYS[1]) or 0 \
                  redis.call('APPEND', KEYS[1] .. ':log', 'x') \
                  redis.call('SET', KEYS[1], n + 1) return redis.call('STRLEN', KEYS[1] .. ':log')";
    for n in 1..5 {
        assert_eq!(w.call(&["EVAL", script, "1", "k"]), format!(":{n}\r\n"));
    }
    assert_eq!(w.call(&["GET", "k"]), "$1\r\n4\r\n");
}

/// One thread is stuck in a script over `key`; the commands of another one must not wait for that.
fn at_the_same_time(key: &str, act: impl Fn(&mut Worker) + Sync) {
    let engine = engine("busy-reply-threshold 200");
    on_threads(&engine, 2, |i, mut w| {
        if i == 0 {
            // It ends by itself in case no command can kill it.
            let script = "redis.call('GET', KEYS[1]) local t = os.clock() \
                          while os.clock() - t < 20 do end return 'not killed'";
            let reply = w.call(&["EVAL", script, "1", key]);
            assert!(reply.contains("Script killed by user"), "{reply}");
        } else {
            while w.engine.totals().commands_processed == 0 {
                std::thread::yield_now();
            }
            // If its shards were locked, this would wait until the other one has ended by itself.
            act(&mut w);
            while w.call(&["SCRIPT", "KILL"]) != "+OK\r\n" {
                std::thread::yield_now();
            }
        }
    });
}

fn counts(w: &mut Worker, call: &[&str]) {
    let reply = w.call(call);
    assert!(reply == ":1\r\n" || reply.starts_with("-BUSY"), "{reply}");
}

#[test]
fn periodic_work_does_not_wait_for_a_script() {
    at_the_same_time("a", |w| {
        w.thread.cron(&w.engine, 1, u64::MAX);
    });
}

#[test]
fn scripts_over_different_keys_run_at_the_same_time() {
    at_the_same_time("a", |w| counts(w, &["EVAL", "return redis.call('INCR', KEYS[1])", "1", "b"]));
}

/// Centrifugo declares an empty key for each key that it does not use: all of its scripts share
/// that one.
#[test]
fn a_declared_key_that_arguments_keep_a_script_from_is_not_waited_for() {
    let script = "if ARGV[1] ~= '' then redis.call('SET', KEYS[2], ARGV[1]) end \
                  return redis.call('INCR', KEYS[1])";
    at_the_same_time("", |w| counts(w, &["EVAL", script, "2", "b", "", ""]));
    let script = "if KEYS[2] == '' then return redis.call('INCR', KEYS[1]) end \
                  return redis.call('INCR', KEYS[2])";
    at_the_same_time("", |w| counts(w, &["EVAL", script, "2", "b", ""]));
}

/// The keys that are locked depend on the arguments, and whatever these are, no client sees half a
/// script.
#[test]
fn scripts_that_choose_among_their_keys_are_seen_whole() {
    let all = "redis.call('SET', KEYS[1], ARGV[1]) if KEYS[5] == 'yes' then \
               redis.call('SET', KEYS[2], ARGV[1]) redis.call('SET', KEYS[3], ARGV[1]) end \
               if KEYS[5] ~= 'no' then redis.call('SET', KEYS[4], ARGV[1]) end return 1";
    never_torn([&[all, "5", "a", "b", "c", "d", "yes"], &[all, "5", "d", "c", "b", "a", "yes"]]);
}

#[test]
fn a_slow_script_is_busy_for_others_and_can_be_killed() {
    let engine = engine("busy-reply-threshold 20");
    on_threads(&engine, 2, |i, mut w| {
        if i == 0 {
            let loops = "while true do pcall(function() while true do end end) end";
            assert!(w.call(&["EVAL", loops, "0"]).contains("Script killed by user"));
        } else {
            while !w.engine.is_busy() {
                std::thread::yield_now();
            }
            assert!(w.call(&["GET", "x"]).starts_with("-BUSY Redis is busy running a script"));
            assert!(w.call(&["FUNCTION", "KILL"]).starts_with("-BUSY"));
            assert_eq!(w.call(&["SCRIPT", "KILL"]), "+OK\r\n");
            while w.engine.is_busy() {
                std::thread::yield_now();
            }
            assert_eq!(w.call(&["GET", "x"]), "$-1\r\n");
            assert!(w.call(&["SCRIPT", "KILL"]).starts_with("-NOTBUSY"));
        }
    });
}

#[test]
fn functions_of_one_thread_are_those_of_all() {
    let engine = engine("");
    let (mut one, mut two) = (Worker::new(&engine), Worker::new(&engine));
    let library = |n: u32| {
        format!("#!lua name=l\nredis.register_function('f', function(keys) return {n} end)")
    };
    assert_eq!(one.call(&["FUNCTION", "LOAD", &library(1)]), "$1\r\nl\r\n");
    assert_eq!(two.call(&["FCALL", "f", "0"]), ":1\r\n");
    assert_eq!(two.call(&["FUNCTION", "LOAD", "REPLACE", &library(2)]), "$1\r\nl\r\n");
    assert_eq!(one.call(&["FCALL", "f", "0"]), ":2\r\n");
    let dump = one.thread.call(&one.engine, &mut one.session, &[b"FUNCTION", b"DUMP"]).join();
    let at = dump.iter().position(|c| *c == b'\n').expect("a bulk string") + 1;
    assert_eq!(two.call(&["FUNCTION", "FLUSH"]), "+OK\r\n");
    assert!(one.call(&["FCALL", "f", "0"]).contains("Function not found"));
    let words: [&[u8]; 3] = [b"FUNCTION", b"RESTORE", &dump[at..dump.len() - 2]];
    assert_eq!(one.thread.call(&one.engine, &mut one.session, &words).join(), b"+OK\r\n");
    assert_eq!(two.call(&["FCALL", "f", "0"]), ":2\r\n");
}

#[test]
fn flushing_the_cache_reaches_all_threads() {
    let engine = engine("");
    let (mut one, mut two) = (Worker::new(&engine), Worker::new(&engine));
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    assert!(one.call(&["SCRIPT", "LOAD", "return 1"]).contains(sha));
    assert_eq!(two.call(&["EVALSHA", sha, "0"]), ":1\r\n");
    one.call(&["SCRIPT", "FLUSH"]);
    assert!(two.call(&["EVALSHA", sha, "0"]).starts_with("-NOSCRIPT"));
    assert_eq!(two.call(&["EVAL", "return 1", "0"]), ":1\r\n");
    assert_eq!(one.call(&["EVALSHA", sha, "0"]), ":1\r\n");
}

/// The keys of a call are declared, not read: a client is notified only of those that its script
/// read.
#[test]
fn keys_that_a_script_has_not_read_are_not_tracked() {
    let engine = engine("");
    let (mut reader, mut writer) = (Worker::new(&engine), Worker::new(&engine));
    writer.call(&["mset", "a", "1", "b", "1"]);
    reader.call(&["hello", "3"]);
    reader.call(&["client", "tracking", "on"]);
    let tracked = || engine.tracking.keys();
    for script in ["eval", "eval_ro"] {
        reader.call(&[script, "return redis.call('ping')", "2", "a", "b"]);
        assert_eq!(tracked(), 0, "{script} reads nothing");
        reader.call(&[script, "return redis.call('get', 'b')", "2", "a", "b"]);
        assert_eq!(tracked(), 1, "{script} reads b");
        writer.call(&["set", "b", "2"]);
        assert_eq!(tracked(), 0);
    }
}

#[test]
fn an_error_of_a_command_with_very_many_arguments_is_told() {
    let mut w = Worker::new(&engine(""));
    let script = "local a = {} for i = 1, 7997 do a[i] = i end return redis.call('GET', unpack(a))";
    let reply = w.call(&["EVAL", script, "0"]);
    assert!(reply.contains("Wrong number of args calling Redis command from script"), "{reply}");
    // Its key was not declared: it is run again, with all shards.
    let script =
        "local a = {} for i = 1, 7997 do a[i] = i end return redis.call('LPUSH', 'l', unpack(a))";
    assert_eq!(w.call(&["EVAL", script, "0"]), ":7997\r\n");
}
