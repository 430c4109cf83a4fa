//! Connections of an engine without sockets: the answers to a pipeline must not depend on how it
//! arrives, nor on the path that its commands take through the engine.

mod common;

use common::{Server, array, grammar, replies, request};
use engine::Message;
use stdx::rng::Rng;

/// A pipeline in which commands change the meaning of those behind them.
fn mixed() -> Vec<u8> {
    let mut p = Vec::new();
    for line in [
        "SET k v",
        "GET k",
        "PING",
        "INCR n",
        "SELECT 1",
        "GET k",
        "HELLO 3 SETNAME me",
        "GET nope",
        "CLIENT GETNAME",
        "SELECT 0",
        "CLIENT REPLY SKIP",
        "GET k",
        "INCR n",
        "NOSUCH a b",
        "GET",
        "CLIENT REPLY OFF",
        "SET k w",
        "CLIENT REPLY ON",
        "GET k",
        "RESET",
        "GET nope",
    ] {
        p.extend_from_slice(&request(line));
    }
    p.extend_from_slice(b"\r\n*0\r\nget k\r\necho 'a b'\n");
    p.extend_from_slice(&request("QUIT"));
    p.extend_from_slice(&request("SET k after-quit"));
    p
}

#[test]
fn a_pipeline_split_at_every_byte() {
    let input = mixed();
    let mut server = Server::new();
    let mut c = server.connect();
    let expected = server.feed(&mut c, &input);
    assert!(c.closed);
    let shown = String::from_utf8_lossy(&expected);
    assert!(shown.contains("%7\r\n"), "{shown}");
    assert!(shown.contains("\r\n_\r\n$2\r\nme\r\n+OK\r\n:2\r\n-ERR unknown command 'NOSUCH'"));
    assert!(shown.ends_with("+OK\r\n$1\r\nw\r\n+RESET\r\n$-1\r\n$1\r\nw\r\n$3\r\na b\r\n+OK\r\n"));
    for at in 0..=input.len() {
        let mut server = Server::new();
        let mut c = server.connect();
        let mut got = server.feed(&mut c, &input[..at]);
        got.extend_from_slice(&server.feed(&mut c, &input[at..]));
        assert_eq!(got, expected, "split at {at}");
        assert!(c.closed);
    }
    let mut server = Server::new();
    let mut c = server.connect();
    let mut got = Vec::new();
    for byte in &input {
        got.extend_from_slice(&server.feed(&mut c, std::slice::from_ref(byte)));
    }
    assert_eq!(got, expected, "byte by byte");
}

#[test]
fn large_arguments_in_pieces() {
    let big = vec![b'z'; 200_000];
    let mut input = request("PING");
    input.extend_from_slice(&array(&[b"SET", b"big", &big[..]]));
    input.extend_from_slice(&array::<&[u8]>(&[
        b"MSET",
        b"a",
        &big[..70_000],
        b"b",
        &big[..66_000],
        b"c",
        b"1",
    ]));
    input.extend_from_slice(&request("STRLEN big"));
    input.extend_from_slice(&request("MGET a b c"));
    let mut expected: Option<Vec<u8>> = None;
    for step in [usize::MAX, 1000, 65_536, 7_919, 100_003] {
        let mut server = Server::new();
        let mut c = server.connect();
        let mut got = Vec::new();
        for piece in input.chunks(step.min(input.len())) {
            got.extend_from_slice(&server.feed(&mut c, piece));
        }
        let first = expected.get_or_insert_with(|| got.clone());
        assert_eq!(got.len(), first.len(), "in pieces of {step}");
        assert!(got == *first, "in pieces of {step}");
    }
    let got = expected.expect("five of them");
    assert!(got.starts_with(b"+PONG\r\n+OK\r\n+OK\r\n:200000\r\n*3\r\n$70000\r\nzzz"));
}

#[test]
fn quit_stops_the_rest_wherever_it_stands() {
    for before in [0, 1, 30, 31, 32, 33, 64, 100] {
        let mut server = Server::new();
        let mut c = server.connect();
        let mut input = request("GET k").repeat(before);
        input.extend_from_slice(&request("QUIT"));
        input.extend_from_slice(&request("SET k after"));
        input.extend_from_slice(b"*1\r\n$oops\r\n");
        let got = server.feed(&mut c, &input);
        assert_eq!(got, [b"$-1\r\n".repeat(before), b"+OK\r\n".to_vec()].concat());
        assert!(c.closed);
        let mut other = server.connect();
        assert_eq!(server.send(&mut other, "STRLEN k"), ":0\r\n");
    }
}

#[test]
fn reply_modes() {
    let mut s = Server::new();
    let mut c = s.connect();
    let mut talk = |lines: &[&str]| {
        let input: Vec<u8> = lines.iter().flat_map(|l| request(l)).collect();
        String::from_utf8(s.feed(&mut c, &input)).expect("text")
    };
    assert_eq!(talk(&["CLIENT REPLY SKIP", "PING", "PING a"]), "$1\r\na\r\n");
    assert_eq!(talk(&["CLIENT REPLY SKIP", "CLIENT REPLY SKIP", "PING", "PING"]), "+PONG\r\n");
    // ON answers, even where a skip is due.
    assert_eq!(talk(&["CLIENT REPLY SKIP", "CLIENT REPLY ON", "PING"]), "+OK\r\n+PONG\r\n");
    // A skip swallows an error too.
    assert_eq!(talk(&["CLIENT REPLY SKIP", "NOSUCH", "PING"]), "+PONG\r\n");
    assert_eq!(talk(&["CLIENT REPLY SKIP", "RESET", "PING"]), "+PONG\r\n");
    assert_eq!(talk(&["CLIENT REPLY OFF", "PING", "SET k v", "CLIENT REPLY SKIP", "GET"]), "");
    assert_eq!(talk(&["PING", "CLIENT REPLY ON", "GET k"]), "+OK\r\n$1\r\nv\r\n");
    assert_eq!(talk(&["CLIENT REPLY OFF", "RESET", "GET k"]), "+RESET\r\n$1\r\nv\r\n");
    assert_eq!(talk(&["CLIENT REPLY OFF", "QUIT"]), "");
    assert!(c.closed);
}

#[test]
fn a_pause_of_writes_defers_them_in_order() {
    let mut s = Server::new();
    let (mut admin, mut c) = (s.connect(), s.connect());
    s.send(&mut c, "SET k 0");
    assert_eq!(s.send(&mut admin, "CLIENT PAUSE 1000 WRITE"), "+OK\r\n");
    let lines = ["GET k", "PING", "INCR k", "GET k", "CLIENT SETNAME x", "INCR k", "GET k"];
    let input: Vec<u8> = lines.iter().flat_map(|l| request(l)).collect();
    assert_eq!(s.feed(&mut c, &input), b"$1\r\n0\r\n+PONG\r\n");
    assert!(c.waiting);
    assert_eq!(s.send(&mut admin, "GET k"), "$1\r\n0\r\n");
    // A client that waits gets its further input later, too.
    assert_eq!(s.feed(&mut c, &request("GET k")), b"");
    s.wait_ms(999);
    assert!(s.engine.check_pause());
    assert_eq!(s.deliver(&mut c), b"");
    // All of it is over when the next millisecond has begun.
    s.wait_ms(2);
    assert!(!s.engine.check_pause());
    let rest = s.deliver(&mut c);
    assert_eq!(rest, b":1\r\n$1\r\n1\r\n+OK\r\n:2\r\n$1\r\n2\r\n$1\r\n2\r\n");
    assert!(!c.waiting);
}

#[test]
fn a_pause_that_comes_back_before_the_deferred_command_ran() {
    let mut s = Server::new();
    let (mut admin, mut c) = (s.connect(), s.connect());
    s.send(&mut admin, "CLIENT PAUSE 1000 WRITE");
    assert_eq!(s.feed(&mut c, &request("INCR k")), b"");
    s.send(&mut admin, "CLIENT UNPAUSE");
    s.send(&mut admin, "CLIENT PAUSE 1000 WRITE");
    assert_eq!(s.deliver(&mut c), b"");
    assert!(c.waiting && c.session.deferred.is_some());
    s.send(&mut admin, "CLIENT UNPAUSE");
    assert_eq!(s.deliver(&mut c), b":1\r\n");
    assert_eq!(s.send(&mut c, "INCR k"), ":2\r\n");
}

#[test]
fn pauses_combine() {
    let mut s = Server::new();
    let (mut admin, mut c) = (s.connect(), s.connect());
    // The longer one counts.
    s.send(&mut admin, "CLIENT PAUSE 1000 WRITE");
    s.send(&mut admin, "CLIENT PAUSE 10 WRITE");
    s.wait_ms(500);
    assert_eq!(s.feed(&mut c, &request("INCR k")), b"");
    // A pause of everything replaces one of writes, and keeps its end.
    s.send(&mut admin, "CLIENT PAUSE 0 ALL");
    let mut d = s.connect();
    assert_eq!(s.feed(&mut d, &request("PING")), b"");
    // No client can end it: it holds back CLIENT too.
    assert_eq!(s.feed(&mut admin, &request("CLIENT UNPAUSE")), b"");
    s.wait_ms(501);
    assert!(!s.engine.check_pause());
    assert_eq!(s.deliver(&mut c), b":1\r\n");
    for (conn, reply) in [(&mut d, "+PONG\r\n"), (&mut admin, "+OK\r\n")] {
        conn.waiting = false;
        assert_eq!(s.feed(conn, b""), reply.as_bytes());
    }
    s.deliver(&mut c);
    // A pause of writes does not weaken one of everything.
    s.engine.extend_pause((common::START_MS + 1100) as i64, false);
    s.engine.extend_pause((common::START_MS + 1200) as i64, true);
    assert_eq!(s.feed(&mut c, &request("PING")), b"");
    // Its time is over for a command that comes then, though no thread has looked at the clock.
    s.wait_ms(200);
    assert_eq!(s.feed(&mut d, &request("PING")), b"+PONG\r\n");
    assert_eq!(s.deliver(&mut c), b"+PONG\r\n");
}

#[test]
fn authentication_in_the_middle() {
    let mut s = Server::with(&[("requirepass", "secret")]);
    let mut c = s.connect();
    let many = format!("MGET {}", "k ".repeat(30));
    let lines = [
        "GET k",
        "CLIENT ID",
        "NOSUCH",
        "GET",
        "AUTH wrong",
        "HELLO 3",
        "HELLO 3 AUTH default wrong",
        "AUTH secret",
        "SET k v",
        &many,
        "HELLO 3 AUTH default secret",
        "GET nope",
        "RESET",
        "GET k",
    ];
    let input: Vec<u8> = lines.iter().flat_map(|l| request(l)).collect();
    let got = String::from_utf8(s.feed(&mut c, &input)).expect("text");
    let lines: Vec<&str> = got.split("\r\n").collect();
    assert_eq!(lines[0], "-NOAUTH Authentication required.");
    assert_eq!(lines[1], "-NOAUTH Authentication required.");
    assert!(lines[2].starts_with("-ERR unknown command"), "{}", lines[2]);
    assert!(lines[3].starts_with("-ERR wrong number of arguments"), "{}", lines[3]);
    assert!(lines[4].starts_with("-WRONGPASS "));
    assert!(lines[5].starts_with("-NOAUTH HELLO must be called"));
    assert!(lines[6].starts_with("-WRONGPASS "));
    assert_eq!(lines[7..12], ["+OK", "+OK", "*30", "$1", "v"]);
    assert!(got.contains("\r\n%7\r\n"));
    assert!(got.ends_with("\r\n_\r\n+RESET\r\n-NOAUTH Authentication required.\r\n"), "{got}");
}

#[test]
fn who_has_not_authenticated_may_send_little() {
    for (input, error) in [
        (b"*11\r\n".to_vec(), "unauthenticated multibulk length"),
        (b"*2\r\n$4\r\nAUTH\r\n$16385\r\n".to_vec(), "unauthenticated bulk length"),
    ] {
        let mut s = Server::with(&[("requirepass", "secret")]);
        let mut c = s.connect();
        let got = s.feed(&mut c, &[request("PING"), input.clone()].concat());
        let want = format!("-NOAUTH Authentication required.\r\n-ERR Protocol error: {error}\r\n");
        assert_eq!(String::from_utf8_lossy(&got), want);
        assert!(c.closed);
        let mut c = s.connect();
        let got = s.feed(&mut c, &[request("AUTH secret"), input].concat());
        assert_eq!(got, b"+OK\r\n");
        assert!(!c.closed);
    }
}

#[test]
fn a_password_that_comes_and_goes() {
    let mut s = Server::new();
    let mut before = s.connect();
    s.configure("requirepass", "secret");
    let mut after = s.connect();
    assert_eq!(s.send(&mut before, "PING"), "+PONG\r\n");
    assert_eq!(s.send(&mut after, "PING"), "-NOAUTH Authentication required.\r\n");
    s.configure("requirepass", "");
    assert_eq!(s.send(&mut after, "PING"), "+PONG\r\n");
    s.configure("requirepass", "other");
    assert_eq!(s.send(&mut after, "PING"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(s.send(&mut after, "AUTH other"), "+OK\r\n");
}

#[test]
fn a_protocol_error_answers_what_came_before() {
    for before in [0, 1, 31, 32, 40] {
        let mut s = Server::new();
        let mut c = s.connect();
        let mut input = request("INCR k").repeat(before);
        input.extend_from_slice(b"*1\r\n!PING\r\n");
        input.extend_from_slice(&request("INCR k"));
        let got = String::from_utf8(s.feed(&mut c, &input)).expect("text");
        let mut want: String = (1..=before).map(|n| format!(":{n}\r\n")).collect();
        want.push_str("-ERR Protocol error: expected '$', got '!'\r\n");
        assert_eq!(got, want);
        assert!(c.closed);
    }
    let mut s = Server::new();
    let mut c = s.connect();
    s.send(&mut c, "CLIENT REPLY OFF");
    assert_eq!(s.feed(&mut c, b"*1\r\n!PING\r\n"), b"");
    assert!(c.closed);
}

#[test]
fn a_request_of_a_browser_closes() {
    let mut s = Server::new();
    let mut c = s.connect();
    let input = b"PING\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v\r\n";
    assert_eq!(s.feed(&mut c, input), b"+PONG\r\n");
    assert!(c.closed);
    let mut c = s.connect();
    assert_eq!(s.send(&mut c, "STRLEN k"), ":0\r\n");
}

#[test]
fn killed_clients_run_nothing_more() {
    let mut s = Server::new();
    let (mut a, mut b) = (s.connect(), s.connect());
    let id = b.session.client.id;
    assert_eq!(s.send(&mut a, &format!("CLIENT KILL ID {id}")), ":1\r\n");
    // It is gone for all clients at once, before its thread has noticed.
    assert_eq!(s.send(&mut a, &format!("CLIENT KILL ID {id}")), ":0\r\n");
    assert_eq!(s.send(&mut a, &format!("CLIENT LIST ID {id}")), "$0\r\n\r\n");
    assert_eq!(s.feed(&mut b, &request("SET k v")), b"");
    assert!(b.closed);
    let told = s.thread.worker().mailbox.take();
    assert!(matches!(told[..], [Message::Close(x)] if x == id));
    assert_eq!(s.send(&mut a, "STRLEN k"), ":0\r\n");
    // A command that waits is not run either.
    let mut waits = s.connect();
    s.send(&mut a, "CLIENT PAUSE 1000 WRITE");
    assert_eq!(s.feed(&mut waits, &request("SET k v")), b"");
    let id = waits.session.client.id;
    assert_eq!(s.send(&mut a, &format!("CLIENT KILL ID {id} TYPE normal USER default")), ":1\r\n");
    s.send(&mut a, "CLIENT UNPAUSE");
    waits.waiting = false;
    assert_eq!(s.feed(&mut waits, b""), b"");
    assert_eq!(s.send(&mut a, "STRLEN k"), ":0\r\n");
    // By age, by address; the caller's own connection only on request.
    s.wait_ms(5_000);
    let mut young = s.connect();
    assert_eq!(s.send(&mut young, "CLIENT KILL SKIPME no MAXAGE 6"), ":0\r\n");
    assert_eq!(s.send(&mut young, "CLIENT KILL SKIPME yes MAXAGE 5 TYPE normal"), ":1\r\n");
    let me = young.session.client.endpoint.peer.clone();
    let input = [request(&format!("CLIENT KILL {me}")), request("SET k v")].concat();
    assert_eq!(s.feed(&mut young, &input), b"+OK\r\n");
    assert!(young.closed);
}

#[test]
fn unknown_commands_are_quoted_as_far_as_redis_does() {
    let mut s = Server::new();
    let mut c = s.connect();
    let a = "a".repeat(200);
    assert_eq!(
        s.send(&mut c, &format!("foo {a} b")),
        format!("-ERR unknown command 'foo', with args beginning with: '{}' \r\n", &a[..128])
    );
    assert_eq!(
        s.send(&mut c, &format!("foo {} bcdefg h", &a[..120])),
        format!(
            "-ERR unknown command 'foo', with args beginning with: '{}' 'bcdef' \r\n",
            &a[..120]
        )
    );
    assert_eq!(
        s.send(&mut c, "cLient NOPE x"),
        "-ERR unknown subcommand 'NOPE'. Try CLIENT HELP.\r\n"
    );
    assert_eq!(
        s.send(&mut c, "CLIENT KILL"),
        "-ERR wrong number of arguments for 'client|kill' command\r\n"
    );
    assert_eq!(s.send(&mut c, "CLIENT"), "-ERR wrong number of arguments for 'client' command\r\n");
}

/// The group path (parsed ahead, prefetched, run without dispatch) against one command at a time.
fn differential(options: &[(&str, &str)], seed: u64) {
    const COMMANDS: usize = 10_000;
    let mut rng = Rng::from_seed(seed);
    let commands: Vec<_> = (0..COMMANDS).map(|_| grammar::command(&mut rng)).collect();
    let mut single = Server::new();
    let mut s = single.connect().session;
    let mut expected = Vec::new();
    for words in &commands {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let out = single.thread.call(&single.engine, &mut s, &words);
        expected.push(out.join());
    }
    let mut server = Server::with(options);
    let mut c = server.connect();
    let input: Vec<u8> = commands.iter().flat_map(|words| array(words)).collect();
    let (mut got, mut at) = (Vec::new(), 0);
    while at < input.len() {
        let n = (1 + rng.index(20_000)).min(input.len() - at);
        got.extend_from_slice(&server.feed(&mut c, &input[at..at + n]));
        at += n;
    }
    let mut rest = &got[..];
    for (i, want) in expected.iter().enumerate() {
        let n = want.len().min(rest.len());
        let show = |b: &[u8]| String::from_utf8_lossy(&b[..b.len().min(200)]).into_owned();
        assert!(
            rest[..n] == want[..],
            "command {i}, {}: {} instead of {}",
            show(&commands[i].join(&b' ')),
            show(&rest[..n]),
            show(want)
        );
        rest = &rest[n..];
    }
    assert!(rest.is_empty(), "more replies than commands");
    let errors = expected.iter().filter(|r| r.starts_with(b"-")).count();
    assert!(errors * 3 < COMMANDS * 2, "{errors} errors: too many to test much");
    assert_eq!(replies(&got).len(), COMMANDS);
}

#[test]
fn the_group_path_does_what_single_commands_do() {
    for seed in 0..3 {
        differential(&[], seed);
    }
}

#[test]
fn with_attention_it_is_the_same() {
    differential(&[("maxmemory", "1000gb")], 10);
    differential(&[("slowlog-log-slower-than", "0")], 11);
    differential(&[("latency-monitor-threshold", "1")], 12);
}
