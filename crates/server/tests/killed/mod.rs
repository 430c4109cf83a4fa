//! Servers that are killed at any moment while producers and readers use them, and the laws for their
//! topics afterwards: every acknowledged record is there once, in its producer's order, at offsets
//! without gaps; and no reader has seen a record that is missing later.

#![allow(dead_code, unreachable_pub, reason = "every test uses some of it")]

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use log::batch::Batch;
use serde_json::Value;
use testing::PATIENCE;
use testing::http::{Answer, head};

/// Producers that number their records, and send them again until they are acknowledged.
const NUMBERED: u64 = 4;
/// Producers that send everything once.
const PLAIN: u64 = 2;

/// A number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

/// The server, or another build of it that `APUS_BINARY` names.
fn binary() -> OsString {
    std::env::var_os("APUS_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_apus").into())
}

/// Numbers that look random.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A port that no process listens on, below those that the kernel gives to clients: a client that
/// connects again and again to a server that is gone would connect to itself one day. (Should another
/// process take it first, the server does not start, and another one is tried.)
fn free() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = std::process::id().wrapping_mul(13).wrapping_add(NEXT.fetch_add(1, Relaxed));
        let address = SocketAddr::from(([127, 0, 0, 1], (13_000 + n % 17_000) as u16));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// A running server; killed when dropped.
pub struct Server {
    process: Child,
    pub http: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    /// Starts one, on ports that may be others than those of the one before. `more` says where its
    /// topics are.
    pub fn start(more: impl Fn(&mut Command)) -> Self {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let (http, data) = (free(), free());
            let mut command = Command::new(binary());
            command
                .args(["serve", "--bind", "127.0.0.1", "--topic-http-bind", "127.0.0.1"])
                .args(["--threads", "2", "--save", "", "--port", &data.port().to_string()])
                .args(["--topic-http-port", &http.port().to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            more(&mut command);
            let mut process = command.spawn().expect("the binary");
            while begin.elapsed() < PATIENCE && matches!(process.try_wait(), Ok(None)) {
                // A bucket is opened while the server serves already.
                let status = ask(http, "GET", "/v1/topics", b"").map(|(status, _)| status);
                if status.is_ok_and(|s| s != 503) {
                    return Self { process, http };
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("the server does not start");
    }

    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Asks a server, which may be gone at any moment.
pub fn ask(
    http: SocketAddr,
    method: &str,
    target: &str,
    body: &[u8],
) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&http, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(head(method, target, &[], body.len()).as_bytes())?;
    stream.write_all(body)?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    let short = || io::Error::other("cut off");
    let answer = Answer::parse(&all).ok_or_else(short)?;
    let length = answer.header("content-length").and_then(|n| n.parse::<usize>().ok());
    if length.is_some_and(|n| n != answer.body.len()) {
        return Err(short());
    }
    Ok((answer.status, answer.body))
}

/// A record by its producer and number: most are short, some make large batches.
fn record(id: Id) -> String {
    let more = if id.1.is_multiple_of(13) { (id.1 * 7919) % 300_000 } else { id.1 % 40 };
    format!("{}-{} {}", id.0, id.1, "x".repeat(more as usize))
}

/// The producer of a record, and its number among that producer's records.
type Id = (u64, u64);

fn id_of(bytes: &[u8]) -> Id {
    let text = std::str::from_utf8(bytes).expect("text");
    let (head, _) = text.split_once(' ').expect("an id");
    let (producer, sequence) = head.split_once('-').expect("two numbers");
    let id = (producer.parse().expect("a number"), sequence.parse().expect("a number"));
    assert_eq!(text, record(id), "a record is not what was sent");
    id
}

/// Records from an offset on, if the server has any.
fn read(http: SocketAddr, topic: &str, offset: u64) -> Option<Vec<(u64, Id)>> {
    let target = format!("/v1/topics/{topic}/batches?offset={offset}&max-bytes=1000000");
    let (status, body) = ask(http, "GET", &target, b"").ok()?;
    if status != 200 {
        return None;
    }
    let (mut rest, mut found) = (Bytes::from(body), Vec::new());
    while !rest.is_empty() {
        let batch = Batch::check(&rest).expect("sound");
        rest = rest.slice(batch.header.len()..);
        let records = batch.records().expect("sound");
        let numbered = (batch.header.first_offset..).zip(records.iter());
        found.extend(numbered.map(|(o, r)| (o, id_of(&r))));
    }
    Some(found)
}

fn all(http: SocketAddr, topic: &str) -> Vec<Id> {
    let mut all: Vec<Id> = Vec::new();
    while let Some(found) = read(http, topic, all.len() as u64) {
        for (offset, record) in found {
            if offset >= all.len() as u64 {
                assert_eq!(offset, all.len() as u64, "offsets are dense");
                all.push(record);
            }
        }
    }
    all
}

/// Sends records until it is over. Returns which were acknowledged, and at which offset.
fn produce(
    servers: &[Mutex<Server>],
    topic: &str,
    over: &AtomicBool,
    first: &AtomicU64,
    producer: u64,
    mut rng: Rng,
) -> Vec<(u64, Id)> {
    let mut acknowledged = Vec::new();
    let numbered = producer <= NUMBERED;
    for sequence in 0.. {
        let id = (producer, sequence);
        let body = record(id);
        let target = match numbered {
            true => format!("/v1/topics/{topic}/records?producer={producer}&sequence={sequence}"),
            false => format!("/v1/topics/{topic}/records"),
        };
        let begin = Instant::now();
        let mut last;
        loop {
            let which = rng.below(servers.len() as u64) as usize;
            let http = servers[which].lock().expect("sound").http;
            match ask(http, "POST", &target, body.as_bytes()) {
                // 200: an answer had been lost.
                Ok((200 | 201, body)) => {
                    let answer: Value = serde_json::from_slice(&body).expect("JSON");
                    let offset = answer["first_offset"].as_u64().expect("an offset");
                    acknowledged.push((offset, id));
                    if acknowledged.len() == 1 {
                        first.fetch_add(1, Relaxed);
                    }
                    break;
                }
                Ok((409, body)) => panic!("{target}: {}", String::from_utf8_lossy(&body)),
                _ if !numbered => break,
                other => {
                    last = Some(other.map(|(s, b)| (s, String::from_utf8_lossy(&b).into_owned())));
                }
            }
            assert!(begin.elapsed() < PATIENCE, "{target} is never taken: {last:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
        if over.load(Relaxed) {
            break;
        }
    }
    acknowledged
}

/// How servers are treated.
pub struct Plan {
    pub seed: u64,
    /// Times that one of them is killed.
    pub kills: u64,
    /// Milliseconds between at most.
    pub pause_ms: u64,
}

/// The findings.
#[derive(Debug, Default)]
pub struct Seen {
    pub acknowledged: usize,
    pub stored: usize,
}

/// Lets producers and readers use a topic, which is there, while servers are killed and started again;
/// then checks all of it.
pub fn kill_and_check(
    servers: &[Mutex<Server>],
    topic: &str,
    plan: &Plan,
    start: impl Fn(usize) -> Server,
) -> Seen {
    let over = AtomicBool::new(false);
    // Producers that have got something done.
    let first = AtomicU64::new(0);
    let seen: Mutex<HashMap<u64, Id>> = Mutex::default();
    let seed = plan.seed;
    let acknowledged: Vec<Vec<(u64, Id)>> = std::thread::scope(|s| {
        let producers: Vec<_> = (1..=NUMBERED + PLAIN)
            .map(|p| {
                let (servers, over, first) = (&servers, &over, &first);
                let rng = Rng::new(seed * 1000 + p);
                s.spawn(move || produce(servers, topic, over, first, p, rng))
            })
            .collect();
        for server in servers {
            let (over, seen) = (&over, &seen);
            s.spawn(move || {
                let mut offset = 0;
                while !over.load(Relaxed) {
                    let http = server.lock().expect("sound").http;
                    let Some(found) = read(http, topic, offset) else {
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    for (at, record) in found {
                        let before = seen.lock().expect("sound").insert(at, record);
                        assert!(before.is_none_or(|b| b == record), "another record at {at}");
                        offset = at + 1;
                    }
                }
            });
        }
        let mut rng = Rng::new(seed);
        for _ in 0..plan.kills {
            std::thread::sleep(Duration::from_millis(rng.below(plan.pause_ms)));
            let i = rng.below(servers.len() as u64) as usize;
            servers[i].lock().expect("sound").kill();
            // Without the lock, so that others meet a server that is gone.
            let new = start(i);
            *servers[i].lock().expect("sound") = new;
        }
        // On a slow machine, producers that send everything once may not have met another process yet.
        let begin = Instant::now();
        while first.load(Relaxed) < NUMBERED + PLAIN && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Relaxed);
        producers.into_iter().map(|p| p.join().expect("no panic")).collect()
    });
    let http = servers[0].lock().expect("sound").http;
    let all = all(http, topic);
    let mut places: HashMap<Id, Vec<u64>> = HashMap::new();
    for (offset, record) in (0..).zip(&all) {
        places.entry(*record).or_default().push(offset);
    }
    for (offset, record) in acknowledged.iter().flatten() {
        assert_eq!(places.get(record), Some(&vec![*offset]), "{record:?} is there once");
    }
    for (offset, record) in seen.lock().expect("sound").iter() {
        assert_eq!(all.get(*offset as usize), Some(record), "what was seen at {offset} is there");
    }
    for (i, mine) in acknowledged.iter().enumerate() {
        assert!(!mine.is_empty(), "producer {i} got nothing done");
        assert!(mine.is_sorted_by_key(|(offset, _)| *offset), "producer {i}'s order");
    }
    // Unacknowledged records that are there nevertheless count, too.
    let mut last: HashMap<u64, u64> = HashMap::new();
    for (producer, sequence) in all.iter().filter(|id| id.0 <= NUMBERED) {
        let before = last.insert(*producer, *sequence);
        let due = before.map_or(0, |b| b + 1);
        assert_eq!(*sequence, due, "producer {producer}: all that it numbered, once, in order");
    }
    Seen { acknowledged: acknowledged.iter().map(Vec::len).sum(), stored: all.len() }
}
