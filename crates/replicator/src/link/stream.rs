//! The stream: executed by whole transactions, kept for this server's own replicas, acknowledged.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use config::{Appendfsync, ClientClass, Config, Id};
use engine::Next;
use parking_lot::MutexGuard;
use replication::link::{Link, State};
use resp::{Out, Parser};

use super::follower::Follower;
use super::reports::Reports;
use super::{DISK, TICK};

/// Bytes that are held of a command or a transaction that is not whole: the most that a client may send without
/// ending one, or what a primary with the same configuration keeps for a replica, whichever is more. A script may
/// write more than that in one piece, so it can be raised.
pub(super) fn held_max(config: &Config) -> u64 {
    let kept = config.output_limits(ClientClass::Replica).hard;
    config.bytes(Id::ClientQueryBufferLimit).max(kept)
}

impl<'a> Follower<'a> {
    /// Tells which database the stream has selected at the present offset. A copy for a replica of this server
    /// has both, so `applying` is locked until both are there.
    pub(super) fn note_db(&self) {
        self.primary.db.store(self.session.db, Relaxed);
        self.engine.replication.set_stream_db(self.session.db);
    }

    /// Executes the whole commands of the stream. While CLIENT PAUSE is on they stay where they are.
    pub(super) fn execute(
        &mut self,
        link: &mut Link,
        Reports { stream, scan, .. }: &mut Reports,
    ) -> Result<(), String> {
        if link.state() != State::Stream || stream.is_empty() || self.engine.holds_stream_back() {
            return Ok(());
        }
        let malformed = |_| "The stream of MASTER is malformed".to_owned();
        let n = scan.whole(stream).map_err(malformed)?;
        if n == 0 {
            let most = held_max(&self.engine.config);
            if stream.len() as u64 <= most {
                return Ok(());
            }
            // The same bytes would come again. A full copy has what they do.
            self.begin_anew = Some("a transaction of MASTER is larger than the limits for one");
            return Err(format!(
                "A command or a transaction of MASTER does not end within {most} bytes (see \
                 client-query-buffer-limit and client-output-buffer-limit replica)"
            ));
        }
        let engine = self.engine;
        let Some(applying) = self.lock_applying() else { return Ok(()) };
        if engine.holds_stream_back() {
            return Ok(());
        }
        // Fewer when the link was killed meanwhile: the rest is asked for again.
        let (n, done) = self.run(&stream[..n]);
        self.session.client.net_in.fetch_add(n as u64, Relaxed);
        self.guard().heard(engine);
        let mut state = engine.replication.state();
        state.append(&stream[..n]);
        let offset = state.history.offset();
        drop(state);
        self.note_db();
        drop(applying);
        stream.drain(..n);
        scan.consume(n);
        engine.feed_soon();
        engine.journal.turn_over(self.thread.worker());
        if engine.journal.is_on() {
            self.synced.executed(self.thread.last_written(), offset);
        } else {
            self.synced.forget();
        }
        link.applied(offset, self.synced.offset());
        if self.primary.getack.swap(false, Relaxed) {
            self.note_synced(link);
            self.asked = self.synced.waits();
            link.acknowledge(self.now());
        }
        done
    }

    /// The disk may have more of the stream than it had. A primary that has asked is told at once.
    pub(super) fn note_synced(&mut self, link: &mut Link) {
        let shared = &self.engine.journal.shared;
        // Without a base, records that are durable are of no use.
        if !self.synced.waits() || durable::journal::is_beginning(self.engine) {
            return;
        }
        let policy: Appendfsync = self.engine.config.chosen(Id::Appendfsync);
        if self.asked && policy == Appendfsync::Always {
            // The disk is at it. What is read meanwhile would make the others wait for the next time.
            shared.wait_for_progress(DISK);
        }
        if self.synced.durable(shared.durable()) {
            link.synced(self.synced.offset());
            if self.asked {
                link.acknowledge(self.now());
            }
            self.asked &= self.synced.waits();
        }
    }

    /// The right to execute; none when the link is to end. DEBUG SLEEP may have it for long.
    fn lock_applying(&self) -> Option<MutexGuard<'a, ()>> {
        loop {
            if self.stops() {
                return None;
            }
            let applying = self.engine.replication.applying.try_lock_for(TICK);
            if let Some(applying) = applying {
                return (!self.primary.stops.load(Relaxed)).then_some(applying);
            }
        }
    }

    /// Shows what waits for its end as the input of the primary's connection.
    pub(super) fn count_held(&self, stream: &Vec<u8>) {
        let client = &self.session.client;
        client.query_bytes.store(stream.len() as u64, Relaxed);
        client.query_capacity.store(stream.capacity() as u64, Relaxed);
    }

    /// Returns how many bytes were executed.
    fn run(&mut self, input: &[u8]) -> (usize, Result<(), String>) {
        let engine = self.engine;
        self.thread.sync_clock(&engine.clock);
        self.thread.cx.set_timeless(true, engine.clock.wall_ms() as i64);
        let mut parser = Parser::default();
        let mut out = Out::default();
        let mut at = 0;
        let mut outcome = Ok(());
        while at < input.len() || self.session.deferred.is_some() {
            let batch = self.thread.run(engine, self.session, &mut parser, &input[at..], &mut out);
            at += batch.consumed;
            out.clear();
            match batch.next {
                Next::Read | Next::Flush => {}
                // Shards that a long command has locked.
                Next::Wait => std::thread::sleep(Duration::from_millis(1)),
                Next::Close if self.session.client.closing.load(Relaxed) => break,
                Next::ReadBig | Next::Block | Next::Close => {
                    outcome =
                        Err("The stream of MASTER has a command that cannot be executed".into());
                    break;
                }
            }
            if batch.consumed == 0 && batch.next == Next::Read {
                outcome = Err("The stream of MASTER is malformed".into());
                break;
            }
        }
        let now = engine.clock.wall_ms() as i64;
        self.thread.cx.set_timeless(false, now);
        self.thread.collect();
        (at, outcome)
    }
}
