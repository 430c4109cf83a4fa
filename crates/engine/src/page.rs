//! Commands of pages: a page is rendered on a worker thread, and reads keys by commands that go the ordinary
//! way.
//!
//! All keys of a page are seen at one moment without being locked together: each read is remembered under its
//! shard's lock, so that any later change makes the page's [version](::pubsub::tracking::Pages) another one,
//! and the page is rendered again. A page whose keys change faster than that holds all shards
//! ([`Thread::hold_for_page`]).

use std::sync::Arc;

use commands::Fail;
use commands::row::{Flags, Scope};
use resp::{Args, Out, Proto, Reply, Span};
use store::{Db, Key};

use crate::acl::User;
use crate::commit::commit;
use crate::dispatch::lookup;
use crate::engine::Engine;
use crate::session::Session;
use crate::table::{Run, Table};
use crate::thread::Thread;

/// The result of a page's read.
#[derive(Debug)]
pub struct PageRead {
    /// The reply, in RESP3. Empty: it must wait, for the end of a pause, say.
    pub reply: Vec<u8>,
    /// It stays the same until a key changes that it names. Otherwise it depends on time, on chance, or on all
    /// keys, and the page is not to be kept.
    pub lasts: bool,
}

impl Session {
    /// A session of the server itself that acts as a user, for pages.
    pub fn of_page(engine: &Engine, thread: usize, user: Arc<User>) -> Self {
        let mut session = Self::inner(engine, thread);
        session.set_user(user);
        session.set_proto(Proto::V3);
        session
    }
}

impl Table {
    /// The names of the commands that only read data, which templates may call.
    pub fn reading_commands(&self) -> Vec<&'static str> {
        let reads = |cmd: &&crate::Cmd| {
            matches!(cmd.run, Run::Data(_))
                && cmd.row.flags.has(Flags::READONLY)
                && !cmd.row.flags.has(Flags::BLOCKING)
        };
        let mut names: Vec<_> = self.all().iter().filter(reads).map(|c| c.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Engine {
    /// See [`Table::reading_commands`].
    pub fn reading_commands(&self) -> Vec<&'static str> {
        self.table.reading_commands()
    }
}

impl Thread {
    /// Runs a command of a page that only reads. The keys that it names are remembered for `session.page`, and
    /// `key` is called with each before the read.
    ///
    /// # Errors
    /// No such command exists, or the command does not only read: a text that says so. Errors of the command itself are replies.
    pub fn read_for_page(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        words: &mut [Vec<u8>],
        mut key: impl FnMut(&[u8]),
    ) -> Result<PageRead, String> {
        let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
        let args = Args::new(&[], &spans, words);
        let id = lookup(engine, &args).map_err(|fail| fail.0.into_owned())?;
        let cmd = engine.table.get(id);
        let flags = cmd.row.flags;
        if !matches!(cmd.run, Run::Data(_))
            || !flags.has(Flags::READONLY)
            || flags.has_any(Flags::WRITE.or(Flags::BLOCKING))
        {
            return Err(format!("ERR '{}' is not a command that only reads", cmd.row.name));
        }
        let mut lasts = cmd.arity_fits(args.len())
            && cmd.row.has_keys()
            && cmd.row.scope_of(&args) == Scope::Keys
            && !cmd.row.tips.contains(&"nondeterministic_output");
        if lasts {
            lasts = commands::keys::positions(cmd.row, &args, &mut |i| key(&args[i])).is_ok();
        }
        let mut args = Args::new(&[], &spans, words);
        let reply = self.run_for_page(engine, session, Ok(id), &mut args);
        Ok(PageRead { reply, lasts })
    }

    /// Runs any command for a page, and returns its reply in RESP3; empty: it must wait.
    pub fn call_for_page(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        words: &mut [Vec<u8>],
    ) -> Vec<u8> {
        let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
        let mut args = Args::new(&[], &spans, words);
        let id = lookup(engine, &args);
        self.send_answers();
        self.run_for_page(engine, session, id, &mut args)
    }

    fn run_for_page(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: Result<u16, Fail>,
        args: &mut Args<'_>,
    ) -> Vec<u8> {
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, session.proto);
        self.since = None;
        let whole = std::mem::replace(&mut self.whole, true);
        self.dispatch_found(engine, session, id, args, &mut reply);
        self.whole = whole;
        if out.shared.is_empty() { out.buf } else { out.join() }
    }

    /// The earliest deadline of some keys, in Unix milliseconds.
    pub fn first_deadline(&mut self, engine: &Engine, db: usize, keys: &[Vec<u8>]) -> Option<i64> {
        let mut first: Option<i64> = None;
        for key in keys {
            let key = Key::new(key);
            let mut db = Db::lock_one(&engine.keyspace, db, key, &mut self.cx);
            let deadline = db.peek(key).and_then(|entry| entry.deadline());
            // The look removes a key whose time is over.
            commit(engine, &mut self.pubsub, &mut db);
            first = match (first, deadline) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        first
    }

    /// Locks the whole keyspace for the commands up to [`Self::release_for_page`].
    pub fn hold_for_page(&mut self, engine: &Engine) {
        engine.keyspace.hold(&mut self.cx, None);
        self.in_transaction = true;
    }

    /// See [`Self::hold_for_page`].
    pub fn release_for_page(&mut self, engine: &Engine) {
        self.in_transaction = false;
        engine.keyspace.release(&mut self.cx);
    }
}
