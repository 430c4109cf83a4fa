//! The allocations of a request on its whole way from bytes to bytes: a GET nothing, a SET of a new
//! key its entry, a SET of an old one nothing.

#![expect(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};
use resp::{Out, Parser};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: forwards to the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Server {
    engine: std::sync::Arc<Engine>,
    thread: Thread,
    session: Session,
    parser: Parser,
    out: Out,
}

impl Server {
    fn new() -> Self {
        testing::leave_the_sources();
        let engine = Engine::new(Options {
            config: config::Config::new(),
            commands: session_commands::ALL,
            durability: std::sync::Arc::<durable::Durable>::default(),
            renames: Vec::new(),
            clock: stdx::clock::Clock::real(),
            log: engine::log::Log::silent(),
            config_file: None,
            executable: String::new(),
        });
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        let name = || "127.0.0.1:1".to_owned();
        let endpoint = Endpoint {
            peer: name().into(),
            local: name().into(),
            unix: false,
            loopback: true,
            fd: 0,
        };
        let session = Session::new(&engine, index, endpoint);
        Self { engine, thread, session, parser: Parser::default(), out: Out::default() }
    }

    /// Allocations of executing `input`, its buffers being there already.
    fn allocations(&mut self, input: &[u8]) -> u64 {
        self.out.clear();
        let before = COUNT.get();
        let batch = self.thread.run(
            &self.engine,
            &mut self.session,
            &mut self.parser,
            input,
            &mut self.out,
        );
        assert_eq!(batch.consumed, input.len());
        COUNT.get() - before
    }

    /// The least that any of several rounds allocates: sometimes a table grows, too.
    fn least(&mut self, rounds: usize, pipeline: impl Fn(usize) -> Vec<u8>) -> u64 {
        (0..rounds).map(|i| self.allocations(&pipeline(i))).min().expect("some rounds")
    }
}

fn command(words: &[&str]) -> Vec<u8> {
    let mut c = format!("*{}\r\n", words.len());
    for w in words {
        c.push_str(&format!("${}\r\n{w}\r\n", w.len()));
    }
    c.into_bytes()
}

#[test]
fn a_get_allocates_nothing_and_a_set_of_a_new_key_once() {
    const DEPTH: usize = 20;
    let mut s = Server::new();
    let many = |verb: &'static str, value: &'static [&'static str], round: usize| {
        (0..DEPTH)
            .flat_map(|i| {
                let key = format!("key:{:012}", round * DEPTH + i);
                command(&[&[verb, &key], value].concat())
            })
            .collect::<Vec<u8>>()
    };
    // Warm: buffers, statistics and tables have their first sizes.
    for round in 0..2000 {
        s.allocations(&many("SET", &["some value"], round));
        s.allocations(&many("GET", &[], round));
        s.allocations(&many("INCRBY", &["1"], round + 10_000));
    }
    assert_eq!(s.least(20, |i| many("GET", &[], i)), 0, "GET of a string");
    assert_eq!(s.least(20, |i| many("GET", &[], i + 10_000)), 0, "GET of an integer");
    assert_eq!(s.least(20, |i| many("GET", &[], i + 1_000_000)), 0, "GET of nothing");
    assert_eq!(s.least(20, |i| many("SET", &["other words"], i)), 0, "SET in place");
    assert_eq!(s.least(20, |i| many("INCRBY", &["7"], i + 10_000)), 0, "INCRBY");
    assert_eq!(s.least(20, |i| many("EXISTS", &[], i)), 0, "EXISTS");
    assert_eq!(s.least(20, |i| many("TTL", &[], i)), 0, "TTL");
    // Few at a time: one insertion in ten also makes a bucket or begins to grow a table.
    let new = s.least(200, |i| {
        (0..3).flat_map(|n| command(&["SET", &format!("new:{i}:{n}"), "some value"])).collect()
    });
    assert_eq!(new, 3, "a SET of a new key allocates its entry");
}
