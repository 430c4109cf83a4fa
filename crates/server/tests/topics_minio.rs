//! Two servers on one bucket of a real S3 server (`MINIO` names the binary), both of which are killed
//! again and again while producers and readers use them. Not part of `cargo test` by itself, since it
//! must not pass without one; `cargo xtask test` has one built. `APUS_SECONDS` for longer than it takes
//! there, `APUS_SEED` for other moments.

#[path = "../../log/tests/server/mod.rs"]
mod minio;

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use log::batch::Batch;
use minio::{BUCKET, Minio};
use serde_json::Value;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const SERVERS: usize = 2;
/// Producers that number what they send, and send it again until it is acknowledged.
const NUMBERED: u64 = 4;
/// Producers that send everything once.
const PLAIN: u64 = 2;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

/// Numbers that look random.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A port that nobody listens on, below those that the kernel gives to clients.
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

struct Server {
    process: Child,
    http: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts one, on ports that may be others than those of the one before.
    fn start(minio: &Minio, dir: &Path) -> Self {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let (http, data) = (free(), free());
            let mut process = Command::new(env!("CARGO_BIN_EXE_apus"))
                .args(["serve", "--bind", "127.0.0.1", "--http-bind", "127.0.0.1"])
                .args(["--threads", "2", "--save", "", "--topic-cache-size", "2mb"])
                .args(["--port", &data.port().to_string(), "--http-port"])
                .args([&http.port().to_string(), "--topic-storage", &format!("s3://{BUCKET}/two")])
                .args(["--dir".as_ref(), dir.as_os_str()])
                .envs(minio.environment())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the binary");
            while begin.elapsed() < PATIENCE && matches!(process.try_wait(), Ok(None)) {
                if TcpStream::connect(http).is_ok() {
                    return Self { process, http };
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("the server does not start");
    }
}

/// Asks a server, which may be gone at any moment.
fn ask(http: SocketAddr, method: &str, target: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&http, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    )?;
    stream.write_all(body)?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    let short = || io::Error::other("cut off");
    let end = all.windows(4).position(|w| w == b"\r\n\r\n").ok_or_else(short)?;
    let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(short)?;
    let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
    let body = all.split_off(end + 4);
    if length.is_some_and(|n: usize| n != body.len()) {
        return Err(short());
    }
    Ok((status, body))
}

/// Records from an offset on, if the server has any.
fn read(http: SocketAddr, offset: u64) -> Option<Vec<(u64, Bytes)>> {
    let target = format!("/v1/topics/t/batches?offset={offset}&max-bytes=1000000");
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
        found.extend(numbered.map(|(o, r)| (o, Bytes::copy_from_slice(&r))));
    }
    Some(found)
}

fn all(http: SocketAddr) -> Vec<Bytes> {
    let mut all: Vec<Bytes> = Vec::new();
    while let Some(found) = read(http, all.len() as u64) {
        for (offset, record) in found {
            if offset >= all.len() as u64 {
                assert_eq!(offset, all.len() as u64, "offsets are dense");
                all.push(record);
            }
        }
    }
    all
}

/// Sends records until it is over. Returns what was acknowledged, and at which offset.
fn produce(
    servers: &[Mutex<Server>],
    over: &AtomicBool,
    producer: u64,
    mut rng: Rng,
) -> Vec<(u64, String)> {
    let mut acknowledged = Vec::new();
    let numbered = producer <= NUMBERED;
    for sequence in 0.. {
        let record = format!("{producer}-{sequence}");
        let target = match numbered {
            true => format!("/v1/topics/t/records?producer={producer}&sequence={sequence}"),
            false => "/v1/topics/t/records".to_owned(),
        };
        let begin = Instant::now();
        let mut last;
        loop {
            let http = servers[rng.below(SERVERS as u64) as usize].lock().expect("sound").http;
            match ask(http, "POST", &target, record.as_bytes()) {
                // 200: an answer had been lost.
                Ok((200 | 201, body)) => {
                    let answer: Value = serde_json::from_slice(&body).expect("JSON");
                    let offset = answer["first_offset"].as_u64().expect("an offset");
                    acknowledged.push((offset, record));
                    break;
                }
                Ok((409, body)) => panic!("{target}: {}", String::from_utf8_lossy(&body)),
                _ if !numbered => break,
                other => {
                    last = Some(other.map(|(s, b)| (s, String::from_utf8_lossy(&b).into_owned())))
                }
            }
            assert!(begin.elapsed() < PATIENCE, "{target} is never taken: {last:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        if over.load(Relaxed) {
            break;
        }
    }
    acknowledged
}

#[test]
fn two_servers_on_one_bucket_are_killed() {
    let (seconds, seed) = (number("APUS_SECONDS", 12), number("APUS_SEED", 1));
    let minio = Minio::start();
    let base: PathBuf = std::env::temp_dir().join(format!("apus-two-{}", std::process::id()));
    let dirs: Vec<PathBuf> = (0..SERVERS).map(|i| base.join(i.to_string())).collect();
    dirs.iter().for_each(|d| std::fs::create_dir_all(d).expect("a directory"));
    let start = |i: usize| Server::start(&minio, &dirs[i]);
    let servers: Vec<Mutex<Server>> = (0..SERVERS).map(|i| Mutex::new(start(i))).collect();
    let http = servers[0].lock().expect("sound").http;
    let (status, _) = ask(http, "PUT", "/v1/topics/t", b"{\"gather_ms\":5}").expect("an answer");
    assert_eq!(status, 201);
    let over = AtomicBool::new(false);
    let seen: Mutex<HashMap<u64, Bytes>> = Mutex::default();
    let mut kills = 0;
    let acknowledged: Vec<Vec<(u64, String)>> = std::thread::scope(|s| {
        let producers: Vec<_> = (1..=NUMBERED + PLAIN)
            .map(|p| {
                let (servers, over) = (&servers, &over);
                s.spawn(move || produce(servers, over, p, Rng(seed * 1000 + p)))
            })
            .collect();
        for i in 0..SERVERS {
            let (servers, over, seen) = (&servers, &over, &seen);
            s.spawn(move || {
                let mut offset = 0;
                while !over.load(Relaxed) {
                    let http = servers[i].lock().expect("sound").http;
                    let Some(found) = read(http, offset) else {
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    for (at, record) in found {
                        let before = seen.lock().expect("sound").insert(at, record.clone());
                        assert!(before.is_none_or(|b| b == record), "another record at {at}");
                        offset = at + 1;
                    }
                }
            });
        }
        let mut rng = Rng(seed * 7919);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(rng.below(900)));
            let i = rng.below(SERVERS as u64) as usize;
            let _ = servers[i].lock().expect("sound").process.kill();
            // Without the lock, so that others meet a server that is gone.
            let new = start(i);
            *servers[i].lock().expect("sound") = new;
            kills += 1;
        }
        over.store(true, Relaxed);
        producers.into_iter().map(|p| p.join().expect("no panic")).collect()
    });
    drop(servers);
    let fresh = start(0);
    let all = all(fresh.http);
    let mut places: HashMap<&[u8], Vec<u64>> = HashMap::new();
    for (offset, record) in (0..).zip(&all) {
        places.entry(record).or_default().push(offset);
    }
    for (offset, record) in acknowledged.iter().flatten() {
        assert_eq!(places.get(record.as_bytes()), Some(&vec![*offset]), "{record} is there once");
    }
    for (offset, record) in seen.lock().expect("sound").iter() {
        assert_eq!(all.get(*offset as usize), Some(record), "what was seen at {offset} is there");
    }
    for (i, mine) in acknowledged.iter().enumerate() {
        assert!(!mine.is_empty(), "producer {i} got nothing done");
        assert!(mine.is_sorted_by_key(|(offset, _)| *offset), "producer {i}'s order");
    }
    let count: usize = acknowledged.iter().map(Vec::len).sum();
    assert!(kills > 3 && count > 100, "{kills} kills, {count} records");
    println!("{kills} kills, {count} of {} records acknowledged", all.len());
    drop(fresh);
    let _ = std::fs::remove_dir_all(&base);
}
