//! The binary under load, killed at a random moment and started again: every acknowledged write is there, and
//! no transaction is there by half. Bytes that the process has written survive it, so that this holds for
//! every `appendfsync`.
//!
//! `APUS_ROUNDS` says how often (default: 67 each, 201 in all; the journal's other crash tests have many more
//! rounds with disks that fail), `APUS_BIN` which binary (default: the one built with the test).

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use stdx::rng::Rng;
use testing::{TempDir, eventually};

const CLIENTS: usize = 6;

fn binary() -> Command {
    Command::new(std::env::var_os("APUS_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_apus").into()))
}

struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(dir: &Path, threads: usize) -> Self {
        Self::start_with(dir, threads, "yes", "always")
    }

    fn start_with(dir: &Path, threads: usize, appendonly: &str, appendfsync: &str) -> Self {
        let server = Self::spawn(dir, threads, appendonly, appendfsync, &[]);
        // It listens before it has loaded; the first answer comes afterwards.
        eventually("it has started", || {
            server.connect()?.call("PING\r\n").is_some_and(|r| r == "+PONG").then_some(())
        });
        server
    }

    fn spawn(
        dir: &Path,
        threads: usize,
        appendonly: &str,
        appendfsync: &str,
        options: &[&str],
    ) -> Self {
        let socket = dir.join("s");
        let _ = std::fs::remove_file(&socket);
        let child = binary()
            .args(["serve", "--port", "0", "--appendonly", appendonly])
            .args(["--appendfsync", appendfsync, "--save", "", "--threads", &threads.to_string()])
            .arg("--unixsocket")
            .arg(&socket)
            .arg("--dir")
            .arg(dir)
            .args(["--enable-debug-command", "yes"])
            .args(options)
            .stdout(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .expect("the binary");
        Self { child, socket }
    }

    fn connect(&self) -> Option<Client> {
        let stream = UnixStream::connect(&self.socket).ok()?;
        Some(Client { reader: BufReader::new(stream.try_clone().ok()?), stream })
    }

    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it has ended");
    }
}

struct Client {
    reader: BufReader<UnixStream>,
    stream: UnixStream,
}

impl Client {
    fn send(&mut self, request: &str) -> Option<()> {
        self.stream.write_all(request.as_bytes()).ok()
    }

    /// A reply: its line, or the content of a bulk string.
    fn reply(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        let line = line.strip_suffix("\r\n")?.to_owned();
        let Some(n) = line.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) else {
            return Some(line);
        };
        let mut bytes = vec![0; n + 2];
        self.reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(n);
        String::from_utf8(bytes).ok()
    }

    fn call(&mut self, request: &str) -> Option<String> {
        self.send(request)?;
        self.reply()
    }

    /// Waits until the journal has been rewritten so often.
    fn rewrites(&mut self, n: usize) {
        let field = format!("aof_rewrites:{n}\r");
        eventually("it is rewritten", || {
            let info = self.call("INFO persistence\r\n").expect("an answer");
            info.contains(&field).then_some(())
        });
    }

    fn number(&mut self, key: &str) -> u64 {
        let text = self.call(&format!("GET {key}\r\n")).expect("an answer");
        if text == "$-1" { 0 } else { text.parse().expect("a number") }
    }
}

/// The writes that a client knows and that the server must not have lost.
#[derive(Default)]
struct Known {
    sent: AtomicU64,
    acknowledged: AtomicU64,
    sent_transactions: AtomicU64,
    transactions: AtomicU64,
}

fn load(server: &Server, id: usize, known: &Known, stop: &AtomicBool) -> Option<()> {
    let mut c = server.connect()?;
    while !stop.load(SeqCst) {
        let n = known.sent.fetch_add(1, SeqCst) + 1;
        if c.call(&format!("SET w:{id} {n}\r\n"))? == "+OK" {
            known.acknowledged.store(n, SeqCst);
        }
        if n.is_multiple_of(3) {
            let n = known.sent_transactions.fetch_add(1, SeqCst) + 1;
            c.send(&format!(
                "MULTI\r\nSET a:{id} {n}\r\nRPUSH l:{id} {n}\r\nSET b:{id} {n}\r\nEXEC\r\n"
            ))?;
            for line in ["+OK", "+QUEUED", "+QUEUED", "+QUEUED", "*3", "+OK"] {
                assert_eq!(c.reply()?, line);
            }
            assert!(c.reply()?.starts_with(':'));
            if c.reply()? == "+OK" {
                known.transactions.store(n, SeqCst);
            }
        }
    }
    Some(())
}

#[test]
fn killed_at_any_moment_it_has_all_that_it_acknowledged() {
    crash_rounds("always");
}

#[test]
fn what_was_acknowledged_has_been_written_under_everysec_too() {
    crash_rounds("everysec");
}

#[test]
fn what_was_acknowledged_has_been_written_under_no_too() {
    crash_rounds("no");
}

fn crash_rounds(appendfsync: &str) {
    let rounds = std::env::var("APUS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(67);
    let dir = TempDir::new();
    let seed = std::env::var("APUS_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut rng = Rng::from_seed(seed);
    let known: Vec<Known> = (0..CLIENTS).map(|_| Known::default()).collect();
    let start = |threads| Server::start_with(&dir, threads, "yes", appendfsync);
    let mut server = start(1);
    let mut total = 0;
    for round in 0..rounds {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (id, known) in known.iter().enumerate() {
                let (server, stop) = (&server, &stop);
                scope.spawn(move || load(server, id, known, stop));
            }
            if rng.below(3) == 0 {
                // It may be killed in the middle of a rewrite, or right behind one.
                std::thread::sleep(Duration::from_micros(rng.below(20_000)));
                let started = server.connect().and_then(|mut c| c.call("BGREWRITEAOF\r\n"));
                assert!(started.is_some_and(|r| r.starts_with("+Background")));
            }
            std::thread::sleep(Duration::from_micros(rng.below(60_000)));
            let pid = server.child.id().to_string();
            // The connecting threads borrow the handle.
            Command::new("kill").args(["-9", &pid]).status().expect("killed");
            stop.store(true, SeqCst);
        });
        server.kill();
        server = start(1 + rng.index(2));
        let mut c = server.connect().expect("a connection");
        for (id, known) in known.iter().enumerate() {
            let (w, acked) = (c.number(&format!("w:{id}")), known.acknowledged.load(SeqCst));
            let sent = known.sent.load(SeqCst);
            assert!(acked <= w && w <= sent, "round {round} client {id}: {acked} <= {w} <= {sent}");
            let (a, b) = (c.number(&format!("a:{id}")), c.number(&format!("b:{id}")));
            let acked = known.transactions.load(SeqCst);
            assert!(a == b && a >= acked, "round {round} client {id}: {a} {b} {acked}");
            let len = c.call(&format!("LLEN l:{id}\r\n")).expect("an answer");
            let len: u64 = len.trim_start_matches(':').parse().expect("a number");
            // One element for each that is there: never one without the other.
            assert!(len <= a, "round {round} client {id}: {len} {a}");
            let tail = c.call(&format!("LINDEX l:{id} -1\r\n")).expect("an answer");
            assert_eq!(if tail == "$-1" { "0".to_owned() } else { tail }, a.to_string());
            total += acked;
        }
    }
    server.kill();
    assert!(total > 0);
}

#[test]
fn a_journal_begun_and_rewritten_at_run_time_has_everything() {
    let dir = TempDir::new();
    let server = Server::start_with(&dir, 2, "no", "always");
    let mut c = server.connect().expect("a connection");
    for i in 0..500 {
        assert_eq!(c.call(&format!("SET before:{i} {i}\r\n")).as_deref(), Some("+OK"));
    }
    assert_eq!(c.call("CONFIG SET appendonly yes\r\n").as_deref(), Some("+OK"));
    c.rewrites(1);
    for n in 1..=3 {
        for _ in 0..100 {
            assert!(c.call("INCR n\r\n").expect("an answer").starts_with(':'));
        }
        let started = c.call("BGREWRITEAOF\r\n").expect("an answer");
        assert!(started.starts_with("+Background"), "{started}");
        assert_eq!(c.call("INCR n\r\n"), Some(format!(":{}", 101 * n)));
        c.rewrites(1 + n);
    }
    assert_eq!(c.call("WAITAOF 1 0 1000\r\n").as_deref(), Some("*2"));
    server.kill();
    let manifest = dir.join("appendonlydir/appendonly.aof.journal");
    let check = || {
        let apus = binary().arg("check").arg(&manifest).output();
        apus.expect("it runs").status.success()
    };
    assert!(check());
    let server = Server::start(&dir, 1);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.number("n"), 303);
    assert_eq!(c.call("DBSIZE\r\n").as_deref(), Some(":501"));
    server.kill();
}

/// A limit of the file's size stands for a disk that is full: the write fails in the same place.
#[test]
fn what_a_full_disk_does_not_take_is_not_acknowledged() {
    for appendfsync in ["everysec", "no"] {
        let dir = TempDir::new();
        let socket = dir.join("s");
        let binary = binary();
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\""]);
        limited.arg(binary.get_program());
        let options = ["--port", "0", "--save", "", "--threads", "2"];
        limited.arg("serve").args(options).args(["--appendonly", "yes"]);
        limited.args(["--appendfsync", appendfsync]).arg("--unixsocket").arg(&socket);
        limited.arg("--dir").arg(&*dir).stdout(Stdio::null()).stdin(Stdio::null());
        let child = limited.spawn().expect("sh");
        let server = Server { child, socket };
        eventually("it has started", || {
            server.connect()?.call("PING\r\n").is_some_and(|r| r == "+PONG").then_some(())
        });
        // Small requests, pipelines, and one that a thread writes by itself.
        let value = "v".repeat(300);
        let mut acknowledged = Vec::new();
        let mut refused = false;
        for n in 0..4000 {
            if refused {
                break;
            }
            let Some(mut c) = server.connect() else { continue };
            let keys: Vec<_> = (0..1 + n % 20).map(|i| format!("k:{n}:{i}")).collect();
            let requests = keys.iter().map(|k| format!("SET {k} {value}\r\n"));
            if c.send(&requests.collect::<String>()).is_none() {
                continue;
            }
            for key in keys {
                match c.reply().as_deref() {
                    Some("+OK") => acknowledged.push(key),
                    Some(other) if other.starts_with("-MISCONF") => refused = true,
                    Some(other) => panic!("{other}"),
                    None => break,
                }
            }
        }
        assert!(refused && acknowledged.len() > 100, "{}", acknowledged.len());
        // It stays up for reads, also for clients that were disconnected.
        let mut c = server.connect().expect("a connection");
        assert_eq!(c.call(&format!("GET {}\r\n", acknowledged[0])), Some(value.clone()));
        server.kill();
        let server = Server::start_with(&dir, 2, "yes", appendfsync);
        let mut c = server.connect().expect("a connection");
        for key in acknowledged {
            let there = c.call(&format!("EXISTS {key}\r\n"));
            assert_eq!(there.as_deref(), Some(":1"), "{appendfsync}: {key} was acknowledged");
        }
        server.kill();
    }
}

/// Damage in the middle of bytes that WAITAOF has called durable, of a server that was killed while it was
/// idle.
#[test]
fn damage_of_what_was_durable_is_not_taken_for_a_torn_end() {
    for appendfsync in ["everysec", "always"] {
        let dir = TempDir::new();
        let server = Server::start_with(&dir, 1, "yes", appendfsync);
        let mut c = server.connect().expect("a connection");
        for i in 0..2000 {
            c.send(&format!("SET {i} v\r\n")).expect("sent");
        }
        (0..2000).for_each(|_| assert_eq!(c.reply().as_deref(), Some("+OK")));
        assert_eq!(lines(&mut c, &["WAITAOF 1 0 0"], 3), ["*2", ":1", ":0"]);
        let segment = dir.join("appendonlydir/appendonly.aof.1.seg");
        let read = || std::fs::read(&segment).expect("there");
        let used = |bytes: &[u8]| bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
        // A mark ends in the salt, which the header has. Under `always` it is written behind the reply.
        let is_marked = || {
            let (bytes, salt) = (read(), read()[16..32].to_vec());
            bytes[..used(&bytes)].ends_with(&salt[..used(&salt)]).then_some(())
        };
        eventually("it is marked", is_marked);
        server.kill();
        let mut bytes = read();
        let middle = used(&bytes) / 2;
        bytes[middle] ^= 1;
        std::fs::write(&segment, bytes).expect("written");
        let mut again = binary();
        again.args(["serve", "--port", "0", "--appendonly", "yes", "--dir"]);
        again.arg(&*dir).arg("--unixsocket").arg(dir.join("refused.sock"));
        again.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut again = again.spawn().expect("the binary");
        let mut said = String::new();
        for line in BufReader::new(again.stdout.take().expect("piped")).lines() {
            said.push_str(&line.expect("text"));
            if said.contains("Ready to accept") {
                again.kill().expect("it runs");
            }
        }
        let ended = again.wait().expect("it has ended");
        assert!(!ended.success() && !said.contains("Ready to accept"), "{said}");
        assert!(
            said.contains("is damaged at offset") && said.contains("apus check --fix"),
            "{said}"
        );
    }
}

#[test]
fn what_follows_the_files_of_a_redis_is_there_after_the_first_rewrite_too() {
    let dir = TempDir::new();
    std::fs::create_dir_all(dir.join("appendonlydir")).expect("a directory");
    let command = "*3\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$1\r\nx\r\n";
    // Nothing had expired for what follows it in the file.
    let expired = "*3\r\n$9\r\nPEXPIREAT\r\n$1\r\nl\r\n$4\r\n1000\r\n*3\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$1\r\nx\r\n";
    let text = format!("{command}{expired}{}", command.replace("$1\r\nl", "$1\r\nm"));
    std::fs::write(dir.join("appendonlydir/appendonly.aof.1.incr.aof"), text).expect("written");
    let manifest = "file appendonly.aof.1.incr.aof seq 1 type i\n";
    std::fs::write(dir.join("appendonlydir/appendonly.aof.manifest"), manifest).expect("written");
    let server = Server::start(&dir, 1);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.call("LLEN l\r\n").as_deref(), Some(":0"));
    assert_eq!(c.call("RPUSH m y\r\n").as_deref(), Some(":2"));
    c.rewrites(1);
    assert_eq!(c.call("RPUSH m z\r\n").as_deref(), Some(":3"));
    server.kill();
    let server = Server::start(&dir, 1);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.call("LLEN m\r\n").as_deref(), Some(":3"));
    server.kill();
}

#[test]
fn a_second_server_does_not_touch_the_journal_of_the_first() {
    let dir = TempDir::new();
    let server = Server::start(&dir, 1);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.call("SET k v\r\n").as_deref(), Some("+OK"));
    let second = |appendonly: &str| {
        let mut second = binary();
        second.args(["serve", "--port", "0", "--save", ""]);
        second.arg("--unixsocket").arg(dir.join("second.sock"));
        second.args(["--appendonly", appendonly, "--dir"]).arg(&*dir);
        second
    };
    let out = second("yes").output().expect("it ends");
    assert!(!out.status.success());
    let said = [out.stdout, out.stderr].concat();
    assert!(String::from_utf8_lossy(&said).contains("another server is using the journal"));
    assert_eq!(c.call("SET k w\r\n").as_deref(), Some("+OK"));
    server.kill();
    // A killed process has no lock any more.
    let server = Server::start(&dir, 1);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.call("GET k\r\n").as_deref(), Some("w"));
    // Nor has one that has stopped writing.
    assert_eq!(c.call("CONFIG SET appendonly no\r\n").as_deref(), Some("+OK"));
    let other = Server::start(&dir, 1);
    let refused = c.call("CONFIG SET appendonly yes\r\n").expect("an answer");
    assert!(refused.starts_with("-ERR"), "{refused}");
    other.kill();
    server.kill();
}

#[test]
fn what_cannot_be_loaded_stays_and_the_log_says_what_to_do() {
    let dir = TempDir::new();
    let refused = |appendonly: &str, file: &str, content: &str, advice: &str| {
        std::fs::write(dir.join(file), content).expect("written");
        let mut server = binary();
        server.args(["serve", "--port", "0", "--appendonly", appendonly]);
        server.arg("--unixsocket").arg(dir.join("refused.sock"));
        let out = server.arg("--dir").arg(&*dir).output().expect("it ends");
        assert!(!out.status.success());
        let said = [out.stdout, out.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(advice), "{said}");
        assert_eq!(std::fs::read_to_string(dir.join(file)).expect("there"), content);
    };
    refused("no", "dump.rdb", "REDIS0010\x00\x01k", "Restore it from a backup");
    let monitor = "*1\r\n$7\r\nMONITOR\r\n";
    refused("yes", "appendonly.aof", monitor, "BGREWRITEAOF of the Redis that wrote");
}

/// Sends all, and returns as many lines of replies.
fn lines(c: &mut Client, requests: &[&str], n: usize) -> Vec<String> {
    requests.iter().for_each(|r| c.send(&format!("{r}\r\n")).expect("sent"));
    (0..n).map(|_| c.reply().expect("an answer")).collect()
}

#[test]
fn load_begins_the_journal_anew_and_not_during_a_rewrite() {
    let dir = TempDir::new();
    let server = Server::start(&dir, 2);
    let mut c = server.connect().expect("a connection");
    for i in 0..50 {
        assert_eq!(c.call(&format!("SET {i} v\r\n")).as_deref(), Some("+OK"));
    }
    let all = ["SAVE", "DEL 0 1 2", "CONFIG SET rdb-key-save-delay 20000", "BGREWRITEAOF", "LOAD"];
    assert!(lines(&mut c, &all, 5)[4].contains("rewriting already in progress"));
    c.rewrites(1);
    assert_eq!(c.call("DBSIZE\r\n").as_deref(), Some(":47"));
    assert_eq!(c.call("LOAD\r\n").as_deref(), Some("+OK"));
    assert_eq!(c.call("SET after v\r\n").as_deref(), Some("+OK"));
    c.rewrites(2);
    server.kill();
    let server = Server::start(&dir, 2);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.call("DBSIZE\r\n").as_deref(), Some(":51"));
    server.kill();
}

#[test]
fn a_transaction_may_end_one_journal_and_begin_the_next() {
    let dir = TempDir::new();
    let server = Server::start(&dir, 2);
    let mut c = server.connect().expect("a connection");
    let off = ["MULTI", "INCR n", "CONFIG SET appendonly no", "EXEC", "DEBUG LOADAOF"];
    assert_eq!(lines(&mut c, &off, 7)[4..], [":1", "+OK", "+OK"]);
    assert_eq!(c.number("n"), 1);
    let anew = ["MULTI", "INCR n", "CONFIG SET appendonly no", "CONFIG SET appendonly yes", "EXEC"];
    assert_eq!(lines(&mut c, &["CONFIG SET appendonly yes"], 1), ["+OK"]);
    c.rewrites(1);
    assert_eq!(lines(&mut c, &anew, 8)[5..], [":2", "+OK", "+OK"]);
    c.rewrites(2);
    server.kill();
    let server = Server::start(&dir, 2);
    assert_eq!(server.connect().expect("a connection").number("n"), 2);
    server.kill();
}

#[test]
fn nothing_counts_as_durable_before_there_is_a_base() {
    let dir = TempDir::new();
    let server = Server::start_with(&dir, 2, "no", "everysec");
    let mut c = server.connect().expect("a connection");
    for i in 0..20 {
        assert_eq!(c.call(&format!("SET {i} v\r\n")).as_deref(), Some("+OK"));
    }
    let on = ["CONFIG SET rdb-key-save-delay 100000", "CONFIG SET appendonly yes", "SET k v"];
    assert_eq!(lines(&mut c, &on, 3), ["+OK"; 3]);
    assert_eq!(lines(&mut c, &["WAITAOF 1 0 100"], 3), ["*2", ":0", ":0"]);
    assert_eq!(lines(&mut c, &["WAITAOF 1 0 0"], 3), ["*2", ":1", ":0"]);
    assert!(c.call("INFO persistence\r\n").expect("an answer").contains("aof_rewrites:1\r"));
    // A client that waits when the server ends gets an error.
    assert_eq!(
        lines(&mut c, &["CONFIG SET appendonly no", "CONFIG SET appendonly yes"], 2),
        ["+OK"; 2]
    );
    let mut other = server.connect().expect("a connection");
    other.send("WAITAOF 1 0 0\r\n").expect("sent");
    eventually("it waits", || {
        let info = c.call("INFO clients\r\n").expect("an answer");
        info.contains("blocked_clients:1\r").then_some(())
    });
    assert_eq!(c.call("CONFIG SET appendonly no\r\n").as_deref(), Some("+OK"));
    assert!(other.reply().expect("an answer").starts_with("-ERR WAITAOF cannot be used"));
    server.kill();
}

#[test]
fn info_answers_while_the_base_is_loaded() {
    let dir = TempDir::new();
    let server = Server::start(&dir, 2);
    let mut c = server.connect().expect("a connection");
    for i in 0..1000 {
        c.send(&format!("SET {i} v\r\n")).expect("sent");
    }
    (0..1000).for_each(|_| drop(c.reply()));
    assert!(c.call("BGREWRITEAOF\r\n").is_some());
    c.rewrites(1);
    server.kill();
    let server = Server::spawn(&dir, 2, "yes", "always", &["--key-load-delay", "3000"]);
    eventually("it loads", || {
        let mut c = server.connect()?;
        c.call("PING\r\n").filter(|r| r.starts_with("-LOADING"))?;
        assert!(c.call("INFO keyspace\r\n").is_some());
        let info = c.call("INFO persistence\r\n")?;
        assert!(info.contains("\r\nloading:1\r"), "it has waited for the end: {info}");
        Some(())
    });
    server.kill();
}

#[test]
fn what_a_server_is_writing_is_not_mended() {
    let dir = TempDir::new();
    let server = Server::start(&dir, 1);
    let mut c = server.connect().expect("a connection");
    assert_eq!(c.call("SET k v\r\n").as_deref(), Some("+OK"));
    let check = |file: &str, fix: &[&str]| {
        let file = dir.join("appendonlydir").join(file);
        binary().arg("check").arg(file).args(fix).output().expect("it runs")
    };
    for file in ["appendonly.aof.journal", "appendonly.aof.1.seg"] {
        assert!(check(file, &[]).status.success());
        let out = check(file, &["--fix"]);
        assert!(!out.status.success());
        assert!(String::from_utf8_lossy(&out.stderr).contains("is being used"), "{out:?}");
    }
    server.kill();
    assert!(check("appendonly.aof.journal", &["--fix"]).status.success());
}

/// Files of a Redis 7: a snapshot as base, and commands. The snapshot is returned, too.
fn files_of_redis(dir: &Path, keys: usize, commands: &str) -> Vec<u8> {
    let server = Server::start_with(dir, 1, "no", "no");
    let mut c = server.connect().expect("a connection");
    for i in 0..keys {
        c.send(&format!("SET {i} v\r\n")).expect("sent");
    }
    (0..keys).for_each(|_| drop(c.reply()));
    assert_eq!(c.call("SAVE\r\n").as_deref(), Some("+OK"));
    server.kill();
    let aof = dir.join("appendonlydir");
    std::fs::create_dir_all(&aof).expect("a directory");
    std::fs::rename(dir.join("dump.rdb"), aof.join("appendonly.aof.1.base.rdb")).expect("renamed");
    std::fs::write(aof.join("appendonly.aof.1.incr.aof"), commands).expect("written");
    let manifest = "file appendonly.aof.1.base.rdb seq 1 type b\n\
                    file appendonly.aof.1.incr.aof seq 1 type i\n";
    std::fs::write(aof.join("appendonly.aof.manifest"), manifest).expect("written");
    std::fs::read(aof.join("appendonly.aof.1.base.rdb")).expect("there")
}

const SET: &str = "*3\r\n$3\r\nSET\r\n$3\r\nnew\r\n$1\r\n1\r\n";

#[test]
fn progress_is_told_while_files_of_a_redis_are_loaded() {
    let dir = TempDir::new();
    let commands = SET.repeat(50);
    let bytes = files_of_redis(&dir, 1000, &commands).len() + commands.len();
    let server = Server::spawn(&dir, 2, "yes", "always", &["--key-load-delay", "3000"]);
    let field = |info: &str, name: &str| -> Option<f64> {
        let line = info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    eventually("it loads", || {
        let mut c = server.connect()?;
        let reply = c.call("PING\r\n")?;
        assert!(reply.starts_with("-LOADING"), "it has never told how far it was: {reply}");
        let info = c.call("INFO persistence\r\n")?;
        // It may not have opened the files yet.
        let total = field(&info, "loading_total_bytes")?;
        assert_eq!(total, bytes as f64, "{info}");
        let done = field(&info, "loading_loaded_perc").expect("a part");
        assert!((0.0..=100.0).contains(&done), "{info}");
        assert!(field(&info, "loading_eta_seconds").expect("a time") >= 0.0, "{info}");
        (done > 0.0).then_some(())
    });
    server.kill();
}

#[test]
fn offsets_count_from_the_beginning_of_a_file_with_a_preamble() {
    let dir = TempDir::new();
    let mut bytes = files_of_redis(&dir, 10, "");
    std::fs::remove_dir_all(dir.join("appendonlydir")).expect("removed");
    bytes.extend_from_slice(SET.as_bytes());
    let whole = bytes.len();
    bytes.extend_from_slice(&SET.as_bytes()[..20]);
    let file = dir.join("appendonly.aof");
    std::fs::write(&file, bytes).expect("written");
    let mut server = binary();
    server.args(["serve", "--port", "0", "--appendonly", "yes"]);
    server.args(["--aof-load-truncated", "no", "--dir"]).arg(&*dir);
    let out = server.arg("--unixsocket").arg(dir.join("refused.sock")).output().expect("it ends");
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    assert!(said.contains(&format!("begins at offset {whole} ")), "{said}");
    let out = binary().arg("check").arg(&file).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("10 keys, and 1 commands, then"), "{said}");
    assert!(said.contains(&format!("at offset {whole} of {}", whole + 20)), "{said}");
    assert!(!out.status.success());
}

#[test]
fn files_of_a_redis_are_known_to_check() {
    let dir = TempDir::new();
    files_of_redis(&dir, 7, &SET.repeat(3));
    let aof = dir.join("appendonlydir");
    let check = |file: &str, fix: &[&str]| {
        let out = binary().arg("check").arg(aof.join(file)).args(fix).output().expect("it runs");
        let said = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let (sound, said) = check("appendonly.aof.manifest", &[]);
    assert!(sound && said.contains("the manifest of Redis's append-only file"), "{said}");
    assert!(said.contains("base.rdb: a whole snapshot, 7 keys"), "{said}");
    assert!(said.contains("incr.aof: an append-only file of Redis's, 3 commands"), "{said}");
    assert!(said.contains("--appendonly yes` loads these files"), "{said}");
    // A transaction without an end, a command without one, and what is none.
    let multi = "*1\r\n$5\r\nMULTI\r\n";
    for (text, why) in [
        (
            format!("{SET}{multi}{SET}"),
            format!("1 commands, then a command or transaction at offset {}", SET.len()),
        ),
        (
            format!("{SET}{}", &SET[..9]),
            format!("1 commands, then a command or transaction at offset {}", SET.len()),
        ),
        (
            format!("{SET}SET a b\r\n"),
            format!("1 commands, then DAMAGE: what is at offset {}", SET.len()),
        ),
    ] {
        std::fs::write(aof.join("appendonly.aof.1.incr.aof"), &text).expect("written");
        for fix in [&[][..], &["--fix"]] {
            let (sound, said) = check("appendonly.aof.manifest", fix);
            assert!(!sound && said.contains(&why), "{said}");
            assert_eq!(said.contains("redis-check-aof"), !fix.is_empty(), "{said}");
        }
        assert_eq!(
            std::fs::read_to_string(aof.join("appendonly.aof.1.incr.aof")).expect("there"),
            text
        );
    }
    std::fs::write(aof.join("appendonly.aof.manifest"), "file x seq").expect("written");
    let (sound, said) = check("appendonly.aof.manifest", &[]);
    assert!(!sound && said.contains("a damaged manifest of Redis's"), "{said}");
}
