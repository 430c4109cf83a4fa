//! The engine without the network: batches of one command over many keys, in one thread.
//!
//! `cargo run --release --example batch -- get 100000 1000` prints nanoseconds per command. Instead
//! of `get` or `set` there may be any command: in `'ZADD z {rand} m{key}'` a key's number and a random
//! one below a million are filled in, and for `{sha}` the digest of the script in the file that the
//! environment's `SCRIPT` names: `SCRIPT=presence_add.lua … 'EVALSHA {sha} 1 h{key} 60 a b'`.
//!
//! With 0 as the fourth argument it runs 30,000 commands once, for callgrind: docs/design/requests.md.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod common;

use std::time::Instant;

use common::engine_with;
use engine::{Endpoint, Mailbox, Session, Thread};
use resp::{Out, Parser};

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

fn request(kind: &str, sha: &str, key: u64, random: u64) -> Vec<u8> {
    let template = match kind {
        "get" => "GET key:{key}",
        "set" => "SET key:{key} xyz",
        other => other,
    };
    let words: Vec<String> = template
        .split(' ')
        .map(|w| {
            w.replace("{key}", &format!("{key:012}"))
                .replace("{rand}", &(random % 1_000_000).to_string())
                .replace("{sha}", sha)
        })
        .collect();
    let args = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len()));
    format!("*{}\r\n{}", words.len(), args.collect::<String>()).into_bytes()
}

/// Runs a batch that is measured. Not inlined, so that callgrind can count what happens in here alone.
#[inline(never)]
fn measured(run: &mut impl FnMut(&[u8]), batch: &[u8]) {
    run(batch);
}

/// `count` batches of `depth` requests each, for random keys, which are the same in every run.
fn batches(kind: &str, sha: &str, keys: u64, count: usize, depth: usize) -> Vec<Vec<u8>> {
    let mut x = 88172645463325252u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        request(kind, sha, x % keys, x >> 32)
    };
    (0..count).map(|_| (0..depth).flat_map(|_| next()).collect()).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let kind = args.get(1).map_or("get", String::as_str);
    let keys: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let depth: usize = args.get(3).and_then(|a| a.parse().ok()).unwrap_or(1000);
    let seconds: f64 = args.get(4).and_then(|a| a.parse().ok()).unwrap_or(2.0);
    let threads = args.get(5).map_or("1", String::as_str);
    if seconds > 0.0 {
        // As the server does; `APUS_SMALL_PAGES=1` shows what it is good for.
        let touch = apus::huge_pages::forbid_at_first_touch();
        if std::env::var_os("APUS_SMALL_PAGES").is_none() {
            apus::huge_pages::start(touch);
        }
    }
    let engine = engine_with(threads);
    let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
    let mut thread = Thread::new(&engine, index, worker);
    let mut session = Session::new(&engine, index, Endpoint::nowhere());
    let (mut parser, mut out) = (Parser::default(), Out::default());
    let script = std::env::var("SCRIPT").ok().and_then(|path| std::fs::read(path).ok());
    let script = script.unwrap_or_default();
    thread.call(&engine, &mut session, &[b"SCRIPT", b"LOAD", &script]);
    let sha = String::from_utf8_lossy(&stdx::sha1hex(&script)).into_owned();
    let mut run = |bytes: &[u8]| {
        if bytes.is_empty() {
            // Completes resizes, as the server's periodic work does.
            (0..keys.min(1000)).for_each(|_| _ = thread.cron(&engine, 1, u64::MAX));
            return;
        }
        thread.tick(&engine);
        let batch = thread.run(&engine, &mut session, &mut parser, bytes, &mut out);
        assert_eq!(batch.consumed, bytes.len());
        out.clear();
    };
    let fill = if kind == "get" { "set" } else { kind };
    for k in 0..keys {
        run(&request(fill, &sha, k, k));
    }
    run(&[]);
    // For callgrind a few are enough, always the same number of them.
    let requests = if seconds > 0.0 { 1_000_000 } else { 30_000 };
    let batches = batches(kind, &sha, keys, (requests / depth).max(1), depth);
    let mut input = vec![0; batches.iter().map(Vec::len).max().unwrap_or(0)];
    let mut times = Vec::new();
    let start = Instant::now();
    // A round is short, so that most are not interrupted, and no two in a row have the same
    // commands, whose keys would still be in the cache.
    for (n, round) in batches.chunks(500).cycle().enumerate() {
        let t = Instant::now();
        for b in round {
            // The network has one receive buffer that stays in the cache.
            input[..b.len()].copy_from_slice(b);
            measured(&mut run, &input[..b.len()]);
        }
        let ns = t.elapsed().as_nanos() as f64 / (round.len() * depth) as f64;
        times.push(ns);
        let all = n + 1 >= batches.len().div_ceil(500);
        let over = start.elapsed().as_secs_f64() > seconds;
        if if seconds > 0.0 { over } else { all } {
            break;
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    println!("{kind} keys={keys} depth={depth}: {median:.1} ns per command (median round)");
}
