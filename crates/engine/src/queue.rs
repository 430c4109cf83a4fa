//! Transactions: the queue of MULTI, its execution by EXEC, and the keys of WATCH.
//!
//! MULTI queues commands with their arguments. EXEC locks the shards of all their keys (and of the
//! watched ones) while it looks whether a watched key has changed and runs the queue, so that no
//! client sees a part of it. A command that needs to see everything makes it lock every shard. A
//! transaction over one shard costs its lock and nothing more.
//!
//! WATCH registers in the shards of its keys; a command that changes one of them marks the watch
//! there, under the same lock.

use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Group, Scope, Traits};
use commands::{Fail, Outcome};
use resp::{Args, Reply, Span};
use store::{Db, Key};

use crate::commit::commit;
use crate::dispatch::shards_of;
use crate::engine::Engine;
use crate::exec::{Policy, Request};
use crate::queued::{Multi, Queued};
use crate::session::Session;
use crate::table::{Call, Cmd, Run};
use crate::thread::Thread;

impl Multi {
    /// Adds a command that may run; `flags` say more about it than its row where it runs a script.
    /// Returns the bytes that it takes.
    pub(crate) fn queue(
        &mut self,
        command: u16,
        cmd: &Cmd,
        flags: Flags,
        args: &Args<'_>,
    ) -> usize {
        self.flags = self.flags.or(flags);
        self.lacks = self.lacks.or(Flags::STALE.or(Flags::LOADING).without(flags));
        match (cmd.run, cmd.row.scope_of(args)) {
            (Run::Data(_), Scope::Keys) => {
                // Without valid keys the command refuses before it looks at any.
                let _ = shards_of(cmd, args, &mut self.shards);
            }
            (Run::Data(_), Scope::None) => {}
            (Run::Data(_), Scope::All | Scope::Each | Scope::Patterns) => self.all = true,
            // They lock the shards that they need themselves; these are not known beforehand.
            (Run::Session(_), _) => {
                self.all |= match cmd.row.group {
                    // CLIENT UNBLOCK ends a waiter in some shard.
                    Group::Connection => cmd.traits.has(Traits::CONNECTIONS),
                    Group::PubSub => false,
                    _ => true,
                };
            }
        }
        self.bytes += args.bytes();
        let args = args.to_vecs(0);
        let bytes: usize = args.iter().map(|a| a.capacity() + size_of::<Vec<u8>>()).sum();
        self.queue.push(Queued { command, args });
        bytes + size_of::<Queued>()
    }
}

/// Bytes that a watched key takes besides its name: here, and in its shard.
const WATCH_BYTES: usize = size_of::<(usize, Vec<u8>)>() + 64;

impl Thread {
    /// Ends a transaction and its watches without running it.
    pub fn discard(&mut self, engine: &Engine, session: &mut Session) {
        if session.multi.take().is_some() {
            session.client.multi.store(-1, Relaxed);
            session.client.rare().multi_bytes.store(0, Relaxed);
        }
        self.unwatch(engine, session);
    }

    /// UNWATCH.
    pub fn unwatch(&mut self, engine: &Engine, session: &mut Session) {
        session.client.dirty.store(false, Relaxed);
        let Some(w) = session.watching.take() else { return };
        session.client.watch.store(0, Relaxed);
        session.client.rare().watch_bytes.store(0, Relaxed);
        for (index, key) in &w.keys {
            let key = Key::new(key);
            Db::lock_one(&engine.keyspace, *index, key, &mut self.cx).unwatch(key, &w.flag);
        }
    }
}

impl Call<'_> {
    /// WATCH: notes keys of the selected database, a change of which makes EXEC do nothing.
    pub fn watch<'n>(&mut self, names: impl Iterator<Item = &'n [u8]>) {
        let index = self.session.db;
        let w = self.session.watching.get_or_insert_default();
        // Nothing more can be lost when it has failed already.
        if !w.flag.is_dirty() {
            for name in names {
                if w.keys.iter().any(|(db, key)| *db == index && key == name) {
                    continue;
                }
                let key = Key::new(name);
                let mut db = Db::lock_one(&self.engine.keyspace, index, key, &mut self.thread.cx);
                // An expired key is removed before it is watched: that does not count as a change.
                db.peek(key);
                commit(self.engine, &mut self.thread.pubsub, &mut db);
                db.watch(key, &w.flag);
                w.keys.push((index, name.to_vec()));
            }
            let bytes: usize = w.keys.iter().map(|(_, key)| WATCH_BYTES + key.capacity()).sum();
            self.session.client.watch.store(w.keys.len() as u32, Relaxed);
            self.session.client.rare().watch_bytes.store(bytes as u64, Relaxed);
        }
    }

    /// EXEC: locks the shards of all queued commands and runs the queue, unless a watched key has changed.
    ///
    /// # Errors
    /// The session has no transaction, or one of its commands was refused.
    pub fn run_queue(&mut self, reply: &mut Reply<'_>) -> Outcome {
        let Some(multi) = self.session.multi.take() else {
            return Err(Fail::text("ERR EXEC without MULTI"));
        };
        self.session.client.multi.store(-1, Relaxed);
        self.session.client.rare().multi_bytes.store(0, Relaxed);
        if multi.failed {
            self.thread.unwatch(self.engine, self.session);
            let text = "EXECABORT Transaction discarded because of previous errors.";
            return Err(Fail::text(text));
        }
        let Multi { queue, mut shards, all, .. } = *multi;
        let engine = self.engine;
        for (_, key) in self.session.watching.iter().flat_map(|w| &w.keys) {
            shards.add(stdx::hash::hash64(key));
        }
        let sets_options =
            |q: &Queued| engine.table.get(q.command).traits.has(Traits::SETS_OPTIONS);
        let _gate = queue.iter().any(sets_options).then(|| engine.lock_config());
        engine.keyspace.hold(&mut self.thread.cx, (!all).then_some(shards));
        if self.has_watched_change() {
            // That it fails tells of another client's write.
            self.thread.note_shows_data();
            self.thread.unwatch(engine, self.session);
            engine.keyspace.release(&mut self.thread.cx);
            reply.null_array();
            return Ok(());
        }
        self.thread.unwatch(engine, self.session);
        self.thread.in_transaction = true;
        self.thread.begin_unit();
        reply.array(queue.len());
        for q in queue {
            let mut owned = q.args;
            let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
            let mut args = Args::new(&[], &spans, &mut owned);
            let (session, id) = (&*self.session, q.command);
            let (user, client) = (&*session.user, &session.client);
            let request = Request { engine, id, args: &args, user, client };
            if let Err(refusal) = request.admit(Policy::TRANSACTION) {
                let fail = refusal.revoked(user, engine.table.get(id).row);
                self.thread.refuse(engine, self.session, None, &fail, reply);
                continue;
            }
            let sample = self.thread.begin_inner_sample(&engine.clock, &args, reply.out().len());
            self.thread.call_command(engine, self.session, q.command, &mut args, reply);
            if let Some(sample) = sample {
                let command = (engine.table.get(q.command), self.session.db, &args);
                self.thread.end_sample(engine, Some(command), sample, reply.out().len());
            }
        }
        self.thread.end_unit(engine);
        self.thread.in_transaction = false;
        self.thread.serve_ready(engine);
        engine.keyspace.release(&mut self.thread.cx);
        Ok(())
    }

    /// Whether a watched key has changed. An expired one has, too: it is removed here.
    fn has_watched_change(&mut self) -> bool {
        let Some(w) = &self.session.watching else { return false };
        for (index, key) in &w.keys {
            let key = Key::new(key);
            let mut db = Db::lock_one(&self.engine.keyspace, *index, key, &mut self.thread.cx);
            db.peek(key);
            commit(self.engine, &mut self.thread.pubsub, &mut db);
        }
        w.flag.is_dirty()
    }
}
