//! Families of commands, each run through the engine from bytes to bytes.
//!
//! A row is `(group, name, setup, commands)`. The setup runs once for every key, the commands (cut at
//! `;`) on keys drawn evenly. In both:
//!
//! ```text
//! {key}      one of --keys keys            {value}    --size bytes
//! {few}      one of 1,000 keys: for values that hold a hundred elements
//! {i}        a number that never comes again, {m} one below 100
//! {x*100}    a hundred arguments: each the same, with {i} from 0 to 99 and {value} in it
//! ```
//!
//! A command that the engine does not know leaves its row out, and the output says so.

use crate::measure::{Outcome, Settings, numbers};
use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};
use resp::{Out, Parser};
use std::sync::Arc;
use stdx::rng::Rng;

/// Group, name, setup, commands.
pub(crate) type Row = (&'static str, &'static str, &'static str, &'static str);

/// All families.
#[rustfmt::skip]
pub(crate) const ALL: &[Row] = &[
    ("none", "PING", "", "PING"),
    ("string", "GET", "SET k:{key} {value}", "GET k:{key}"),
    ("string", "GET, no such key", "", "GET k:{key}"),
    ("string", "SET", "SET k:{key} {value}", "SET k:{key} {value}"),
    ("string", "SET EX", "SET k:{key} {value}", "SET k:{key} {value} EX 1000"),
    ("string", "SET new key, DEL", "", "SET k:{i} {value};DEL k:{i-}"),
    ("string", "INCR", "", "INCR k:{key}"),
    ("string", "APPEND", "", "APPEND k:{key} x"),
    ("string", "MGET 10", "SET {few} {value}", "MGET {few} {few} {few} {few} {few} {few} {few} {few} {few} {few}"),
    ("string", "MSET 10", "", "MSET {few} {value} {few} {value} {few} {value} {few} {value} {few} {value} {few} {value} {few} {value} {few} {value} {few} {value} {few} {value}"),
    ("bitmap", "SETBIT", "", "SETBIT k:{key} {m} 1"),
    ("bitmap", "BITCOUNT", "SET k:{key} {value}", "BITCOUNT k:{key}"),
    ("generic", "EXISTS", "SET k:{key} {value}", "EXISTS k:{key}"),
    ("generic", "EXPIRE", "SET k:{key} {value}", "EXPIRE k:{key} 1000"),
    ("generic", "TTL", "SET k:{key} {value} EX 1000", "TTL k:{key}"),
    ("list", "LPUSH", "", "LPUSH k:{key} {value}"),
    ("list", "LPUSH, RPOP", "RPUSH k:{key} {value}", "LPUSH k:{key} {value};RPOP k:{key}"),
    ("list", "LRANGE 100", "RPUSH {few} {value*100}", "LRANGE {few} 0 99"),
    ("list", "LINDEX", "RPUSH {few} {value*100}", "LINDEX {few} {m}"),
    ("set", "SADD", "", "SADD k:{key} {m}"),
    ("set", "SADD, SREM", "SADD k:{key} a", "SADD k:{key} {i};SREM k:{key} {i-}"),
    ("set", "SISMEMBER", "SADD {few} {e:{i}*100}", "SISMEMBER {few} e:{m}"),
    ("set", "SMEMBERS 100", "SADD {few} {e:{i}*100}", "SMEMBERS {few}"),
    ("hash", "HSET", "HSET k:{key} f:1 {value}", "HSET k:{key} f:1 {value}"),
    ("hash", "HGET", "HSET k:{key} a 1 b 2 c 3 d 4 e {value}", "HGET k:{key} d"),
    ("hash", "HGETALL 5", "HSET k:{key} a 1 b 2 c 3 d 4 e {value}", "HGETALL k:{key}"),
    ("hash", "HINCRBY", "", "HINCRBY k:{key} f 1"),
    ("zset", "ZADD", "", "ZADD k:{key} {m} e:{m}"),
    ("zset", "ZADD, 10,000 members", "", "ZADD one {i} e:{m}{m}"),
    ("zset", "ZSCORE", "ZADD {few} 1 a 2 b 3 c 4 d 5 e", "ZSCORE {few} c"),
    ("zset", "ZRANGE 5", "ZADD {few} 1 a 2 b 3 c 4 d 5 e", "ZRANGE {few} 0 -1"),
    ("stream", "XADD", "", "XADD {few} * f {value}"),
    ("stream", "XRANGE 5", "XADD {few} 1-1 f {value};XADD {few} 2-1 f {value};XADD {few} 3-1 f {value};XADD {few} 4-1 f {value};XADD {few} 5-1 f {value}", "XRANGE {few} - +"),
    ("pubsub", "PUBLISH, nobody listens", "", "PUBLISH k:{key} {value}"),
];

/// Keys that `{few}` stands for.
const FEW: u64 = 1000;

/// Runs a family.
pub(crate) fn run(s: &Settings, row: &Row) -> Outcome {
    let (_, name, setup, commands) = *row;
    if !s.asks(name) {
        return Outcome::NotAsked;
    }
    let mut door = Door::new();
    let mut text = Text { size: s.size, keys: s.keys, serial: 0, key: 0, rng: numbers() };
    for command in setup.split(';').chain(commands.split(';')).filter(|c| !c.is_empty()) {
        // On a database of its own, so that trying does not disturb.
        door.run(&encode(&["SELECT".into(), "1".into()]));
        if let Err(why) = door.try_run(&text.request(command)) {
            assert!(why.contains("unknown command"), "{name}: {command}: {why}");
            return Outcome::LeftOut(why.split(',').next().unwrap_or_default().to_owned());
        }
    }
    door.run(&encode(&["FLUSHALL".into()]));
    door.run(&encode(&["SELECT".into(), "0".into()]));
    if !setup.is_empty() {
        for key in 0..if setup.contains("{few}") { FEW.min(s.keys) } else { s.keys } {
            for command in setup.split(';') {
                let request = text.request_on(command, key);
                if let Err(why) = door.try_run(&request) {
                    panic!("{name}: {command}: {why}");
                }
            }
        }
    }
    door.settle();
    let each: Vec<&str> = commands.split(';').collect();
    let batches: Vec<Vec<u8>> = (0..s.round.div_ceil(s.depth))
        .map(|_| (0..s.depth).flat_map(|i| text.next_of(&each, i)).collect())
        .collect();
    let mut input = vec![0; batches.iter().map(Vec::len).max().unwrap_or(0)];
    s.measure(|| {
        for batch in &batches {
            // The network has one receive buffer that stays in the cache.
            input[..batch.len()].copy_from_slice(batch);
            door.run(&input[..batch.len()]);
        }
        batches.len() * s.depth
    })
}

/// An engine, and one connection to it without a socket.
struct Door {
    engine: Arc<Engine>,
    thread: Thread,
    session: Session,
    parser: Parser,
    out: Out,
}

impl Door {
    fn new() -> Self {
        let config = config::Config::new();
        config::load_text(&config, "bench", b"threads 1").expect("a valid option");
        let engine = Engine::new(Options {
            config,
            commands: session_commands::ALL,
            durability: Arc::<durable::Durable>::default(),
            renames: Vec::new(),
            clock: stdx::clock::Clock::real(),
            log: engine::log::Log::silent(),
            config_file: None,
            executable: String::new(),
        });
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        let session = Session::new(&engine, index, Endpoint::nowhere());
        Door { engine, thread, session, parser: Parser::default(), out: Out::default() }
    }

    fn run(&mut self, bytes: &[u8]) {
        self.out.clear();
        self.thread.tick(&self.engine);
        let batch = self.thread.run(
            &self.engine,
            &mut self.session,
            &mut self.parser,
            bytes,
            &mut self.out,
        );
        assert_eq!(batch.consumed, bytes.len(), "a batch is whole commands");
    }

    /// Runs one command, whose error reply is an error.
    fn try_run(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.run(bytes);
        match self.out.buf.strip_prefix(b"-") {
            Some(error) => Err(String::from_utf8_lossy(error).trim_end().to_owned()),
            None => Ok(()),
        }
    }

    /// Completes resizes, as the server's periodic work does.
    fn settle(&mut self) {
        (0..1000).for_each(|_| _ = self.thread.cron(&self.engine, 1, u64::MAX));
    }
}

/// Makes requests of templates.
struct Text {
    size: usize,
    keys: u64,
    serial: u64,
    key: u64,
    rng: Rng,
}

impl Text {
    /// Of several commands the `i`-th in turn. They share a key, since one undoes the other.
    fn next_of(&mut self, commands: &[&str], i: usize) -> Vec<u8> {
        if i.is_multiple_of(commands.len()) {
            self.key = self.rng.below(self.keys);
        }
        self.request_on(commands[i % commands.len()], self.key)
    }

    fn request(&mut self, template: &str) -> Vec<u8> {
        let key = self.rng.below(self.keys);
        self.request_on(template, key)
    }

    fn request_on(&mut self, template: &str, key: u64) -> Vec<u8> {
        self.key = key;
        let mut args = Vec::new();
        for word in template.split(' ') {
            match word.strip_prefix('{').and_then(|w| w.strip_suffix("*100}")) {
                Some("value") => args.extend((0..100).map(|_| self.word("{value}"))),
                Some(each) => args.extend((0..100).map(|i| each.replace("{i}", &i.to_string()))),
                None => args.push(self.word(word)),
            }
            // Several keys in one command differ.
            self.key = if word == "{few}" { self.rng.below(self.keys) } else { self.key };
        }
        self.key = key;
        encode(&args)
    }

    fn word(&mut self, word: &str) -> String {
        if !word.contains('{') {
            return word.to_owned();
        }
        let mut text = word.replace("{i-}", &self.serial.to_string());
        if text.contains("{i}") {
            self.serial += 1;
            text = text.replace("{i}", &self.serial.to_string());
        }
        while text.contains("{m}") {
            text = text.replacen("{m}", &self.rng.below(100).to_string(), 1);
        }
        text.replace("{key}", &format!("{:012}", self.key))
            .replace("{few}", &format!("few:{:04}", self.key % FEW))
            .replace("{value}", &"x".repeat(self.size))
    }
}

fn encode(args: &[String]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", args.len());
    for arg in args {
        text.push_str(&format!("${}\r\n{arg}\r\n", arg.len()));
    }
    text.into_bytes()
}
