//! Long commands run beside the event loops: what their own connection and others see meanwhile, and that
//! they do all that a command does on a worker.

mod workers;

use std::sync::Arc;

use engine::{Attention, Engine, Message, Next, Session};
use resp::{Out, Parser};
use store::ShardSet;
use testing::eventually;
use workers::{Worker, endpoint, engine};

const MEMBERS: usize = 60_000;

/// A worker whose database has big values.
fn filled(options: &str) -> Worker {
    let mut w = Worker::new(&engine(options));
    fill(&mut w);
    w
}

fn fill(w: &mut Worker) {
    let members = |i: usize| (i..i + 100).map(|n| format!(" {n:030}")).collect::<String>();
    let pipeline = |command: &str| {
        (0..MEMBERS)
            .step_by(100)
            .map(|i| format!("{command}{}\r\n", members(i)))
            .collect::<String>()
    };
    w.run(&pipeline("SADD big"));
    w.run("SADD small 1 2 3\r\nSET text x\r\n");
}

/// Another connection of the same thread.
struct Beside {
    session: Session,
    parser: Parser,
}

impl Beside {
    fn new(w: &Worker) -> Self {
        let endpoint = endpoint("127.0.0.1:2");
        Self {
            session: Session::new(&w.engine, w.thread.index, endpoint),
            parser: Parser::default(),
        }
    }

    fn send(&mut self, w: &mut Worker, input: &str) -> (String, Next) {
        let mut out = Out::default();
        let engine = Arc::clone(&w.engine);
        let batch =
            w.thread.run(&engine, &mut self.session, &mut self.parser, input.as_bytes(), &mut out);
        (String::from_utf8(out.join()).expect("text"), batch.next)
    }
}

/// Sends a command that is handed over.
fn hand_over(w: &mut Worker, line: &str) {
    let sent = w.run(line);
    assert!(sent.is_empty() && w.session.blocked.is_some(), "{line} was answered {sent}");
}

/// Does the jobs of the worker's mailbox until the connection has its reply.
fn answer(w: &mut Worker) -> String {
    eventually("it has its reply", || answered(w))
}

fn answered(w: &mut Worker) -> Option<String> {
    let engine = Arc::clone(&w.engine);
    for message in w.thread.worker().mailbox.take() {
        let out = match message {
            Message::Run(job) => {
                job.run(&engine, &mut w.thread);
                continue;
            }
            Message::Answer(_, buf) => Out { buf, ..Out::default() },
            Message::Pieces(_, out) => out,
            _ => continue,
        };
        w.session.unblocked();
        return Some(String::from_utf8(out.join()).expect("text"));
    }
    None
}

/// Waits until shards are announced, or until none are.
fn until_announced(engine: &Engine, announced: bool) {
    let is = || engine.attention.get() & Attention::LONG != 0;
    eventually("shards are announced", || (is() == announced).then_some(()));
}

fn aside(w: &mut Worker, line: &str) -> String {
    hand_over(w, line);
    answer(w)
}

#[test]
fn long_commands_do_what_they_do() {
    for options in ["", "threads 1"] {
        let mut w = filled(options);
        let all = format!(":{MEMBERS}\r\n");
        assert_eq!(aside(&mut w, "SUNIONSTORE d big small nothing\r\n"), ":60003\r\n");
        assert_eq!(w.run("SCARD d\r\n"), ":60003\r\n");
        assert_eq!(aside(&mut w, "SINTERSTORE d big d\r\n"), all);
        assert_eq!(aside(&mut w, "COPY big copy\r\n"), ":1\r\n");
        assert_eq!(aside(&mut w, "SORT big LIMIT 0 1 ALPHA STORE l\r\n"), ":1\r\n");
        assert_eq!(aside(&mut w, "ZUNIONSTORE z 2 big copy\r\n"), all);
        assert_eq!(aside(&mut w, "ZDIFF 2 z big\r\n"), "*0\r\n");
        assert!(aside(&mut w, "SMEMBERS big\r\n").starts_with("*60000\r\n$30\r\n"));
        assert!(
            aside(&mut w, "SSCAN big 0 COUNT 1000000\r\n").starts_with("*2\r\n$1\r\n0\r\n*60000")
        );
        assert!(aside(&mut w, "SUNION big text\r\n").starts_with("-WRONGTYPE"));
        let stats = w.call(&["INFO", "everything"]);
        assert!(stats.contains("cmdstat_sunion:calls=1,"), "{stats}");
        assert!(stats.contains("errorstat_WRONGTYPE:count=1"), "{stats}");
        assert!(stats.contains("blocked_clients:0"), "{stats}");
        assert_eq!(w.engine.keyspace.is_single(), options == "threads 1");
    }
}

#[test]
fn short_commands_stay() {
    let mut w = filled("");
    for line in [
        "SUNION small small",
        "SINTERCARD 2 small big",
        "SINTERSTORE d small big",
        "SSCAN big 0 COUNT 100",
        "SCAN 0 COUNT 1000000",
        "SRANDMEMBER big",
        "SMEMBERS small",
    ] {
        assert!(!w.run(&format!("{line}\r\n")).is_empty(), "{line}");
        assert!(w.session.blocked.is_none(), "{line}");
    }
    // A transaction and a script are whole.
    let sent = w.run("MULTI\r\nSUNIONSTORE d big\r\nEXEC\r\n");
    assert!(sent.ends_with("*1\r\n:60000\r\n"), "{sent}");
    let sent = w.run("EVAL \"return redis.call('SUNIONSTORE', 'd', 'big')\" 2 d big\r\n");
    assert_eq!(sent, ":60000\r\n");
}

/// Locks the shard of a key that the next command does not look at until it runs.
fn lock(engine: &Engine, w: &mut Worker, key: &str) {
    let mut set = ShardSet::default();
    set.add(stdx::hash::hash64(key.as_bytes()));
    engine.keyspace.hold(&mut w.thread.cx, Some(set));
}

#[test]
fn others_go_on_or_wait_without_their_thread() {
    let mut w = filled("");
    let engine = Arc::clone(&w.engine);
    let mut holder = Worker::new(&engine);
    lock(&engine, &mut holder, "other");
    // It needs all shards.
    hand_over(&mut w, "SORT big ALPHA BY w_* LIMIT 0 1\r\n");
    until_announced(&engine, true);
    let (mut a, mut b) = (Beside::new(&w), Beside::new(&w));
    assert_eq!(a.send(&mut w, "PING\r\n"), ("+PONG\r\n".to_owned(), Next::Read));
    assert_eq!(a.send(&mut w, "PING\r\nGET text\r\n"), ("+PONG\r\n".to_owned(), Next::Wait));
    let queued = "+OK\r\n+QUEUED\r\n".to_owned();
    assert_eq!(b.send(&mut w, "MULTI\r\nGET text\r\nEXEC\r\n"), (queued, Next::Wait));
    // To clients it is no blocking command.
    let id = w.session.client.id.to_string();
    assert_eq!(Beside::new(&w).send(&mut w, &format!("CLIENT UNBLOCK {id}\r\n")).0, ":0\r\n");
    holder.thread.worker().mailbox.take();
    engine.keyspace.release(&mut holder.thread.cx);
    assert!(answer(&mut w).starts_with("*1\r\n$30\r\n"));
    // Every thread looks at its waiting connections again.
    let messages = holder.thread.worker().mailbox.take();
    assert!(messages.iter().any(|m| matches!(m, Message::Resume)), "{messages:?}");
    assert_eq!(engine.attention.get() & Attention::LONG, 0);
    assert_eq!(a.send(&mut w, ""), ("$1\r\nx\r\n".to_owned(), Next::Read));
    assert_eq!(b.send(&mut w, ""), ("*1\r\n$1\r\nx\r\n".to_owned(), Next::Read));
}

#[test]
fn what_it_writes_wakes_and_is_told_of() {
    let mut w = filled("notify-keyspace-events KEA");
    let mut popper = Worker::new(&w.engine);
    popper.run("BLPOP l 0\r\n");
    let mut reader = Worker::new(&w.engine);
    reader.call(&["PSUBSCRIBE", "__keyspace@0__:l"]);
    let mut cacher = Worker::new(&w.engine);
    cacher.run("HELLO 3\r\nCLIENT TRACKING ON\r\nLLEN l\r\n");
    assert_eq!(aside(&mut w, "SORT big LIMIT 0 2 ALPHA STORE l\r\n"), ":2\r\n");
    assert!(answer(&mut popper).starts_with("*2\r\n$1\r\nl\r\n$30\r\n"));
    assert_eq!(w.run("LLEN l\r\n"), ":1\r\n");
    assert!(reader.deliver() > 0);
    assert!(cacher.deliver() > 0);
}

#[test]
fn a_key_that_is_read_is_remembered_for_its_client() {
    let mut w = filled("");
    w.run("HELLO 3\r\nCLIENT TRACKING ON\r\n");
    aside(&mut w, "SMEMBERS big\r\n");
    let mut writer = Worker::new(&w.engine);
    writer.run("SADD big new\r\n");
    assert!(w.deliver() > 0);
}

#[test]
fn a_connection_that_ends_leaves_its_command() {
    let mut w = filled("");
    let engine = Arc::clone(&w.engine);
    let mut holder = Worker::new(&engine);
    lock(&engine, &mut holder, "other");
    hand_over(&mut w, "SORT big ALPHA BY w_* LIMIT 0 1 STORE l\r\n");
    w.thread.leave(&engine, &mut w.session);
    until_announced(&engine, true);
    engine.keyspace.release(&mut holder.thread.cx);
    until_announced(&engine, false);
    assert_eq!(holder.run("LLEN l\r\n"), ":1\r\n");
}

#[test]
fn several_for_the_same_shards_take_turns() {
    let first = filled("");
    let engine = Arc::clone(&first.engine);
    let mut holder = Worker::new(&engine);
    lock(&engine, &mut holder, "other");
    let mut all = vec![first];
    // More than there are helpers.
    all.resize_with(6, || Worker::new(&engine));
    for (w, i) in all.iter_mut().zip(0..) {
        let sent = w.run(&format!("SORT big ALPHA BY w_* LIMIT 0 {} STORE l{i}\r\n", i + 1));
        assert_eq!(sent, "");
    }
    until_announced(&engine, true);
    engine.keyspace.release(&mut holder.thread.cx);
    for (w, i) in all.iter_mut().zip(1..) {
        // Those that came after the announcement have not been handed over yet.
        let sent = eventually("it is handed over", || {
            let sent = if w.session.blocked.is_none() { w.resume() } else { String::new() };
            (!sent.is_empty() || w.session.blocked.is_some()).then_some(sent)
        });
        let sent = if sent.is_empty() { answer(w) } else { sent };
        assert_eq!(sent, format!(":{i}\r\n"));
    }
    until_announced(&engine, false);
    assert_eq!(holder.run("LLEN l0\r\nLLEN l5\r\n"), ":1\r\n:6\r\n");
}

#[test]
fn it_runs_as_its_client() {
    let mut w = filled("");
    let engine = Arc::clone(&w.engine);
    // In its database, too.
    w.run("SELECT 3\r\n");
    fill(&mut w);
    assert_eq!(aside(&mut w, "SUNIONSTORE d big small\r\n"), ":60003\r\n");
    assert_eq!(w.run("SCARD d\r\n"), ":60003\r\n");
    // Other keys than those that it names are subject to the user's permissions.
    w.run("ACL SETUSER u on nopass +@all ~big ~l\r\n");
    let mut other = Worker::new(&engine);
    other.run("AUTH u x\r\nSELECT 3\r\n");
    let denied = aside(&mut other, "SORT big ALPHA BY w_* LIMIT 0 1 STORE l\r\n");
    assert!(denied.starts_with("-ERR BY option of SORT denied"), "{denied}");
}

/// Elements and members of the values of [`fill_in_order`].
const ELEMENTS: usize = 560_000;
const RANKED: usize = 240_000;
/// Entries, members, fields and places of others.
const PLACES: usize = 90_000;

/// Values that are quick to look at, so large that it takes long all the same.
fn fill_in_order(w: &mut Worker) {
    let pieces = [
        ("RPUSH l", (0..1_000).map(|_| " x".to_owned()).collect::<String>()),
        ("ZADD z", (0..1_000).map(|n| format!(" {n} {n:030}")).collect()),
        ("RPUSH few", (0..1_000).map(|_| " x".to_owned()).collect()),
    ];
    for (command, parts) in pieces {
        w.run(&format!("{command}{parts}\r\n"));
    }
    let script = "local x = redis.call('LRANGE', KEYS[1], 0, -1) \
         for i = 2, ARGV[1] / 1000 do redis.call('RPUSH', KEYS[1], unpack(x)) end \
         for i = 1, ARGV[2] / 1000 - 1 do \
             local z = {} \
             for n = i * 1000, i * 1000 + 999 do \
                 z[#z + 1] = n z[#z + 1] = string.format('%030d', n) \
             end \
             redis.call('ZADD', KEYS[2], unpack(z)) \
         end";
    w.call(&["EVAL", script, "2", "l", "z", &ELEMENTS.to_string(), &RANKED.to_string()]);
    assert_eq!(w.run("LLEN l\r\nZCARD z\r\n"), format!(":{ELEMENTS}\r\n:{RANKED}\r\n"));
    w.run("SETRANGE bits 70000000 x\r\n");
    let script = "for i = 0, ARGV[1] - 1, 1000 do \
             local s, h, g = {}, {}, {} \
             for n = i + 1, i + 1000 do \
                 redis.call('XADD', KEYS[1], n .. '-0', 'f', n) \
                 s[#s + 1] = 'a place ' .. n \
                 h[#h + 1] = 'a field ' .. n h[#h + 1] = n \
                 g[#g + 1] = n / 1000 g[#g + 1] = 1 g[#g + 1] = n \
             end \
             redis.call('SADD', KEYS[2], unpack(s)) \
             redis.call('HSET', KEYS[3], unpack(h)) \
             redis.call('GEOADD', KEYS[4], unpack(g)) \
         end";
    w.call(&["EVAL", script, "4", "x", "s", "h", "g", &PLACES.to_string()]);
    let (a, b) = ("ab".repeat(2_100), "cb".repeat(2_100));
    w.run(&format!("SET a {a}\r\nSET b {b}\r\nSET c {}\r\n", &a[..100]));
}

#[test]
fn commands_that_weigh_what_they_look_at_do_what_they_do() {
    for options in ["", "threads 1"] {
        let mut w = Worker::new(&engine(options));
        fill_in_order(&mut w);
        for line in [
            "LRANGE l 0 -1",
            "LPOS l y",
            "LPOS l x COUNT 0 MAXLEN 300000",
            "ZRANGE z 0 -1",
            "ZRANGE z 1 -1 REV WITHSCORES",
            "ZREVRANGE z 0 -1",
            "ZRANGEBYSCORE z (5 +inf LIMIT 1 -1",
            "ZREVRANGEBYSCORE z inf -inf",
            "ZRANGEBYLEX z - +",
            "ZREVRANGEBYLEX z + -",
            "BITCOUNT bits",
            "BITCOUNT bits 1 -1 BIT",
            "LCS a b",
            "LCS a b LEN",
            "XRANGE x - +",
            "XRANGE x 5000 + COUNT 80000",
            "XREVRANGE x + 10",
            "GEOSEARCH g FROMLONLAT 0 1 BYRADIUS 9000 km ASC COUNT 9",
            "GEORADIUS g 40 1 9000 km",
            "GEORADIUS_RO g 40 1 9000 km",
            "GEORADIUSBYMEMBER g 500 9000 km",
            "GEORADIUSBYMEMBER_RO g 500 9000 km",
        ] {
            // In a transaction it runs where it is.
            let whole = w.run(&format!("MULTI\r\n{line}\r\nEXEC\r\n"));
            let whole = whole.strip_prefix("+OK\r\n+QUEUED\r\n*1\r\n").expect("one reply");
            assert!(aside(&mut w, &format!("{line}\r\n")) == whole, "{line}");
        }
        let n = RANKED as i64;
        for (line, reply) in [
            ("LREM l 0 y", 0),
            ("LINSERT l BEFORE y z", -1),
            ("ZRANGESTORE d z 0 -1", n),
            ("ZREMRANGEBYRANK z 0 79999", 80_000),
            ("ZREMRANGEBYSCORE z 80000 159999", 80_000),
            ("ZREMRANGEBYLEX d - +", n),
        ] {
            assert_eq!(aside(&mut w, &format!("{line}\r\n")), format!(":{reply}\r\n"), "{line}");
        }
        let store = "GEOSEARCHSTORE d g FROMLONLAT 40 1 BYRADIUS 9000 km\r\n";
        assert_eq!(aside(&mut w, store), format!(":{PLACES}\r\n"));
        w.run("DEL d\r\n");
        for (line, n) in [
            ("SRANDMEMBER s 80000", 80_000),
            ("SRANDMEMBER s -100000", 100_000),
            ("HRANDFIELD h 80000", 80_000),
            ("HRANDFIELD h -100000", 100_000),
            ("ZRANDMEMBER z -100000", 100_000),
            ("ZPOPMAX g 80000", 160_000),
            ("SPOP s 80000", 80_000),
        ] {
            let reply = aside(&mut w, &format!("{line}\r\n"));
            assert!(reply.starts_with(&format!("*{n}\r\n$")), "{line}: {}", &reply[..20]);
        }
        let left = format!(":{}\r\n:0\r\n:{ELEMENTS}\r\n", n - 160_000);
        assert_eq!(w.run("ZCARD z\r\nEXISTS d\r\nLLEN l\r\n"), left);
        let stats = w.call(&["INFO", "everything"]);
        assert!(stats.contains("cmdstat_zrangestore:calls=1,"), "{stats}");
        assert!(stats.contains("cmdstat_lrem:calls=1,"), "{stats}");
        assert!(stats.contains("blocked_clients:0"), "{stats}");
    }
}

#[test]
fn small_parts_of_big_values_stay() {
    let mut w = Worker::new(&engine(""));
    fill_in_order(&mut w);
    for line in [
        "LRANGE l 0 9999",
        "LRANGE few 0 -1",
        "LPOS l x",
        "LPOS l x COUNT 0 MAXLEN 1000",
        "LINSERT l BEFORE x x",
        "LREM few 0 y",
        "ZRANGE z -1000 -1",
        "ZRANGE z 0 inf BYSCORE LIMIT 0 1000",
        "ZRANGEBYLEX z - + LIMIT 10 1000",
        "ZRANGESTORE d z 0 999",
        "ZREMRANGEBYRANK z 0 999",
        "BITCOUNT bits 0 9999",
        "BITCOUNT bits -10000 -1",
        "LCS a c LEN",
        "XRANGE x 10 2000",
        "XRANGE x 89000 +",
        "XREVRANGE x 3000 - COUNT 2000",
        "GEOSEARCH g FROMLONLAT 40 1 BYRADIUS 10 km",
        "SRANDMEMBER s 1000",
        "HRANDFIELD h -1000",
        "ZRANDMEMBER z 1000",
        "ZPOPMIN z 1000",
        "SPOP s 1000",
    ] {
        assert!(!w.run(&format!("{line}\r\n")).is_empty(), "{line}");
        assert!(w.session.blocked.is_none(), "{line}");
    }
    let sent = w.call(&["EVAL", "return #redis.call('LRANGE', KEYS[1], 0, -1)", "1", "l"]);
    assert_eq!(sent, format!(":{}\r\n", ELEMENTS + 1));
}

#[test]
fn a_command_that_weighs_is_counted_once_and_in_its_turn() {
    let mut w = Worker::new(&engine(""));
    fill_in_order(&mut w);
    w.run("CONFIG RESETSTAT\r\n");
    for line in ["LRANGE l 0 -1", "LCS a b", "LPOS l y", "ZRANGESTORE d z 0 -1", "LREM l 0 y"] {
        aside(&mut w, &format!("{line}\r\n"));
    }
    let stats = w.call(&["INFO", "everything"]);
    assert!(stats.contains("keyspace_hits:5\r\nkeyspace_misses:0\r\n"), "{stats}");
    // Within a pipeline, which stops at it. An inline command would be executed by itself.
    let mut b = Beside::new(&w);
    let short = "*4\r\n$6\r\nLRANGE\r\n$3\r\nfew\r\n$1\r\n0\r\n$1\r\n0\r\n";
    let long = "*4\r\n$6\r\nLRANGE\r\n$1\r\nl\r\n$1\r\n0\r\n$2\r\n-1\r\n";
    let (sent, next) = b.send(&mut w, &format!("{short}{short}{long}{short}"));
    assert_eq!((sent.as_str(), next), ("*1\r\n$1\r\nx\r\n*1\r\n$1\r\nx\r\n", Next::Block));
    let waiter = b.session.client.id.to_string();
    // To clients it is no blocking command.
    assert_eq!(w.run(&format!("CLIENT UNBLOCK {waiter}\r\n")), ":0\r\n");
    std::mem::swap(&mut w.session, &mut b.session);
    let out = answer(&mut w);
    assert!(out.starts_with(&format!("*{ELEMENTS}\r\n$1\r\nx\r\n")), "{}", &out[..99]);
    std::mem::swap(&mut w.session, &mut b.session);
    assert_eq!(b.send(&mut w, short), ("*1\r\n$1\r\nx\r\n".to_owned(), Next::Read));
}

/// Hands over the line of each worker. The first needs all shards and waits for one that `holder` has locked.
fn hand_over_all(holder: &mut Worker, all: &mut [(Worker, &str)]) {
    let engine = Arc::clone(&holder.engine);
    eventually("all are handed over", || {
        lock(&engine, holder, "other");
        all.iter_mut().for_each(|(w, line)| assert_eq!(w.run(line), ""));
        if all.iter().all(|(w, _)| w.session.blocked.is_some()) {
            return Some(());
        }
        // The first was announced already, and so another waits in its connection.
        engine.keyspace.release(&mut holder.thread.cx);
        for (w, _) in all.iter_mut() {
            eventually("it has its reply", || match w.session.blocked {
                Some(_) => answered(w),
                None => Some(w.resume()).filter(|sent| !sent.is_empty()),
            });
        }
        holder.run("DEL copy4 copy5\r\n");
        None
    });
    until_announced(&engine, true);
}

const SORT: &str = "SORT big ALPHA BY w_* LIMIT 0 1 STORE l0\r\n";

#[test]
fn none_begins_in_a_pause() {
    let first = filled("");
    let engine = Arc::clone(&first.engine);
    let mut holder = Worker::new(&engine);
    let other = |line| (Worker::new(&engine), line);
    // The last two come when all helpers are taken.
    let mut all = [
        (first, SORT),
        other("SUNIONSTORE copy1 big\r\n"),
        other("SUNIONSTORE copy2 big\r\n"),
        other("SUNIONSTORE copy3 big\r\n"),
        other("SUNIONSTORE copy4 big\r\n"),
        other("SUNIONSTORE copy5 big\r\n"),
    ];
    hand_over_all(&mut holder, &mut all);
    holder.call(&["CLIENT", "PAUSE", "1000000", "WRITE"]);
    engine.keyspace.release(&mut holder.thread.cx);
    assert_eq!(answer(&mut all[0].0), ":1\r\n");
    // Long enough for the others, if they ran.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(holder.call(&["EXISTS", "copy4", "copy5"]), ":0\r\n");
    holder.call(&["CLIENT", "UNPAUSE"]);
    for (w, _) in &mut all[1..] {
        assert_eq!(answer(w), format!(":{MEMBERS}\r\n"));
    }
}

#[test]
fn a_shutdown_that_saves_waits_for_those_that_run() {
    let w = filled("");
    let engine = Arc::clone(&w.engine);
    let mut holder = Worker::new(&engine);
    // They take turns.
    let second = "SORT big ALPHA BY w_* LIMIT 0 1 STORE l1\r\n";
    let mut both = [(w, SORT), (Worker::new(&engine), second)];
    hand_over_all(&mut holder, &mut both);
    let [(mut w, _), (mut second, _)] = both;
    let (ended, runs) = std::sync::mpsc::channel();
    let weak = Arc::downgrade(&engine);
    *durable::Durable::of(&engine).shutdown.hook.write() = Some(Box::new(move |_| {
        let runs = weak.upgrade().is_some_and(|e| e.attention.get() & Attention::LONG != 0);
        ended.send(runs).expect("the test waits for it");
    }));
    let mut ender = Worker::new(&engine);
    std::thread::scope(|scope| {
        scope.spawn(move || ender.call(&["SHUTDOWN", "SAVE"]));
        let is_paused = || engine.attention.get() & Attention::PAUSE != 0;
        eventually("it stops all others", || is_paused().then_some(()));
        engine.keyspace.release(&mut holder.thread.cx);
        let runs = eventually("the server ends", || {
            for worker in [&mut w, &mut second, &mut holder] {
                answered(worker);
            }
            runs.try_recv().ok()
        });
        assert!(!runs, "a long command runs after the last snapshot");
    });
}
