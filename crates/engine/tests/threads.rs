//! Several worker threads over one keyspace: what one thread does is whole or not there for another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use config::Config;
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};
use resp::{Out, Parser};

fn engine() -> Arc<Engine> {
    let config = Config::new();
    config::load_text(&config, "test", b"threads 4").expect("valid");
    Engine::new(Options {
        config,
        renames: Vec::new(),
        clock: stdx::clock::Clock::real(),
        log: Log::silent(),
        config_file: None,
        executable: String::new(),
    })
}

/// One thread with one connection: pipelines in, replies out.
struct Worker {
    engine: Arc<Engine>,
    thread: Thread,
    session: Session,
    parser: Parser,
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
            parser: Parser::default(),
        }
    }

    fn run(&mut self, pipeline: &str) -> String {
        let mut out = Out::default();
        let input = pipeline.as_bytes();
        let batch =
            self.thread.run(&self.engine, &mut self.session, &mut self.parser, input, &mut out);
        assert_eq!(batch.consumed, input.len());
        String::from_utf8(out.buf).expect("these replies are text")
    }
}

/// Runs `f` with a worker of its own on each of `n` threads.
fn on_threads(engine: &Arc<Engine>, n: usize, f: impl Fn(usize, Worker) + Sync) {
    std::thread::scope(|scope| {
        for i in 0..n {
            let f = &f;
            let worker = Worker::new(engine);
            scope.spawn(move || f(i, worker));
        }
    });
}

#[test]
fn no_increment_is_lost() {
    let engine = engine();
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
    let engine = engine();
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
    let engine = engine();
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
