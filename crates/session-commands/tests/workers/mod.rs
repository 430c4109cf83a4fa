//! Several worker threads over one keyspace, on the real clock, without sockets.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::Arc;

use config::Config;
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};
use resp::{Out, Parser};

/// An engine for four threads, with further lines of configuration.
pub(crate) fn engine(options: &str) -> Arc<Engine> {
    testing::leave_the_sources();
    let config = Config::new();
    config::load_text(&config, "test", format!("threads 4\n{options}").as_bytes()).expect("valid");
    Engine::new(Options {
        config,
        commands: session_commands::ALL,
        durability: Arc::<durable::Durable>::default(),
        renames: Vec::new(),
        clock: stdx::clock::Clock::real(),
        log: Log::silent(),
        config_file: None,
        executable: String::new(),
    })
}

/// One thread with one connection.
pub(crate) struct Worker {
    pub(crate) engine: Arc<Engine>,
    pub(crate) thread: Thread,
    pub(crate) session: Session,
    parser: Parser,
}

/// A connection over loopback whose ends have the same address.
pub(crate) fn endpoint(address: &str) -> Endpoint {
    Endpoint { peer: address.into(), local: address.into(), unix: false, loopback: true, fd: 0 }
}

impl Worker {
    /// A further thread of the engine.
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        Self::with(engine, Mailbox::new(|| {}))
    }

    /// A further thread of the engine, with a mailbox of its own.
    pub(crate) fn with(engine: &Arc<Engine>, mailbox: Mailbox) -> Self {
        let (index, worker) = engine.add_worker(mailbox);
        let endpoint = endpoint("127.0.0.1:1");
        Self {
            engine: Arc::clone(engine),
            thread: Thread::new(engine, index, worker),
            session: Session::new(engine, index, endpoint),
            parser: Parser::default(),
        }
    }

    /// Calls one command.
    pub(crate) fn call(&mut self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|w| w.as_bytes()).collect();
        let out = self.thread.call(&self.engine, &mut self.session, &words);
        String::from_utf8(out.join()).expect("these replies are text")
    }

    /// Goes on with input that waits.
    pub(crate) fn resume(&mut self) -> String {
        let mut out = Out::default();
        self.thread.run(&self.engine, &mut self.session, &mut self.parser, b"", &mut out);
        String::from_utf8(out.join()).expect("these replies are text")
    }

    /// Pipelines in, replies out.
    pub(crate) fn run(&mut self, pipeline: &str) -> String {
        let (mut out, mut sent) = (Out::default(), Vec::new());
        let mut input = pipeline.as_bytes();
        while !input.is_empty() {
            // Much output is to be sent before it goes on.
            let batch =
                self.thread.run(&self.engine, &mut self.session, &mut self.parser, input, &mut out);
            assert!(batch.consumed > 0, "{:?}", batch.next);
            input = &input[batch.consumed..];
            sent.extend(out.join());
            out.clear();
        }
        String::from_utf8(sent).expect("these replies are text")
    }
}

impl Worker {
    /// Gives the thread a pipeline, until it asks to wait for a thread that has too much to deliver.
    /// Returns how many bytes were executed, and that thread.
    pub(crate) fn run_until_crowded(&mut self, pipeline: &str) -> (usize, Option<usize>) {
        let (mut out, mut done) = (Out::default(), 0);
        while done < pipeline.len() {
            let input = &pipeline.as_bytes()[done..];
            let batch =
                self.thread.run(&self.engine, &mut self.session, &mut self.parser, input, &mut out);
            out.clear();
            done += batch.consumed;
            if let Some(crowded) = self.thread.take_crowded() {
                return (done, Some(crowded));
            }
        }
        (done, None)
    }

    /// Delivers the thread's backlog. Returns how many bytes were sent.
    pub(crate) fn deliver(&mut self) -> usize {
        self.thread.receive();
        for message in self.thread.worker().mailbox.take() {
            if let engine::Message::Push(id, bytes) = message {
                self.thread.push_bytes(id, &bytes, true);
            }
        }
        let mut sent = 0;
        while let Some(ready) = self.thread.next_ready() {
            sent += ready.out.len();
            self.thread.recycle(ready.out);
        }
        self.thread.relieve(&self.engine);
        sent
    }
}

/// Runs `f` with a worker of its own on each of `n` threads.
pub(crate) fn on_threads(engine: &Arc<Engine>, n: usize, f: impl Fn(usize, Worker) + Sync) {
    std::thread::scope(|scope| {
        for i in 0..n {
            let f = &f;
            let worker = Worker::new(engine);
            scope.spawn(move || f(i, worker));
        }
    });
}
