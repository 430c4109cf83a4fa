//! Limits that a whole server keeps: memory, and the buffers of a connection.
//!
//! One test at a time: the allocator counts for the whole process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use apus::Server;

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

static ONE: Mutex<()> = Mutex::new(());

struct Running {
    server: Option<Server>,
    _alone: MutexGuard<'static, ()>,
}

impl Running {
    fn start() -> Self {
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        testing::leave_the_sources();
        let server = Server::builder()
            .option("threads", "1")
            .and_then(|b| b.tcp(TcpListener::bind("127.0.0.1:0")?).start())
            .expect("a server");
        Self { server: Some(server), _alone: alone }
    }

    fn connect(&self) -> Client {
        let server = self.server.as_ref().expect("running");
        Client(TcpStream::connect(server.addresses()[0]).expect("a connection"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(s) = self.server.take() {
            s.stop();
            s.join();
        }
    }
}

struct Client(TcpStream);

impl Client {
    /// The first line of the reply, and the content of a bulk string; `None` when the server has
    /// closed the connection.
    fn call(&mut self, words: &[&[u8]]) -> Option<String> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for w in words {
            request.extend_from_slice(format!("${}\r\n", w.len()).as_bytes());
            request.extend_from_slice(w);
            request.extend_from_slice(b"\r\n");
        }
        // The server may close before it has taken all.
        let _ = self.0.write_all(&request);
        let line = self.line()?;
        let Some(n) = line.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) else {
            return Some(line);
        };
        let mut text = vec![0; n + 2];
        self.0.read_exact(&mut text).ok()?;
        text.truncate(n);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).ok()?;
            line.push(byte[0]);
        }
        line.truncate(line.len() - 2);
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    fn set(&mut self, option: &str, value: &str) {
        let words = [b"CONFIG", b"SET".as_slice(), option.as_bytes(), value.as_bytes()];
        assert_eq!(self.call(&words).as_deref(), Some("+OK"), "{option} {value}");
    }

    /// A number of INFO.
    fn info(&mut self, section: &str, field: &str) -> u64 {
        let text = self.call(&[b"INFO", section.as_bytes()]).expect("an answer");
        let prefix = format!("{field}:");
        let value = text.lines().find_map(|l| l.strip_prefix(&prefix)).expect("the field");
        value.trim().parse().expect("a number")
    }
}

#[test]
fn what_eviction_may_not_remove_fills_the_memory() {
    let running = Running::start();
    let mut c = running.connect();
    let value = [b'x'; 4096];
    let fill = |c: &mut Client, policy: &str| {
        c.set("maxmemory", "0");
        assert_eq!(c.call(&[b"FLUSHALL"]).as_deref(), Some("+OK"));
        c.set("maxmemory-policy", policy);
        let limit = c.info("memory", "used_memory") + (200 << 10);
        c.set("maxmemory", &limit.to_string());
        let refused = (0..200)
            .map(|i| c.call(&[b"SET", format!("k{i}").as_bytes(), &value]).expect("an answer"))
            .filter(|reply| reply.starts_with("-OOM command not allowed"))
            .count();
        (refused, c.info("stats", "evicted_keys"))
    };
    for policy in ["noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"]
    {
        let (refused, evicted) = fill(&mut c, policy);
        assert!(refused > 100, "{policy}: {refused}");
        assert_eq!(evicted, 0, "{policy}");
    }
    let (refused, evicted) = fill(&mut c, "allkeys-lru");
    assert_eq!(refused, 0);
    assert!(evicted > 100, "{evicted}");
}

#[test]
fn eviction_of_large_values_holds_the_limit() {
    let running = Running::start();
    let mut c = running.connect();
    // Values of this size lie outside of their entries, and are freed apart.
    let value = vec![b'x'; 64 << 10];
    c.set("maxmemory-policy", "allkeys-lru");
    let limit = c.info("memory", "used_memory") + (4 << 20);
    c.set("maxmemory", &limit.to_string());
    for i in 0..500 {
        let key = format!("k{i}");
        assert_eq!(c.call(&[b"SET", key.as_bytes(), &value]).as_deref(), Some("+OK"));
        let used = c.info("memory", "used_memory");
        // The value that has just come, and the one that is being received.
        assert!(used < limit + 3 * (64 << 10), "{i}: {used} of {limit}");
    }
    assert!(c.info("stats", "evicted_keys") > 400);
}

#[test]
fn replies_over_the_output_limit_are_not_sent() {
    let running = Running::start();
    let (mut c, mut control) = (running.connect(), running.connect());
    assert_eq!(c.call(&[b"SET", b"k", &[b'x'; 100_000]]).as_deref(), Some("+OK"));
    control.set("client-output-buffer-limit", "normal 10 0 0");
    // Bytes that fit into the buffer that every connection has are not counted.
    assert_eq!(c.call(&[b"GETRANGE", b"k", b"0", b"9999"]).map(|v| v.len()), Some(10_000));
    assert_eq!(c.call(&[b"GET", b"k"]), None);
    assert_eq!(control.info("stats", "client_output_buffer_limit_disconnections"), 1);
    control.set("client-output-buffer-limit", "normal 100100 0 0");
    let mut c = running.connect();
    assert_eq!(c.call(&[b"GET", b"k"]).map(|v| v.len()), Some(100_000));
}

#[test]
fn large_arguments_count_for_the_query_limit() {
    let running = Running::start();
    let (mut c, mut control) = (running.connect(), running.connect());
    control.set("client-query-buffer-limit", "1048576");
    assert_eq!(c.call(&[b"SET", b"k", &vec![b'x'; 1_000_000]]).as_deref(), Some("+OK"));
    // The bytes that have arrived count, not the announced ones: the client is heard out up to the
    // limit.
    c.0.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048576\r\n").expect("written");
    c.0.write_all(&vec![b'x'; 500_000]).expect("written");
    let mut waits = || control.call(&[b"CLIENT", b"LIST"]).expect("an answer").contains("cmd=set");
    assert!(waits());
    c.0.write_all(&vec![b'x'; 548_576]).expect("written");
    assert_eq!(c.line(), None);
    assert_eq!(control.info("stats", "client_query_buffer_limit_disconnections"), 1);
    assert_eq!(control.call(&[b"STRLEN", b"k"]).as_deref(), Some(":1000000"));
}

#[test]
fn the_debug_section_tells_about_the_event_loop() {
    let running = Running::start();
    let mut c = running.connect();
    let batch = b"PING\r\n".repeat(50);
    c.0.write_all(&batch).expect("written");
    for _ in 0..50 {
        assert_eq!(c.line().as_deref(), Some("+PONG"));
    }
    assert!(c.info("debug", "eventloop_cmd_per_cycle_max") > 0);
    assert!(c.info("debug", "eventloop_duration_max") > 0);
    let all = c.call(&[b"INFO", b"everything"]).expect("an answer");
    assert!(all.contains("eventloop_cycles") && !all.contains("eventloop_cmd_per_cycle_max"));
}
