//! What replies become in a program: every reply of a corpus, in RESP2 and RESP3, into every type of a list, by
//! apus-client and by the `redis` crate. Prints the differences as a table, and fails if they are not those that
//! docs/client.md lists (their number is checked here; see EXPECTED).
//!
//!     cargo run --manifest-path tests/bench/clients/Cargo.toml --bin replies

use apus_client::parse::{Limits, Parser};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;

/// What a reply is called, and its bytes.
const CORPUS: &[(&str, &[u8])] = &[
    ("+OK", b"+OK\r\n"),
    ("+QUEUED", b"+QUEUED\r\n"),
    ("empty simple string", b"+\r\n"),
    ("simple string 1", b"+1\r\n"),
    ("error", b"-ERR wrong\r\n"),
    ("error without text", b"-NOSCRIPT\r\n"),
    ("bulk error", b"!10\r\nWRONGTYPE \r\n"),
    ("0", b":0\r\n"),
    ("1", b":1\r\n"),
    ("-1", b":-1\r\n"),
    ("300", b":300\r\n"),
    ("i64::MIN", b":-9223372036854775808\r\n"),
    ("i64::MAX", b":9223372036854775807\r\n"),
    ("nil string", b"$-1\r\n"),
    ("nil array", b"*-1\r\n"),
    ("null", b"_\r\n"),
    ("empty string", b"$0\r\n\r\n"),
    ("string 7", b"$1\r\n7\r\n"),
    ("string -7.5", b"$4\r\n-7.5\r\n"),
    ("string inf", b"$3\r\ninf\r\n"),
    ("string 1e3", b"$3\r\n1e3\r\n"),
    ("string 18446744073709551615", b"$20\r\n18446744073709551615\r\n"),
    ("string true", b"$4\r\ntrue\r\n"),
    ("string 0", b"$1\r\n0\r\n"),
    ("string with CRLF", b"$4\r\na\r\nb\r\n"),
    ("string not UTF-8", b"$2\r\n\xff\xfe\r\n"),
    ("true", b"#t\r\n"),
    ("false", b"#f\r\n"),
    ("double 1.5", b",1.5\r\n"),
    ("double 10", b",10\r\n"),
    ("double inf", b",inf\r\n"),
    ("double -inf", b",-inf\r\n"),
    ("double nan", b",nan\r\n"),
    ("big number", b"(3492890328409238509324850943850943825024385\r\n"),
    ("big number 5", b"(5\r\n"),
    ("verbatim text", b"=8\r\ntxt:Some\r\n"),
    ("verbatim 12", b"=6\r\ntxt:12\r\n"),
    ("empty array", b"*0\r\n"),
    ("array of strings", b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
    ("array of one", b"*1\r\n$1\r\n5\r\n"),
    ("array of integers", b"*3\r\n:1\r\n:2\r\n:3\r\n"),
    ("array with nil", b"*2\r\n$1\r\n1\r\n$-1\r\n"),
    ("array with error", b"*2\r\n:1\r\n-ERR within\r\n"),
    ("flat pairs", b"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n"),
    ("odd flat pairs", b"*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n"),
    ("nested pairs", b"*2\r\n*2\r\n$1\r\na\r\n,1\r\n*2\r\n$1\r\nb\r\n,2\r\n"),
    ("map", b"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:2\r\n"),
    ("empty map", b"%0\r\n"),
    ("set", b"~3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\na\r\n"),
    ("set of integers", b"~2\r\n:1\r\n:2\r\n"),
    ("SCAN", b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
    ("stream entries", b"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"),
    ("attribute before", b"|1\r\n+ttl\r\n:3\r\n:7\r\n"),
];

/// So many pairs of a reply and a type differ; docs/client.md says how.
const EXPECTED: usize = 120;

struct Differences(BTreeMap<String, Vec<String>>, usize, usize);

impl Differences {
    fn check<T>(&mut self, kind: &str, name: &str, bytes: &[u8])
    where
        T: Debug + apus_client::FromValue + redis::FromRedisValue,
    {
        let ours = Parser::new(Limits::default())
            .parse(bytes)
            .and_then(|(_, value)| T::from_value(value.expect("a whole reply")))
            .map_or("an error".into(), |value| format!("{value:?}"));
        let theirs = redis::parse_redis_value(bytes)
            .and_then(redis::Value::extract_error)
            .ok()
            .and_then(|value| redis::from_redis_value::<T>(value).ok())
            .map_or("an error".into(), |value| format!("{value:?}"));
        self.1 += 1;
        if ours != theirs {
            self.2 += 1;
            self.0.entry(format!("{name}: {ours} | {theirs}")).or_default().push(kind.to_owned());
        }
    }
}

fn main() {
    let mut differences = Differences(BTreeMap::new(), 0, 0);
    macro_rules! check {
        ($($kind:ty)*) => {
            for (name, bytes) in CORPUS {
                $(differences.check::<$kind>(stringify!($kind), name, bytes);)*
            }
        };
    }
    check! {
        () String bool i8 u16 i32 u32 i64 u64 f64 Option<String> Option<i64> Option<bool> Option<f64>
        Vec<String> Vec<i64> Vec<Option<String>> Vec<f64> BTreeSet<String> (String,) (i64, i64) (String, String)
        Vec<(String, f64)> Vec<(String, i64)> BTreeMap<String, String> BTreeMap<String, f64> BTreeMap<String, i64>
        (u64, Vec<String>) Vec<(String, Vec<(String, String)>)> Vec<(String, BTreeMap<String, String>)>
    }
    // The order of a hash map is none.
    for (name, bytes) in CORPUS {
        let ours = Parser::new(Limits::default()).parse(bytes).and_then(|(_, value)| {
            <HashMap<String, String> as apus_client::FromValue>::from_value(value.expect("a whole reply"))
        });
        let theirs = redis::parse_redis_value(bytes)
            .and_then(redis::Value::extract_error)
            .ok()
            .and_then(|value| redis::from_redis_value::<HashMap<String, String>>(value).ok());
        differences.1 += 1;
        if ours.as_ref().ok() != theirs.as_ref() {
            differences.2 += 1;
            let name = format!("{name}: {ours:?} | {theirs:?}");
            differences.0.entry(name).or_default().push("HashMap<String, String>".into());
        }
    }
    let Differences(found, all, differ) = differences;
    println!("{all} conversions, {differ} differ\n\n| reply: apus-client | redis | types |\n|---|---|---|");
    for (what, kinds) in &found {
        println!("| {what} | {} |", kinds.join(", "));
    }
    if differ != EXPECTED {
        eprintln!("{differ} differences instead of {EXPECTED}");
        std::process::exit(1);
    }
}
