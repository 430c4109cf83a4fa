//! The resources that topics and HTTP may take of the server, and their figures.

use super::*;

/// A server whose keyspace may hold little, with 5,000 keys in it.
fn with_keys(dir: &TempDir, more: &[&str]) -> (Server, Redis) {
    let small = ["--maxmemory", "40mb", "--maxmemory-policy", "allkeys-lru", "--save", ""];
    let s = Server::start(dir, &[&small, more].concat());
    let mut r = s.redis();
    let value = "v".repeat(1000);
    for i in 0..5000 {
        assert_eq!(r.call(&["SET", &format!("key:{i}"), &value]), "+OK");
    }
    (s, r)
}

/// A field of INFO.
fn field(r: &mut Redis, section: &str, name: &str) -> u64 {
    let text = r.call(&["INFO", section]);
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|v| v.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn what_topics_use_evicts_no_keys() {
    let dir = TempDir::new();
    let (s, mut r) = with_keys(&dir, &[]);
    let body = vec![b'x'; 4 << 20];
    std::thread::scope(|scope| {
        for i in 0..8 {
            let (s, body) = (&s, &body);
            scope.spawn(move || {
                for _ in 0..4 {
                    let a = s.post(&format!("/v1/topics/t{i}/records"), "", body);
                    assert!([201, 503].contains(&a.status), "{}", a.text());
                }
            });
        }
        for i in 0..2000 {
            assert_eq!(r.call(&["SET", &format!("key:{i}"), "new"]), "+OK");
        }
    });
    // Groups kept for readers stay in memory: more than the keyspace may have.
    assert!(field(&mut r, "memory", "mem_topics") > 40 << 20);
    assert!(field(&mut r, "memory", "mem_not_counted_for_evict") > 40 << 20);
    assert_eq!(r.call(&["SET", "one", "more"]), "+OK");
    assert_eq!(r.call(&["DBSIZE"]), ":5001");
    assert_eq!(field(&mut r, "stats", "evicted_keys"), 0);
}

#[test]
fn unfinished_heads_are_bounded() {
    let dir = TempDir::new();
    let (s, mut r) = with_keys(&dir, &["--admin-port", "0"]);
    let head = format!("GET /v1/topics HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(380_000));
    let mut all: Vec<TcpStream> = (0..200).map(|_| s.connect()).collect();
    for stream in &mut all {
        // It is refused before it has come whole.
        let _ = stream.write_all(head.as_bytes());
    }
    for stream in &mut all {
        let mut answer = Vec::new();
        // What was sent and not read makes the end of the connection an error.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let known = ["", "HTTP/1.1 431 ", "HTTP/1.1 503 "];
        assert!(known.iter().any(|k| answer.get(..k.len()) == Some(*k)), "{answer}");
    }
    assert_eq!(r.call(&["SET", "one", "more"]), "+OK");
    assert_eq!(r.call(&["DBSIZE"]), ":5001");
    assert_eq!(field(&mut r, "stats", "evicted_keys"), 0);
    // Those of usual size are answered meanwhile, and unfinished ones end some time.
    let mut slow = s.connect();
    slow.write_all(b"GET /v1/topics HTTP/1.1\r\nHost: loc").expect("sent");
    assert_eq!(s.get("/v1/topics").status, 200);
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).expect("an end");
    assert!(answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn the_memory_of_records_is_taken_until_they_are_stored() {
    let dir = TempDir::new();
    // Nothing is stored for a minute.
    let s = Server::start(&dir, &["--topic-memory", "24mb"]);
    assert_eq!(s.send("PUT", "/v1/topics/t", &[], br#"{"linger_ms":60000}"#).status, 201);
    let piece = vec![b'x'; 64 << 10];
    for i in 0..2 {
        let mut stream = s.connect();
        let head = "POST /v1/topics/t/records HTTP/1.1\r\nHost: localhost\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("sent");
        for _ in 0..64 {
            stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).expect("sent");
            stream.write_all(&piece).expect("sent");
            stream.write_all(b"\r\n").expect("sent");
        }
        // The memory of a body without a length is taken while it comes.
        let mut r = s.redis();
        let due = (i + 1) * (4 << 20);
        eventually("its memory is taken", || {
            (field(&mut r, "topics", "topics_pending_bytes") >= due).then_some(())
        });
        stream.write_all(b"0\r\n\r\n").expect("sent");
        // It goes without its answer when all has arrived.
        eventually("it has arrived", || {
            let waiting = field(&mut r, "topics", "topics_waiting_appends");
            (waiting == i + 1).then_some(())
        });
        assert_eq!(field(&mut r, "topics", "topics_pending_bytes"), due);
        drop(stream);
        // Until the server has noticed that the client is gone.
        eventually("it is gone", || {
            (field(&mut r, "topics", "http_connections") == 0).then_some(())
        });
        assert_eq!(field(&mut r, "topics", "topics_pending_bytes"), due);
    }
    // No more than 12 MiB may wait.
    assert_eq!(s.post("/v1/topics/t/records", "", &vec![b'x'; 5 << 20]).status, 503);
}

#[test]
fn topics_leave_descriptors_to_others() {
    let dir = TempDir::new();
    let (http, data) = (free_address().expect("a port"), free_address().expect("a port"));
    let apus = command(dir.path(), http, data, &["--appendonly", "yes"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\""]).arg(apus.get_program());
    let process = limited.args(apus.get_args()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let s = Server { process: process.expect("the binary"), http, data };
    let mut r = Redis(eventually("it starts", || TcpStream::connect(data).ok()));
    eventually("it has loaded", || (r.call(&["PING"]) == "+PONG").then_some(()));
    for i in 0..300 {
        let reply = r.call(&["TOPIC.APPEND", &format!("t{i}"), "RECORDS", "x"]);
        assert_eq!(reply, ":0", "topic {i}");
    }
    let used = field(&mut r, "topics", "topics_descriptors");
    assert!(used <= field(&mut r, "topics", "topics_descriptors_limit"), "{used}");
    // All clients that there may be, a snapshot and a new segment of the journal find some.
    let clients = field(&mut r, "clients", "maxclients");
    let all: Vec<Redis> = (1..clients).map(|_| s.redis()).collect();
    for mut other in all {
        assert_eq!(other.call(&["PING"]), "+PONG");
    }
    assert_eq!(r.call(&["SET", "a", "b"]), "+OK");
    for what in ["BGSAVE", "BGREWRITEAOF"] {
        assert!(r.call(&[what]).starts_with('+'), "{what}");
        eventually("it is done", || {
            let text = r.call(&["INFO", "persistence"]);
            let ok = text.contains("rdb_last_bgsave_status:ok")
                && text.contains("aof_last_bgrewrite_status:ok");
            assert!(ok, "{text}");
            (text.contains("rdb_bgsave_in_progress:0")
                && text.contains("aof_rewrite_in_progress:0"))
            .then_some(())
        });
    }
    assert_eq!(r.call(&["SET", "a", "c"]), "+OK");
}

#[test]
fn a_group_that_is_new_is_told_so() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    for record in ["one", "two"] {
        assert_eq!(s.post("/v1/topics/t/records", "", record.as_bytes()).status, 201);
    }
    for path in ["records", "batches"] {
        let a = s.get(&format!("/v1/topics/t/{path}?group=g"));
        assert_eq!((a.status, a.header("apus-group")), (200, Some("new")));
        let a = s.get(&format!("/v1/topics/t/{path}?group=g&reset=latest"));
        assert_eq!((a.status, a.header("apus-group")), (204, Some("new")));
        let a = s.get(&format!("/v1/topics/t/{path}?group=g&reset=none"));
        assert_eq!((a.status, a.text().contains("'g' has committed no offset")), (404, true));
        assert_eq!(s.get(&format!("/v1/topics/t/{path}?group=g&reset=sometimes")).status, 400);
    }
    let a = s.get("/v1/topics/t/tail?group=g&wait=1ms");
    assert_eq!((a.status, a.header("apus-group")), (200, Some("new")));
    let mut r = s.redis();
    assert_eq!(r.call(&["TOPIC.READ", "t", "GROUP", "g"]), "[:0 [one two] new group]");
    assert_eq!(r.call(&["TOPIC.READ", "t", "GROUP", "g", "RESET", "LATEST"]), "*-1");
    let none = r.call(&["TOPIC.READ", "t", "GROUP", "g", "RESET", "NONE", "COUNT", "1"]);
    assert_eq!(none, "-NOGROUP group 'g' has committed no offset");
    assert_eq!(r.call(&["TOPIC.COMMIT", "t", "g", "1"]), "+OK");
    assert_eq!(r.call(&["TOPIC.READ", "t", "GROUP", "g", "RESET", "NONE"]), "[:1 [two]]");
    let a = s.get("/v1/topics/t/records?group=g&reset=none");
    assert_eq!((a.status, a.header("apus-group")), (200, None));
}

#[test]
fn who_looks_around_finds_an_index_and_figures() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &["--topic-storage", "memory"]);
    let a = s.send("GET", "/", &[("Accept", "text/html,*/*")], b"");
    assert_eq!(a.status, 200);
    assert!(a.text().contains("<a href=\"/v1/topics\">"), "{}", a.text());
    assert!(s.get("/").text().contains("/v1/openapi.json"));
    for (a, status) in [
        (s.post("/v1/topics/t/records", "", b"x"), 201),
        (s.get("/v1/topics/t"), 200),
        (s.get("/v1/topics/no"), 404),
        (s.add("t", &[b"y"]), 201),
        (s.get("/topic?topic-name=t"), 200),
    ] {
        assert_eq!(a.status, status);
        assert!(a.text().ends_with("}\n"), "{}", a.text());
    }
    assert_eq!(s.get("/v1/topics/t/records/0").text(), "x");
    let mut r = s.redis();
    for (name, value) in [
        ("topics_open", 1),
        ("topics_appends", 2),
        ("topics_appended_records", 2),
        ("topics_reads", 1),
        ("topics_storage_errors", 0),
        ("topics_pending_bytes", 0),
        ("topics_pending_bytes_limit", 128 << 20),
    ] {
        assert_eq!(field(&mut r, "topics", name), value, "{name}");
    }
    assert!(field(&mut r, "topics", "topics_memory") > 0);
}
