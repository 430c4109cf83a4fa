//! KEYS over many keys, a few shards at a time: other connections of the thread have their turn in between.
//!
//! KEYS sees every key that is there from its beginning to its end, once, and not one moment of the whole
//! keyspace: it locks one shard after the other. So it may as well let the thread's other connections in
//! between two shards. The connection itself waits as one that is blocked: nothing behind KEYS is executed
//! before it is answered. Within a transaction or a script KEYS runs in one go, as everything does there.
//!
//! The reply is collected in pieces, so that no large buffer is moved while it grows.

use std::sync::Arc;

use config::ClientClass;
use resp::{Args, Out, Proto, Reply};
use store::{Block, Db, Empty, Kind, SHARDS, Waiter};

use crate::blocking;
use crate::engine::{Engine, Worker};
use crate::mailbox::{Job, Message};
use crate::session::Session;
use crate::thread::Thread;

/// Keys up to which all of them are looked at in one go.
const AT_ONCE: usize = 50_000;
/// Keys that are looked at in one turn; at least one shard.
const TURN: usize = 4096;
/// Bytes of one piece of the reply.
const PIECE: usize = 256 << 10;

/// KEYS, as far as it has come.
struct Walk {
    worker: Arc<Worker>,
    waiter: Arc<Waiter>,
    proto: Proto,
    db: usize,
    pattern: Vec<u8>,
    /// The next shard.
    shard: usize,
    found: usize,
    pieces: Vec<Arc<Vec<u8>>>,
    bytes: usize,
    /// The piece that is being written.
    piece: Out,
}

impl Thread {
    /// Begins KEYS in turns, if that is worth it. The session is blocked then.
    #[cold]
    pub(crate) fn walk_keys(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        id: u16,
        args: &Args<'_>,
    ) -> bool {
        let many = Db::unlocked(&engine.keyspace, session.db, &mut self.cx).len() > AT_ONCE;
        if !many || !commands::needs_walk(&args[1]) {
            return false;
        }
        let block = Block::new(Vec::new(), Kind::String, None, Empty::Null);
        self.begin_wait(engine, session, id, block, args);
        let Some(waiter) = session.blocked.clone() else { return false };
        let walk = Walk {
            worker: Arc::clone(self.worker()),
            waiter,
            proto: session.proto,
            db: session.db,
            pattern: args[1].to_vec(),
            shard: 0,
            found: 0,
            pieces: Vec::new(),
            bytes: 0,
            piece: Out::default(),
        };
        walk.go_on_later();
        true
    }
}

impl Walk {
    fn go_on_later(self) {
        let worker = Arc::clone(&self.worker);
        worker
            .mailbox
            .post(Message::Run(Job::new(move |engine, thread| self.turn(engine, thread))));
    }

    fn turn(mut self, engine: &Engine, thread: &mut Thread) {
        if !self.waiter.is_waiting() {
            // Its connection is gone.
            return;
        }
        let start = engine.clock.monotonic_ns();
        let mut db = Db::unlocked(&engine.keyspace, self.db, &mut thread.cx);
        let mut looked_at = 0;
        while self.shard < SHARDS && looked_at < TURN {
            let mut reply = Reply::new(&mut self.piece, self.proto);
            let (found, seen) =
                commands::keys_of_shard(&mut db, self.shard, &self.pattern, &mut reply);
            self.found += found;
            looked_at += seen;
            self.shard += 1;
            if self.piece.buf.len() >= PIECE {
                self.end_piece();
            }
        }
        drop(db);
        blocking::spent(&self.waiter, engine.clock.monotonic_ns().saturating_sub(start));
        let limit = engine.config.output_limits(ClientClass::Normal).most();
        // Output beyond the limit is not sent anyway: the connection is closed.
        let in_vain = limit > 0 && self.bytes > limit;
        if self.shard < SHARDS && !in_vain {
            return self.go_on_later();
        }
        self.end_piece();
        let mut out = Out { limit, ..Out::default() };
        Reply::new(&mut out, self.proto).array(self.found);
        let at = out.buf.len();
        out.shared = self.pieces.into_iter().map(|piece| (at, piece)).collect();
        thread.answer_in_pieces(engine, &self.waiter, out, false);
    }

    fn end_piece(&mut self) {
        let piece = std::mem::take(&mut self.piece.buf);
        self.bytes += piece.len();
        if !piece.is_empty() {
            self.pieces.push(Arc::new(piece));
        }
    }
}
