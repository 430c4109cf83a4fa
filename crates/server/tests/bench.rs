//! `apus bench kv`, the whole binary, against servers in this process: every request is answered and
//! counted, and its writes can be read by other clients.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use testing::TempDir;

/// The exit code, standard output and standard error of a run.
fn run(args: &[&str]) -> (i32, String, String) {
    let mut apus = Command::new(env!("CARGO_BIN_EXE_apus"));
    let out = apus.args(["bench", "kv"]).args(args).output().expect("the binary runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

#[test]
fn what_is_published_is_delivered() {
    let server = server(&[]);
    let port = server.addresses()[0].port().to_string();
    let json = Path::new("pubsub.json");
    let pubsub = |more: &str, seconds: &str| {
        let common = ["bench", "pubsub", "-p", &port, "--duration", seconds, "--json", json.text()];
        let mut apus = Command::new(env!("CARGO_BIN_EXE_apus"));
        let out = apus.args(common).args(more.split(' ')).output().expect("the binary runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
    };
    for more in [
        "--subscribers 5 --publishers 2 -P 7 --size 16",
        "--subscribers 6 --channels 3 --mode pattern -3",
        "--subscribers 3 --threads 2 --mode shard --resp 3 --size 5000",
        "--subscribers 2 --rate 500",
    ] {
        // A machine that does much else may get nothing published in a short time.
        let (figures, messages) = ["0.2", "2", "20"]
            .into_iter()
            .map(|seconds| {
                let (code, out, err) = pubsub(more, seconds);
                assert_eq!(code, 0, "{more}: {out}{err}");
                let figures = json.read();
                assert_eq!(numbers(&figures, "lost"), [0.0], "{more}");
                let messages = numbers(&figures, "messages_per_second")[0];
                (figures, messages)
            })
            .find(|(_, messages)| *messages > 0.0)
            .expect("some messages");
        let deliveries = numbers(&figures, "deliveries_per_second")[0];
        let each: f64 = more.split(' ').nth(1).unwrap().parse().unwrap();
        let each = if more.contains("--channels") { 2.0 } else { each };
        assert!((deliveries - messages * each).abs() < 1.0, "{more}: {figures}");
    }
    assert_eq!(pubsub("--mode x", "0.2").0, 2);
    let plot = Path::new("pubsub.svg");
    let (code, out, err) = pubsub(&format!("--subscribers 2 -P 1,4 --plot {}", plot.text()), "0.2");
    assert_eq!(code, 0, "{out}{err}");
    assert!(plot.read().contains("channel: deliveries per second"));
    assert_eq!(numbers(&json.read(), "pipeline"), [1.0, 4.0]);
    stop(server);
}

#[test]
fn why_a_subscriber_was_closed_is_told() {
    let server = server(&[("client-output-buffer-limit", "pubsub 32kb 0 0")]);
    let port = server.addresses()[0].port().to_string();
    // More at once than a socket takes.
    let load = ["--subscribers", "4", "-P", "32", "--size", "1000000", "--duration", "20"];
    let mut apus = Command::new(env!("CARGO_BIN_EXE_apus"));
    let out = apus.args(["bench", "pubsub", "-p", &port]).args(load).output().expect("it runs");
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{err}");
    assert!(err.contains("client-output-buffer-limit"), "{err}");
    stop(server);
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn server(options: &[(&str, &str)]) -> apus::Server {
    testing::leave_the_sources();
    let mut builder = apus::Server::builder().option("threads", "1").unwrap();
    for (name, value) in options {
        builder = builder.option(name, value).unwrap();
    }
    builder.tcp(TcpListener::bind("127.0.0.1:0").unwrap()).start().unwrap()
}

fn stop(server: apus::Server) {
    server.stop();
    server.join();
}

/// A path for a test's file, in a directory of its own.
struct Path(PathBuf, #[expect(dead_code, reason = "removed at the end")] TempDir);

impl Path {
    fn new(name: &str) -> Self {
        let dir = TempDir::new();
        Path(dir.join(name), dir)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn read(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }
}

/// The numbers that follow `"name":` in JSON, in order.
fn numbers(json: &str, name: &str) -> Vec<f64> {
    let number = |t: &str| t.split([',', '}']).next().unwrap().trim().parse().unwrap_or(f64::NAN);
    json.split(&format!("\"{name}\":")).skip(1).map(number).collect()
}

#[test]
fn counts_what_the_server_did() {
    let server = server(&[]);
    let port = server.addresses()[0].port().to_string();
    let bench = |line: &str| run(&[&["-p", port.as_str()], &words(line)[..]].concat());
    // A count that neither threads, pipelines nor connections divide.
    let (code, text, _) = bench("-t incr -n 2003 -c 7 --threads 2 -P 16 --resp 3");
    assert!(code == 0 && text.contains("  2003 requests completed in "), "{text}");
    let (code, text, error) = bench("--rate 20000 -n 2000 -c 3 -q INCR counter:000000000000");
    assert!(code == 0 && text.starts_with("INCR counter:000000000000: "), "{text}{error}");
    // Every key exactly once, and the mix afterwards finds them.
    let (code, text, _) =
        bench("--fill --keys 500 --mix get=9,set=1 --dist zipf:0.99 --size 0-9000 -n 2000 -P 50");
    assert!(code == 0 && text.contains("  2000 requests completed in "), "{text}");
    let of = |c: &str| {
        let line = text.lines().find(|l| l.ends_with(c)).unwrap_or_else(|| panic!("{c}: {text}"));
        line.split_whitespace().nth(8).unwrap().parse::<u64>().unwrap()
    };
    let (gets, sets) = (of(" GET key:{key}"), of(" SET key:{key} {value}"));
    assert!(gets + sets == 2000 && gets > 8 * sets, "{gets} {sets}");
    let (code, ..) = run(&[
        "-p",
        &port,
        "-q",
        "-r",
        "7",
        "--dbnum",
        "3",
        "--fill-command",
        "SET x:{key} 1",
        "GET",
        "x",
    ]);
    assert_eq!(code, 0);
    let mut client = TcpStream::connect(server.addresses()[0]).unwrap();
    client.write_all(b"GET counter:000000000000\r\nDBSIZE\r\nSELECT 3\r\nDBSIZE\r\n").unwrap();
    let wanted = "$4\r\n4003\r\n:501\r\n+OK\r\n:7\r\n";
    let mut reply = vec![0; wanted.len()];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(String::from_utf8_lossy(&reply), wanted);
    stop(server);
}

#[test]
fn compares_servers_and_writes_its_reports() {
    let locked = server(&[("requirepass", "se\"cret")]);
    let socket = Path::new("socket");
    let open = apus::Server::builder().option("threads", "1").unwrap();
    let open = open.unix(UnixListener::bind(&socket.0).unwrap()).start().unwrap();
    let (json, plot, timeline) = (Path::new("json"), Path::new("svg"), Path::new("csv"));
    let targets = [
        format!("locked=redis://:se\"cret@127.0.0.1:{}/2", locked.addresses()[0].port()),
        format!("open=unix:{}", socket.text()),
    ];
    let args = |rest: &'static str| {
        let mut args = vec!["--target", &targets[0], "--target", &targets[1]];
        args.extend(words(rest));
        args
    };
    let files = ["--json", json.text(), "--plot", plot.text(), "--timeline", timeline.text()];
    let line = "-t set,get -P 1,16 -n 1000 -r 100 --reps 3 -c 4";
    let (code, text, error) = run(&[&args(line)[..], &files[..]].concat());
    assert_eq!(code, 0, "{text}{error}");
    let (head, table) = text.split_once("requests/s").unwrap();
    assert_eq!(head.matches("======\n").count(), 8, "{text}");
    assert!(head.contains("====== GET P=16 on open ======"), "{text}");
    // Of the first target every ratio is 1.
    let first: Vec<&str> = table.lines().filter(|l| l.contains(" locked ")).collect();
    assert_eq!(first.len(), 4, "{table}");
    assert!(first.iter().all(|l| l.split(" 1.00 ").count() >= 4), "{table}");

    let report = json.read();
    assert!(!report.contains("cret"), "a password has no place in a report");
    assert_eq!(numbers(&report, "pipeline"), [1., 1., 16., 16., 1., 1., 16., 16.]);
    let (rps, errors) = (numbers(&report, "rps"), numbers(&report, "errors"));
    assert!(errors.iter().all(|e| *e == 0.0) && rps.iter().all(|r| *r >= 0.0), "{report}");
    let p50 = numbers(&report, "p50");
    let p999 = numbers(&report, "p99.9");
    // Nanoseconds and ratio alternate; a percentile is never below a smaller one.
    assert_eq!((p50.len(), p999.len()), (16, 16));
    assert!((0..16).step_by(2).all(|i| p50[i] > 0.0 && p50[i] <= p999[i]), "{report}");
    assert_eq!(report.matches('{').count(), report.matches('}').count());
    assert!(numbers(&report, "requests").iter().filter(|n| **n == 1000.0).count() >= 8);

    let plot = plot.read();
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"), "{plot}");
    // Of two tests and two servers: throughput, p50 and p99, at two depths each.
    assert_eq!((plot.matches("<polyline").count(), plot.matches("<circle").count()), (12, 24));
    let steps = timeline.read();
    assert!(steps.starts_with("\"test\",\"pipeline\",\"target\",\"ms\",\"requests\",\"rps\"\n"));
    let requests = |test: &str| -> u64 {
        let of_it = steps.lines().filter(|l| l.starts_with(test));
        of_it.map(|l| l.split('"').nth(9).unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(requests("\"SET\",\"16\",\"open\""), 1000, "{steps}");

    let (code, csv, error) = run(&args("--mix get=1,set=1 -n 600 --csv"));
    assert!(code == 0 && csv.lines().count() == 7, "{csv}{error}");
    let columns: Vec<usize> = csv.lines().map(|l| l.split("\",\"").count()).collect();
    assert!(columns.iter().all(|n| *n == columns[0]), "{csv}");
    assert!(csv.starts_with("\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\","), "{csv}");
    stop(locked);
    stop(open);
}

#[test]
fn mistakes_get_a_message_and_an_exit_code() {
    let locked = server(&[("requirepass", "secret")]);
    let port = locked.addresses()[0].port().to_string();
    let fails = |line: &str, wanted: i32, what: &str| {
        let (code, text, error) = run(&[&["-p", port.as_str()], &words(line)[..]].concat());
        assert!(code == wanted && error.contains(what), "{line}: {code}\n{text}\n{error}");
        text
    };
    // Before any load: it is not among the errors that are counted.
    fails("-q ping", 1, &format!("apus bench kv: 127.0.0.1:{port}: NOAUTH"));
    fails("-q -a wrong ping", 1, "WRONGPASS");
    fails("-q -a secret --dbnum 9999 ping", 1, "out of range");
    fails("-q -a secret -c 2 -n", 2, "-n needs a value");
    fails("--frob", 2, "no option --frob");
    // Where nothing was measured, no rate is shown.
    let text =
        fails("-q -a secret -c 2 -n 5 INCR x extra", 1, "5 error replies, the first: ERR wrong");
    assert_eq!(text, "");
    let text = fails("-a secret -c 2 -n 5 --json /nowhere/file PING", 1, "/nowhere/file: ");
    assert!(text.contains("5 requests completed"), "{text}");
    let mut apus = Command::new(env!("CARGO_BIN_EXE_apus"));
    apus.args(["bench", "pubsub", "-p", &port, "-a", "secret", "--subscribers", "2"]);
    let out = apus.args(["--duration", "0.1", "--json", "/nowhere/file"]).output();
    let out = out.expect("the binary runs");
    assert!(out.status.code() == Some(1), "{out:?}");
    assert!(String::from_utf8_lossy(&out.stdout).contains("deliveries/s"), "{out:?}");
    stop(locked);
    let small = server(&[("maxclients", "5")]);
    let (code, _, error) =
        run(&["-p", &small.addresses()[0].port().to_string(), "-q", "-c", "9", "ping"]);
    assert!(code == 1 && error.contains("max number of clients"), "{error}");
    stop(small);
    // No process listens on this one. (One that was just closed may be another test's by now.)
    for test in [["kv", "-p", "1", "ping"], ["pubsub", "-p", "1", "-3"]] {
        let mut apus = Command::new(env!("CARGO_BIN_EXE_apus"));
        let out = apus.arg("bench").args(test).output().expect("it runs");
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(
            out.status.code() == Some(1) && error.contains("127.0.0.1:1: "),
            "{test:?} {error}"
        );
    }
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let web = std::thread::spawn(move || {
        let (mut socket, _) = other.accept().unwrap();
        _ = socket.read(&mut [0; 100]);
        _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let (code, _, error) = run(&["-p", &port, "-q", "ping"]);
    assert!(code == 1 && error.contains("no RESP server"), "{error}");
    web.join().unwrap();
}

/// A server that answers +PONG to anything, one request at a time, after `wait` has looked at it;
/// it ends when `connections` of them have come and gone.
fn pong(connections: usize, wait: fn(&[u8])) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let all = std::thread::spawn(move || {
        let serve = |_| {
            let (mut socket, _) = listener.accept().unwrap();
            std::thread::spawn(move || {
                let mut buf = [0; 4096];
                while let Ok(n @ 1..) = socket.read(&mut buf) {
                    wait(&buf[..n]);
                    _ = socket.write_all(b"+PONG\r\n");
                }
            })
        };
        let threads: Vec<_> = (0..connections).map(serve).collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
    (port, all)
}

/// Sleeps on the request that asks for it.
fn slow(request: &[u8]) {
    if request.windows(4).any(|w| w == b"SLOW") {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_open_loop_shows_a_stall_in_every_request_that_it_delayed() {
    static STALLED: AtomicBool = AtomicBool::new(false);
    // The first connection is the check that a server is there.
    let (port, server) = pong(2, |request| {
        if request.windows(5).any(|w| w == b"STALL") && !STALLED.swap(true, Relaxed) {
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let (json, pid) = (Path::new("stall"), std::process::id().to_string());
    let line = "-c 1 -n 100 --rate 1000 --server-pid";
    let line = [&["-p", &port, "--json", json.text()], &words(line)[..], &[&pid, "STALL"]].concat();
    let (code, text, error) = run(&line);
    assert_eq!(code, 0, "{text}{error}");
    server.join().unwrap();
    // All were due in the first 99 ms, none was answered before 200.
    let report = json.read();
    let fastest = numbers(&report, "min")[0];
    assert!(fastest >= 100e6, "{report}");
}

#[test]
fn a_mix_knows_which_command_was_slow() {
    let (port, server) = pong(4, slow);
    let (json, pid) = (Path::new("mix"), std::process::id().to_string());
    let line = "-c 3 -n 200 --threads 1 --command 9@PING --command SLOW --server-pid";
    let line = [&["-p", &port, "--json", json.text()], &words(line)[..], &[&pid]].concat();
    let (code, text, error) = run(&line);
    assert_eq!(code, 0, "{text}{error}");
    server.join().unwrap();
    let report = json.read();
    // Of all, of PING, of SLOW.
    let fastest = numbers(&report, "min");
    assert_eq!(fastest.len(), 3, "{report}");
    assert!(fastest[2] >= 20e6 && fastest[1] == fastest[0], "{report}");
}
