//! Blocked commands: the order in which they are served, and the events that end the waiting.

mod common;

use common::{Conn, Server};
use engine::Message;

/// A server with connections by number.
struct World {
    server: Server,
    conns: Vec<Conn>,
}

impl World {
    fn new(n: usize) -> Self {
        let server = Server::new();
        let conns = (0..n).map(|_| server.connect()).collect();
        Self { server, conns }
    }

    /// Sends a command on connection `i`. Returns the answer that comes at once.
    fn send(&mut self, i: usize, line: &str) -> String {
        self.server.send(&mut self.conns[i], line)
    }

    /// Sends a command that is expected to wait.
    fn wait(&mut self, i: usize, line: &str) {
        assert_eq!(self.send(i, line), "", "{line} waits");
        assert!(self.conns[i].session.blocked.is_some(), "{line} waits");
    }

    /// The answers that blocked connections have got since the last call, in order.
    fn answers(&mut self) -> Vec<(usize, String)> {
        let mut all = Vec::new();
        for message in self.server.thread.worker().mailbox.take() {
            let Message::Answer(id, bytes) = message else { continue };
            let i = self.conns.iter().position(|c| c.session.client.id == id).expect("known");
            self.conns[i].session.unblocked();
            self.conns[i].waiting = false;
            all.push((i, String::from_utf8(bytes).expect("text")));
        }
        all
    }
}

/// A bulk string.
fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn pair(a: &str, b: &str) -> String {
    format!("*2\r\n{}{}", bulk(a), bulk(b))
}

#[test]
fn first_come_first_served() {
    let mut w = World::new(4);
    for i in 1..4 {
        w.wait(i, "BLPOP k 0");
    }
    assert_eq!(w.send(0, "RPUSH k a b"), ":2\r\n");
    // An element that was pushed for a waiter was never there for any other client.
    assert_eq!(w.send(0, "LLEN k"), ":0\r\n");
    assert_eq!(w.answers(), [(1, pair("k", "a")), (2, pair("k", "b"))]);
    assert!(w.conns[3].session.blocked.is_some());
    w.send(0, "RPUSH k c");
    assert_eq!(w.answers(), [(3, pair("k", "c"))]);
}

#[test]
fn a_transaction_is_over_before_anybody_is_served() {
    let mut w = World::new(2);
    w.wait(1, "BLPOP a b 0");
    w.send(0, "MULTI");
    w.send(0, "RPUSH b 1");
    w.send(0, "RPUSH a 2");
    w.send(0, "LLEN a");
    assert_eq!(w.send(0, "EXEC"), "*3\r\n:1\r\n:1\r\n:1\r\n");
    // All keys are looked at in their order, whichever became ready first.
    assert_eq!(w.answers(), [(1, pair("a", "2"))]);
    assert_eq!(w.send(0, "LLEN b"), ":1\r\n");
}

#[test]
fn serving_one_may_make_another_ready() {
    let mut w = World::new(4);
    w.wait(1, "BLMOVE a b LEFT RIGHT 0");
    w.wait(2, "BRPOPLPUSH b c 0");
    w.wait(3, "BLMPOP 0 1 c LEFT COUNT 5");
    w.send(0, "RPUSH a x");
    assert_eq!(
        w.answers(),
        [(1, bulk("x")), (2, bulk("x")), (3, "*2\r\n$1\r\nc\r\n*1\r\n$1\r\nx\r\n".to_owned())]
    );
    assert_eq!(w.send(0, "DBSIZE"), ":0\r\n");
}

#[test]
fn another_type_is_not_what_it_waits_for() {
    let mut w = World::new(3);
    w.wait(1, "BLPOP k 0");
    w.wait(2, "BZPOPMIN k 0");
    w.send(0, "SADD k m");
    assert_eq!(w.answers(), []);
    w.send(0, "DEL k");
    w.send(0, "ZADD k 5 m");
    assert_eq!(w.answers(), [(2, "*3\r\n$1\r\nk\r\n$1\r\nm\r\n$1\r\n5\r\n".to_owned())]);
    assert!(w.conns[1].session.blocked.is_some());
}

#[test]
fn keys_arrive_in_many_ways() {
    for (prepare, then) in [
        ("RPUSH other v", "RENAME other k"),
        ("RPUSH other v", "COPY other k"),
        ("RPUSH other v", "LMOVE other k LEFT LEFT"),
        ("RPUSH other v", "SORT other ALPHA STORE k"),
    ] {
        let mut w = World::new(2);
        w.send(0, prepare);
        w.wait(1, "BLPOP k 0");
        w.send(0, then);
        assert_eq!(w.answers(), [(1, pair("k", "v"))], "{then}");
    }
    let mut w = World::new(2);
    w.send(0, "SELECT 1");
    w.send(0, "RPUSH k v");
    w.wait(1, "BLPOP k 0");
    w.send(0, "SWAPDB 0 1");
    assert_eq!(w.answers(), [(1, pair("k", "v"))]);
}

#[test]
fn time_runs_out() {
    let mut w = World::new(2);
    w.wait(1, "BLPOP k 0.25");
    let at = w.conns[1].session.wakes_at().expect("a deadline");
    assert_eq!(at, common::START_MS as i64 + 250);
    let reply = w.server.thread.time_out(&w.server.engine, &mut w.conns[1].session);
    assert_eq!(reply.as_deref(), Some(&b"*-1\r\n"[..]));
    // No client waits any more.
    w.send(0, "RPUSH k v");
    assert_eq!(w.answers(), []);
    assert_eq!(w.send(0, "LLEN k"), ":1\r\n");
}

#[test]
fn what_has_been_pending_for_long_enough_ends_a_wait() {
    let mut w = World::new(3);
    w.send(0, "XADD s 1-0 n 1");
    w.send(0, "XGROUP CREATE s g 0");
    w.send(0, "XREADGROUP GROUP g Ada STREAMS s >");
    w.wait(1, "XREADGROUP GROUP g Alan BLOCK 0 CLAIM 500 STREAMS s >");
    let start = common::START_MS as i64;
    assert_eq!(w.conns[1].session.wakes_at(), Some(start + 500));
    // Ada gets it once more: it has not been pending for long.
    w.server.wait_ms(400);
    w.send(0, "XREADGROUP GROUP g Ada STREAMS s 0");
    w.server.wait_ms(101);
    assert_eq!(w.server.thread.time_out(&w.server.engine, &mut w.conns[1].session), None);
    assert_eq!(w.answers(), []);
    assert_eq!(w.conns[1].session.wakes_at(), Some(start + 900));
    w.server.wait_ms(400);
    assert_eq!(w.server.thread.time_out(&w.server.engine, &mut w.conns[1].session), None);
    let entry = "*4\r\n$3\r\n1-0\r\n*2\r\n$1\r\nn\r\n$1\r\n1\r\n:501\r\n:2\r\n";
    assert_eq!(w.answers(), [(1, format!("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n{entry}"))]);
    // Where it ends without anything: the deadline comes first.
    w.wait(2, "XREADGROUP GROUP g Grace BLOCK 100 CLAIM 500 STREAMS s >");
    assert_eq!(w.conns[2].session.wakes_at(), Some(start + 901 + 100));
    w.server.wait_ms(101);
    let reply = w.server.thread.time_out(&w.server.engine, &mut w.conns[2].session);
    assert_eq!(reply.as_deref(), Some(&b"*-1\r\n"[..]));
}

#[test]
fn who_waits_for_more_stands_in_nobodys_way() {
    let mut w = World::new(3);
    w.wait(1, "BLMOVEM k to LEFT RIGHT 0 EXACTLY 3 BULK");
    w.wait(2, "BLPOP k 0");
    w.send(0, "RPUSH k a");
    assert_eq!(w.answers(), [(2, pair("k", "a"))]);
    w.send(0, "RPUSH k a b");
    assert_eq!(w.answers(), []);
    w.send(0, "LINSERT k BEFORE b c");
    assert_eq!(w.answers(), [(1, format!("*3\r\n{}{}{}", bulk("a"), bulk("c"), bulk("b")))]);
}

#[test]
fn client_unblock() {
    let mut w = World::new(3);
    w.wait(1, "BLPOP k 0");
    w.wait(2, "BLMOVE k l LEFT LEFT 0");
    let ids: Vec<u64> = w.conns.iter().map(|c| c.session.client.id).collect();
    assert_eq!(w.send(0, &format!("CLIENT UNBLOCK {} ERROR", ids[1])), ":1\r\n");
    assert_eq!(w.send(0, &format!("CLIENT UNBLOCK {}", ids[2])), ":1\r\n");
    let error = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n".to_owned();
    // As in Redis, a client whose time is over gets no array, even where a string was to be.
    assert_eq!(w.answers(), [(1, error), (2, "*-1\r\n".to_owned())]);
    assert_eq!(w.send(0, &format!("CLIENT UNBLOCK {}", ids[1])), ":0\r\n");
    assert!(w.send(0, "INFO clients").contains("blocked_clients:0"));
}

#[test]
fn who_leaves_is_not_served() {
    let mut w = World::new(3);
    w.wait(1, "BLPOP k 0");
    w.wait(2, "BLPOP k 0");
    w.server.thread.leave(&w.server.engine, &mut w.conns[1].session);
    w.send(0, "RPUSH k v");
    assert_eq!(w.answers(), [(2, pair("k", "v"))]);
}

#[test]
fn input_behind_a_blocked_command_waits() {
    let mut w = World::new(2);
    let both = [common::request("BLPOP k 0"), common::request("PING")].concat();
    assert_eq!(w.server.feed(&mut w.conns[1], &both), b"");
    w.send(0, "RPUSH k v");
    let got = w.server.deliver(&mut w.conns[1]);
    assert_eq!(String::from_utf8_lossy(&got), format!("{}+PONG\r\n", pair("k", "v")));
}

#[test]
fn a_group_that_goes_ends_the_waiting() {
    let mut w = World::new(2);
    w.send(0, "XGROUP CREATE s g $ MKSTREAM");
    w.wait(1, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
    w.send(0, "XGROUP DESTROY s g");
    let answers = w.answers();
    assert!(answers[0].1.starts_with("-NOGROUP "), "{answers:?}");
}

#[test]
fn a_reader_waits_for_what_is_new_to_it() {
    let mut w = World::new(3);
    w.send(0, "XADD s 1-0 f a");
    w.wait(1, "XREAD BLOCK 0 STREAMS s $");
    w.wait(2, "XREAD BLOCK 0 STREAMS s 5-0");
    w.send(0, "XADD s 2-0 f b");
    let answers = w.answers();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].0 == 1 && answers[0].1.contains("2-0"), "{answers:?}");
    w.send(0, "XADD s 6-0 f c");
    assert_eq!(w.answers().len(), 1);
}

#[test]
fn flushing_a_large_database_holds_up_nobody_else() {
    let mut w = World::new(2);
    let lazyfreed = |w: &mut World| {
        let info = w.send(1, "INFO memory");
        let (_, rest) = info.split_once("lazyfreed_objects:").expect("the field");
        rest.split_once("\r\n").expect("a line").0.parse::<u64>().expect("a number")
    };
    let fill = (0..20_000).fold(String::from("MSET"), |line, i| format!("{line} k{i} v"));
    w.send(0, &fill);
    // Within a transaction nothing waits.
    w.send(0, "MULTI");
    w.send(0, "FLUSHALL");
    assert_eq!(w.send(0, "EXEC"), "*1\r\n+OK\r\n");
    assert_eq!(lazyfreed(&mut w), 0);
    w.send(0, "SET few 1");
    assert_eq!(w.send(0, "FLUSHALL"), "+OK\r\n");
    assert_eq!(lazyfreed(&mut w), 0);

    for flush in ["FLUSHALL", "FLUSHDB SYNC"] {
        w.send(0, &fill);
        let before = lazyfreed(&mut w);
        w.wait(0, flush);
        assert_eq!(w.send(1, "DBSIZE"), ":0\r\n", "gone for everybody at once");
        let World { server, conns } = &mut w;
        let answer = loop {
            let answer = server.deliver(&mut conns[0]);
            if !answer.is_empty() {
                break answer;
            }
            std::thread::yield_now();
        };
        assert_eq!(answer, b"+OK\r\n");
        assert_eq!(lazyfreed(&mut w) - before, 20_000, "{flush}: freed before the answer");
        assert!(w.send(1, "INFO clients").contains("blocked_clients:0"));
        assert_eq!(w.send(0, "PING"), "+PONG\r\n");
    }
}

#[test]
fn time_is_counted_from_when_the_command_runs() {
    let mut w = World::new(2);
    w.send(0, "SET k v");
    // Each command takes less than a millisecond.
    w.server.clock.step_us(200);
    let mut input = b"BITCOUNT k\r\n".repeat(50);
    input.extend_from_slice(b"BLPOP q 1\r\n");
    let sent = w.server.feed(&mut w.conns[1], &input);
    assert_eq!(sent, b":5\r\n".repeat(50));
    let at = w.conns[1].session.wakes_at().expect("a deadline");
    assert!(at >= common::START_MS as i64 + 1000 + 50 * 2 / 10, "{}", at - common::START_MS as i64);
    // The deadline of a key, too.
    w.server.clock.step_us(0);
    w.server.wait_ms(1000);
    w.server.clock.step_us(200);
    let before = w.server.engine.clock.wall_ms();
    let mut input = b"BITCOUNT k\r\n".repeat(50);
    input.extend_from_slice(b"SET e v PX 1000\r\nPEXPIRETIME e\r\n");
    let sent = String::from_utf8(w.server.feed(&mut w.conns[0], &input)).expect("text");
    let at: u64 = sent.lines().last().and_then(|l| l[1..].parse().ok()).expect("a number");
    assert!(at >= before + 1000 + 50 * 2 / 10, "{}", at - before);
}

#[test]
fn a_pause_lasts_its_time() {
    let mut w = World::new(1);
    w.server.clock.advance_us(900);
    w.server.wait_ms(0);
    assert_eq!(w.send(0, "CLIENT PAUSE 10"), "+OK\r\n");
    w.server.clock.advance_us(9_999);
    assert!(w.server.engine.check_pause());
    w.server.clock.advance_us(1_001);
    assert!(!w.server.engine.check_pause());
}
