//! Pipelines give the same answers as the same commands one by one.
//!
//! A pipeline that stays with one big value has the members prefetched that its commands name, of the
//! value that is there when the group begins. Keys may have another value by the time a command runs.

mod common;

use common::{Conn, Server, request};
use stdx::rng::Rng;

/// Enough members for every type to have left its small form.
const MEMBERS: usize = 2_000;

fn filled() -> (Server, Conn) {
    let mut s = Server::new();
    let mut c = s.connect();
    for i in 0..MEMBERS {
        for line in [format!("SADD t m{i}"), format!("HSET h m{i} {i}"), format!("ZADD z {i} m{i}")]
        {
            s.send(&mut c, &line);
        }
    }
    (s, c)
}

#[test]
fn keys_that_are_replaced_within_a_pipeline() {
    let families = [
        ("t", ["SADD", "SISMEMBER", "SREM"], ""),
        ("h", ["HSET", "HGET", "HDEL"], " v"),
        ("z", ["ZINCRBY", "ZSCORE", "ZREM"], ""),
    ];
    let between = [
        "DEL t h z",
        "UNLINK t h z",
        "FLUSHALL",
        "MSET t 1 h 1 z 1",
        "RENAME z h",
        "COPY h t REPLACE",
        "SUNIONSTORE z t",
        "ZUNIONSTORE h 1 z",
        "SINTERSTORE t t none",
        "SWAPDB 0 1",
    ];
    for (key, [add, look, remove], value) in families {
        for replace in between {
            let mut lines = Vec::new();
            for i in 0..40 {
                if i == 17 || i == 30 {
                    lines.push(replace.to_owned());
                }
                if i == 22 {
                    lines.push(format!("{add} {key} 1 m1 {value}"));
                }
                let member = format!("m{}", i * 37);
                lines.push(match i % 3 {
                    0 => format!("{look} {key} {member}"),
                    1 => format!("{remove} {key} {member}"),
                    _ if add == "ZINCRBY" => format!("{add} {key} 2 {member}"),
                    _ => format!("{add} {key} {member}{value}"),
                });
            }
            let (mut s, mut c) = filled();
            let one_by_one: String = lines.iter().map(|line| s.send(&mut c, line)).collect();
            let (mut s, mut c) = filled();
            let all: Vec<u8> = lines.iter().flat_map(|line| request(line)).collect();
            let together = String::from_utf8(s.feed(&mut c, &all)).expect("text");
            assert_eq!(together, one_by_one, "{add} with {replace}");
        }
    }
}

/// The same command many times, now and then another: over strings of all forms, absent keys, keys that
/// expire, and values of other types.
fn alike(rng: &mut Rng) -> Vec<String> {
    let mut key = || format!("k{}", rng.below(6));
    let keys: Vec<String> = (0..24).map(|_| key()).collect();
    let mut lines = Vec::new();
    let usual = rng.below(3);
    for key in keys {
        let kind = if rng.below(6) == 0 { rng.below(10) } else { usual };
        lines.push(match kind {
            0 => format!("GET {key}"),
            1 => {
                let long = "x".repeat(30 * rng.below(3) as usize + 1);
                let values = ["a", "", "7", "9223372036854775806", "seventeen letters", &long];
                let value = values[rng.below(values.len() as u64) as usize];
                format!("SET {key} \"{value}\"")
            }
            2 => format!("INCR {key}"),
            3 => format!("EXPIRE {key} 100"),
            4 => format!("DEL {key}"),
            5 => format!("APPEND {key} 1"),
            6 => format!("SET {key} v GET"),
            7 => format!("SETRANGE {key} 0 9"),
            8 => format!("GETEX {key} PERSIST"),
            _ => format!("LPUSH l{key} 1"),
        });
        if rng.below(30) == 0 {
            lines.push(format!("RENAME l{key} {key}"));
        }
    }
    lines
}

/// The counts, the changes and the data that the commands have left.
fn outcome(s: &mut Server, c: &mut Conn) -> String {
    let mut all = s.send(c, "DEBUG DIGEST");
    let info = s.send(c, "INFO everything");
    let counts = ["keyspace_hits", "keyspace_misses", "rdb_changes_since_last_save", "errorstat"];
    for line in info.lines() {
        if counts.iter().any(|name| line.starts_with(name)) {
            all.push_str(line);
        }
        if line.starts_with("cmdstat_") && !line.starts_with("cmdstat_info") {
            all.extend(line.split(',').filter(|part| !part.contains("usec")));
        }
    }
    for key in 0..6 {
        all += &s.send(c, &format!("OBJECT ENCODING k{key}"));
    }
    all
}

/// The same for publish and subscribe, in both protocols, a connection's own subscriptions and patterns
/// included.
fn alike_by_channel(rng: &mut Rng) -> Vec<String> {
    let usual = rng.below(4);
    let mut lines = Vec::new();
    for _ in 0..24 {
        let channel = format!("c{}", rng.below(5));
        let kind = if rng.below(6) == 0 { rng.below(14) } else { usual };
        lines.push(match kind {
            0 => format!("PUBLISH {channel} m"),
            1 => format!("SPUBLISH {channel} \"two words\""),
            2 => format!("SUBSCRIBE {channel}"),
            3 => format!("SSUBSCRIBE {channel} c1"),
            4 | 5 => format!("UNSUBSCRIBE {channel}"),
            6 => "SUNSUBSCRIBE".to_owned(),
            7 => format!("PSUBSCRIBE {channel}*"),
            8 => "PUNSUBSCRIBE".to_owned(),
            9 => "RESET".to_owned(),
            10 | 11 => "HELLO 3".to_owned(),
            12 => "CLIENT REPLY SKIP".to_owned(),
            _ => format!("GET {channel}"),
        });
    }
    lines
}

#[test]
fn runs_of_one_command() {
    runs_of(alike);
}

#[test]
fn runs_of_one_command_about_channels() {
    runs_of(alike_by_channel);
}

fn runs_of(lines: fn(&mut Rng) -> Vec<String>) {
    for (seed, observed) in (0..60).zip([false, false, true].into_iter().cycle()) {
        let start = || {
            let mut s = Server::new();
            if observed {
                s.configure("notify-keyspace-events", "KEA");
            }
            let c = s.connect();
            (s, c)
        };
        let ((mut s, mut c), (mut t, mut d)) = (start(), start());
        let mut rng = Rng::from_seed(seed);
        for _ in 0..6 {
            // Several groups of 32, of which three are under way.
            let runs = rng.below(8) + 1;
            let lines: Vec<String> = (0..runs).flat_map(|_| lines(&mut rng)).collect();
            let one_by_one: String = lines.iter().map(|line| s.send(&mut c, line)).collect();
            let all: Vec<u8> = lines.iter().flat_map(|line| request(line)).collect();
            let together = String::from_utf8(t.feed(&mut d, &all)).expect("text");
            assert_eq!(together, one_by_one, "seed {seed}: {lines:?}");
        }
        s.send(&mut c, "RESET");
        t.send(&mut d, "RESET");
        assert_eq!(outcome(&mut t, &mut d), outcome(&mut s, &mut c), "seed {seed}");
    }
}

/// Long replies of alternating commands are sent between them, not all at the end.
#[test]
fn much_output_interrupts_a_group() {
    let mut s = Server::new();
    let mut c = s.connect();
    let long = "x".repeat(1000);
    for i in 0..1_500 {
        s.send(&mut c, &format!("RPUSH l {long}"));
        s.send(&mut c, &format!("HSET h f{i} {long}"));
    }
    let turn = [request("LRANGE l 0 -1"), request("HGETALL h")].concat();
    let input = turn.repeat(12);
    let mut out = resp::Out::default();
    let batch = s.thread.run(&s.engine, &mut c.session, &mut c.parser, &input, &mut out);
    assert_eq!(batch.next, engine::Next::Flush);
    assert!(out.len() < 6_000_000, "{} bytes", out.len());
}

/// Commands are parsed before those in front of them are executed: what must not be parsed then, or not answered.
#[test]
fn the_end_of_a_long_pipeline() {
    let big = format!("SET b {}", "x".repeat(100_000));
    let ends: [(&str, Vec<u8>); 9] = [
        ("a protocol error", b"*1\r\n!\r\n".to_vec()),
        ("QUIT", [request("QUIT"), request("SET k99 after")].concat()),
        ("a big argument", [request(&big), request("STRLEN b")].concat()),
        ("half a big argument", request(&big)[..50_000].to_vec()),
        ("another database", [request("SELECT 1"), request("GET k1").repeat(40)].concat()),
        (
            "a limit",
            [request("CONFIG SET proto-max-bulk-len 1048576"), request("GET k1").repeat(40)]
                .concat(),
        ),
        (
            "a transaction",
            [request("MULTI"), request("INCR n").repeat(70), request("EXEC")].concat(),
        ),
        ("a subscription", [request("SUBSCRIBE c"), request("GET k1").repeat(40)].concat()),
        ("a command that waits", [request("BLPOP none 0"), request("GET k1").repeat(40)].concat()),
    ];
    for (name, end) in ends {
        for before in [31, 32, 33, 64, 95, 96, 97, 128, 300] {
            let mut lines: Vec<Vec<u8>> =
                (0..before).map(|i| request(&format!("SET k{} {i}", i % 100))).collect();
            lines.push(end.clone());
            let outcome = |pieces: &[Vec<u8>]| {
                let mut s = Server::new();
                let mut c = s.connect();
                let replies: Vec<u8> = pieces.iter().flat_map(|p| s.feed(&mut c, p)).collect();
                let mut look = s.connect();
                let data = s.send(&mut look, "DEBUG DIGEST");
                (String::from_utf8(replies).expect("text"), data, c.closed, c.waiting)
            };
            assert_eq!(outcome(&[lines.concat()]), outcome(&lines), "{name} behind {before}");
        }
    }
}

/// A batch stops to send what there is while further groups are parsed, the last of which a big argument ends.
#[test]
fn much_output_while_further_commands_are_parsed() {
    let big = request(&format!("SET b {}", "y".repeat(100_000)));
    for gets in (30..160).step_by(7) {
        let (mut s, mut t) = (Server::new(), Server::new());
        let (mut c, mut d) = (s.connect(), t.connect());
        // The limit, a mebibyte, is reached by the last command of a group.
        let long = format!("SET k {}", "x".repeat(33_000));
        s.send(&mut c, &long);
        t.send(&mut d, &long);
        let all = [request("GET k").repeat(gets), big.clone(), request("STRLEN b")].concat();
        let cut = all.len() - 60_000;
        let together = [s.feed(&mut c, &all[..cut]), s.feed(&mut c, &all[cut..])].concat();
        let mut one_by_one = Vec::new();
        (0..gets).for_each(|_| one_by_one.extend(t.send(&mut d, "GET k").bytes()));
        one_by_one.extend(t.feed(&mut d, &big));
        one_by_one.extend(t.send(&mut d, "STRLEN b").bytes());
        assert!(together == one_by_one, "{gets} times");
    }
}
