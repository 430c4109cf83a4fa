//! The two seams of snapshots: one is written into something that is no file, and one is read from bytes that
//! come from elsewhere.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use config::Config;
use durable::Durable;
use durable::load::Source;
use durable::snapshots::{self, NotBegun, PipeSource, pipe};
use engine::log::Log;
use engine::{CommandSet, Endpoint, Engine, Mailbox, Message, Options, Session, Thread};
use stdx::clock::Clock;

struct Server {
    engine: Arc<Engine>,
    thread: Thread,
    session: Session,
}

impl Server {
    fn new() -> Self {
        testing::leave_the_sources();
        let config = Config::new();
        config::load_text(&config, "test", b"threads 1\nsave \"\"").expect("a valid configuration");
        let engine = Engine::new(Options {
            config,
            commands: CommandSet::NONE,
            durability: Arc::<Durable>::default(),
            renames: Vec::new(),
            clock: Clock::simulated(1_700_000_000_123).0,
            log: Log::silent(),
            config_file: None,
            executable: String::new(),
        });
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        let session = Session::new(&engine, index, Endpoint::nowhere());
        Self { engine, thread, session }
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let out = self.thread.call(&self.engine, &mut self.session, &words);
        String::from_utf8_lossy(&out.join()).into_owned()
    }

    fn fill(&mut self, keys: usize) {
        for i in 0..keys {
            assert_eq!(self.line(&format!("SET key:{i} value:{i}")), "+OK\r\n");
        }
        self.line("RPUSH list a b c");
    }

    /// Does what other threads have posted.
    fn run_jobs(&mut self) {
        for message in self.thread.worker().clone().mailbox.take() {
            if let Message::Run(job) = message {
                job.run(&self.engine, &mut self.thread);
            }
        }
    }

    /// Begins a snapshot into a pipe. Returns its source, and whether it ended well, once it has ended.
    fn begin(&mut self, bytes_max: usize) -> (PipeSource, Arc<AtomicU64>) {
        let (sink, source) = pipe(bytes_max, || {});
        let ended = Arc::new(AtomicU64::new(0));
        let tell = Arc::clone(&ended);
        let moment = || vec![("repl-offset", "42".to_owned())];
        let done = move |_: &Engine, _: &mut Thread, outcome: std::io::Result<snapshots::Taken>| {
            tell.store(1 + u64::from(outcome.is_ok()), Relaxed);
        };
        snapshots::save_into(&self.engine, &mut self.thread, sink, moment, done).expect("begun");
        (source, ended)
    }

    fn end(&mut self, ended: &AtomicU64) -> bool {
        testing::eventually("the snapshot ends", || {
            self.run_jobs();
            (ended.load(Relaxed) != 0).then_some(())
        });
        ended.load(Relaxed) == 2
    }

    fn replace(&mut self, bytes: impl Read + Send) -> Result<(), commands::Fail> {
        let source = Source { bytes, total: 0, name: "a test's bytes".to_owned() };
        durable::replace_all(&self.engine, &mut self.thread, source)
    }
}

fn all(source: PipeSource) -> Vec<u8> {
    let mut source = source;
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes).expect("a whole snapshot");
    bytes
}

#[test]
fn what_goes_through_a_pipe_replaces_everything_elsewhere() {
    let (mut from, mut to) = (Server::new(), Server::new());
    from.fill(5000);
    to.line("SET other 1");
    let (source, ended) = from.begin(10_000);
    // Its moment is past: this is not in it.
    from.line("SET key:7 later");
    // Read while it is written, as from a connection.
    to.replace(source).expect("sound bytes");
    assert!(from.end(&ended));
    assert_eq!(to.line("DBSIZE"), ":5001\r\n");
    assert_eq!(to.line("GET key:7"), "$7\r\nvalue:7\r\n");
    assert_eq!(to.line("GET other"), "$-1\r\n");
    assert_eq!(to.line("LLEN list"), ":3\r\n");
    assert_eq!(from.line("GET key:7"), "$5\r\nlater\r\n");
}

#[test]
fn the_moment_comes_once_with_nothing_under_way_and_its_fields_are_in_the_snapshot() {
    let mut server = Server::new();
    server.fill(10);
    let (source, ended) = server.begin(1 << 20);
    let bytes = all(source);
    assert!(server.end(&ended));
    let at = bytes.windows(11).position(|w| w == b"repl-offset").expect("the field");
    // A short number is one byte behind its type.
    assert_eq!(bytes[at + 11..at + 13], [0xc0, 42]);
    // One at a time; nothing is called for the one that is refused.
    let (_source, ended) = server.begin(1);
    let (sink, _) = pipe(1, || {});
    let called = AtomicBool::new(false);
    let moment = || {
        called.store(true, Relaxed);
        Vec::new()
    };
    let refused =
        snapshots::save_into(&server.engine, &mut server.thread, sink, moment, |_, _, _| {});
    assert!(matches!(refused, Err(NotBegun::Busy)) && !called.load(Relaxed));
    drop(_source);
    assert!(!server.end(&ended), "its reader was gone");
}

#[test]
fn a_snapshot_whose_reader_leaves_ends_and_the_next_can_begin() {
    let mut server = Server::new();
    server.fill(5000);
    let (mut source, ended) = server.begin(1000);
    source.read_exact(&mut [0; 100]).expect("a beginning");
    drop(source);
    assert!(!server.end(&ended));
    let (source, ended) = server.begin(1 << 20);
    assert!(all(source).len() > 50_000);
    assert!(server.end(&ended));
}

#[test]
fn bytes_that_end_early_leave_no_half_of_the_data() {
    let mut server = Server::new();
    server.fill(3000);
    let (source, ended) = server.begin(1 << 20);
    let bytes = all(source);
    assert!(server.end(&ended));
    for len in [0, 5, bytes.len() / 2, bytes.len() - 1] {
        server.line("SET there 1");
        assert!(server.replace(&bytes[..len]).is_err(), "{len}");
        assert_eq!(server.line("DBSIZE"), ":0\r\n", "{len}");
    }
    server.replace(bytes.as_slice()).expect("sound bytes");
    assert_eq!(server.line("DBSIZE"), ":3001\r\n");
    // Commands go on.
    assert_eq!(server.line("SET key:1 new"), "+OK\r\n");
}
