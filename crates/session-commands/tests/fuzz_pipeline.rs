//! Random bytes and damaged pipelines against an engine: it must not panic, must not keep more
//! than it was sent, and must answer in well-formed RESP.
//!
//! `APUS_FUZZ_SECONDS` sets how long it runs (default: half a second), `APUS_FUZZ_SEED` the first
//! seed.

mod common;

use std::time::{Duration, Instant};

use common::{Server, array, grammar};
use stdx::rng::Rng;
use transcript::decode;

/// A pipeline longer than this would only make a round slower.
const PIPELINE_MAX: usize = 200;

/// The memory that a connection may keep beyond the input that has not been answered.
const SLACK: usize = 64 << 10;

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Text that is special to a parser.
const PIECES: &[&[u8]] = &[
    b"*",
    b"$",
    b"\r\n",
    b"\n",
    b"\r",
    b"-1",
    b"0",
    b"*0\r\n",
    b"*-1\r\n",
    b"*3\r\n",
    b"$3\r\n",
    b"*2147483647\r\n",
    b"*2147483648\r\n",
    b"$536870912\r\n",
    b"$536870913\r\n",
    b"$70000\r\n",
    b"$-1\r\n",
    b"*1000000\r\n",
    b"GET k\r\n",
    b"\"",
    b"'",
    b"\\x",
    b"\"a b\" ",
    b"\0",
    b"+",
    b":",
    b"9223372036854775808",
    b"*1\r\n$4\r\nPING\r\n",
    b"HELLO 3\r\n",
    b"CLIENT LIST\r\n",
];

fn pipeline(rng: &mut Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..rng.index(PIPELINE_MAX) {
        let words = grammar::command(rng);
        if rng.below(10) == 0 {
            // Inline, without the quotes that it would need.
            input.extend_from_slice(&words.join(&b' '));
            input.extend_from_slice(b"\r\n");
        } else {
            input.extend_from_slice(&array(&words));
        }
    }
    input
}

fn damage(rng: &mut Rng, input: &mut Vec<u8>) {
    for _ in 0..1 + rng.index(4) {
        let at = rng.index(input.len() + 1);
        let piece = PIECES[rng.index(PIECES.len())];
        match rng.below(6) {
            0 => input.truncate(at),
            1 => {
                let end = (at + rng.index(40)).min(input.len());
                input.drain(at..end);
            }
            2 if at < input.len() => input[at] = rng.below(256) as u8,
            3 => {
                let end = (at + rng.index(200)).min(input.len());
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            _ => {
                input.splice(at..at, piece.iter().copied());
            }
        }
    }
}

fn noise(rng: &mut Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..rng.index(100) {
        if rng.below(3) == 0 {
            let mut bytes = vec![0; rng.index(30)];
            rng.fill(&mut bytes);
            input.extend_from_slice(&bytes);
        } else {
            input.extend_from_slice(PIECES[rng.index(PIECES.len())]);
        }
    }
    input
}

/// One connection's life.
fn round(server: &mut Server, rng: &mut Rng) -> usize {
    let mut input = match rng.below(4) {
        0 => noise(rng),
        _ => pipeline(rng),
    };
    if rng.below(4) != 0 {
        damage(rng, &mut input);
    }
    let mut c = server.connect();
    let piece_max = [1 << 20, 4096, 64, 3][rng.index(4)];
    let (mut at, mut count) = (0, 0);
    let mut sent = Vec::new();
    while at < input.len() && !c.closed && !c.waiting {
        let n = (1 + rng.index(piece_max)).min(input.len() - at);
        sent.extend_from_slice(&server.feed(&mut c, &input[at..at + n]));
        at += n;
        let kept = c.input.len() + c.parser.memory();
        // Vectors double, and a span is 8 bytes for each `$0\r\n\r\n`.
        assert!(kept <= 4 * at + (1 << 20) + SLACK, "{kept} bytes kept of {at}");
    }
    let mut rest = &sent[..];
    while !rest.is_empty() {
        decode(&mut rest).expect("well-formed RESP").expect("a whole reply");
        count += 1;
    }
    server.engine.clients.remove(&c.session.client);
    count
}

#[test]
fn fuzz() {
    let time = env("APUS_FUZZ_SECONDS").map_or(Duration::from_millis(500), Duration::from_secs);
    let seed =
        env("APUS_FUZZ_SEED").unwrap_or_else(|| Rng::from_os().map_or(1, |mut r| r.next_u64()));
    eprintln!("APUS_FUZZ_SEED={seed}");
    let start = Instant::now();
    let (mut rounds, mut replies) = (0u64, 0);
    let settings: [&[(&str, &str)]; 4] = [
        &[],
        &[("slowlog-log-slower-than", "0")],
        &[("requirepass", "a")],
        &[("maxmemory", "1000gb")],
    ];
    let mut servers = settings.map(Server::with);
    while rounds < 8 || start.elapsed() < time {
        // A round can be repeated alone: its seed follows from the first and its number.
        let mut rng = Rng::from_seed(seed.wrapping_add(rounds));
        let which = (rounds % servers.len() as u64) as usize;
        replies += round(&mut servers[which], &mut rng);
        rounds += 1;
        if rounds.is_multiple_of(500) {
            servers = settings.map(Server::with);
        }
    }
    eprintln!("{rounds} rounds, {replies} replies");
    assert!(replies > 0);
}
