//! A connection's view of its own pipeline, over TCP: how it ends, and which time it is.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use apus::Server;

struct Running(Option<Server>);

impl Running {
    fn start() -> Self {
        testing::leave_the_sources();
        let server = Server::builder()
            .option("threads", "2")
            .and_then(|b| b.option("enable-debug-command", "yes"))
            .and_then(|b| b.tcp(TcpListener::bind("127.0.0.1:0")?).start());
        Self(Some(server.expect("a server")))
    }

    fn connect(&self) -> TcpStream {
        let address = self.0.as_ref().expect("running").addresses()[0];
        TcpStream::connect(address).expect("a connection")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(s) = self.0.take() {
            s.stop();
            s.join();
        }
    }
}

/// Everything up to the end of the connection, which must not be a reset.
fn to_the_end(c: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    c.read_to_end(&mut all).expect("an end, not a reset");
    all
}

#[test]
fn quit_is_answered_and_then_the_connection_ends() {
    let running = Running::start();
    let big = vec![b'x'; 3 << 20];
    let mut c = running.connect();
    c.write_all(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n", big.len()).as_bytes()).unwrap();
    c.write_all(&big).unwrap();
    c.write_all(b"\r\nPING\r\n").unwrap();
    let mut reply = [0; 12];
    c.read_exact(&mut reply).expect("replies");
    assert_eq!(&reply, b"+OK\r\n+PONG\r\n");
    for round in 0..50 {
        let mut c = running.connect();
        // Small replies go with the end in one packet; big ones fill the socket first.
        let before = if round % 2 == 0 { "PING\r\n".repeat(5) } else { "GET k\r\n".to_owned() };
        c.write_all(format!("{before}QUIT\r\n").as_bytes()).expect("written");
        let all = to_the_end(&mut c);
        let expected = if round % 2 == 0 { 5 * 7 } else { 10 + big.len() + 2 };
        assert_eq!(all.len(), expected + 5, "round {round}");
        assert!(all.ends_with(b"\r\n+OK\r\n"));
    }
}

#[test]
fn a_client_with_the_reply_to_quit_finds_the_connection_ended() {
    let running = Running::start();
    for _ in 0..200 {
        let mut c = running.connect();
        c.write_all(b"QUIT\r\n").expect("written");
        let mut reply = [0; 5];
        c.read_exact(&mut reply).expect("a reply");
        assert_eq!(&reply, b"+OK\r\n");
        // The end came with the reply: there is nothing to wait for.
        c.set_nonblocking(true).expect("a socket");
        let end = c.read(&mut reply);
        assert!(!matches!(&end, Err(e) if e.kind() == ErrorKind::WouldBlock), "still open");
        assert_eq!(end.expect("an end, not a reset"), 0);
    }
}

#[test]
fn time_goes_on_within_a_pipeline() {
    let running = Running::start();
    let mut c = running.connect();
    c.write_all(
        b"SET a v PX 30\r\nSET b v PX 100000\r\nDEBUG SLEEP 0.06\r\nEXISTS a b\r\nSET c v PX 30\r\n\
          PTTL c\r\nDEBUG SLEEP 0.06\r\nGET c\r\nQUIT\r\n",
    )
    .expect("written");
    let all = String::from_utf8(to_the_end(&mut c)).expect("text");
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines[..5], ["+OK", "+OK", "+OK", ":1", "+OK"], "a is over: {all}");
    let left: i64 = lines[5][1..].parse().expect("a number");
    // Counted from when it was set, not from when the pipeline began.
    assert!((1..=30).contains(&left), "{all}");
    assert_eq!(lines[6..], ["+OK", "$-1", "+OK"], "{all}");
}
