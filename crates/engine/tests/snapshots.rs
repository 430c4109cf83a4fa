//! Snapshots on a disk that fails: whatever goes wrong, the one before stays, nothing else is left behind,
//! the client is told, and the server goes on.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::START_MS;
use config::Config;
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Message, Options, Session, Thread};
use persist::disk::Disk;
use persist::disk::sim::{Faults, SimDisk};
use stdx::clock::Clock;
use stdx::rng::Rng;

struct Server {
    engine: Arc<Engine>,
    thread: Thread,
    session: Session,
}

impl Server {
    fn new(disk: &SimDisk) -> Self {
        let config = Config::new();
        let lines = b"threads 1\nsave 1000 1000000\nrdb-save-incremental-fsync no";
        config::load_text(&config, "test", lines).expect("a valid configuration");
        let engine = Engine::new(Options {
            config,
            renames: Vec::new(),
            clock: Clock::simulated(START_MS).0,
            log: Log::silent(),
            config_file: None,
            executable: String::new(),
        });
        engine.save_to(Arc::new(disk.clone()));
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        let endpoint =
            Endpoint { peer: "x".into(), local: "y".into(), unix: true, loopback: true, fd: 8 };
        let session = Session::new(&engine, index, endpoint);
        Self { engine, thread, session }
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let out = self.thread.call(&self.engine, &mut self.session, &words);
        String::from_utf8_lossy(&out.join()).into_owned()
    }

    /// Waits for a background save.
    fn ended(&mut self) {
        while self.line("INFO persistence").contains("rdb_bgsave_in_progress:1") {
            for message in self.thread.worker().clone().mailbox.take() {
                if let Message::Run(job) = message {
                    job.run(&self.engine, &mut self.thread);
                }
            }
            std::thread::yield_now();
        }
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
        // What has been saved survives the machine.
        let after = content(&disk);
        assert!(after != before);
        disk.crash(&mut Rng::from_seed(i as u64));
        assert!(content(&disk) == after);
        before = after;
    }
}
