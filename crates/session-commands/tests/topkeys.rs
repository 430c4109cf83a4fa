//! Top keys and costs: the figures that pipelines leave. With time that stands still the sampling
//! sees endless speed, so it soon looks at one command in thousands: the tests check that the
//! figures still match the commands that were sent.

mod common;

use common::{Conn, Server, array, replies};
use observe::topkeys::By;
use stdx::rng::Rng;
use transcript::Reply;

fn send(server: &mut Server, conn: &mut Conn, commands: &[Vec<&[u8]>]) -> Vec<Reply> {
    let input: Vec<u8> = commands.iter().flat_map(|words| array(words)).collect();
    replies(&server.feed(conn, &input))
}

fn one(server: &mut Server, conn: &mut Conn, line: &str) -> Reply {
    let words = line.split(' ').map(str::as_bytes).collect();
    send(server, conn, &[words]).remove(0)
}

/// The answer of HOTKEYS GET: names and values.
fn fields(reply: &Reply) -> Vec<(String, Reply)> {
    let Reply::Array(list) = reply else { panic!("{reply:?}") };
    let Reply::Array(flat) = &list[0] else { panic!("{reply:?}") };
    flat.chunks_exact(2)
        .map(|pair| match &pair[0] {
            Reply::Bulk(name) => (String::from_utf8_lossy(name).into_owned(), pair[1].clone()),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn the_keys_that_make_the_work_come_first() {
    let mut server = Server::new();
    let mut conn = server.connect();
    let mut rng = Rng::from_seed(5);
    let big = vec![b'x'; 20_000];
    send(&mut server, &mut conn, &[vec![b"SET", b"big", &big]]);
    for _ in 0..2000 {
        let names: Vec<String> = (0..50)
            .map(|_| match rng.below(10) {
                0..3 => "hot".to_owned(),
                3 => "big".to_owned(),
                _ => format!("cold:{}", rng.below(100_000)),
            })
            .collect();
        let batch: Vec<Vec<&[u8]>> =
            names.iter().map(|n| vec![&b"GET"[..], n.as_bytes()]).collect();
        send(&mut server, &mut conn, &batch);
        server.clock.advance_us(50);
    }
    let hits = server.engine.top_keys(By::Hits, 3);
    assert_eq!((hits[0].key.as_slice(), hits[0].db), (&b"hot"[..], 0), "{hits:?}");
    assert_eq!(hits[1].key, b"big", "{hits:?}");
    assert!((15.0..45.0).contains(&hits[0].share), "{hits:?}");
    assert!(hits.get(2).is_none_or(|k| k.share < 3.0), "{hits:?}");
    let bytes = server.engine.top_keys(By::Bytes, 2);
    assert_eq!(bytes[0].key, b"big", "{bytes:?}");
    assert!(bytes[0].share > 90.0, "{bytes:?}");
    // Old counts fade: after ten minutes a thousandth of them is left.
    server.wait_ms(600_000);
    let later = server.engine.top_keys(By::Hits, 1);
    assert!(later[0].per_second < hits[0].per_second / 100.0, "{later:?}");
    one(&mut server, &mut conn, "CONFIG RESETSTAT");
    assert_eq!(server.engine.top_keys(By::Hits, 1), []);
}

#[test]
fn commands_of_a_transaction_count_by_themselves() {
    let mut server = Server::new();
    let mut conn = server.connect();
    one(&mut server, &mut conn, "HOTKEYS START METRICS 1 NET");
    for line in ["MULTI", "SET a 1", "SET b 1", "SET a 2", "EXEC"] {
        one(&mut server, &mut conn, line);
    }
    let report = fields(&one(&mut server, &mut conn, "HOTKEYS GET"));
    let bulk = |key: &str| Reply::Bulk(key.as_bytes().to_vec());
    // 27 bytes and +OK for each; their queueing does not count.
    let wanted = vec![bulk("a"), Reply::Integer(64), bulk("b"), Reply::Integer(32)];
    let found = report.iter().find(|(name, _)| name == "by-net-bytes");
    assert_eq!(found.map(|f| &f.1), Some(&Reply::Array(wanted)));
}

#[test]
fn a_command_with_several_keys_counts_for_each() {
    let mut server = Server::new();
    let mut conn = server.connect();
    one(&mut server, &mut conn, "MSET a 1 b 2");
    one(&mut server, &mut conn, "NOSUCH a");
    one(&mut server, &mut conn, "PING");
    one(&mut server, &mut conn, "GET a");
    let mut keys: Vec<Vec<u8>> =
        server.engine.top_keys(By::Hits, 9).into_iter().map(|k| k.key).collect();
    keys.sort();
    assert_eq!(keys, [b"a", b"b"]);
}

#[test]
fn a_session_of_hotkeys_counts_every_command() {
    let mut server = Server::new();
    let mut conn = server.connect();
    // The sampling is at its rarest here, which must not matter.
    for _ in 0..2000 {
        send(&mut server, &mut conn, &vec![vec![&b"GET"[..], b"before"]; 30]);
    }
    assert_eq!(
        one(&mut server, &mut conn, "HOTKEYS START METRICS 1 NET COUNT 2"),
        Reply::Status(b"OK".to_vec())
    );
    for (key, times) in [("x", 5), ("y", 3), ("z", 1)] {
        for _ in 0..times {
            one(&mut server, &mut conn, &format!("SET {key} 12345"));
        }
    }
    server.wait_ms(1500);
    let report = fields(&one(&mut server, &mut conn, "HOTKEYS GET"));
    let get = |name: &str| report.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    // *3 $3 SET $1 x $5 12345: 31 bytes, and +OK: 5.
    let bulk = |key: &str| Reply::Bulk(key.as_bytes().to_vec());
    let wanted = vec![bulk("x"), Reply::Integer(36 * 5), bulk("y"), Reply::Integer(36 * 3)];
    assert_eq!(get("by-net-bytes"), Some(Reply::Array(wanted)));
    assert_eq!(get("total-net-bytes"), Some(Reply::Integer(36 * 9)));
    assert_eq!(get("tracking-active"), Some(Reply::Integer(1)));
    assert_eq!(get("collection-duration-ms"), Some(Reply::Integer(1500)));
    assert_eq!(get("by-cpu-time-us"), None);
    assert_eq!(one(&mut server, &mut conn, "HOTKEYS STOP"), Reply::Status(b"OK".to_vec()));
    one(&mut server, &mut conn, "SET w 1");
    let after = fields(&one(&mut server, &mut conn, "HOTKEYS GET"));
    assert_eq!(after[0].1, Reply::Integer(0));
    assert_eq!(after.last(), report.last());
    one(&mut server, &mut conn, "HOTKEYS RESET");
    assert_eq!(one(&mut server, &mut conn, "HOTKEYS GET"), Reply::Nil);
}

#[test]
fn a_session_ends_when_its_time_is_over() {
    let mut server = Server::new();
    let mut conn = server.connect();
    one(&mut server, &mut conn, "HOTKEYS START METRICS 2 CPU NET DURATION 2 SAMPLE 1");
    one(&mut server, &mut conn, "SET x 1");
    server.wait_ms(60_000);
    let report = fields(&one(&mut server, &mut conn, "HOTKEYS GET"));
    let get = |name: &str| report.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    assert_eq!(get("tracking-active"), Some(Reply::Integer(0)));
    assert_eq!(get("collection-duration-ms"), Some(Reply::Integer(2000)));
    // *3 $3 SET $1 x $1 1: 27 bytes, and +OK: 5. (Time stands still: none was spent.)
    let x = Reply::Bulk(b"x".to_vec());
    assert_eq!(get("by-net-bytes"), Some(Reply::Array(vec![x, Reply::Integer(32)])));
}

#[test]
fn costs_are_told_by_family() {
    let mut server = Server::new();
    let mut conn = server.connect();
    for _ in 0..1000 {
        let batch: Vec<Vec<&[u8]>> = vec![vec![b"SET", b"k", b"v"], vec![b"DEL", b"k"]];
        send(&mut server, &mut conn, &batch);
    }
    let costs = server.engine.costs();
    let family = |name: &str| {
        *costs.families.iter().find(|f| f.family == name).expect("a family that was used")
    };
    let (string, generic) = (family("string"), family("generic"));
    assert_eq!((string.calls, generic.calls), (1000, 1000));
    assert_eq!(string.sampled, costs.sampled_batches);
    assert_eq!(generic.sampled, costs.sampled_batches);
    assert!((8..30).contains(&costs.sampled_batches), "{costs:?}");
    let Reply::Bulk(text) = one(&mut server, &mut conn, "INFO costs") else { panic!("text") };
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("cost_string:calls=1000,sampled="), "{text}");
    assert!(text.contains("\ncommands_per_batch:2.00\r\n"), "{text}");
}
