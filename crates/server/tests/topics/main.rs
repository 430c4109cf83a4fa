//! Topics through a whole server: Seb's API, `/v1`, the TOPIC commands, the end and the start.

mod limits;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use log::Input;
use log::batch::{Batch, Compression};
use serde_json::{Value, json};
use testing::http::{Answer, connect, exchange};
use testing::{PATIENCE, TempDir, eventually, free_address};

struct Server {
    process: Child,
    http: SocketAddr,
    data: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

trait Json {
    fn json(&self) -> Value;
}

impl Json for Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}

fn command(dir: &Path, http: SocketAddr, data: SocketAddr, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apus"));
    command
        .args(["serve", "--bind", "127.0.0.1", "--topic-http-bind", "127.0.0.1", "--threads", "2"])
        .args(["--port", &data.port().to_string(), "--topic-http-port", &http.port().to_string()])
        .args(["--dir".as_ref(), dir.as_os_str()])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

impl Server {
    fn start(dir: &TempDir, more: &[&str]) -> Self {
        for _ in 0..5 {
            let (http, data) = (free_address().expect("a port"), free_address().expect("a port"));
            let mut process = command(dir, http, data, more).spawn().expect("the binary");
            let begin = Instant::now();
            while begin.elapsed() < PATIENCE && matches!(process.try_wait(), Ok(None)) {
                if TcpStream::connect(data).is_ok() && TcpStream::connect(http).is_ok() {
                    return Self { process, http, data };
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("the server does not start");
    }

    fn connect(&self) -> TcpStream {
        connect(self.http)
    }

    fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let head = testing::http::head(method, target, headers, body.len());
        Answer::parse(&exchange(self.http, &[head.as_bytes(), body])).expect("an answer")
    }

    fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[("Accept", "*/*")], b"")
    }

    fn post(&self, target: &str, kind: &str, body: &[u8]) -> Answer {
        self.send("POST", target, &[("Content-Type", kind)], body)
    }

    /// Appends through Seb's API.
    fn add(&self, topic: &str, records: &[&[u8]]) -> Answer {
        let sizes: Vec<usize> = records.iter().map(|r| r.len()).collect();
        let form = form(&json!(sizes).to_string(), &records.concat());
        self.post(&format!("/records?topic-name={topic}"), FORM, &form)
    }

    fn redis(&self) -> Redis {
        Redis(connect(self.data))
    }
}

fn write_request(
    stream: &mut TcpStream,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) {
    let head = testing::http::head(method, target, headers, body.len());
    // It may be refused before it was read whole.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

const FORM: &str = "multipart/form-data; boundary=xyz";

fn form(sizes: &str, records: &[u8]) -> Vec<u8> {
    let part = |name: &str| {
        format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n").into_bytes()
    };
    [&part("sizes")[..], sizes.as_bytes(), b"\r\n", &part("records"), records, b"\r\n--xyz--\r\n"]
        .concat()
}

/// Sizes and records of an answer in Seb's form.
fn parts(a: &Answer) -> (Vec<usize>, Vec<u8>) {
    let kind = a.header("content-type").expect("a type");
    let boundary = kind.split("boundary=").nth(1).expect("a boundary");
    let body = &a.body;
    let find = |what: &[u8], from: usize| {
        from + body[from..].windows(what.len()).position(|w| w == what).expect("there")
    };
    let sizes_at = find(b"\r\n\r\n", 0) + 4;
    let sizes_end = find(b"\r\n", sizes_at);
    let records_at = find(b"\r\n\r\n", sizes_end) + 4;
    let sizes: Vec<usize> = serde_json::from_slice(&body[sizes_at..sizes_end]).expect("sizes");
    let records_end = records_at + sizes.iter().sum::<usize>();
    assert_eq!(&body[records_end..], format!("\r\n--{boundary}--\r\n").as_bytes());
    (sizes, body[records_at..records_end].to_vec())
}

struct Redis(TcpStream);

impl Redis {
    fn send(&mut self, args: &[&str]) {
        let mut text = format!("*{}\r\n", args.len());
        for a in args {
            text.push_str(&format!("${}\r\n{a}\r\n", a.len()));
        }
        self.0.write_all(text.as_bytes()).expect("sent");
    }

    /// One reply, with spaces for line breaks.
    fn reply(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            self.0.read_exact(&mut byte).expect("a reply");
            line.push(byte[0]);
        }
        line.truncate(line.len() - 2);
        let line = String::from_utf8(line).expect("text");
        let number = |s: &str| s.parse::<i64>().expect("a number");
        match line.as_bytes()[0] {
            b'$' if number(&line[1..]) >= 0 => {
                let mut bytes = vec![0; number(&line[1..]) as usize + 2];
                self.0.read_exact(&mut bytes).expect("a string");
                bytes.truncate(bytes.len() - 2);
                String::from_utf8(bytes).expect("text")
            }
            b'*' if number(&line[1..]) >= 0 => {
                let items: Vec<String> = (0..number(&line[1..])).map(|_| self.reply()).collect();
                format!("[{}]", items.join(" "))
            }
            _ => line,
        }
    }

    fn call(&mut self, args: &[&str]) -> String {
        self.send(args);
        self.reply()
    }
}

#[test]
fn seb_adds_and_gets() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    let a = s.add("some-topic", &[b"one", b"", b"three"]);
    assert_eq!((a.status, a.json()), (201, json!({"offsets": [0, 1, 2]})));
    assert_eq!(a.header("content-type"), Some("application/json"));
    assert_eq!(s.add("some-topic", &[b"four"]).json(), json!({"offsets": [3]}));
    for (offset, record) in [(0, "one"), (1, ""), (2, "three"), (3, "four")] {
        let a = s.get(&format!("/record?topic-name=some-topic&offset={offset}"));
        assert_eq!((a.status, a.text()), (200, record.to_owned()));
    }
    assert_eq!(s.get("/record?topic-name=some-topic&offset=4").status, 404);
    let get = |more: &str| s.get(&format!("/records?topic-name=some-topic&timeout=10ms&{more}"));
    let a = get("offset=0");
    assert_eq!((a.status, parts(&a)), (200, (vec![3, 0, 5, 4], b"onethreefour".to_vec())));
    assert_eq!(parts(&get("offset=1&max-records=2")), (vec![0, 5], b"three".to_vec()));
    assert_eq!(parts(&get("offset=2&max-bytes=1")), (vec![5], b"three".to_vec()));
    assert_eq!(
        parts(&get("offset=0&max-bytes=8&max-records=x")),
        (vec![3, 0, 5], b"onethree".to_vec())
    );
    let a = get("offset=4");
    assert_eq!(a.status, 206);
    assert!(
        a.header("content-type").is_some_and(|t| t.starts_with("multipart/form-data; boundary="))
    );
    assert!(a.text().starts_with("\r\n--") && a.text().ends_with("--\r\n"));
    let a = s.get("/topic?topic-name=some-topic");
    assert_eq!((a.status, &a.json()["next_offset"]), (200, &json!(4)));
    assert!(a.json()["latest_commit_at"].as_str().is_some_and(|t| t.starts_with("20")));
    assert_eq!(s.send("PUT", "/v1/topics/empty", &[], b"").status, 201);
    let never = s.get("/topic?topic-name=empty").json();
    assert_eq!(never, json!({"next_offset": 0, "latest_commit_at": "0001-01-01T00:00:00Z"}));
}

#[test]
fn seb_refuses() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    let required = "failed to parse query parameter 'topic-name': required";
    let a = s.post("/records", FORM, &form("[1]", b"a"));
    assert_eq!((a.status, a.text()), (400, required.to_owned()));
    let a = s.post("/records?topic-name=t", "text/plain", b"a");
    assert_eq!((a.status, a.text()), (400, "expected Content-Type multipart/form-data".to_owned()));
    let bad = |sizes: &str, records: &[u8]| {
        let a = s.post("/records?topic-name=t", FORM, &form(sizes, records));
        (a.status, a.text())
    };
    let disagree = "bad input: sizes says the payload should be 3 bytes, got 2";
    assert_eq!(bad("[1,2]", b"ab"), (400, disagree.to_owned()));
    assert_eq!(bad("null", b"").0, 400);
    assert_eq!(bad("[]", b"").0, 400);
    assert_eq!(bad("[31457281]", b"a").0, 413);
    assert_eq!(bad(&json!(vec![0; 32_769]).to_string(), b"").0, 413);
    // Softly: more than ten megabytes, but one record may have them.
    let large = vec![b'x'; (10 << 20) + 1];
    assert_eq!(bad(&format!("[1,{}]", large.len() - 1), &large), (413, String::new()));
    assert_eq!(bad(&format!("[{}]", large.len()), &large).0, 201);
    let get = |target: &str, headers: &[(&str, &str)]| {
        let a = s.send("GET", target, headers, b"");
        (a.status, a.text())
    };
    assert_eq!(get("/records?topic-name=t&offset=0", &[]).0, 406);
    let accept = get("/records?topic-name=t&offset=0", &[("Accept", "application/json")]);
    assert_eq!(accept, (300, "set Accept: multipart/form-data\n".to_owned()));
    let any = [("Accept", "multipart/form-data")];
    assert_eq!(
        get("/records?topic-name=t", &any),
        (400, "parsing url params: failed to parse query parameter 'offset': required".to_owned())
    );
    assert_eq!(get("/record?topic-name=t&offset=-1", &any).0, 400);
    assert_eq!(get("/nothing", &any).0, 404);
    assert_eq!(s.send("DELETE", "/records", &[], b"").status, 405);
    // A page in a browser cannot reach what asks for no key.
    assert_eq!(get("/topic?topic-name=t", &[("Origin", "http://evil.example")]).0, 403);
    assert_eq!(get("/topic?topic-name=t", &[("Origin", "http://localhost:3000")]).0, 200);
    let s =
        Server::start(&TempDir::new(), &["--topic-auto-create", "no", "--topic-storage", "memory"]);
    let a = s.get("/records?topic-name=t&offset=0");
    assert_eq!((a.status, a.text()), (404, "topic not found".to_owned()));
    assert_eq!(s.get("/topic?topic-name=t").status, 404);
    assert_eq!(s.get("/record?topic-name=t&offset=0").status, 404);
    assert_eq!(s.add("t", &[b"x"]).status, 500);
}

#[test]
fn keys_and_read_only() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &["--topic-http-api-key", "sesame", "--topic-read-only", "yes"]);
    let a = s.get("/topic?topic-name=t");
    assert_eq!(a.status, 401);
    assert!(a.text().starts_with("Authentication required: the key as a Bearer"), "{}", a.text());
    for (key, status) in [("Bearer sesame", 404), ("sesame", 404), ("Bearer sesam", 401)] {
        let a = s.send("GET", "/topic?topic-name=t", &[("Authorization", key)], b"");
        assert_eq!(a.status, status, "{key}");
    }
    let headers = [("Authorization", "sesame"), ("Content-Type", FORM)];
    let a = s.send("POST", "/records?topic-name=t", &headers, &form("[1]", b"a"));
    assert_eq!((a.status, a.json()), (405, json!({"error": "instance in read-only mode"})));
    let a = s.send("PUT", "/v1/topics/t", &headers, b"");
    assert_eq!(a.status, 405);
}

#[test]
fn topics_are_managed() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    let put = |body: &str| s.send("PUT", "/v1/topics/t", &[], body.as_bytes());
    assert_eq!(put("{\"compresion\":\"zstd\"}").status, 400);
    let a = put("{\"compression\":\"zstd\",\"retention_ms\":5000}");
    assert_eq!((a.status, &a.json()["settings"]["compression"]), (201, &json!("zstd")));
    assert_eq!(put("").status, 409);
    let a = s.send("PATCH", "/v1/topics/t", &[], b"{\"linger_ms\":1}");
    let settings = &a.json()["settings"];
    assert_eq!(
        (a.status, &settings["linger_ms"], &settings["retention_ms"]),
        (200, &json!(1), &json!(5000))
    );
    assert_eq!(s.send("PUT", "/v1/topics/u", &[], b"").status, 201);
    assert_eq!(s.get("/v1/topics").json(), json!({"topics": ["t", "u"], "more": false}));
    assert_eq!(s.get("/v1/topics?limit=1").json(), json!({"topics": ["t"], "more": true}));
    assert_eq!(s.get("/v1/topics?after=t").json(), json!({"topics": ["u"], "more": false}));
    assert_eq!(s.get("/v1/topics?from=t").status, 400);
    assert_eq!(s.send("DELETE", "/v1/topics/u", &[], b"").status, 204);
    assert_eq!(s.send("DELETE", "/v1/topics/u", &[], b"").status, 404);
    assert_eq!(s.get("/v1/topics/u").status, 404);
    assert_eq!(s.get("/v1/topics/..%2F..").status, 400);
    assert_eq!(s.send("POST", "/v1/topics/t", &[], b"").status, 405);
    assert_eq!(s.get("/v1/nothing").status, 404);
    assert_eq!(s.get("/v1/openapi.json").json()["openapi"], "3.0.3");
}

#[test]
fn batches_and_records_go_in_and_out() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    let input =
        |records: &[&'static [u8]]| Input::from_records(records.iter().copied()).expect("fits");
    let batch = input(&[b"a", b"\xff\xfe"]).by(7, 1).encode();
    let target = "/v1/topics/t/batches";
    let kind = "application/vnd.apus.batch";
    let a = s.post(target, kind, &batch);
    let stored = json!({"first_offset": 0, "records": 2, "duplicate": false});
    assert_eq!((a.status, a.json()), (201, stored));
    let a = s.post(target, kind, &batch);
    assert_eq!((a.status, &a.json()["duplicate"]), (200, &json!(true)));
    let a = s.post(target, kind, &input(&[b"x"]).by(7, 3).encode());
    assert_eq!((a.status, &a.json()["expected_sequence"]), (409, &json!(2)));
    let mut wrong = batch.to_vec();
    wrong[83] ^= 1;
    assert_eq!(s.post(target, kind, &wrong).status, 400);
    let zstd = input(&[&[b'z'; 5000]]).compressed(Compression::Zstd).encode();
    assert_eq!(s.post(target, kind, &zstd).status, 201);
    let records = "/v1/topics/t/records";
    assert_eq!(s.post(records, "application/octet-stream", b"one\nrecord").status, 201);
    let a = s.post(records, "application/x-ndjson", b"{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(a.json(), json!({"first_offset": 4, "records": 2, "duplicate": false}));
    let a = s.post(&format!("{records}?producer=9&sequence=0"), "", b"");
    assert_eq!((a.status, &a.json()["first_offset"]), (201, &json!(6)));
    assert_eq!(s.post(&format!("{records}?producer=9"), "", b"").status, 400);
    // Out again, as they are stored.
    let a = s.get("/v1/topics/t/batches");
    assert_eq!((a.status, a.header("apus-next-offset")), (200, Some("7")));
    let (mut rest, mut all) = (Bytes::from(a.body), Vec::new());
    while !rest.is_empty() {
        let b = Batch::check(&rest).expect("sound");
        rest = rest.slice(b.bytes.len()..);
        all.extend(b.records().expect("sound").iter());
    }
    assert_eq!(all[..2], [&b"a"[..], b"\xff\xfe"]);
    assert_eq!(all.len(), 7);
    // And as lines.
    let a = s.get("/v1/topics/t/records?offset=0&max-records=2");
    assert_eq!((a.header("apus-next-offset"), a.header("apus-end-offset")), (Some("2"), Some("7")));
    let lines: Vec<Value> =
        a.text().lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!((&lines[0]["value"], &lines[1]["base64"]), (&json!("a"), &json!("//4=")));
    assert_eq!(s.get("/v1/topics/t/records/3").text(), "one\nrecord");
    assert_eq!(s.get("/v1/topics/t/records/7").status, 404);
    assert_eq!(s.get("/v1/topics/t/records?offset=7").status, 204);
    let a = s.get("/v1/topics/t/records?offset=8");
    assert_eq!((a.status, &a.json()["next_offset"]), (404, &json!(7)));
    assert_eq!(s.get("/v1/topics/t/records?offset=latest&wait=20ms").status, 204);
    assert_eq!(s.get("/v1/topics/t/records?timestamp=1").text().lines().count(), 7);
    assert_eq!(s.get("/v1/topics/t/records?offset=0&group=g").status, 400);
    assert_eq!(s.get("/v1/topics/t/records?wait=").status, 400);
    assert_eq!(s.get("/v1/topics/t/records?offset=9223372036854775808").status, 404);
    assert_eq!(s.get("/v1/topics?limit=0").status, 400);
    assert_eq!(s.get("/v1/topics?limit=9223372036854775808").status, 400);
    // A tail that ends when nothing more comes.
    let a = s.get("/v1/topics/t/tail?offset=5&wait=20ms");
    assert_eq!((a.status, a.text().matches("\"offset\":").count()), (200, 2));
    assert_eq!(s.get("/v1/topics/t/tail?wait=soon").status, 400);
    // By time, where nothing has been written.
    assert_eq!(s.send("PUT", "/v1/topics/empty", &[], b"").status, 201);
    assert_eq!(s.get("/v1/topics/empty/records?timestamp=1").status, 204);
    // Groups.
    let group = "/v1/topics/t/groups/g";
    assert_eq!(s.get(group).status, 404);
    assert_eq!(s.send("PUT", group, &[], b"{\"offset\":6}").status, 200);
    assert_eq!(s.send("PUT", group, &[], b"{\"offset\":8}").status, 404);
    assert_eq!(s.send("PUT", group, &[], b"{}").status, 400);
    assert_eq!(s.get("/v1/topics/t/records?group=g").text().lines().count(), 1);
    let groups = json!({"groups": [{"name": "g", "offset": 6}]});
    assert_eq!(s.get("/v1/topics/t/groups").json(), groups);
    assert_eq!(s.send("DELETE", group, &[], b"").status, 204);
}

#[test]
fn who_waits_is_told() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    s.add("t", &[b"old"]);
    let mut waits = s.connect();
    let target = "/v1/topics/t/records?offset=latest&wait=60s";
    write_request(&mut waits, "GET", target, &[], b"");
    let mut events = s.connect();
    let accept = [("Accept", "text/event-stream")];
    write_request(&mut events, "GET", "/v1/topics/t/tail?offset=0", &accept, b"");
    let mut redis = s.redis();
    redis.send(&["TOPIC.READ", "t", "1", "BLOCK", "0"]);
    let mut seen = String::new();
    let mut read_until = |what: &str| {
        let mut bytes = [0; 4096];
        while !seen.contains(what) {
            let n = events.read(&mut bytes).expect("an event");
            assert!(n > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
    };
    read_until("id: 0\ndata: ");
    // The others are likely to wait by now; what is asserted holds if they do not.
    s.add("t", &[b"new"]);
    read_until("id: 1\ndata: ");
    let mut answer = String::new();
    waits.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("\"value\":\"new\"") || answer.contains("204"), "{answer}");
    assert_eq!(redis.reply(), "[:1 [new]]");
}

#[test]
fn topics_over_resp() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    let mut r = s.redis();
    assert_eq!(r.call(&["TOPIC.APPEND", "t", "RECORDS", "a", "", "ccc"]), ":0");
    assert_eq!(r.call(&["TOPIC.APPEND", "t", "PRODUCER", "5", "1", "RECORDS", "d"]), ":3");
    assert_eq!(r.call(&["TOPIC.APPEND", "t", "PRODUCER", "5", "1", "RECORDS", "d"]), ":3");
    assert!(
        r.call(&["TOPIC.APPEND", "t", "PRODUCER", "5", "3", "RECORDS", "d"])
            .starts_with("-SEQUENCE ")
    );
    assert_eq!(r.call(&["TOPIC.READ", "t", "0"]), "[:0 [a  ccc d]]");
    assert_eq!(r.call(&["TOPIC.READ", "t", "1", "COUNT", "2"]), "[:1 [ ccc]]");
    assert_eq!(r.call(&["TOPIC.READ", "t", "EARLIEST", "BYTES", "1"]), "[:0 [a ]]");
    assert_eq!(r.call(&["TOPIC.READ", "t", "LATEST"]), "*-1");
    assert_eq!(r.call(&["TOPIC.READ", "t", "4", "BLOCK", "20"]), "*-1");
    // As over HTTP: no client waits for a record that may never exist.
    let beyond = "-OUTOFBOUNDS offset out of bounds: the topic has 0 up to, not including, 4";
    assert_eq!(r.call(&["TOPIC.READ", "t", "5"]), beyond);
    assert_eq!(r.call(&["TOPIC.READ", "t", "9", "BLOCK", "0"]), beyond);
    assert_eq!(r.call(&["TOPIC.READ", "t", "TIME", "0", "COUNT", "1"]), "[:0 [a]]");
    assert_eq!(r.call(&["TOPIC.COMMIT", "t", "g", "3"]), "+OK");
    assert!(r.call(&["TOPIC.COMMIT", "t", "g", "5"]).starts_with("-OUTOFBOUNDS "));
    assert_eq!(r.call(&["TOPIC.COMMITTED", "t", "g"]), ":3");
    assert_eq!(r.call(&["TOPIC.COMMITTED", "t", "h"]), "$-1");
    assert_eq!(r.call(&["TOPIC.GROUPS", "t"]), "[g :3]");
    assert_eq!(r.call(&["TOPIC.READ", "t", "GROUP", "g"]), "[:3 [d]]");
    assert_eq!(r.call(&["TOPIC.CREATE", "u", "compression", "lz4", "sync", "no"]), "+OK");
    assert!(r.call(&["TOPIC.CREATE", "u"]).starts_with("-TOPICEXISTS "));
    assert!(r.call(&["TOPIC.CREATE", "v", "nosuch", "1"]).starts_with("-ERR there is no setting"));
    assert_eq!(r.call(&["TOPIC.SET", "u", "linger_ms", "7"]), "+OK");
    let info = r.call(&["TOPIC.INFO", "u"]);
    assert!(info.contains("next-offset :0") && info.contains("\"linger_ms\":7"), "{info}");
    assert_eq!(r.call(&["TOPIC.LIST"]), "[t u]");
    assert_eq!(r.call(&["TOPIC.DELETE", "u"]), "+OK");
    assert!(r.call(&["TOPIC.INFO", "u"]).starts_with("-NOTOPIC "));
    for wrong in [
        &["TOPIC.APPEND", "t", "RECORDS"][..],
        &["TOPIC.APPEND", "t", "a", "b"],
        &["TOPIC.APPEND", "../t", "RECORDS", "a"],
        &["TOPIC.APPEND", "t", "PRODUCER", "0", "1", "RECORDS", "a"],
        &["TOPIC.READ", "t", "-1"],
        &["TOPIC.READ", "t", "x"],
        &["TOPIC.READ", "t", "0", "COUNT"],
        &["TOPIC.READ", "t", "0", "COUNT", "0"],
        &["TOPIC.READ", "t", "0", "BLOCK", "-1"],
    ] {
        assert!(r.call(wrong).starts_with("-ERR "), "{wrong:?}");
    }
    // Not where others would have to wait for the disk.
    r.call(&["MULTI"]);
    assert!(r.call(&["TOPIC.LIST"]).starts_with("-ERR "));
    r.call(&["DISCARD"]);
    // A command behind one that waits is run after it, and the wait can be ended.
    r.send(&["TOPIC.APPEND", "t", "RECORDS", "e"]);
    r.send(&["PING"]);
    assert_eq!((r.reply(), r.reply()), (":4".to_owned(), "+PONG".to_owned()));
    let id = r.call(&["CLIENT", "ID"]);
    r.send(&["TOPIC.READ", "t", "5", "BLOCK", "0"]);
    let mut other = s.redis();
    while other.call(&["CLIENT", "UNBLOCK", &id[1..]]) != ":1" {}
    assert_eq!(r.reply(), "*-1");
    assert_eq!(r.call(&["TOPIC.APPEND", "t", "RECORDS", "f"]), ":5");
    // The same topics over HTTP.
    assert_eq!(s.get("/v1/topics/t/records/5").text(), "f");
}

#[test]
fn large_appends_are_stored_out_of_the_input_they_came_in() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    let mut r = s.redis();
    let mut due: Vec<String> = Vec::new();
    // Below and above what is copied, in one buffer with what comes behind, and in several.
    for (round, count) in [3, 130, 260, 700, 1100, 2].into_iter().enumerate() {
        let records: Vec<String> =
            (0..count).map(|i| format!("{round}-{i}-{}", "r".repeat(i * 7 % 2000))).collect();
        let mut args = vec!["TOPIC.APPEND", "t", "RECORDS"];
        args.extend(records.iter().map(String::as_str));
        // Another one and a PING are behind it before it is answered.
        r.send(&args);
        r.send(&["TOPIC.APPEND", "t", "RECORDS", "small"]);
        r.send(&["PING"]);
        assert_eq!(r.reply(), format!(":{}", due.len()));
        due.extend(records);
        assert_eq!(r.reply(), format!(":{}", due.len()));
        due.push("small".to_owned());
        assert_eq!(r.reply(), "+PONG");
    }
    assert!(everything(&s, "t") == due);
    // Too many, and too much.
    let mut args = vec!["TOPIC.APPEND", "t", "RECORDS"];
    args.extend(std::iter::repeat_n("12345", 32_769));
    let refused = r.call(&args);
    assert_eq!(refused, "-ERR 32769 records, at most 32768");
    let long = "x".repeat(1 << 20);
    args.truncate(3);
    args.extend(std::iter::repeat_n(long.as_str(), 31));
    let refused = r.call(&args);
    assert!(refused.starts_with("-ERR 32505856 bytes of records, at most"), "{refused}");
    assert_eq!(r.call(&["TOPIC.APPEND", "t", "RECORDS", "x"]), format!(":{}", due.len()));
}

#[test]
fn nobody_waits_for_what_may_never_be() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    s.add("t", &[b"a", b"bb"]);
    for target in ["tail?offset=3", "records?offset=3&wait=60s", "batches?offset=3&wait=60s"] {
        let a = s.get(&format!("/v1/topics/t/{target}"));
        assert_eq!(a.status, 404, "{target}");
        assert_eq!(a.json()["next_offset"], 2, "{target}");
    }
    let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", "7")];
    assert_eq!(s.send("GET", "/v1/topics/t/tail", &headers, b"").status, 404);
    // One record of a topic that is not there: it is not created by asking.
    assert_eq!(s.get("/v1/topics/u/records/0").json(), json!({"error": "topic not found"}));
    assert_eq!(s.get("/v1/topics").json()["topics"], json!(["t"]));
}

#[test]
fn reading_creates_no_topic() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    for target in [
        "/record?topic-name=a&offset=0",
        "/records?topic-name=b&offset=0&timeout=10ms",
        "/topic?topic-name=c",
        "/v1/topics/d",
        "/v1/topics/e/batches",
        "/v1/topics/f/batches?offset=latest&wait=10ms",
        "/v1/topics/g/records",
        "/v1/topics/h/records?offset=0&wait=10ms",
        "/v1/topics/i/records?timestamp=1",
        "/v1/topics/j/records?group=g",
        "/v1/topics/k/records/0",
        "/v1/topics/l/tail?wait=10ms",
        "/v1/topics/m/tail?offset=0&wait=10ms",
        "/v1/topics/n/groups",
        "/v1/topics/o/groups/g",
    ] {
        for method in ["HEAD", "GET"] {
            let a = s.send(method, target, &[("Accept", "*/*")], b"");
            assert_eq!(a.status, 404, "{method} {target}: {}", a.text());
        }
    }
    let mut r = s.redis();
    for (i, from) in [&["0"][..], &["EARLIEST"], &["LATEST"], &["TIME", "0"], &["GROUP", "g"]]
        .into_iter()
        .enumerate()
    {
        for wait in [&[][..], &["BLOCK", "10"]] {
            let topic = format!("resp-{i}");
            let args = [&["TOPIC.READ", topic.as_str()][..], from, wait].concat();
            assert_eq!(r.call(&args), "-NOTOPIC topic not found", "{args:?}");
        }
    }
    for args in [
        &["TOPIC.INFO", "x"][..],
        &["TOPIC.GROUPS", "x"],
        &["TOPIC.COMMITTED", "x", "g"],
        &["TOPIC.COMMIT", "x", "g", "0"],
        &["TOPIC.SET", "x", "sync", "no"],
    ] {
        assert_eq!(r.call(args), "-NOTOPIC topic not found", "{args:?}");
    }
    assert_eq!(s.send("PUT", "/v1/topics/x/groups/g", &[], b"{\"offset\":0}").status, 404);
    assert_eq!(s.send("PATCH", "/v1/topics/x", &[], b"{\"sync\":false}").status, 404);
    assert_eq!(s.get("/v1/topics").json()["topics"], json!([]));
    assert!(
        !dir.join("topics").exists()
            || dir
                .join("topics")
                .read_dir()
                .is_ok_and(|mut d| { d.all(|e| e.is_ok_and(|e| !e.path().is_dir())) })
    );
    // A producer's first records do.
    assert_eq!(r.call(&["TOPIC.APPEND", "x", "RECORDS", "a"]), ":0");
    assert_eq!(s.get("/v1/topics").json()["topics"], json!(["x"]));
}

#[test]
fn records_may_look_like_the_form_that_they_are_sent_in() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    s.add("t", &[b"x"]);
    let target = "/records?topic-name=t&offset=0&max-records=100";
    let boundary = |a: &Answer| {
        let kind = a.header("content-type").expect("a type").to_owned();
        kind.split_once("boundary=").expect("a boundary").1.to_owned()
    };
    // A client that has seen an answer writes the text that would have ended its parts.
    let poison = format!("\r\n--{}--\r\n", boundary(&s.get(target)));
    s.add("t", &[poison.as_bytes()]);
    let a = s.get(target);
    let end = format!("\r\n--{}", boundary(&a));
    assert_eq!(a.text().matches(&end).count(), 2, "{}", a.text());
    assert_eq!(parts(&a), (vec![1, poison.len()], format!("x{poison}").into_bytes()));
}

#[test]
fn heads_are_answered_like_gets_without_the_body() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &[]);
    s.add("t", &[b"a", b"bb"]);
    for target in [
        "/topic?topic-name=t",
        "/record?topic-name=t&offset=1",
        "/v1/openapi.json",
        "/v1/topics",
        "/v1/topics/t",
        "/v1/topics/t/batches",
        "/v1/topics/t/records",
        "/v1/topics/t/records/1",
        "/v1/topics/t/records/7",
        "/v1/topics/t/groups",
        "/nowhere",
    ] {
        let (get, head) = (s.get(target), s.send("HEAD", target, &[("Accept", "*/*")], b""));
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{target}");
        for name in ["content-length", "content-type", "apus-next-offset"] {
            assert_eq!(head.header(name), get.header(name), "{target}: {name}");
        }
    }
    let a = s.send("DELETE", "/v1/topics/t/records", &[], b"");
    assert_eq!((a.status, a.header("allow")), (405, Some("GET, HEAD, POST")));
}

#[test]
fn answers_that_nobody_takes_are_bounded() {
    let dir = TempDir::new();
    let s = Server::start(&dir, &["--topic-memory", "64mb"]);
    let record = vec![b'x'; 1 << 20];
    for _ in 0..20 {
        assert_eq!(s.post("/v1/topics/t/records", "", &record).status, 201);
    }
    let target = "/v1/topics/t/batches?max-bytes=16777216";
    let mut slow = s.connect();
    write_request(&mut slow, "GET", target, &[], b"");
    let mut head = [0; 12];
    slow.read_exact(&mut head).expect("a head");
    assert_eq!(&head, b"HTTP/1.1 200");
    // More than sockets hold is on its way to it, and as much is not to be had again.
    let a = s.get(target);
    assert_eq!((a.status, a.header("retry-after")), (503, Some("1")));
    assert_eq!(s.get("/records?topic-name=t&offset=0").status, 503);
    drop(slow);
    eventually("the room comes back", || (s.get(target).status == 200).then_some(()));
}

#[test]
fn what_was_accepted_is_stored_when_it_ends() {
    // A waiting record cannot be seen from outside, so the signal comes a little later; longer where a
    // busy machine has not even let it accept the connection by then.
    for pause in [300, 1_000, 10_000, 60_000] {
        let dir = TempDir::new();
        let mut s = Server::start(&dir, &[]);
        s.send("PUT", "/v1/topics/t", &[], b"{\"linger_ms\":60000}");
        assert_eq!(s.get("/v1/topics/t").status, 200);
        let mut stream = s.connect();
        write_request(&mut stream, "POST", "/v1/topics/t/records", &[], b"last words");
        std::thread::sleep(Duration::from_millis(pause));
        let id = s.process.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().expect("kill");
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        assert!(s.process.wait().expect("ended").success());
        if (read.is_err() || answer.is_empty()) && pause < 60_000 {
            continue;
        }
        assert!(answer.starts_with("HTTP/1.1 201"), "{read:?} {answer}");
        let s = Server::start(&dir, &[]);
        assert_eq!(s.get("/v1/topics/t/records/0").text(), "last words");
        return;
    }
}

/// All records of a topic; panics unless their offsets are 0, 1, 2 and so on.
fn everything(s: &Server, topic: &str) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let a = s.get(&format!("/v1/topics/{topic}/batches?offset={}", all.len()));
        if a.status == 204 {
            return all;
        }
        assert_eq!(a.status, 200, "{}", a.text());
        let mut rest = Bytes::from(a.body);
        while !rest.is_empty() {
            let b = Batch::check(&rest).expect("sound");
            assert_eq!(b.header.first_offset, all.len() as u64);
            rest = rest.slice(b.bytes.len()..);
            let records = b.records().expect("sound");
            all.extend(records.iter().map(|r| String::from_utf8_lossy(&r).into_owned()));
        }
    }
}

#[test]
fn the_tool_looks_after_topics() {
    let dir = TempDir::new();
    let run = |args: &[&str], stdin: &str| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_apus"))
            .arg("log")
            .args(args)
            .args(["--dir".as_ref(), dir.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary");
        let mut pipe = process.stdin.take().expect("piped");
        // Some commands do not read it.
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        let out = process.wait_with_output().expect("ended");
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    assert_eq!(run(&["verify"], "").0, Some(1));
    assert_eq!(run(&["create", "t", "compression=zstd", "linger_ms=1"], "").0, Some(0));
    assert_eq!(run(&["create", "t"], "").0, Some(1));
    let appended = run(&["append", "t"], "one\ntwo\n\nfour");
    assert_eq!(appended, (Some(0), "4 records from offset 0\n".to_owned()));
    assert_eq!(run(&["tail", "t", "-n", "2"], ""), (Some(0), "\nfour\n".to_owned()));
    let (code, text) = run(&["stats"], "");
    assert!(code == Some(0) && text.contains("offsets 0 to 4"), "{text}");
    let (code, text) = run(&["verify"], "");
    assert!(
        code == Some(0) && text.contains("4 records in 1 batches") && text.contains("sound"),
        "{text}"
    );
    // Lines that fit one by one, and not together.
    let long = format!("{}\n{}\n", "x".repeat(900_000), "y".repeat((30 << 20) - 1000));
    assert_eq!(run(&["append", "long"], &long), (Some(0), "2 records from offset 0\n".to_owned()));
    assert_eq!(run(&["tail", "nosuch"], "").0, Some(1));
    assert_eq!(run(&["tail"], "").0, Some(2));
    let segment = dir.join("topics/t/00000000000000000000.log");
    // The second batch proves that the first had been stored.
    run(&["append", "t"], "five");
    let mut bytes = std::fs::read(&segment).expect("there");
    bytes[85] ^= 1;
    std::fs::write(&segment, bytes).expect("written");
    let (code, text) = run(&["verify", "t"], "");
    assert!(code == Some(1) && text.contains("damaged at offset 0"), "{text}");
}
