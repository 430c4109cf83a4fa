//! Pipelines answer what the same commands answer one by one.
//!
//! A pipeline that stays with one big value has the members prefetched that its commands name, of the
//! value that is there when the group begins. Keys may hold something else by the time a command runs.

mod common;

use common::{Server, request};

/// Enough members for every type to have left its small form.
const MEMBERS: usize = 2_000;

fn filled() -> (Server, common::Conn) {
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
