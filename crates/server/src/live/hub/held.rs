//! Messages that wait for the journal: a subscriber must not know a publication, or an offset, that the server may
//! forget in a crash and assign again.
//!
//! They wait as replies do: until all changes that there were when the thread took them are as safe as `appendfsync`
//! wants it. The change that a message tells of is among these, since messages are published when the record of
//! their changes is complete. Messages wait, and not their bytes in the output of connections: under a load that
//! never pauses something new would always wait behind them there.
//!
//! Output of connections waits for the journal, too (`net/streaming.rs`), and neither of the two can stand for the
//! other. That one holds the bytes of replies: what the client's own commands have done or read. A reply is about one
//! connection, must stay in its place among the connection's bytes, and needs nothing of the hub. This one holds what
//! others have published, before the hub has looked at it: positions of subscribers move when a message goes out, and
//! a subscription that begins meanwhile reads a history which has the message already.
//!
//! When the journal cannot be written, they go out: the server serves reads then, and they say what reads say.

use std::collections::VecDeque;

use engine::journal::{Gate, Journal};
use engine::pubsub::Tapped;

use super::{Cx, Hub};

/// In the order in which they go out, each with the change that it waits for.
#[derive(Default)]
pub(super) struct Held(VecDeque<(u64, Tapped)>);

impl Held {
    pub(super) fn add(&mut self, tapped: Vec<Tapped>, journal: &Journal) {
        let last = journal.last();
        self.0.extend(tapped.into_iter().map(|message| (last, message)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the first of them need not wait any more.
    pub(super) fn has_due(&self, journal: &Journal) -> bool {
        let waits = |until: u64| matches!(journal.reached(until), Gate::At(_));
        self.0.front().is_some_and(|(until, _)| !waits(*until))
    }

    /// Takes the first, if it need not wait.
    pub(super) fn next(&mut self, journal: &Journal) -> Option<Tapped> {
        if !self.has_due(journal) {
            return None;
        }
        self.0.pop_front().map(|(_, message)| message)
    }
}

impl Hub {
    /// Whether messages wait.
    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Delivers those that need not wait any more.
    pub(crate) fn release(&mut self, cx: &mut Cx<'_>) {
        self.drain(cx);
    }
}
