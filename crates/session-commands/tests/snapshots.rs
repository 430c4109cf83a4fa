//! Snapshots on a disk that fails: after any error the previous snapshot stays, no other file is left
//! behind, the client gets the error, and the server goes on.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::START_MS;
use config::Config;
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Message, Options, Session, Thread};
use persist::disk::Disk;
use persist::disk::sim::{Faults, SimDisk};
use stdx::clock::{Clock, VirtualClock};
use stdx::rng::Rng;

struct Server {
    engine: Arc<Engine>,
    thread: Thread,
    session: Session,
    clock: VirtualClock,
}

impl Server {
    fn new(disk: &SimDisk) -> Self {
        testing::leave_the_sources();
        let config = Config::new();
        let lines = b"threads 1\nsave 1000 1000000\nrdb-save-incremental-fsync no\n\
            enable-debug-command yes\nlist-max-listpack-size 50";
        config::load_text(&config, "test", lines).expect("a valid configuration");
        let (clock, hand) = Clock::simulated(START_MS);
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
        durable::Durable::of(&engine).snapshots.save_to(Arc::new(disk.clone()));
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        let endpoint =
            Endpoint { peer: "x".into(), local: "y".into(), unix: true, loopback: true, fd: 8 };
        let session = Session::new(&engine, index, endpoint);
        Self { engine, thread, session, clock: hand }
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let out = self.thread.call(&self.engine, &mut self.session, &words);
        String::from_utf8_lossy(&out.join()).into_owned()
    }

    /// Waits for a background save.
    fn ended(&mut self) {
        while self.is_saving() {
            std::thread::yield_now();
        }
    }

    fn is_saving(&mut self) -> bool {
        let saving = self.line("INFO persistence").contains("rdb_bgsave_in_progress:1");
        if saving {
            for message in self.thread.worker().clone().mailbox.take() {
                if let Message::Run(job) = message {
                    job.run(&self.engine, &mut self.thread);
                }
            }
        }
        saving
    }
}

/// The values of the keys `a` and `b` in a snapshot.
fn content(disk: &SimDisk) -> Vec<u8> {
    let bytes = disk.read(Path::new("dump.rdb")).expect("there is one");
    let limits = commands::rdb_limits(&store::Small::default());
    let mut reader = rdb::Reader::new(bytes.as_slice(), limits, true).expect("sound");
    loop {
        if let rdb::Item::End { .. } = reader.next().expect("sound") {
            return bytes;
        }
    }
}

#[test]
fn a_save_that_fails_leaves_the_one_before_it() {
    let disk = SimDisk::default();
    let mut server = Server::new(&disk);
    let value = "x".repeat(300);
    for i in 0..200 {
        server.line(&format!("SET key:{i} {value}"));
    }
    assert_eq!(server.line("SAVE"), "+OK\r\n");
    let mut before = content(&disk);
    let faults = [
        Faults { room: Some(0), ..Faults::default() },
        Faults { room: Some(1000), ..Faults::default() },
        Faults { good_writes: Some(0), ..Faults::default() },
        Faults { good_writes: Some(1), ..Faults::default() },
        Faults { good_syncs: Some(0), ..Faults::default() },
        Faults { good_renames: Some(0), ..Faults::default() },
    ];
    for (i, fault) in faults.into_iter().enumerate() {
        for background in [false, true] {
            server.line(&format!("SET key:{i} {background}"));
            disk.set_faults(fault);
            if background {
                assert_eq!(server.line("BGSAVE"), "+Background saving started\r\n");
                server.ended();
                assert!(server.line("INFO persistence").contains("rdb_last_bgsave_status:err"));
                assert!(server.line("SET a 1").starts_with("-MISCONF"), "{fault:?}");
            } else {
                assert!(server.line("SAVE").starts_with("-ERR"), "{fault:?}");
            }
            disk.set_faults(Faults::default());
            assert!(content(&disk) == before, "{fault:?}: the old one is gone");
            assert_eq!(disk.names().len(), 1, "{fault:?}: {:?}", disk.names());
            assert!(server.line("GET key:150").contains(&value));
        }
        assert_eq!(server.line("SAVE"), "+OK\r\n");
        assert_eq!(server.line("SET a 1"), "+OK\r\n", "writes are taken again");
        // A saved snapshot survives a crash of the machine.
        let after = content(&disk);
        assert!(after != before);
        disk.crash(&mut Rng::from_seed(i as u64));
        assert!(content(&disk) == after);
        before = after;
    }
}

/// The digest of a snapshot's data.
fn digest(bytes: &[u8]) -> String {
    let mut server = Server::new(&SimDisk::default());
    let limits = commands::rdb_limits(&store::Small::default());
    let mut reader = rdb::Reader::new(bytes, limits, true).expect("sound");
    loop {
        match reader.next().expect("sound") {
            rdb::Item::Entry(loaded) => {
                let name = loaded.entry.key().to_vec();
                let (ks, cx) = (&server.engine.keyspace, &mut server.thread.cx);
                let mut db = store::Db::lock_one(ks, 0, store::Key::new(&name), cx);
                db.put(loaded.entry);
                db.cx.effects.clear();
            }
            rdb::Item::End { .. } => return server.line("DEBUG DIGEST"),
            _ => {}
        }
    }
}

const MEMBERS: u64 = 3000;

/// Makes a key of every type, longer and shorter than the length from which values are frozen.
fn fill(server: &mut Server, n: u64) {
    for (suffix, count) in [("", n), ("2", 40)] {
        for i in 0..count {
            for line in [
                format!("ZADD z{suffix} {i} m:{i}"),
                format!("HSET h{suffix} f:{i} v:{i}"),
                format!("SADD s{suffix} m:{i}"),
                format!("SADD n{suffix} {}", i * 3),
                format!("RPUSH l{suffix} e:{i}"),
                format!("XADD x{suffix} {}-1 f {}:v", i + 1, "0123456789".repeat(i as usize % 11)),
                format!("APPEND t{suffix} {}", "text".repeat(20)),
            ] {
                let reply = server.line(&line);
                assert!(!reply.starts_with('-'), "{line}: {reply}");
            }
        }
        server.line(&format!("HPEXPIREAT h{suffix} 4102444800000 FIELDS 2 f:1 f:7"));
        server.line(&format!("PEXPIREAT z{suffix} 4102444800000"));
        server.line(&format!("XGROUP CREATE x{suffix} g 0"));
        for consumer in 0..5 {
            server.line(&format!(
                "XREADGROUP GROUP g c{consumer} COUNT {} STREAMS x{suffix} >",
                n / 6
            ));
        }
    }
    for i in 0..100_u64 {
        let more: Vec<String> =
            (0..600).map(|j| (10_000 + (i * 600 + j) * 70_000).to_string()).collect();
        server.line(&format!("SADD n {}", more.join(" ")));
    }
}

fn change(rng: &mut Rng) -> String {
    let suffix = if rng.index(4) == 0 { "2" } else { "" };
    let i = rng.below(MEMBERS + 500);
    match rng.index(26) {
        0..=2 => format!("ZADD z{suffix} {} m:{i}", rng.below(5000)),
        3 => format!("ZREM z{suffix} m:{i}"),
        4 => format!("ZREMRANGEBYRANK z{suffix} {} {}", i / 2, i / 2 + rng.below(200)),
        5 | 6 => format!("HSET h{suffix} f:{i} w:{}", "x".repeat(rng.index(60))),
        7 => format!("HDEL h{suffix} f:{i}"),
        8 => format!("HPEXPIREAT h{suffix} {} FIELDS 1 f:{i}", 4_102_444_800_000 + i),
        9 => format!("HINCRBY h{suffix} n:{} 1", i % 5),
        10 => format!("SADD s{suffix} m:{i}"),
        11 | 12 => format!("SREM s{suffix} m:{i}"),
        13 => format!("SADD n{suffix} {i} {} x:{i}", i * 1_000_003),
        14 => format!("SREM n{suffix} {i} {}", 10_000 + i * 1_400_000),
        15 => format!("LPUSH l{suffix} a:{i}"),
        16 => format!("LSET l{suffix} {} b:{i}", i % 40),
        17 => format!("LREM l{suffix} 1 e:{i}"),
        18 => format!("LINSERT l{suffix} BEFORE e:{i} c:{i}"),
        19 => format!("XADD x{suffix} * f w:{i}"),
        20 => format!("XDEL x{suffix} {i}-1"),
        21 => format!("XACK x{suffix} g {i}-1"),
        22 => format!("SETRANGE t{suffix} {i} changed"),
        23 => format!("APPEND t{suffix} more"),
        24 if rng.index(40) == 0 => {
            let key = ["z", "h", "s", "n", "l", "x", "t"][rng.index(7)];
            [format!("DEL {key}"), format!("RENAME {key} {key}3"), format!("COPY {key} {key}4")]
                [rng.index(3)]
            .clone()
        }
        _ => format!("SPOP s{suffix}"),
    }
}

#[test]
fn what_changes_while_it_is_saved_is_saved_as_it_was() {
    for seed in 0..4 {
        let mut rng = Rng::from_seed(seed);
        let disk = SimDisk::default();
        let mut server = Server::new(&disk);
        fill(&mut server, MEMBERS);
        let mut saved = 0;
        // One behind the other: values are frozen again, some of them while the last copy is there.
        for _ in 0..3 {
            server.line("CONFIG SET rdb-key-save-delay 2000");
            let before = server.line("DEBUG DIGEST");
            assert_eq!(server.line("BGSAVE"), "+Background saving started\r\n");
            let mut changes = 0;
            while server.is_saving() {
                for _ in 0..100 {
                    server.line(&change(&mut rng));
                    changes += 1;
                }
            }
            assert!(server.line("DEBUG DIGEST") != before, "{changes} changes");
            assert_eq!(digest(&content(&disk)), before, "seed {seed}, {changes} changes");
            saved += 1;
        }
        assert_eq!(saved, 3);
    }
}

/// As in Redis: the counter of unused keys falls, also while they are in a file.
#[test]
fn how_often_a_key_was_used_is_saved_as_of_now() {
    let disk = SimDisk::default();
    let mut server = Server::new(&disk);
    server.line("CONFIG SET maxmemory-policy allkeys-lfu");
    server.line("SET key value");
    assert_eq!(server.line("OBJECT FREQ key"), ":5\r\n");
    server.clock.advance_ms(3 * 60_000);
    assert_eq!(server.line("OBJECT FREQ key"), ":2\r\n");
    assert_eq!(server.line("SAVE"), "+OK\r\n");
    let told = content(&disk).windows(2).find(|pair| pair[0] == 249).map(|pair| pair[1]);
    assert_eq!(told, Some(2), "after the opcode of a counter");
}
