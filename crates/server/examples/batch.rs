//! The engine without the network: batches of GET or SET over many keys, in one thread.
//!
//! `cargo run --release --example batch -- get 100000 1000` prints nanoseconds per command.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::time::Instant;

use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};
use resp::{Out, Parser};

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

fn request(kind: &str, key: u64) -> Vec<u8> {
    match kind {
        "get" => format!("*2\r\n$3\r\nGET\r\n$16\r\nkey:{key:012}\r\n"),
        _ => format!("*3\r\n$3\r\nSET\r\n$16\r\nkey:{key:012}\r\n$3\r\nxyz\r\n"),
    }
    .into_bytes()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let kind = args.get(1).map_or("get", String::as_str);
    let keys: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let depth: usize = args.get(3).and_then(|a| a.parse().ok()).unwrap_or(1000);
    let seconds: f64 = args.get(4).and_then(|a| a.parse().ok()).unwrap_or(2.0);
    let threads = args.get(5).map_or("1", String::as_str);
    let config = config::Config::new();
    config::load_text(&config, "bench", format!("threads {threads}").as_bytes()).expect("valid");
    let engine = Engine::new(Options {
        config,
        renames: Vec::new(),
        clock: stdx::clock::Clock::real(),
        log: engine::log::Log::silent(),
        config_file: None,
        executable: String::new(),
    });
    let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
    let mut thread = Thread::new(&engine, index, worker);
    let endpoint =
        Endpoint { peer: String::new(), local: String::new(), unix: true, loopback: true, fd: 0 };
    let mut session = Session::new(&engine, index, endpoint);
    let (mut parser, mut out) = (Parser::default(), Out::default());
    let mut run = |bytes: &[u8]| {
        if bytes.is_empty() {
            // Completes resizes, as the server's periodic work does.
            (0..1000).for_each(|_| _ = thread.cron(&engine, 1, u64::MAX));
            return;
        }
        thread.tick(&engine);
        let batch = thread.run(&engine, &mut session, &mut parser, bytes, &mut out);
        assert_eq!(batch.consumed, bytes.len());
        out.clear();
    };
    for k in 0..keys {
        run(&request("set", k));
    }
    run(&[]);
    let mut x = 88172645463325252u64;
    let batches: Vec<Vec<u8>> = (0..(1_000_000 / depth).max(1))
        .map(|_| {
            (0..depth)
                .flat_map(|_| {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    request(kind, x % keys)
                })
                .collect()
        })
        .collect();
    let mut input = vec![0; batches.iter().map(Vec::len).max().unwrap_or(0)];
    let mut best = f64::MAX;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let t = Instant::now();
        let n = batches.len().min(500);
        for b in &batches[..n] {
            // The network has one receive buffer that stays in the cache.
            input[..b.len()].copy_from_slice(b);
            run(&input[..b.len()]);
        }
        best = best.min(t.elapsed().as_nanos() as f64 / (n * depth) as f64);
    }
    println!("{kind} keys={keys} depth={depth}: {best:.1} ns per command (best round)");
}
