//! Publications that wait for others of their channel, to go out together (`batch_max_size`, `batch_max_delay`), or
//! in place of those before them (`batch_flush_latest`).
//!
//! They wait after their place in the channel is fixed and before subscribers' positions move. So a subscription that
//! begins, and a check of positions, have the batch go out first.

use std::sync::Arc;

use live_protocol::Publication;

use super::{Cx, Hub};

/// A publication on its way to subscribers.
pub(crate) struct Arrived {
    pub(super) publication: Publication,
    /// The offset of the first publication that it stands for: its own, unless others were left out for it.
    pub(super) since: u64,
    /// The stream's life that the offset belongs to; empty: there is no offset.
    pub(super) epoch: Box<str>,
    /// The data of the publication before it, if it may go out as a delta; empty: not known.
    pub(super) previous: Option<Vec<u8>>,
}

impl Hub {
    /// A publication has come: it goes out, or waits for others.
    pub(super) fn arrive(&mut self, cx: &mut Cx<'_>, channel: &str, arrived: Arrived) {
        let Some((name, there)) = self.channels.get_key_value(channel) else { return };
        let namespace = &there.namespace;
        // Without a delay nothing would end the waiting.
        let delay = namespace.batch_max_delay.as_millis() as i64;
        if delay == 0 {
            return self.send_out(cx, channel, arrived);
        }
        let (name, most) = (Arc::clone(name), namespace.batch_max_size);
        let Some(there) = self.channels.get_mut(channel) else { return };
        if there.waiting.is_empty() {
            there.flush_at = cx.thread.cx.now + delay;
            self.batches.push(name);
        }
        there.waiting.push(arrived);
        if most > 0 && there.waiting.len() >= most {
            self.flush(cx, channel);
        }
    }

    /// What waits in a channel goes out.
    pub(super) fn flush(&mut self, cx: &mut Cx<'_>, channel: &str) {
        let Some(there) = self.channels.get_mut(channel) else { return };
        let mut waiting = std::mem::take(&mut there.waiting);
        if waiting.is_empty() {
            return;
        }
        self.batches.retain(|name| **name != *channel);
        if there.namespace.batch_flush_latest && follow_each_other(&waiting) {
            let since = waiting[0].since;
            waiting.drain(..waiting.len() - 1);
            waiting[0].since = since;
        }
        for arrived in waiting {
            self.send_out(cx, channel, arrived);
        }
    }

    /// Batches whose time has come go out; the event loop comes back for the next one.
    pub(super) fn flush_due(&mut self, cx: &mut Cx<'_>) {
        if self.batches.is_empty() {
            return;
        }
        let now = cx.thread.cx.now;
        // A channel that is gone is due at once.
        let at = |hub: &Self, name: &Arc<str>| hub.channels.get(name).map_or(0, |c| c.flush_at);
        let due: Vec<_> = self.batches.iter().filter(|name| at(self, name) <= now).collect();
        let due: Vec<Arc<str>> = due.into_iter().map(Arc::clone).collect();
        self.batches.retain(|name| !due.contains(name));
        for channel in due {
            self.flush(cx, &channel);
        }
        let next = self.batches.iter().map(|name| at(self, name)).min();
        cx.outlets.wake_at(next.unwrap_or(0));
    }
}

/// Whether publications follow each other without a gap, so that the last stands for all.
fn follow_each_other(all: &[Arrived]) -> bool {
    all.windows(2).all(|pair| {
        let [a, b] = pair else { return true };
        let both_without = a.publication.offset == 0 && b.publication.offset == 0;
        a.epoch == b.epoch && (both_without || a.publication.offset + 1 == b.publication.offset)
    })
}
