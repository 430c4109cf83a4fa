//! The gate for replies of a primary whose changes wait for replicas (`min-replicas-ack`), and that its Sentinels
//! must see (`sentinel-lease-ms`).
//!
//! It stands beside the journal's gate ([`crate::journal`]) and works in the same way: the output of a batch
//! that shows or changes data waits until everything is acknowledged that *any* thread had committed when the batch
//! ended. So no reader sees what a failover may still lose. Output that shows no data (PING, INFO, PUBLISH, the
//! connection's own commands) does not wait: Sentinels must be answered while clients are not.
//!
//! The crate `replicator` decides what is acknowledged, and holds the lease; here is what the threads look at for
//! each batch. A *term* is the time in which the server is a primary with this gate. Output that waits when its
//! term ends has an uncertain fate: another server may be the primary by now.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};

use parking_lot::Mutex;
pub use replication::sentinels::of_connection;

/// The channel on which Sentinels tell each other, and their primary, what they know.
pub const HELLO: &[u8] = b"__sentinel__:hello";
/// The channel on which a primary tells its replicas which of them are in sync.
pub const IN_SYNC: &[u8] = b"__apus__:in-sync";
/// Notes that are kept until they are read; any client may publish.
const NOTES_MAX: usize = 256;
/// Bytes of one note.
const NOTE_MAX: usize = 8 << 10;

/// See the module's text.
#[derive(Debug, Default)]
pub struct Acks {
    /// Odd: a term.
    term: AtomicU64,
    /// All changes with lower numbers are acknowledged.
    below: AtomicU64,
    /// Monotonic nanoseconds at which the lease ends; `u64::MAX` without one.
    lease_until: AtomicU64,
    /// Reads are answered without the lease.
    free_reads: AtomicBool,
    /// Nothing will be acknowledged for some time.
    stalled: AtomicBool,
    /// Which questions of Sentinels are not answered.
    silence: AtomicU8,
    /// A thread reads the notes.
    listens: AtomicBool,
    notes: Mutex<Vec<Note>>,
    pongs: Mutex<Vec<Pong>>,
}

/// Which questions of Sentinels a primary that may not be theirs leaves unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Silence {
    /// All questions are answered.
    None,
    /// No INFO, so that they do not choose it when they look for a replica to promote.
    Info,
    /// Neither INFO nor PING: a server that has just started may have lost data, and they had better choose a replica.
    Ping,
}

/// A message on one of the two channels.
#[derive(Debug)]
pub struct Note {
    /// Its channel is [`HELLO`], otherwise [`IN_SYNC`].
    pub hello: bool,
    /// Its text.
    pub text: Vec<u8>,
}

/// The connection of a Sentinel, or a PONG that has reached it.
#[derive(Debug)]
pub struct Pong {
    /// The beginning of the Sentinel's id.
    pub id: [u8; 8],
    /// When it was sent, in monotonic milliseconds, if one was.
    pub sent_ms: Option<u64>,
    /// This server's end of the connection, as `address:port`.
    pub local: String,
}

impl Acks {
    /// The number of the present term, or of the time between two.
    #[inline]
    pub fn term(&self) -> u64 {
        self.term.load(SeqCst)
    }

    /// Whether output waits in `term`.
    #[inline]
    pub fn waits_in(term: u64) -> bool {
        term & 1 == 1
    }

    /// Whether output waits now.
    #[inline]
    pub fn is_on(&self) -> bool {
        Self::waits_in(self.term())
    }

    /// Begins a term, in which nothing is acknowledged yet, or ends it. Returns whether that was a change.
    /// In front of it no thread may hold locks of shards for a change of the role.
    pub fn set_on(&self, on: bool, lease: bool) -> bool {
        if self.is_on() == on {
            return false;
        }
        self.below.store(0, SeqCst);
        self.lease_until.store(if lease { 0 } else { u64::MAX }, SeqCst);
        self.term.fetch_add(1, SeqCst);
        true
    }

    /// A new term in place of the present one: the role has changed and come back.
    pub fn renew(&self, lease: bool) {
        self.set_on(false, lease);
        self.set_on(true, lease);
    }

    /// Everything up to `sequence` is acknowledged.
    pub fn acknowledged(&self, sequence: u64) {
        self.below.fetch_max(sequence + 1, SeqCst);
    }

    /// The lease ends at this monotonic time, in nanoseconds.
    pub fn set_lease(&self, until: u64) {
        self.lease_until.store(until, SeqCst);
    }

    /// `sentinel-lease-reads`.
    pub fn free_reads(&self, yes: bool) {
        self.free_reads.store(yes, SeqCst);
    }

    /// Whether output may be sent that depends on changes up to `sequence`, and reports changes of its own if it
    /// `acts`. `now` is a look at the monotonic clock behind the execution.
    #[inline]
    pub fn pass(&self, sequence: u64, acts: bool, now: impl FnOnce() -> u64) -> bool {
        let lease = self.lease_until.load(SeqCst);
        sequence < self.below.load(SeqCst)
            && (lease == u64::MAX || now() < lease || !acts && self.free_reads.load(SeqCst))
    }

    /// Nothing will be acknowledged for some time: writes are refused. Returns whether that is new.
    pub fn set_stalled(&self, yes: bool) -> bool {
        self.stalled.swap(yes, SeqCst) != yes
    }

    /// Whether writes are refused.
    pub fn is_stalled(&self) -> bool {
        self.stalled.load(SeqCst)
    }

    /// Sets which questions of Sentinels are not answered from now on.
    pub fn set_silence(&self, silence: Silence) {
        self.silence.store(silence as u8, SeqCst);
    }

    /// Whether Sentinels are refused this much.
    #[inline]
    pub fn is_silent(&self, silence: Silence) -> bool {
        self.silence.load(SeqCst) >= silence as u8
    }

    /// Has messages on the two channels noted.
    pub fn listen(&self, yes: bool) {
        self.listens.store(yes, SeqCst);
    }

    /// Whether a thread reads the notes.
    pub fn listens(&self) -> bool {
        self.listens.load(SeqCst)
    }

    /// A message is published.
    #[inline]
    pub fn note(&self, channel: &[u8], text: &[u8]) {
        if (channel == HELLO || channel == IN_SYNC) && self.listens() && text.len() <= NOTE_MAX {
            let mut notes = self.notes.lock();
            if notes.len() < NOTES_MAX {
                notes.push(Note { hello: channel == HELLO, text: text.to_vec() });
            }
        }
    }

    /// The messages since the last call.
    pub fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut *self.notes.lock())
    }

    /// A PONG has reached a Sentinel.
    pub fn pong(&self, pong: Pong) {
        let mut pongs = self.pongs.lock();
        if pongs.len() < NOTES_MAX {
            pongs.push(pong);
        }
    }

    /// The PONGs since the last call.
    pub fn take_pongs(&self) -> Vec<Pong> {
        std::mem::take(&mut *self.pongs.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_begins_with_nothing_acknowledged() {
        let a = Acks::default();
        assert!(!a.is_on() && a.set_on(true, false) && a.is_on());
        assert!(!a.pass(0, false, || 0));
        a.acknowledged(7);
        a.acknowledged(5);
        assert!(a.pass(7, false, || 0) && !a.pass(8, false, || 0));
        let term = a.term();
        a.renew(true);
        assert_eq!(a.term(), term + 2);
        a.acknowledged(7);
        assert!(!a.pass(0, false, || 0), "there is no lease yet");
        a.set_lease(10);
        assert!(a.pass(7, false, || 9) && !a.pass(7, false, || 10));
        a.free_reads(true);
        assert!(a.pass(7, false, || 10) && !a.pass(7, true, || 10));
    }

    #[test]
    fn only_so_many_notes_are_kept_and_only_for_a_reader() {
        let a = Acks::default();
        a.note(HELLO, b"x");
        assert!(a.take_notes().is_empty());
        a.listen(true);
        for _ in 0..2 * NOTES_MAX {
            a.note(IN_SYNC, b"x");
            a.note(b"news", b"x");
        }
        a.note(HELLO, &vec![0; NOTE_MAX + 1]);
        assert_eq!(a.take_notes().len(), NOTES_MAX);
    }
}
