//! Scripts on several threads: whole or not there for others, and side by side where they may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use config::Config;
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};

fn engine(options: &str) -> Arc<Engine> {
    let config = Config::new();
    config::load_text(&config, "test", format!("threads 4\n{options}").as_bytes()).expect("valid");
    Engine::new(Options {
        config,
        renames: Vec::new(),
        clock: stdx::clock::Clock::real(),
        log: Log::silent(),
        config_file: None,
        executable: String::new(),
    })
}

struct Worker {
    engine: Arc<Engine>,
    thread: Thread,
    session: Session,
}

impl Worker {
    fn new(engine: &Arc<Engine>) -> Self {
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let peer = "127.0.0.1:1".to_owned();
        let endpoint =
            Endpoint { peer: peer.clone(), local: peer, unix: false, loopback: true, fd: 0 };
        Self {
            engine: Arc::clone(engine),
            thread: Thread::new(engine, index, worker),
            session: Session::new(engine, index, endpoint),
        }
    }

    fn run(&mut self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|w| w.as_bytes()).collect();
        let out = self.thread.call(&self.engine, &mut self.session, &words);
        String::from_utf8(out.join()).expect("these replies are text")
    }
}

fn on_threads(engine: &Arc<Engine>, n: usize, f: impl Fn(usize, Worker) + Sync) {
    std::thread::scope(|scope| {
        for i in 0..n {
            let f = &f;
            let worker = Worker::new(engine);
            scope.spawn(move || f(i, worker));
        }
    });
}

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
                assert_eq!(w.run(&words), ":1\r\n");
            }
            stop.store(true, Relaxed);
        } else {
            while !stop.load(Relaxed) {
                let reply = w.run(&["MGET", "a", "b", "c", "d"]);
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
        assert_eq!(w.run(&["EVAL", script, "1", "k"]), format!(":{n}\r\n"));
    }
    assert_eq!(w.run(&["GET", "k"]), "$1\r\n4\r\n");
}

/// One thread is stuck in a script over `key`; another one's call must not wait for that.
fn at_the_same_time(key: &str, call: &[&str]) {
    let engine = engine("busy-reply-threshold 200");
    on_threads(&engine, 2, |i, mut w| {
        if i == 0 {
            // It ends by itself in case nobody can kill it.
            let script = "redis.call('GET', KEYS[1]) local t = os.clock() \
                          while os.clock() - t < 20 do end return 'not killed'";
            let reply = w.run(&["EVAL", script, "1", key]);
            assert!(reply.contains("Script killed by user"), "{reply}");
        } else {
            while w.engine.totals().commands_processed == 0 {
                std::thread::yield_now();
            }
            // Were its shards held, this would wait until the other one has ended by itself.
            let reply = w.run(call);
            assert!(reply == ":1\r\n" || reply.starts_with("-BUSY"), "{reply}");
            while w.run(&["SCRIPT", "KILL"]) != "+OK\r\n" {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn scripts_over_different_keys_run_at_the_same_time() {
    at_the_same_time("a", &["EVAL", "return redis.call('INCR', KEYS[1])", "1", "b"]);
}

/// Centrifugo declares an empty key for what it does not use: all of its scripts share that one.
#[test]
fn a_declared_key_that_arguments_keep_a_script_from_is_not_waited_for() {
    let script = "if ARGV[1] ~= '' then redis.call('SET', KEYS[2], ARGV[1]) end \
                  return redis.call('INCR', KEYS[1])";
    at_the_same_time("", &["EVAL", script, "2", "b", "", ""]);
    let script = "if KEYS[2] == '' then return redis.call('INCR', KEYS[1]) end \
                  return redis.call('INCR', KEYS[2])";
    at_the_same_time("", &["EVAL", script, "2", "b", ""]);
}

/// Which keys are held depends on the arguments, and whatever these are, nobody sees half a script.
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
            assert!(w.run(&["EVAL", loops, "0"]).contains("Script killed by user"));
        } else {
            while !w.engine.is_busy() {
                std::thread::yield_now();
            }
            assert!(w.run(&["GET", "x"]).starts_with("-BUSY Redis is busy running a script"));
            assert!(w.run(&["FUNCTION", "KILL"]).starts_with("-BUSY"));
            assert_eq!(w.run(&["SCRIPT", "KILL"]), "+OK\r\n");
            while w.engine.is_busy() {
                std::thread::yield_now();
            }
            assert_eq!(w.run(&["GET", "x"]), "$-1\r\n");
            assert!(w.run(&["SCRIPT", "KILL"]).starts_with("-NOTBUSY"));
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
    assert_eq!(one.run(&["FUNCTION", "LOAD", &library(1)]), "$1\r\nl\r\n");
    assert_eq!(two.run(&["FCALL", "f", "0"]), ":1\r\n");
    assert_eq!(two.run(&["FUNCTION", "LOAD", "REPLACE", &library(2)]), "$1\r\nl\r\n");
    assert_eq!(one.run(&["FCALL", "f", "0"]), ":2\r\n");
    let dump = one.thread.call(&one.engine, &mut one.session, &[b"FUNCTION", b"DUMP"]).join();
    let at = dump.iter().position(|c| *c == b'\n').expect("a bulk string") + 1;
    assert_eq!(two.run(&["FUNCTION", "FLUSH"]), "+OK\r\n");
    assert!(one.run(&["FCALL", "f", "0"]).contains("Function not found"));
    let words: [&[u8]; 3] = [b"FUNCTION", b"RESTORE", &dump[at..dump.len() - 2]];
    assert_eq!(one.thread.call(&one.engine, &mut one.session, &words).join(), b"+OK\r\n");
    assert_eq!(two.run(&["FCALL", "f", "0"]), ":2\r\n");
}

#[test]
fn flushing_the_cache_reaches_all_threads() {
    let engine = engine("");
    let (mut one, mut two) = (Worker::new(&engine), Worker::new(&engine));
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    assert!(one.run(&["SCRIPT", "LOAD", "return 1"]).contains(sha));
    assert_eq!(two.run(&["EVALSHA", sha, "0"]), ":1\r\n");
    one.run(&["SCRIPT", "FLUSH"]);
    assert!(two.run(&["EVALSHA", sha, "0"]).starts_with("-NOSCRIPT"));
    assert_eq!(two.run(&["EVAL", "return 1", "0"]), ":1\r\n");
    assert_eq!(one.run(&["EVALSHA", sha, "0"]), ":1\r\n");
}

/// The keys of a call are declared, not read: a client is told of those alone that its script read.
#[test]
fn keys_that_a_script_has_not_read_are_not_tracked() {
    let engine = engine("");
    let (mut reader, mut writer) = (Worker::new(&engine), Worker::new(&engine));
    writer.run(&["mset", "a", "1", "b", "1"]);
    reader.run(&["hello", "3"]);
    reader.run(&["client", "tracking", "on"]);
    let tracked = || engine.tracking.keys();
    for script in ["eval", "eval_ro"] {
        reader.run(&[script, "return redis.call('ping')", "2", "a", "b"]);
        assert_eq!(tracked(), 0, "{script} reads nothing");
        reader.run(&[script, "return redis.call('get', 'b')", "2", "a", "b"]);
        assert_eq!(tracked(), 1, "{script} reads b");
        writer.run(&["set", "b", "2"]);
        assert_eq!(tracked(), 0);
    }
}
