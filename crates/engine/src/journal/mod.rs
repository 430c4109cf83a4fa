//! The journal as the engine sees it: the gate for replies.
//!
//! It is a reader of the stream of committed records ([`mod@crate::commit`]).
//!
//! **Acknowledgements.** Under `appendfsync always` the output of a batch waits until everything is
//! durable that *any* thread had appended when the batch ended ([`Journal::gate`]). That is more than
//! the batch's own writes, and simple to be sure of: a write that a reply reflects, be it the client's own or
//! another client's that it read, is never lost. A batch that ends while everything is durable waits for
//! nothing; without writes, all batches end so.
//!
//! Under `everysec` and `no` it waits in the same way until everything is *written*, which a killed
//! process cannot lose. The thread does that itself, once for all output that it keeps back, before it waits
//! for events again ([`Journal::turn_over`]). When it cannot be written, a batch that has changed something is
//! not acknowledged: its client is disconnected, and gets no reply that could prove wrong.
//!
//! The bytes and files are the crate `persist`'s; what begins, rewrites and replays them is the crate `durable`,
//! which is above this one.

mod turn;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use persist::journal::Shared;
use stream::{Lane, Stream};

/// A batch that leaves so many bytes in the lane is written by itself: that costs little in proportion, and
/// its output need not be kept.
const LARGE: usize = 4096;

const OPEN: u8 = Condition::None as u8;
const WRITTEN: u8 = Condition::Written as u8;

/// The record that the output of a batch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    /// Nothing.
    None,
    /// Output waits until everything is written.
    Written,
    /// Output waits until everything is durable.
    Durable,
}

/// See the module's text.
pub struct Journal {
    /// The state that the lanes and the writer share.
    pub shared: Arc<Shared>,
    /// Commits append.
    on: AtomicBool,
    /// The [`Condition`] of replies.
    gated: AtomicU8,
}

/// Whether a batch's output may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Now.
    Open,
    /// When everything up to this number is as safe as the policy says.
    At(u64),
    /// Never, if it reports a change of its own: that could not be made safe. Replies of reads may be sent.
    Never,
}

impl Journal {
    pub(crate) fn new(stream: Arc<Stream>) -> Self {
        Self {
            shared: Arc::new(Shared::new(stream)),
            on: AtomicBool::new(false),
            gated: AtomicU8::new(Condition::None as u8),
        }
    }

    /// Has commits append, or not. The caller has the keyspace locked, or runs before there are commands.
    pub fn set_on(&self, yes: bool) {
        self.on.store(yes, Relaxed);
    }

    /// Has the output of batches wait.
    pub fn set_condition(&self, condition: Condition) {
        self.gated.store(condition as u8, Relaxed);
    }

    /// Whether changes are appended.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Whether, and until when, the output of a batch must wait that has just ended on the thread of
    /// `lane`, whose [`Lane::acted`] was `before` when the batch began.
    #[inline]
    pub fn gate(&self, lane: &Lane, before: u64) -> Gate {
        let gated = self.gated.load(Relaxed);
        if gated == OPEN {
            return Gate::Open;
        }
        let last = self.shared.last();
        if last <= self.far(gated) {
            return Gate::Open;
        }
        self.wait_for(gated, last, lane, before)
    }

    #[inline]
    fn far(&self, gated: u8) -> u64 {
        if gated == WRITTEN { self.shared.written() } else { self.shared.durable() }
    }

    fn wait_for(&self, gated: u8, last: u64, lane: &Lane, before: u64) -> Gate {
        if self.shared.is_failing() {
            // Replies of reads are sent all the same: the server stays up for reads.
            return if lane.acted() == before { Gate::Open } else { Gate::Never };
        }
        if gated == WRITTEN
            && lane.waiting() >= LARGE
            && self.shared.write_through(|| {})
            && self.shared.written() >= last
        {
            return Gate::Open;
        }
        Gate::At(last)
    }

    /// The last change that there is: what shows it, or one before it, waits until it is [reached](Self::reached).
    #[inline]
    pub fn last(&self) -> u64 {
        self.shared.last()
    }

    /// The fate of output that waits for `sequence`.
    #[inline]
    pub fn reached(&self, sequence: u64) -> Gate {
        let gated = self.gated.load(Relaxed);
        if gated == OPEN || sequence <= self.far(gated) {
            Gate::Open
        } else if self.shared.is_failing() {
            Gate::Never
        } else {
            Gate::At(sequence)
        }
    }
}
