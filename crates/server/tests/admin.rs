//! The whole binary with an admin port: every path, requests that must be refused, and a profile of
//! a server that is at work.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testing::http::{Answer, connect, exchange};
use testing::{PATIENCE, TempDir, eventually, free_address};

struct Server {
    process: Child,
    data: SocketAddr,
    admin: SocketAddr,
    dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start() -> Self {
        for _ in 0..5 {
            let dir = TempDir::new();
            let (data, admin) = (free_address().expect("a port"), free_address().expect("a port"));
            let mut process = Command::new(env!("CARGO_BIN_EXE_apus"))
                .args(["serve", "--bind", "127.0.0.1", "--admin-bind", "127.0.0.1"])
                .args(["--port", &data.port().to_string()])
                .args([
                    "--admin-port",
                    &admin.port().to_string(),
                    "--threads",
                    "2",
                    "--enable-protected-configs",
                    "local",
                ])
                .arg("--dir")
                .arg(&*dir)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the binary");
            let begin = Instant::now();
            while begin.elapsed() < PATIENCE && matches!(process.try_wait(), Ok(None)) {
                // The data port listens first.
                if TcpStream::connect(data).is_ok() && TcpStream::connect(admin).is_ok() {
                    let server = Self { process, data, admin, dir };
                    // Both ports listen while it still loads.
                    while begin.elapsed() < PATIENCE && server.get("/readyz").status != 200 {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    return server;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("the server does not start");
    }

    /// Sends bytes to the admin port; the whole answer.
    fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        exchange(self.admin, &[bytes])
    }

    fn request(&self, method: &str, path: &str, host: &str) -> Answer {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Answer::parse(&self.raw(request.as_bytes())).expect("an answer")
    }

    fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "localhost")
    }

    /// One reply that is a line, or the first line of one.
    fn command(&self, line: &str) -> String {
        let mut stream = connect(self.data);
        stream.write_all(format!("{line}\r\n").as_bytes()).expect("sent");
        stream.shutdown(Shutdown::Write).expect("half closed");
        let mut all = String::new();
        stream.read_to_string(&mut all).expect("a reply");
        all.lines().next().unwrap_or_default().to_owned()
    }
}

/// Samples by name and labels; panics at a line that Prometheus would not read.
fn parse_metrics(text: &str) -> Vec<(String, f64)> {
    let mut samples = Vec::new();
    let (mut helped, mut family) = (String::new(), String::new());
    let mut families = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty(), "{line}");
            helped = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert!(["counter", "gauge", "summary"].contains(&kind), "{line}");
            assert_eq!(name, helped, "{line}");
            assert!(!families.contains(&name.to_owned()), "{name} comes twice");
            family = name.to_owned();
            families.push(family.clone());
        } else {
            let (id, value) = line.rsplit_once(' ').expect("a value");
            let name = id.split('{').next().expect("a name");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(plain), "{line}");
            let rest = name.strip_prefix(&family).expect("a sample of its family");
            assert!(["", "_sum", "_count"].contains(&rest), "{line}");
            assert!(!samples.iter().any(|(other, _)| other == id), "{id} comes twice");
            samples.push((id.to_owned(), value.parse().expect("a number")));
        }
    }
    samples
}

/// From the signal on: the final snapshot takes its time, and new connections would soon be lost.
#[test]
fn a_server_that_saves_for_the_last_time_is_not_ready() {
    let server = Server::start();
    let fill = "EVAL \"for i = 1, 3000 do redis.call('SET', i, 'v') end\" 0";
    assert_eq!(server.command(fill), "$-1");
    // Three seconds in all.
    assert_eq!(server.command("CONFIG SET rdb-key-save-delay 1000"), "+OK");
    assert_eq!(server.get("/readyz").status, 200);
    let pid = server.process.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().expect("signalled");
    let saves = || {
        let files = std::fs::read_dir(&*server.dir).expect("a directory");
        let mut names = files.filter_map(|f| f.ok()?.file_name().into_string().ok());
        names.any(|name| name.starts_with("temp-")).then_some(())
    };
    eventually("the final snapshot begins", saves);
    let ready = server.get("/readyz");
    assert_eq!((ready.status, &*ready.text()), (503, "shutting down\n"));
    assert_eq!(server.get("/healthz").status, 200);
    assert!(saves().is_some(), "the snapshot has ended meanwhile");
}

#[test]
fn every_path_answers() {
    let server = Server::start();
    assert_eq!(server.command("SET fruit apple"), "+OK");
    assert_eq!(server.command("GET fruit"), "$5");
    assert_eq!(server.command("GET nothing"), "$-1");
    assert!(server.command("NOSUCH").starts_with("-ERR"));
    for path in ["/", "/healthz", "/readyz"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    assert!(server.get("/").text().contains("/metrics"));

    let answer = server.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("text/plain; version=0.0.4"), "{}", answer.head);
    let samples = parse_metrics(&answer.text());
    let value = |id: &str| samples.iter().find(|(other, _)| other == id).map(|(_, v)| *v);
    assert_eq!(value("redis_up"), Some(1.0));
    assert_eq!(value("redis_commands_total{cmd=\"get\"}"), Some(2.0));
    assert_eq!(value("redis_keyspace_hits_total"), Some(1.0));
    assert_eq!(value("redis_keyspace_misses_total"), Some(1.0));
    assert_eq!(value("redis_db_keys{db=\"db0\"}"), Some(1.0));
    assert_eq!(value("redis_db_keys_expiring{db=\"db0\"}"), Some(0.0));
    assert_eq!(value("redis_errors_total{err=\"ERR\"}"), Some(1.0));
    for id in [
        "redis_uptime_in_seconds",
        "redis_connected_clients",
        "redis_blocked_clients",
        "redis_commands_processed_total",
        "redis_commands_duration_seconds_total{cmd=\"get\"}",
        "redis_memory_used_bytes",
        "redis_memory_max_bytes",
        "redis_memory_used_rss_bytes",
        "redis_net_input_bytes_total",
        "redis_net_output_bytes_total",
        "redis_evicted_keys_total",
        "redis_expired_keys_total",
        "redis_connected_slaves",
        "redis_start_time_seconds",
        "redis_slowlog_length",
        "redis_latency_percentiles_usec_count{cmd=\"get\"}",
        "apus_command_cost_seconds_total{family=\"string\",phase=\"execute\"}",
        "apus_syscalls_total{call=\"read\"}",
        "apus_thread_connections{thread=\"1\"}",
    ] {
        assert!(value(id).is_some(), "{id} is not in\n{}", answer.text());
    }
    assert!(samples.iter().any(|(id, _)| id.starts_with("redis_instance_info{role=\"master\"")));

    let heap = server.get("/debug/heap");
    assert_eq!(heap.status, 200);
    assert!(heap.text().contains("\"page_bins\""), "{}", heap.text());
    assert!(heap.text().contains("\"db0\": 1"), "{}", heap.text());
    let top = server.get("/debug/topkeys?by=hits&count=1");
    let top: serde_json::Value = serde_json::from_slice(&top.body).expect("JSON");
    assert_eq!((&top[0]["key"], &top[0]["db"]), (&"fruit".into(), &0.into()), "{top}");
    assert_eq!(top[0]["key_bytes"], 5, "{top}");
    assert_eq!(server.get("/debug/topkeys?by=luck").status, 400);
}

#[test]
fn what_is_not_understood_is_refused() {
    let server = Server::start();
    let lost = server.get("/nosuch");
    assert_eq!(lost.status, 404);
    assert!(lost.text().contains("/debug/profile"), "it says what there is");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "X"] {
        let answer = server.request(method, "/metrics", "localhost");
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.to_ascii_lowercase().contains("allow: get, head"), "{}", answer.head);
    }
    let head = server.request("HEAD", "/metrics", "127.0.0.1");
    assert_eq!((head.status, head.body.len()), (200, 0));
    // A foreign web page that points its name at this machine.
    assert_eq!(server.request("GET", "/metrics", "evil.example").status, 403);
    for query in ["seconds=0", "seconds=301", "seconds=x", "format=pdf&seconds=1"] {
        let answer = server.get(&format!("/debug/profile?{query}"));
        match cfg!(all(feature = "profiling", target_os = "linux")) {
            true => assert_eq!(answer.status, 400, "{query}"),
            false => {
                assert_eq!(answer.status, 501, "{query}");
                assert!(answer.text().contains("CPU profiles"), "{}", answer.text());
            }
        }
    }
    for bytes in [
        &b"\r\n\r\n\r\n\r\nx\r\n"[..],
        b"GET\r\n\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
    ] {
        let answer = server.raw(bytes);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{bytes:?}");
    }
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let answer = server.raw(long.as_bytes());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    // The data port speaks no HTTP, and answers commands all the while.
    let mut stream = connect(server.data);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("redis_up"));
    assert_eq!(server.command("PING"), "+PONG");
}

/// Clients that connect and say nothing take all places; they lose them again.
#[test]
fn silent_clients_do_not_keep_others_out() {
    let server = Server::start();
    let silent: Vec<TcpStream> = (0..40).map(|_| connect(server.admin)).collect();
    eventually("there is a place", || {
        (!server.raw(b"GET /healthz HTTP/1.0\r\n\r\n").is_empty()).then_some(())
    });
    drop(silent);
}

#[test]
fn the_port_opens_and_closes_while_running() {
    let server = Server::start();
    let other = loop {
        let other = free_address().expect("a port");
        let reply = server.command(&format!("CONFIG SET admin-port {}", other.port()));
        if reply == "+OK" {
            break other;
        }
    };
    assert!(TcpStream::connect(server.admin).is_err(), "the old one is closed");
    let mut stream = connect(other);
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("\r\n\r\nok\n"), "{answer}");
    // One that is taken is refused, and the old one is open again.
    let reply = server.command(&format!("CONFIG SET admin-port {}", server.data.port()));
    assert!(reply.starts_with("-ERR CONFIG SET failed"), "{reply}");
    assert!(TcpStream::connect(other).is_ok());
    assert_eq!(server.command("CONFIG SET admin-port 0"), "+OK");
    assert!(TcpStream::connect(other).is_err());
}

#[cfg(all(feature = "profiling", target_os = "linux"))]
mod profile {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;

    /// The text in a profile, with what is no text replaced.
    fn unpacked(profile: &[u8]) -> String {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(profile).read_to_end(&mut bytes).expect("a gzip file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn a_profile_names_what_the_server_does() {
        let server = Server::start();
        let stop = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut stream = connect(server.data);
                let batch = b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n".repeat(200);
                let mut replies = vec![0; 5 * 200];
                while !stop.load(Relaxed) {
                    stream.write_all(&batch).expect("sent");
                    stream.read_exact(&mut replies).expect("answered");
                }
            });
            let other = s.spawn(|| server.get("/debug/profile?seconds=1&format=svg"));
            // Whichever came second was refused; the other one goes on.
            let mut profile = server.get("/debug/profile?seconds=1");
            let mut svg = other.join().expect("an answer");
            let statuses = [profile.status, svg.status];
            assert!([[200, 409], [409, 200], [200, 200]].contains(&statuses), "{statuses:?}");
            if profile.status == 409 {
                profile = server.get("/debug/profile?seconds=1");
            }
            if svg.status == 409 {
                svg = server.get("/debug/profile?seconds=1&format=svg");
            }
            // On a busy machine the worker may get too little time in one second to be seen at work.
            for _ in 0..10 {
                if unpacked(&profile.body).contains("resp/src/")
                    && svg.text().contains("engine::thread::")
                {
                    break;
                }
                profile = server.get("/debug/profile?seconds=1");
                svg = server.get("/debug/profile?seconds=1&format=svg");
            }
            stop.store(true, Relaxed);
            assert_eq!((profile.status, svg.status), (200, 200));
            let text = unpacked(&profile.body);
            for name in ["apus-worker-", "engine::thread::", "nanoseconds", "resp/src/"] {
                assert!(text.contains(name), "{name} is not in the profile");
            }
            let svg = svg.text();
            for name in ["<svg", "apus-worker-", "engine::thread::", "</svg>"] {
                assert!(svg.contains(name), "{name} is not in the picture");
            }
        });
        // The handler is gone or harmless: the server serves on.
        assert_eq!(server.command("PING"), "+PONG");
    }
}
