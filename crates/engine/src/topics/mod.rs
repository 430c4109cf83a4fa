//! Topics: the event log of this server, opened when it is first used.
//!
//! Until then there is no directory, no thread and no memory of it. Both doors lead here: the
//! TOPIC.* commands, and the HTTP interface of whoever embeds the engine.

mod append;
mod asker;
mod manage;
mod place;
mod read;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::log::{Broker, Error, Options};
use commands::Fail;
use commands::row::{Acl, Flags, Group, KeyFlags, KeySpec, Row, Scope};
use config::Id;
use parking_lot::Mutex;
use resp::Args;

pub use self::place::objects;
use crate::engine::Engine;
use crate::table::{SessionCommand, SessionFn};

pub(crate) static COMMANDS: &[&SessionCommand] = &[
    &append::APPEND,
    &manage::COMMIT,
    &manage::COMMITTED,
    &manage::CREATE,
    &manage::DELETE,
    &manage::GROUPS,
    &manage::INFO,
    &manage::LIST,
    &manage::SET,
    &read::READ,
];

/// What the commands' rows have in common. Their transcripts show only what is refused at once. The log answers from threads of its own, which nobody may
/// wait for who holds shards.
const BASE: Row = Row {
    group: Group::Topic,
    since: "7.4.0",
    flags: Flags::NOSCRIPT.or(Flags::NO_MULTI),
    scope: Scope::None,
    ..Row::DEFAULT
};

/// A row that reads the topic in argument 1. Topics are named like keys, so that key patterns of access
/// control hold for them: docs/acl.md.
const READS: Row =
    Row { acl: Acl::READ, keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))], ..BASE };

/// A row that adds to the topic in argument 1.
const APPENDS: Row =
    Row { acl: Acl::WRITE, keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))], ..BASE };

/// A row that changes the topic in argument 1, or what is kept with it.
const CHANGES: Row =
    Row { acl: Acl::WRITE, keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))], ..BASE };

/// A row that deletes the topic in argument 1.
const DELETES: Row = Row {
    acl: Acl::WRITE.or(Acl::DANGEROUS),
    keys: &[KeySpec::one(1, KeyFlags::RM.or(KeyFlags::DELETE))],
    ..BASE
};

/// A command without subcommands.
const fn command(row: Row, run: SessionFn) -> SessionCommand {
    SessionCommand { row, run, subs: &[] }
}

/// The name of a topic or a group in argument `i`.
fn name(args: &Args<'_>, i: usize) -> Result<String, Fail> {
    let name = args.get(i).and_then(|n| std::str::from_utf8(n).ok()).unwrap_or("");
    match ::log::check_name("topic or group", name) {
        Ok(()) => Ok(name.to_owned()),
        Err(e) => Err(asker::fail(&e)),
    }
}

/// The log of an engine, open or not.
#[derive(Default)]
pub struct Topics {
    broker: OnceLock<Broker>,
    /// Held while it is opened.
    opening: Mutex<()>,
    /// Connections of whoever serves topics over HTTP.
    pub http_connections: AtomicUsize,
}

impl Topics {
    /// The log, if it is open.
    pub fn get(&self) -> Option<&Broker> {
        self.broker.get()
    }

    /// Whether it is open, for people.
    pub(crate) fn state(&self) -> &'static str {
        match self.broker.get() {
            Some(_) => "open",
            None => "unused",
        }
    }

    /// The log, which is opened if it is not.
    ///
    /// # Errors
    /// The storage cannot be opened.
    pub fn open(&self, engine: &Engine) -> Result<&Broker, Error> {
        if let Some(b) = self.broker.get() {
            return Ok(b);
        }
        let _opening = self.opening.lock();
        if let Some(b) = self.broker.get() {
            return Ok(b);
        }
        let config = &engine.config;
        let log = engine.log.clone();
        let tell = Arc::new(move |text: &str| crate::log!(log, Warning, "{}", text));
        let storage = place::open(config, Arc::clone(&tell) as _)?;
        let memory = usize::try_from(config.bytes(Id::TopicMemory)).unwrap_or(usize::MAX);
        let options = Options {
            auto_create: config.flag(Id::TopicAutoCreate),
            read_only: config.flag(Id::TopicReadOnly),
            pending_max: memory / 2,
            // Where objects are fetched for readers, they have the other half of it.
            kept_max: memory / if storage.shared() { 8 } else { 4 },
            answers_max: memory / 4,
            ..Options::default()
        };
        let clock = engine.clock.clone();
        let tell = Box::new(move |text: &str| tell(text));
        let broker = Broker::new(storage, options, tell, Box::new(move || clock.wall_us()));
        Ok(self.broker.get_or_init(|| broker))
    }

    /// Opens it if there are topics from before, or if somebody has said where they are, so that their
    /// retention goes on, and so that what is wrong with them is known at the start.
    ///
    /// # Errors
    /// The storage cannot be opened.
    pub fn wake(&self, engine: &Engine) -> Result<(), Error> {
        if place::is_used(&engine.config) {
            self.open(engine)?;
        }
        Ok(())
    }

    /// A vector of at least this capacity for input that probably becomes records, if one has come back.
    pub fn spare(&self, capacity: usize) -> Option<Vec<u8>> {
        self.broker.get()?.spare(capacity)
    }

    /// Stores what was accepted, and takes nothing more in.
    pub fn close(&self, within: Duration) -> bool {
        self.broker.get().is_none_or(|b| b.close(within))
    }
}
