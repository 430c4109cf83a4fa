//! The journal under the engine: a replay restores the data, on a disk that fails, too.
//!
//! `APUS_ROUNDS` sets the number of crashes.

mod common;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use common::{START_MS, grammar};
use config::Config;
use engine::journal::Gate;
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread};
use persist::disk::Disk as _;
use persist::disk::sim::{Faults, SimDisk};
use persist::journal::Location;
use stdx::clock::{Clock, VirtualClock};
use stdx::rng::Rng;

struct Server {
    engine: Arc<Engine>,
    thread: Thread,
    clock: VirtualClock,
    sessions: Vec<Session>,
}

fn place(segment_bytes: u64) -> Location {
    let dir = PathBuf::from("/data/aof");
    Location { dir, stem: "a.aof".into(), segment_bytes, ahead_bytes: 8192 }
}

fn engine(lines: &str, now_ms: u64) -> (Arc<Engine>, VirtualClock) {
    testing::leave_the_sources();
    let config = Config::new();
    let lines = format!(
        "threads 1\nappendonly yes\nenable-debug-command yes\nset-max-intset-entries 8\n\
         hash-max-listpack-entries 8\nlist-max-listpack-size 8\nzset-max-listpack-entries 8\n{lines}"
    );
    config::load_text(&config, "test", lines.as_bytes()).expect("a valid configuration");
    let (clock, hand) = Clock::simulated(now_ms);
    let engine = Engine::new(Options {
        config,
        commands: session_commands::ALL,
        durability: Arc::<durable::Durable>::default(),
        renames: Vec::new(),
        clock,
        log: Log::silent(),
        config_file: None,
        executable: String::new(),
    });
    (engine, hand)
}

fn open(disk: &SimDisk, lines: &str, segment_bytes: u64, now_ms: u64) -> Result<Server, String> {
    let (engine, clock) = engine(lines, now_ms);
    let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
    durable::journal::open_at(&engine, Arc::new(disk.clone()), place(segment_bytes))?;
    let thread = Thread::new(&engine, index, worker);
    let endpoint = || Endpoint {
        peer: "127.0.0.1:1".into(),
        local: "127.0.0.1:2".into(),
        unix: false,
        loopback: true,
        fd: 7,
    };
    let sessions = (0..3).map(|_| Session::new(&engine, index, endpoint())).collect();
    Ok(Server { engine, thread, clock, sessions })
}

impl Server {
    fn call(&mut self, session: usize, words: &[&[u8]]) -> String {
        let out = self.thread.call(&self.engine, &mut self.sessions[session], words);
        self.engine.journal.turn_over(&self.thread.worker().clone());
        String::from_utf8_lossy(&out.join()).into_owned()
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.call(0, &words)
    }

    fn digest(&mut self) -> String {
        // A session of its own: the others may be in a transaction.
        let endpoint =
            Endpoint { peer: "x".into(), local: "y".into(), unix: true, loopback: true, fd: 8 };
        let mut session = Session::new(&self.engine, 0, endpoint);
        let out = self.thread.call(&self.engine, &mut session, &[b"DEBUG", b"DIGEST"]);
        self.engine.clients.remove(&session.client);
        String::from_utf8(out.join()).expect("text")
    }

    fn last(&self) -> u64 {
        self.engine.journal.shared.last()
    }

    fn random(&mut self, rng: &mut Rng) -> Vec<Vec<u8>> {
        let session = rng.index(3);
        let words = loop {
            let words = grammar::command(rng);
            let name = words[0].to_ascii_lowercase();
            // These change the conditions of the test, or wait.
            let not = [
                "debug",
                "shutdown",
                "config",
                "client",
                "quit",
                "reset",
                "monitor",
                "subscribe",
                "psubscribe",
                "ssubscribe",
                "hello",
                "auth",
                "wait",
                "waitaof",
                "bgrewriteaof",
            ];
            if !not.iter().any(|n| n.as_bytes() == name.as_slice()) {
                break words;
            }
        };
        let words = match rng.index(24) {
            0 => vec![b"MULTI".to_vec()],
            1 | 2 => vec![b"EXEC".to_vec()],
            _ => words,
        };
        if self.sessions[session].blocked.is_some() {
            return Vec::new();
        }
        let slices: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        self.call(session, &slices);
        words
    }
}

fn show(words: &[Vec<u8>]) -> String {
    let words: Vec<_> = words.iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect();
    words.join(" ").chars().take(300).collect()
}

#[test]
fn random_traffic_is_replayed_to_the_same_data() {
    for seed in 0..40 {
        let mut rng = Rng::from_seed(seed);
        let disk = SimDisk::default();
        let lines =
            ["appendfsync no\nmaxmemory-policy allkeys-random", "appendfsync always"][rng.index(2)];
        let mut server = open(&disk, lines, 30_000, START_MS).expect("a new journal");
        let mut now = START_MS;
        for _ in 0..400 {
            server.random(&mut rng);
            if rng.index(20) == 0 {
                let ms = 1 + rng.index(3000) as u64;
                now += ms;
                server.clock.advance_ms(ms);
                server.thread.sync_clock(&server.engine.clock);
                server.thread.cron(&server.engine.clone(), 1, u64::MAX);
            }
        }
        let before = server.digest();
        let last = server.last();
        durable::journal::close(&server.engine);
        let mut copy = open(&disk, lines, 30_000, now).expect("sound");
        assert_eq!(copy.last(), last, "seed {seed}");
        assert_eq!(copy.digest(), before, "seed {seed}");
    }
}

/// The law of every command, with the journal's bytes and files in between.
#[test]
fn every_transcript_is_replayed_to_the_same_data() {
    let target = transcript::Target::Apus;
    let (engine, _) = engine("", START_MS);
    let mut records = 0;
    let rows = engine.table.all().iter().map(|cmd| cmd.row);
    for row in rows.filter(|row| row.transcript.contains("> ")) {
        let steps = transcript::parse(row.transcript).expect("a transcript");
        for part in steps.chunk_by(|_, next| !next.reset) {
            let disk = SimDisk::default();
            let mut server = open(&disk, "appendfsync no", 1 << 20, START_MS).expect("new");
            for step in part.iter().filter(|step| step.only.includes(target)) {
                let words: Vec<&[u8]> = step.args.iter().map(Vec::as_slice).collect();
                if server.sessions[0].blocked.is_none() {
                    server.call(0, &words);
                }
            }
            let (digest, last) = (server.digest(), server.last());
            durable::journal::close(&server.engine);
            let mut copy = open(&disk, "appendfsync no", 1 << 20, START_MS).expect("sound");
            assert_eq!((copy.digest(), copy.last()), (digest, last), "{}", row.name);
            durable::journal::close(&copy.engine);
            records += last;
        }
    }
    assert!(records > 500, "only {records} records");
}

fn rounds(default: u64) -> u64 {
    std::env::var("APUS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn a_crash_at_any_moment_leaves_a_beginning_of_all_that_happened() {
    let mut replayed = 0;
    for seed in 0..rounds(120) {
        let mut rng = Rng::from_seed(seed);
        let disk = SimDisk::default();
        let lines = ["appendfsync always", "appendfsync everysec", "appendfsync no"];
        let lines = lines[[0, 0, 1, 2][rng.index(4)]];
        let mut server = open(&disk, lines, 6000, START_MS).expect("a new journal");
        if rng.index(3) == 0 {
            disk.set_faults(Faults {
                room: (rng.index(2) == 0).then(|| rng.index(60_000) as u64),
                good_syncs: (rng.index(2) == 0).then(|| rng.index(40) as u32),
                good_writes: (rng.index(3) == 0).then(|| rng.index(40) as u32),
                ..Faults::default()
            });
        }
        // The data after each record.
        let mut history = HashMap::from([(0, server.digest())]);
        let mut words = Vec::new();
        for _ in 0..rng.index(150) {
            words.push(server.random(&mut rng));
            let digest = server.digest();
            let last = server.last();
            let known = history.entry(last).or_insert_with(|| digest.clone());
            assert_eq!(
                *known,
                digest,
                "seed {seed}: not in the journal: {}",
                show(&words[words.len() - 1])
            );
            if rng.index(30) == 0 {
                std::thread::sleep(std::time::Duration::from_micros(rng.index(3000) as u64));
            }
        }
        let durable = server.engine.journal.shared.durable();
        let after = disk.fork();
        after.crash(&mut rng);
        durable::journal::close(&server.engine);
        let mut copy =
            open(&after, lines, 6000, START_MS).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let last = copy.last();
        assert!(last >= durable, "seed {seed}: {durable} were durable, {last} are there");
        let digest = copy.digest();
        assert_eq!(history.get(&last), Some(&digest), "seed {seed} at {last}");
        replayed += last;
        durable::journal::close(&copy.engine);
    }
    assert!(replayed > 0);
}

#[test]
fn what_cannot_be_made_durable_is_refused() {
    let disk = SimDisk::default();
    let mut server = open(&disk, "appendfsync always", 1 << 20, START_MS).expect("a journal");
    assert_eq!(server.line("SET k 1"), "+OK\r\n");
    disk.set_faults(Faults { good_syncs: Some(0), ..Faults::default() });
    let second = server.line("SET k 2");
    while !server.engine.journal.shared.is_failing() {
        std::thread::yield_now();
    }
    let refused = "-MISCONF Errors writing to the AOF file: Input/output error\r\n";
    while server.line("SET k 3") != refused {
        std::thread::yield_now();
    }
    assert_eq!(server.line("PING"), refused);
    assert_eq!(server.line("MULTI"), "+OK\r\n");
    assert_eq!(server.line("SET k 3"), refused);
    assert_eq!(server.line("DISCARD"), "+OK\r\n");
    // The third may have come before the server knew; no client was told that it is safe.
    let value = server.line("GET k");
    // The sync of a mark may have failed before the second.
    let known = ["$1\r\n2\r\n", "$1\r\n3\r\n"].contains(&&*value);
    assert!(known || second == refused && value == "$1\r\n1\r\n", "it is read: {value}");
    assert!(server.line("INFO persistence").contains("aof_last_write_status:err"));
    // Without the journal, no write needs to be made durable.
    assert_eq!(server.line("CONFIG SET appendonly no"), "+OK\r\n");
    assert_eq!(server.line("SET k 4"), "+OK\r\n");
}

/// A write while the disk has no room is acknowledged under no policy; a read is answered.
#[test]
fn what_is_not_written_is_not_acknowledged() {
    for lines in ["appendfsync always", "appendfsync everysec", "appendfsync no"] {
        let disk = SimDisk::default();
        let mut server = open(&disk, lines, 1 << 20, START_MS).expect("a journal");
        assert_eq!(server.line("SET k 0"), "+OK\r\n");
        let engine = Arc::clone(&server.engine);
        let (journal, worker) = (&engine.journal, server.thread.worker().clone());
        testing::eventually("the first is safe", || {
            (journal.reached(server.last()) == Gate::Open).then_some(())
        });
        // The mark that follows the sync must not be the write that fails.
        let marked = || {
            let bytes = disk.read(&place(0).file("a.aof.1.seg")).ok()?;
            let used = |bytes: &[u8]| bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            let salt = bytes.get(16..32)?;
            bytes[..used(&bytes)].ends_with(&salt[..used(salt)]).then_some(())
        };
        if lines == "appendfsync always" {
            testing::eventually("the end is marked", marked);
        }
        disk.set_faults(Faults { room: Some(10), ..Faults::default() });
        let before = worker.lane.acted();
        assert_eq!(server.line("SET k 1"), "+OK\r\n");
        testing::eventually("the disk is full", || journal.shared.is_failing().then_some(()));
        assert_eq!(journal.gate(&worker.lane, before), Gate::Never, "{lines}");
        assert_eq!(journal.reached(server.last()), Gate::Never, "{lines}");
        assert_eq!(journal.gate(&worker.lane, worker.lane.acted()), Gate::Open, "{lines}");
        assert_eq!(server.line("GET k"), "$1\r\n1\r\n");
        disk.set_faults(Faults::default());
        testing::eventually("the disk has room again", || {
            (journal.reached(server.last()) == Gate::Open).then_some(())
        });
        assert_eq!(journal.gate(&worker.lane, before), Gate::Open, "{lines}");
        assert_eq!(server.line("SET k 2"), "+OK\r\n");
        durable::journal::close(&server.engine);
        let mut copy = open(&disk, lines, 1 << 20, START_MS).expect("sound");
        assert_eq!(copy.line("GET k"), "$1\r\n2\r\n");
    }
}

#[test]
fn a_transaction_is_one_record() {
    let disk = SimDisk::default();
    let mut server = open(&disk, "appendfsync always", 1 << 20, START_MS).expect("a journal");
    let before = server.last();
    for line in ["MULTI", "SET a 1", "INCR a", "LPUSH l x", "SPOP none", "EXEC"] {
        server.line(line);
    }
    assert_eq!(server.last(), before + 1);
    for line in ["MULTI", "GET a", "EXEC"] {
        server.line(line);
    }
    assert_eq!(server.last(), before + 1, "nothing was changed");
}

/// `redis.set_repl` applies until the script's end, and to the script's own commands.
#[test]
fn a_script_may_keep_from_the_journal_what_it_does() {
    let disk = SimDisk::default();
    let mut server = open(&disk, "appendfsync always", 1 << 20, START_MS).expect("a journal");
    let eval = |server: &mut Server, text: &str| {
        server.call(0, &[b"EVAL", text.as_bytes(), b"0"]);
    };
    let before = server.last();
    eval(&mut server, "redis.set_repl(redis.REPL_NONE) redis.call('SET', 'none', 1)");
    eval(
        &mut server,
        "redis.set_repl(redis.REPL_REPLICA) redis.call('SADD', 's', 1) redis.call('SPOP', 's')",
    );
    assert_eq!(server.last(), before, "nothing was told");
    eval(
        &mut server,
        "redis.call('SET', 'a', 1) redis.set_repl(redis.REPL_NONE) redis.call('SET', 'b', 1)
         redis.set_repl(redis.REPL_AOF) redis.call('SET', 'c', 1)",
    );
    assert_eq!(server.last(), before + 1, "one record");
    server.line("SET d 1");
    // An error ends a script, too.
    eval(&mut server, "redis.set_repl(redis.REPL_NONE) redis.call('NOSUCH')");
    server.line("SET e 1");
    assert_eq!(server.line("EXISTS none a b c d e"), ":6\r\n");
    assert_eq!(server.line("DEBUG LOADAOF"), "+OK\r\n");
    assert_eq!(server.line("EXISTS a c d e"), ":4\r\n");
    assert_eq!(server.line("EXISTS none b"), ":0\r\n");
}

#[test]
fn functions_that_are_flushed_or_restored() {
    let disk = SimDisk::default();
    let mut server = open(&disk, "", 1 << 20, START_MS).expect("new");
    let library = |name: &str| {
        format!("#!lua name={name}\nredis.register_function('{name}', function() return 1 end)")
    };
    let load = |s: &mut Server, name: &str| {
        s.call(0, &[b"FUNCTION", b"LOAD", library(name).as_bytes()]);
    };
    load(&mut server, "one");
    let dump = server.thread.call(
        &server.engine,
        &mut server.sessions[0],
        &[b"FUNCTION".as_slice(), b"DUMP"],
    );
    let dump = dump.join();
    // The text between the length and the last line break.
    let start = dump.iter().position(|b| *b == b'\n').expect("a bulk string") + 1;
    let payload = dump[start..dump.len() - 2].to_vec();
    load(&mut server, "two");
    let list = |s: &mut Server| {
        let text = s.line("FUNCTION LIST");
        ["one", "two", "three"].into_iter().filter(|name| text.contains(name)).collect::<Vec<_>>()
    };
    let reopened = |disk: &SimDisk, server: Server| {
        durable::journal::close(&server.engine);
        open(disk, "", 1 << 20, START_MS).expect("sound")
    };
    assert_eq!(server.line("FUNCTION FLUSH"), "+OK\r\n");
    let mut server = reopened(&disk, server);
    assert!(list(&mut server).is_empty());
    load(&mut server, "three");
    let mut server = reopened(&disk, server);
    assert_eq!(list(&mut server), ["three"]);
    assert_eq!(server.call(0, &[b"FUNCTION", b"RESTORE", &payload, b"FLUSH"]), "+OK\r\n");
    let mut server = reopened(&disk, server);
    assert_eq!(list(&mut server), ["one"]);
    assert_eq!(server.line("FUNCTION DELETE one"), "+OK\r\n");
    let mut server = reopened(&disk, server);
    assert!(list(&mut server).is_empty());
}

#[test]
fn a_renamed_command_is_replayed_under_any_name() {
    let disk = SimDisk::default();
    let mut server = open(&disk, "appendfsync no", 1 << 20, START_MS).expect("a journal");
    server.line("xadd s 1-1 f v");
    server.line("XGROUP CREATE s g 0");
    server.line("SET a b PX 100000");
    let digest = server.digest();
    assert_eq!(server.line("DEBUG LOADAOF"), "+OK\r\n");
    assert_eq!(server.digest(), digest);
    server.line("DEL a");
    assert_ne!(server.digest(), digest);
}

/// A server on the machine's own disk.
fn open_real(place: &Location, lines: &str) -> Result<Server, String> {
    let (engine, _) = engine(lines, START_MS);
    let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
    durable::journal::open_at(&engine, Arc::new(persist::disk::Real), place.clone())?;
    let clock = Clock::simulated(START_MS).1;
    let endpoint =
        Endpoint { peer: "x".into(), local: "y".into(), unix: true, loopback: true, fd: 8 };
    let thread = Thread::new(&engine, index, worker);
    let sessions = vec![Session::new(&engine, index, endpoint)];
    Ok(Server { engine, thread, clock, sessions })
}

#[test]
fn files_of_redis_are_loaded_up_to_their_last_whole_transaction() {
    let dir = testing::TempDir::new();
    let place = Location { dir: dir.join("aof"), ..place(1 << 20) };
    std::fs::create_dir_all(&place.dir).expect("a directory");
    let command = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let args: String = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len())).collect();
        format!("*{}\r\n{args}", words.len())
    };
    let lines = |lines: &[&str]| lines.iter().map(|l| command(l)).collect::<String>();
    let whole = lines(&["SELECT 0", "SET a 1", "MULTI", "INCR a", "SELECT 3", "SET c x", "EXEC"]);
    let torn = lines(&["SELECT 0", "SET b 2", "MULTI", "SET a 9"]);
    let open = |truncated: &str| open_real(&place, &format!("aof-load-truncated {truncated}"));
    std::fs::write(dir.join("a.aof"), &whole).expect("written");
    std::fs::write(place.dir.join("a.aof.1.incr.aof"), format!("{whole}{torn}")).expect("written");
    let manifest = "file a.aof.1.incr.aof seq 1 type i\n";
    std::fs::write(place.dir.join("a.aof.manifest"), manifest).expect("written");
    let why = open("no").err().expect("it is torn");
    assert!(why.contains(&format!("begins at offset {}", whole.len() + 50)), "{why}");
    let mut server = open("yes").expect("loaded");
    // Behind it, and not in the transaction without an end: it was never executed.
    assert_eq!(server.line("MGET a b"), "*2\r\n$1\r\n2\r\n$1\r\n2\r\n");
    assert_eq!(server.line("INCR a"), ":3\r\n");
    assert_eq!(server.line("SELECT 3"), "+OK\r\n");
    assert_eq!(server.line("GET c"), "$1\r\nx\r\n");
    durable::journal::close(&server.engine);
    // Later writes are there without a rewrite.
    let mut server = open("yes").expect("loaded");
    assert_eq!(server.line("GET a"), "$1\r\n3\r\n");
    durable::journal::close(&server.engine);
    // Files of Redis's that have changed are newer; the journal is set aside.
    let other = lines(&["SELECT 0", "SET a 70"]);
    std::fs::write(place.dir.join("a.aof.1.incr.aof"), other).expect("written");
    for _ in 0..2 {
        let mut server = open("yes").expect("loaded");
        assert_eq!(server.line("GET a"), "$2\r\n70\r\n");
        durable::journal::close(&server.engine);
    }
    assert!(place.dir.join("a.aof.journal.old").exists());
    // The single file, where there is neither a manifest of ours nor one of Redis's.
    std::fs::remove_dir_all(&place.dir).expect("removed");
    let mut server = open("no").expect("loaded");
    assert_eq!(server.line("GET a"), "$1\r\n2\r\n");
    durable::journal::close(&server.engine);
}

/// As Redis before 5.0 wrote them: the scripts themselves.
#[test]
fn scripts_in_a_file_of_redis_run_again() {
    let dir = testing::TempDir::new();
    let place = Location { dir: dir.join("aof"), ..place(1 << 20) };
    std::fs::create_dir_all(&place.dir).expect("a directory");
    let file = |commands: &[&[&str]]| {
        let word = |w: &&str| format!("${}\r\n{w}\r\n", w.len());
        let command =
            |c: &&[&str]| format!("*{}\r\n{}", c.len(), c.iter().map(word).collect::<String>());
        std::fs::write(dir.join("a.aof"), commands.iter().map(command).collect::<String>())
    };
    let incr = "return redis.call('INCR', KEYS[1])";
    let sha = String::from_utf8(stdx::sha1hex(incr.as_bytes()).to_vec()).expect("hexadecimal");
    let members = "redis.call('RPUSH', KEYS[2], unpack(redis.call('SMEMBERS', KEYS[1])))";
    file(&[
        &["SELECT", "0"],
        &[
            "EVAL",
            "redis.call('SET', KEYS[1], ARGV[1]) redis.call('PUBLISH', 'c', 'm')",
            "1",
            "k",
            "v",
        ],
        &["SCRIPT", "LOAD", incr],
        &["EVALSHA", &sha, "1", "n"],
        &["MULTI"],
        &["EVALSHA", &sha, "1", "n"],
        &["EXEC"],
        &["SADD", "s", "b", "c", "a"],
        // Replies without an order came sorted.
        &["EVAL", members, "2", "s", "l"],
        &["EVAL", "redis.call('SELECT', 3) redis.call('SET', 'k', 'other')", "0"],
        // It failed then, too, after its writes.
        &["EVAL", "redis.call('SET', 'half', 1) redis.call('LPUSH', 'k', 1)", "0"],
        &["SET", "last", "1"],
    ])
    .expect("written");
    let mut server = open_real(&place, "").expect("loaded");
    assert_eq!(
        server.line("MGET k n half last"),
        "*4\r\n$1\r\nv\r\n$1\r\n2\r\n$1\r\n1\r\n$1\r\n1\r\n"
    );
    assert_eq!(server.line("LRANGE l 0 -1"), "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
    assert_eq!(server.line("SELECT 3"), "+OK\r\n");
    assert_eq!(server.line("GET k"), "$5\r\nother\r\n");
    durable::journal::close(&server.engine);
    // An unknown result ends the load.
    for (commands, why) in [
        (&[&["EVALSHA", &sha, "1", "n"][..]][..], "not in the file"),
        (&[&["EVAL", "redis.call('INFO')", "0"][..]][..], "a script calls INFO"),
    ] {
        std::fs::remove_dir_all(&place.dir).expect("removed");
        std::fs::create_dir_all(&place.dir).expect("a directory");
        file(commands).expect("written");
        let said = open_real(&place, "").err().expect("it cannot be loaded");
        assert!(said.contains(why) && said.contains("BGREWRITEAOF"), "{said}");
    }
}
