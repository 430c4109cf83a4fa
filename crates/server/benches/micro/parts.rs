//! Parts below the commands: the parser on requests of different shapes, the table of entries.

use crate::measure::{Outcome, Settings, numbers};
use data::entry::{Content, Entry};
use data::table::Table;
use resp::{Limits, Parsed, Parser};
use std::hint::black_box;
use stdx::hash::hash64;

/// Group, name, and what runs it.
type Benchmark = (&'static str, &'static str, fn(&Settings, &str) -> Outcome);

/// All parts.
pub(crate) const ALL: &[Benchmark] = &[
    ("parse", "GET request", |s, n| parse(s, n, &request(&["GET", "key:000000000042"]))),
    ("parse", "SET request", |s, n| parse(s, n, &request(&["SET", "key:000000000042", "xxx"]))),
    ("parse", "SET request of 1 KiB", |s, n| {
        parse(s, n, &request(&["SET", "key:000000000042", &"x".repeat(1024)]))
    }),
    ("parse", "request of 21 arguments", |s, n| parse(s, n, &request(&["argument"; 21]))),
    ("parse", "inline request", |s, n| parse(s, n, b"SET key:000000000042 xxx\r\n")),
    ("table", "find", |s, n| {
        table(s, n, |t, k| {
            black_box(t.find(hash64(k), |e| e.key() == k).is_some());
        })
    }),
    ("table", "find what is not there", |s, n| {
        table(s, n, |t, k| {
            black_box(t.find(hash64(&k[1..]), |e| e.key() == &k[1..]).is_some());
        })
    }),
    ("table", "replace a value", |s, n| {
        table(s, n, |t, k| {
            if let Some(mut slot) = t.find_mut(hash64(k), |e| e.key() == k) {
                slot.replace_with(|e| e.set(Content::Bytes(b"another"), None));
            }
        })
    }),
    ("table", "remove and insert", |s, n| {
        table(s, n, |t, k| {
            drop(t.remove(hash64(k), |e| e.key() == k));
            t.insert(Entry::string(k, Content::Bytes(b"value"), None, 0));
        })
    }),
];

fn request(args: &[&str]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", args.len());
    for arg in args {
        text.push_str(&format!("${}\r\n{arg}\r\n", arg.len()));
    }
    text.into_bytes()
}

/// Parses batches of one request.
fn parse(s: &Settings, name: &str, request: &[u8]) -> Outcome {
    if !s.asks(name) {
        return Outcome::NotAsked;
    }
    let batch = request.repeat(s.depth);
    let limits = Limits { bulk_max: 512 << 20, unauthenticated: false };
    let (mut parser, mut spans, mut owned) = (Parser::default(), Vec::new(), Vec::new());
    let batches = s.round.div_ceil(s.depth);
    s.measure(|| {
        for _ in 0..batches {
            let mut at = 0;
            while at < batch.len() {
                spans.clear();
                let rest = black_box(&batch[at..]);
                match parser.parse(rest, at, &limits, &mut spans, &mut owned) {
                    Parsed::Command(end) => at += end,
                    other => panic!("{name}: {other:?}"),
                }
                black_box(&spans);
            }
        }
        batches * s.depth
    })
}

/// Does something to a table of all keys, for keys in random order.
fn table(s: &Settings, name: &str, mut work: impl FnMut(&mut Table<Entry>, &[u8])) -> Outcome {
    if !s.asks(name) {
        return Outcome::NotAsked;
    }
    let mut table = Table::<Entry>::new(0);
    let key = |i: u64| format!("key:{i:012}").into_bytes();
    for i in 0..s.keys {
        table.insert(Entry::string(&key(i), Content::Bytes(b"value"), None, 0));
    }
    let mut rng = numbers();
    let keys: Vec<Vec<u8>> = (0..s.round).map(|_| key(rng.below(s.keys))).collect();
    s.measure(|| {
        for key in &keys {
            work(&mut table, key);
        }
        keys.len()
    })
}
