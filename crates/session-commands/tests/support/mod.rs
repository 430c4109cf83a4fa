//! A server without sockets: an engine, one thread of it, and connections that are sessions.

use std::path::PathBuf;
use std::sync::Arc;

use config::Config;
use engine::{Endpoint, Engine, Mailbox, Options, Session, Thread, log::Log};
use resp::Proto;
use stdx::clock::{Clock, VirtualClock};
use transcript::{Reply, decode};

/// Unix milliseconds at which every test starts.
pub(crate) const START_MS: u64 = 1_700_000_000_123;

/// See the module's text.
pub(crate) struct Server {
    pub(crate) engine: Arc<Engine>,
    pub(crate) thread: Thread,
    #[allow(dead_code, reason = "not every test moves time")]
    pub(crate) clock: VirtualClock,
}

impl Server {
    /// A server with these lines as its configuration file.
    pub(crate) fn with_config(lines: &str) -> Self {
        testing::leave_the_sources();
        let config = Config::new();
        config::load_text(&config, "test", lines.as_bytes()).expect("a valid configuration");
        Self::with(config, None)
    }

    /// A server with this configuration.
    pub(crate) fn with(config: Config, config_file: Option<PathBuf>) -> Self {
        Self::new(config, config_file, Vec::new())
    }

    /// A server with these commands renamed: pairs of name and new name.
    #[allow(dead_code, reason = "not every test renames commands")]
    pub(crate) fn with_renames(renames: &[(&str, &str)]) -> Self {
        let renames = renames.iter().map(|(old, new)| ((*old).into(), (*new).into())).collect();
        Self::new(Config::new(), None, renames)
    }

    fn new(config: Config, config_file: Option<PathBuf>, renames: Vec<(String, String)>) -> Self {
        testing::leave_the_sources();
        let (clock, handle) = Clock::simulated(START_MS);
        let engine = Engine::new(Options {
            config,
            commands: session_commands::ALL,
            durability: Arc::<durable::Durable>::default(),
            renames,
            clock,
            log: Log::silent(),
            config_file,
            executable: "/usr/bin/apus".into(),
        });
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        Self { engine, thread, clock: handle }
    }

    /// A new connection.
    pub(crate) fn connect(&self, proto: Proto) -> Session {
        let endpoint = Endpoint {
            peer: "127.0.0.1:50000".into(),
            local: "127.0.0.1:6379".into(),
            unix: false,
            loopback: true,
            fd: 8,
        };
        let mut session = Session::new(&self.engine, self.thread.index, endpoint);
        session.set_proto(proto);
        session
    }

    /// Calls a command; a reply that is missing altogether is `None`.
    pub(crate) fn call(
        &mut self,
        session: &mut Session,
        words: &[impl AsRef<[u8]>],
    ) -> Option<Reply> {
        let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        let out = self.thread.call(&self.engine, session, &words);
        let mut bytes = out.buf.clone();
        for (at, shared) in out.shared.iter().rev() {
            bytes.splice(at..at, shared.iter().copied());
        }
        let mut rest = bytes.as_slice();
        let reply = decode(&mut rest).expect("valid RESP");
        assert!(rest.is_empty() || words[0].eq_ignore_ascii_case(b"debug"), "{rest:?} left over");
        reply
    }

    /// Calls a command written as in a shell, and returns the text that redis-cli would show.
    #[allow(dead_code, reason = "not every test shows replies")]
    pub(crate) fn show(&mut self, session: &mut Session, line: &str) -> String {
        let words = transcript::split_args(line).expect("balanced quotes");
        self.call(session, &words).map_or("(no reply)".into(), |r| transcript::format(&r))
    }
}
