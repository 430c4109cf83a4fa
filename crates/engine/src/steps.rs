//! Several commands as one, for parts of the server that keep what they know in keys: live channels.
//!
//! The commands run one behind the other with the shards of their keys locked, as a script's do, and are one
//! record of the journal. A message that they publish reaches every thread in the order of the changes:
//! it is posted when the record is complete, and while the shards are still locked.

use commands::Fail;
use commands::row::Flags;
use resp::{Args, Out, Reply, Span};
use store::ShardSet;

use crate::attention::Attention;
use crate::dispatch::lookup;
use crate::engine::Engine;
use crate::exec::Limits;
use crate::pubsub::deliver_own;
use crate::session::Session;
use crate::thread::Thread;

const LOADING: Fail = Fail::text("LOADING Apus is loading the dataset in memory");
const PAUSED: Fail = Fail::text("TRYAGAIN Writes are paused");
const UNKNOWN: Fail = Fail::text("ERR unknown command");

/// The commands that run: see [`Thread::atomically`].
pub struct Steps<'a> {
    engine: &'a Engine,
    thread: &'a mut Thread,
    session: &'a mut Session,
    wrote: bool,
}

impl Thread {
    /// Has `run` run commands over these keys of the session's database, and no others, as one. `writes`: some of them
    /// may write.
    ///
    /// # Errors
    /// The server is in no state to do it: it loads, is a replica, has no memory, or writes are paused.
    pub fn atomically<R>(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        (keys, writes): (&[&[u8]], bool),
        run: impl FnOnce(&mut Steps<'_>) -> R,
    ) -> Result<R, Fail> {
        let inside = self.in_transaction;
        if !inside {
            self.admit_steps(engine, session, writes)?;
        }
        if !inside {
            let mut set = ShardSet::default();
            keys.iter().for_each(|key| set.add(stdx::hash::hash64(key)));
            self.since = None;
            engine.keyspace.hold(&mut self.cx, Some(set));
            self.in_transaction = true;
        }
        self.begin_unit();
        let result = run(&mut Steps { engine, thread: &mut *self, session, wrote: false });
        self.end_unit(engine);
        if !inside {
            self.in_transaction = false;
            self.collect();
            self.serve_ready(engine);
            engine.keyspace.release(&mut self.cx);
        }
        Ok(result)
    }

    fn admit_steps(
        &mut self,
        engine: &Engine,
        session: &Session,
        writes: bool,
    ) -> Result<(), Fail> {
        let attention = engine.attention.get();
        if attention & Attention::LOADING != 0 {
            return Err(LOADING);
        }
        if attention & Attention::BUSY != 0
            && let Some(busy) = engine.scripts.running.refusal()
        {
            return Err(busy);
        }
        if writes && attention & Attention::PAUSE != 0 && engine.check_pause() {
            return Err(PAUSED);
        }
        self.note_room(engine, attention);
        engine.may_write(session, writes)
    }
}

impl Steps<'_> {
    /// Runs a command. Returns its reply in RESP3, which may be an error.
    pub fn call(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let mut owned: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
        let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
        let mut args = Args::new(&[], &spans, &mut owned);
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, resp::Proto::V3);
        self.run(&mut args, &mut reply);
        if out.shared.is_empty() { out.buf } else { out.join() }
    }

    fn run(&mut self, args: &mut Args<'_>, reply: &mut Reply<'_>) {
        let Self { engine, thread, session, wrote } = self;
        let Ok(id) = lookup(engine, args) else { return reply.error(UNKNOWN.bytes()) };
        let row = engine.table.get(id).row;
        let limits = Limits { read_only: false, out_of_memory: thread.short_of_memory && !*wrote };
        if let Err(refusal) = engine.admit_in_script(session, limits, id, args) {
            let text = refusal.script_error(&session.user, row);
            return reply.error(text.as_bytes());
        }
        *wrote |= row.flags.has(Flags::WRITE);
        thread.answer(engine, session, id, args, reply);
    }

    /// Publishes a message, when the commands have become a record.
    pub fn publish(&mut self, channel: &[u8], message: &[u8]) {
        self.thread.publish_in_order(self.engine, channel, message);
    }

    /// The time of the commands, in Unix milliseconds.
    pub fn now(&self) -> i64 {
        self.thread.cx.now
    }
}

impl Thread {
    /// Publishes a message to a channel as PUBLISH does, and has it in the inboxes of all threads at once; within a
    /// transaction or a script at its end, since its changes are one record then.
    pub fn publish_in_order(&mut self, engine: &Engine, channel: &[u8], message: &[u8]) {
        if self.worker.lane.is_in_unit() {
            return self.announces.push((channel.to_vec(), message.to_vec()));
        }
        deliver_own(engine, &mut self.pubsub, channel, message);
        self.pubsub.post(engine);
    }
}
