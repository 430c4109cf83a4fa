//! Both ways with a real redis-server: what it wrote is read, written anew, and loaded by it again.

mod redis_server;

use rdb::{Access, Encoder, Item, Limits, Reader};
use redis_server::{Redis, Value};
use stdx::rng::Rng;
use testing::TempDir;

/// Reads a file and writes it anew.
fn recode(bytes: &[u8], mut encoder: Encoder) -> Vec<u8> {
    let mut reader = Reader::new(bytes, Limits::default(), true).expect("a file of Redis");
    let mut out = Vec::new();
    encoder.header(&mut out);
    loop {
        match reader.next().expect("a file of Redis") {
            Item::Aux { name, value } => encoder.aux(&mut out, name, value),
            Item::Select(db) => encoder.select(&mut out, db),
            Item::Resize { keys, expires } => encoder.resize(&mut out, keys, expires),
            Item::Function(code) => encoder.function(&mut out, code),
            Item::Entry(e) => {
                let access = match (e.idle, e.freq) {
                    (Some(idle), _) => Access::Idle(idle),
                    (_, Some(freq)) => Access::Freq(freq),
                    _ => Access::Untold,
                };
                encoder.entry(&mut out, &e.entry, access);
            }
            Item::Empty { key } => panic!("{key:?} is empty"),
            Item::ModuleAux { module } => panic!("{module}"),
            Item::Batch(_) => unreachable!("they are not asked for"),
            Item::End { has_checksum } => {
                assert!(has_checksum);
                break;
            }
        }
    }
    encoder.end(&mut out);
    let crc = rdb::crc64(0, &out);
    encoder.checksum(&mut out, crc);
    out
}

/// A text of some kind.
fn text(rng: &mut Rng, longest: u64) -> Vec<u8> {
    let len = rng.below(longest + 1);
    match rng.below(8) {
        0 => (rng.next_u64() as i64 >> rng.below(64)).to_string().into_bytes(),
        1 => rng.below(300).to_string().into_bytes(),
        2 => (0..len).map(|_| rng.next_u64() as u8).collect(),
        3 => vec![b'x'; len as usize],
        4 => format!("0{}", rng.below(1000)).into_bytes(),
        _ => {
            let mut text = format!("value:{}:", rng.below(100)).repeat(1 + len as usize / 9);
            text.truncate(len as usize);
            text.into_bytes()
        }
    }
}

/// Commands that make values of every type, encoding and size.
fn fill(redis: &mut Redis, rng: &mut Rng) {
    let mut commands: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut n = 0;
    let mut key = |kind: &str| {
        n += 1;
        format!("{kind}:{n}").into_bytes()
    };
    let mut longest = vec![0, 5, 20, 21, 63, 64, 65, 100, 4095, 4096, 5000, 20_000, 70_000];
    longest.extend([30; 20]);
    for long in longest {
        let k = key("string");
        commands.push(vec![b"SET".into(), k.clone(), text(rng, long)]);
        if rng.below(2) == 0 {
            let ms = 4_000_000_000_000 + rng.below(1 << 40);
            commands.push(vec![b"PEXPIREAT".into(), k, ms.to_string().into_bytes()]);
        }
    }
    for i in [
        "0",
        "-1",
        "127",
        "128",
        "-128",
        "-129",
        "32767",
        "32768",
        "-32768",
        "-32769",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "00",
        "-0",
        "+1",
        "",
    ] {
        commands.push(vec![b"SET".into(), key("int"), i.into()]);
    }
    for count in [1, 2, 3, 5, 16, 17, 100, 127, 128, 129, 200, 512, 513, 600, 3000] {
        for long in [3, 20, 64, 65, 300, if count < 20 { 70_000 } else { 30 }] {
            for (name, kind) in [("RPUSH", 0), ("SADD", 1), ("SADD", 2), ("HSET", 3), ("ZADD", 4)] {
                let mut c = vec![name.into(), key(&format!("{name}-{count}-{long}-{kind}"))];
                for _ in 0..count {
                    match kind {
                        0 | 1 => c.push(text(rng, long)),
                        2 => {
                            let n = rng.next_u64() as i64 >> rng.below(64).max(60 - long.min(50));
                            c.push(n.to_string().into_bytes());
                        }
                        3 => c.extend([text(rng, long.min(70)), text(rng, long)]),
                        _ => {
                            let score = match rng.below(5) {
                                0 => "inf".into(),
                                1 => "-inf".into(),
                                2 => rng.below(20).to_string(),
                                3 => format!("-{}.{}", rng.below(20), rng.below(1000)),
                                _ => format!("{}e{}", rng.below(1000), rng.below(300)),
                            };
                            c.extend([score.into_bytes(), text(rng, long)]);
                        }
                    }
                }
                commands.push(c);
            }
        }
    }
    let count = commands.len();
    for c in &commands {
        redis.send(c);
    }
    for _ in 0..count {
        if let Value::Error(e) = redis.reply() {
            panic!("{e}");
        }
    }
    for entries in [1, 2, 99, 100, 101, 450] {
        streams(redis, rng, &key("stream"), entries);
    }
    redis.run(&[&b"XGROUP"[..], b"CREATE", &key("stream"), b"g", b"$", b"MKSTREAM"]);
    redis.run(&["SELECT", "3"]);
    redis.run(&["SET", "other", "database"]);
    redis.run(&["SELECT", "0"]);
    redis.run(&["FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() end)"]);
}

fn streams(redis: &mut Redis, rng: &mut Rng, key: &[u8], entries: u64) {
    let mut ids = Vec::new();
    for i in 0..entries {
        let mut c: Vec<Vec<u8>> = vec![b"XADD".into(), key.into()];
        // Once the clock has been used, small numbers are too small.
        let clock = ids.last().is_some_and(|id: &Vec<u8>| id.len() > 14) || rng.below(60) == 0;
        c.push(if clock { b"*".into() } else { format!("{}-*", 9 + i / 3).into_bytes() });
        for f in 0..1 + rng.below(3) {
            c.extend([format!("field{f}").into_bytes(), text(rng, 40)]);
        }
        ids.push(redis.run(&c).text().to_vec());
    }
    for group in ["one", "two", "none"] {
        redis.run(&[&b"XGROUP"[..], b"CREATE", key, group.as_bytes(), b"0"]);
    }
    let many = (entries / 2 + 1).to_string();
    for (group, consumer, count) in [("one", "a", &many[..]), ("one", "b", "7"), ("two", "c", "1")]
    {
        let c: [&[u8]; 9] = [
            b"XREADGROUP",
            b"GROUP",
            group.as_bytes(),
            consumer.as_bytes(),
            b"COUNT",
            count.as_bytes(),
            b"STREAMS",
            key,
            b">",
        ];
        redis.run(&c);
    }
    redis.run(&[&b"XACK"[..], key, b"one", &ids[0]]);
    redis.run(&[&b"XGROUP"[..], b"CREATECONSUMER", key, b"two", b"idle"]);
    for id in ids.iter().filter(|_| rng.below(9) == 0).collect::<Vec<_>>() {
        redis.run(&[&b"XDEL"[..], key, id]);
    }
    if entries == 101 {
        redis.run(&[&b"XTRIM"[..], key, b"MAXLEN", b"40"]);
    }
}

/// Everything that can be asked about the keys of two servers must be the same.
fn compare(a: &mut Redis, b: &mut Redis) {
    for db in ["3", "0"] {
        a.run(&["SELECT", db]);
        b.run(&["SELECT", db]);
        let keys = a.keys();
        assert_eq!(keys, b.keys());
        for key in &keys {
            let name = String::from_utf8_lossy(key);
            let mut same = |c: &[&[u8]]| {
                let (of_a, of_b) = (a.call(c), b.call(c));
                assert_eq!(of_a, of_b, "{name}: {}", String::from_utf8_lossy(c[0]));
            };
            same(&[b"DEBUG", b"DIGEST-VALUE", key]);
            same(&[b"PEXPIRETIME", key]);
            same(&[b"OBJECT", b"ENCODING", key]);
            if name.starts_with("stream") {
                same(&[b"XINFO", b"STREAM", key, b"FULL", b"COUNT", b"0"]);
            }
        }
    }
    assert_eq!(a.run(&["DEBUG", "DIGEST"]), b.run(&["DEBUG", "DIGEST"]));
    assert_eq!(a.run(&["FUNCTION", "DUMP"]), b.run(&["FUNCTION", "DUMP"]));
}

#[test]
fn what_redis_saved_is_read_and_written_so_that_redis_loads_the_same() {
    for (seed, options) in [
        (1, &["--rdbcompression", "yes"][..]),
        (2, &["--rdbcompression", "no", "--maxmemory-policy", "allkeys-lfu"]),
        (3, &["--maxmemory-policy", "allkeys-lru", "--list-max-listpack-size", "3"]),
        (
            4,
            &[
                "--hash-max-listpack-entries",
                "100000",
                "--hash-max-listpack-value",
                "100000",
                "--zset-max-listpack-entries",
                "100000",
                "--zset-max-listpack-value",
                "100000",
                "--set-max-intset-entries",
                "100000",
            ],
        ),
    ] {
        let (dir, copy) = (TempDir::new(), TempDir::new());
        let Some(mut redis) = Redis::start(&dir, options) else { return };
        fill(&mut redis, &mut Rng::from_seed(seed));
        redis.run(&["SAVE"]);
        let bytes = std::fs::read(dir.join("dump.rdb")).expect("SAVE wrote a file");
        for compress in [false, true] {
            let anew = recode(&bytes, Encoder::new(compress));
            std::fs::write(copy.join("dump.rdb"), &anew).expect("a file");
            let mut again = Redis::start(&copy, options).expect("redis-server loads the file");
            compare(&mut redis, &mut again);
        }
    }
}

#[test]
fn payloads_go_both_ways() {
    let dir = TempDir::new();
    let Some(mut redis) = Redis::start(&dir, &[]) else { return };
    fill(&mut redis, &mut Rng::from_seed(11));
    for key in redis.keys() {
        // The digest knows of deadlines, the payload does not.
        redis.run(&[b"PERSIST", &key[..]]);
        let dumped = redis.run(&[b"DUMP", &key[..]]);
        let entry = rdb::restore(dumped.text(), &key, None, Limits::default(), true)
            .expect("a payload of Redis");
        let anew = rdb::dump(&entry);
        redis.run(&[b"RESTORE", &b"copy"[..], b"0", &anew, b"REPLACE"]);
        let digest = |redis: &mut Redis, k: &[u8]| redis.run(&[&b"DEBUG"[..], b"DIGEST-VALUE", k]);
        assert_eq!(digest(&mut redis, &key), digest(&mut redis, b"copy"), "{key:?}");
    }
}
