//! Streams of requests, damaged at random: where one request ends must not depend on how the bytes are cut,
//! and no careless reader may see another end than this one (request smuggling).
//!
//! The careless reader is here: it takes a bare line feed for a line end, blanks and odd bytes around names,
//! numbers that begin well, and any coding that contains `chunked`. A request that is accepted must be one
//! on which it agrees.
//!
//! `APUS_FUZZ_SECONDS` says for how long (default: some thousand rounds), `APUS_FUZZ_SEED` from where.

use std::time::{Duration, Instant};

use http1::{Body, Framing, Limits, Progress, head};
use stdx::rng::Rng;

const LIMITS: Limits = Limits { head_max: 600, target_max: 200, body_max: 300 };

const LINES: [&str; 7] = [
    "GET / HTTP/1.1\r\n",
    "GET /a%41?b=c HTTP/1.1\r\n",
    "POST /x HTTP/1.1\r\n",
    "HEAD / HTTP/1.0\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "PUT http://x/a HTTP/1.1\r\n",
    "DELETE /a/b HTTP/1.1\r\n",
];
const FIELDS: [&str; 16] = [
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "content-length:7\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length : 5\r\n",
    "Content_Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "transfer-encoding:\tchunked\r\n",
    "Transfer-Encoding\r\n : chunked\r\n",
    "Connection: close\r\n",
    "Expect: 100-continue\r\n",
    "X: y\r\n",
    "X: y\n",
    " folded\r\n",
    "Host: x\r\n",
];
const BODIES: [&str; 5] = [
    "",
    "12345",
    "3\r\nabc\r\n0\r\n\r\n",
    "1;a=b\r\nx\r\n0\r\nT: u\r\n\r\n",
    "0\r\n\r\nGET / HTTP/1.1\r\n",
];
const DAMAGE: [&[u8]; 11] =
    [b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b"\x0b", b"\xff", b"+", b"chunked"];

fn input(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + rng.below(3) {
        bytes.extend_from_slice(LINES[rng.index(LINES.len())].as_bytes());
        if rng.below(8) > 0 {
            bytes.extend_from_slice(b"Host: x\r\n");
        }
        for _ in 0..rng.below(4) {
            bytes.extend_from_slice(FIELDS[rng.index(FIELDS.len())].as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(BODIES[rng.index(BODIES.len())].as_bytes());
    }
    for _ in 0..rng.below(3) {
        let at = rng.index(bytes.len());
        if rng.below(2) == 0 {
            bytes[at] = DAMAGE[rng.index(DAMAGE.len())][0];
        } else {
            bytes.splice(at..at, DAMAGE[rng.index(DAMAGE.len())].iter().copied());
        }
    }
    bytes
}

/// A request: where its head and its body end in the stream, how the body comes, and the body.
type Request = (usize, usize, Framing, Vec<u8>);
/// The requests of a stream, and the status that ended it.
type Outcome = (Vec<Request>, Option<u16>);

/// Reads a stream that comes in pieces of at most `piece_max` bytes.
fn requests(bytes: &[u8], rng: &mut Rng, piece_max: usize) -> Outcome {
    let mut all = Vec::new();
    let (mut at, mut have) = (0, 0);
    let mut pending: Option<(usize, Framing, Body)> = None;
    loop {
        let step = match &mut pending {
            None => match head::parse(&bytes[at..have], &LIMITS) {
                Err(bad) => return (all, Some(bad.status)),
                Ok(None) => Progress::More,
                Ok(Some(head)) => {
                    at += head.len;
                    match Body::new(head.framing, &LIMITS) {
                        Err(bad) => return (all, Some(bad.status)),
                        Ok(body) => pending = Some((at, head.framing, body)),
                    }
                    continue;
                }
            },
            Some((_, _, body)) => match body.take(&bytes[at..have]) {
                Err(bad) => return (all, Some(bad.status)),
                Ok((n, progress)) => {
                    at += n;
                    progress
                }
            },
        };
        if step == Progress::Whole
            && let Some((head_end, framing, body)) = pending.take()
        {
            all.push((head_end, at, framing, body.bytes));
            continue;
        }
        if have == bytes.len() {
            return (all, None);
        }
        have += 1 + rng.index((bytes.len() - have).min(piece_max));
    }
}

/// What a careless reader makes of a head: where it ends, the lengths, and whether there are chunks.
fn carelessly(bytes: &[u8]) -> (usize, Vec<String>, bool) {
    let (mut at, mut lengths, mut chunked, mut first) = (0, Vec::new(), false, true);
    loop {
        let Some(end) = bytes[at..].iter().position(|b| *b == b'\n') else {
            return (bytes.len(), lengths, chunked);
        };
        let line = String::from_utf8_lossy(&bytes[at..at + end]).to_lowercase();
        at += end + 1;
        let line: String = line.chars().filter(|c| !c.is_control() && *c != ' ').collect();
        if line.is_empty() && !first {
            return (at, lengths, chunked);
        }
        first &= line.is_empty();
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        if name == "content-length" {
            lengths.push(value.to_owned());
        }
        chunked |= name == "transfer-encoding";
    }
}

#[test]
fn no_two_readers_disagree() {
    let env = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = env("APUS_FUZZ_SECONDS").map_or(Duration::ZERO, Duration::from_secs);
    let seed =
        env("APUS_FUZZ_SEED").unwrap_or_else(|| Rng::from_os().map_or(1, |mut r| r.next_u64()));
    eprintln!("APUS_FUZZ_SEED={seed}");
    let start = Instant::now();
    let (mut rounds, mut taken, mut with_body, mut refused) = (0u64, 0, 0, 0);
    while rounds < 20_000 || start.elapsed() < time {
        let mut rng = Rng::from_seed(seed.wrapping_add(rounds));
        let bytes = input(&mut rng);
        let whole = requests(&bytes, &mut rng, usize::MAX);
        for piece_max in [1, 20] {
            let cut = requests(&bytes, &mut rng, piece_max);
            // How much of a bad request must be there to be refused may differ: the requests before it not.
            assert_eq!(cut.0, whole.0, "round {rounds}: {}", bytes.escape_ascii());
            assert_eq!(cut.1.is_some(), whole.1.is_some(), "{}", bytes.escape_ascii());
        }
        let mut from = 0;
        for (head_end, end, framing, body) in &whole.0 {
            let (end_seen, lengths, chunked) = carelessly(&bytes[from..]);
            let what = || format!("round {rounds}: {}", bytes.escape_ascii());
            assert_eq!(from + end_seen, *head_end, "{}", what());
            match framing {
                Framing::Chunked => assert!(chunked && lengths.is_empty(), "{}", what()),
                Framing::Length(n) => {
                    assert!(!chunked && lengths.len() <= 1, "{}", what());
                    let seen = lengths.first().map_or(Ok(0), |text| text.parse::<u64>());
                    assert_eq!(seen, Ok(*n), "{}", what());
                    assert_eq!((end - head_end) as u64, *n, "{}", what());
                }
            }
            with_body += usize::from(!body.is_empty());
            from = *end;
        }
        taken += whole.0.len();
        refused += usize::from(whole.1.is_some());
        rounds += 1;
    }
    eprintln!("{rounds} rounds, {taken} requests, {with_body} with bodies, {refused} refused");
    assert!(with_body > 100 && refused > 100);
}
