//! The engine without the network on several threads: what they cost each other.
//!
//! `cargo run --release --example cores -- set 100000 1000 2 apart` runs SET in batches of 1,000 on one and then
//! on two threads, over 100,000 keys: `apart` gives each thread keys of its own, `shared` all of them the same.
//! With one key, `shared` is contention on one key, and `apart` on nothing but counters. It prints nanoseconds per
//! command and thread, the median of short rounds. docs/design/cores.md has figures.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::engine_with;
use engine::{Endpoint, Engine, Mailbox, Session, Thread};
use resp::{Out, Parser};

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

fn request(kind: &str, of: &str, key: u64) -> Vec<u8> {
    let key = format!("key:{of}{key:012}");
    match kind {
        "get" => format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()),
        _ => format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$3\r\nxyz\r\n", key.len()),
    }
    .into_bytes()
}

/// Runs batches until it is told to stop, and returns the median of the rounds in which all threads ran.
fn run(engine: &Engine, keys: u64, depth: usize, kind: &str, of: &str, race: &Race) -> f64 {
    let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
    let mut thread = Thread::new(engine, index, worker);
    let mut session = Session::new(engine, index, Endpoint::nowhere());
    let (mut parser, mut out) = (Parser::default(), Out::default());
    let mut feed = |bytes: &[u8]| {
        thread.tick(engine);
        let batch = thread.run(engine, &mut session, &mut parser, bytes, &mut out);
        assert_eq!(batch.consumed, bytes.len());
        out.clear();
    };
    (0..keys).for_each(|key| feed(&request("set", of, key)));
    let mut x = 88_172_645_463_325_252u64 ^ (index as u64) << 40;
    let batches: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let mut next = || {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                request(kind, of, x % keys)
            };
            (0..depth).flat_map(|_| next()).collect()
        })
        .collect();
    race.ready.fetch_add(1, Relaxed);
    while race.ready.load(Relaxed) < race.threads {
        std::hint::spin_loop();
    }
    let mut times = Vec::new();
    for batch in batches.iter().cycle() {
        if race.over.load(Relaxed) {
            break;
        }
        let start = Instant::now();
        feed(batch);
        times.push(start.elapsed().as_nanos() as f64 / depth as f64);
    }
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Race {
    threads: usize,
    ready: AtomicUsize,
    over: AtomicBool,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let word = |i: usize, default: &'static str| args.get(i).map_or(default, |a| a.as_str());
    let (kind, apart) = (word(1, "set"), word(5, "apart") == "apart");
    let keys: u64 = word(2, "100000").parse().expect("a number of keys");
    let depth: usize = word(3, "1000").parse().expect("a number of commands");
    let seconds: f64 = word(4, "2").parse().expect("a number of seconds");
    // As many locks with one thread as with more: the difference is what they cost each other.
    for threads in [1, 2] {
        let engine = engine_with(2);
        let race = Race { threads, ready: AtomicUsize::new(0), over: AtomicBool::new(false) };
        let medians: Vec<f64> = std::thread::scope(|scope| {
            let names: Vec<String> =
                (0..threads).map(|i| if apart { i.to_string() } else { String::new() }).collect();
            let (engine, race) = (&engine, &race);
            let running: Vec<_> = names
                .into_iter()
                .map(|of| scope.spawn(move || run(engine, keys, depth, kind, &of, race)))
                .collect();
            while race.ready.load(Relaxed) < threads {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_secs_f64(seconds));
            race.over.store(true, Relaxed);
            running.into_iter().map(|t| t.join().expect("it has not panicked")).collect()
        });
        println!(
            "{kind} keys={keys} depth={depth} {}: {threads} of 2: {medians:.1?} ns",
            word(5, "apart")
        );
    }
}
