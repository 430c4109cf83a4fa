//! Messages of channels on their way to the subscribers of a thread: each is taken apart once, encoded once for
//! each wire that it goes to, and appended to each subscriber's output.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::publication::from_resp;
use ::live::{Disconnect, Unsubscribe};

use super::channel::Subscriber;
use super::wire::{WIRES, Wire};
use super::{Cx, Hub};
use crate::live::envelope::Envelope;
use crate::live::wire::{ClientInfo, Form, Publication, Push};

/// A message in the bytes of each wire that it has been sent to.
#[derive(Default)]
struct Encoded([Option<Vec<u8>>; WIRES]);

impl Encoded {
    fn of(&mut self, wire: Wire, channel: &str, push: &Push<'_>) -> &[u8] {
        self.0[wire.index()].get_or_insert_with(|| {
            let (mut message, mut framed) = (Vec::new(), Vec::new());
            push.encode(channel, wire.form, wire.is_unidirectional(), &mut message);
            wire.frame(&message, &mut framed);
            framed
        })
    }
}

/// What becomes of a subscriber.
enum Fate {
    Stays,
    /// It has missed something.
    Insufficient,
    /// It speaks JSON, and the data are none.
    Inappropriate,
}

impl Hub {
    /// Delivers the messages that have come.
    pub(super) fn drain(&mut self, cx: &mut Cx<'_>) {
        let shared = cx.shared;
        let journal = &shared.engine.journal;
        // Others may come of these: a client that is ended leaves its channels.
        while cx.thread.has_tapped() || self.held.has_due(journal) {
            self.held.add(cx.thread.take_tapped(), journal);
            while let Some(tapped) = self.held.next(journal) {
                let Ok(name) = std::str::from_utf8(&tapped.name) else { continue };
                let own = name.strip_prefix(self.live.prefix.as_str());
                let own = own.and_then(|rest| rest.strip_prefix('.'));
                match own.and_then(|rest| rest.strip_prefix("client.")) {
                    Some(channel) => self.deliver(cx, channel, tapped.payload()),
                    None if own.is_some_and(|own| self.hear(cx, own, tapped.payload())) => {}
                    None => self.deliver_plain(cx, name, tapped.payload()),
                }
            }
        }
    }

    /// Delivers what a plain PUBLISH to a channel's own name says.
    fn deliver_plain(&mut self, cx: &mut Cx<'_>, channel: &str, message: &[u8]) {
        let Some(there) = self.channels.get(channel) else { return };
        if let Some(data) = from_resp(there.namespace.publish_from_resp, message) {
            let publication = Publication { data: data.into_owned(), ..Publication::default() };
            self.deliver_publication(cx, channel, &publication, "");
        }
    }

    fn deliver(&mut self, cx: &mut Cx<'_>, channel: &str, message: &[u8]) {
        match Envelope::of(message) {
            Some(Envelope::Publication { offset, epoch, publication, .. }) => {
                let Some(mut publication) = Publication::of_protobuf(publication) else { return };
                if offset > 0 {
                    publication.offset = offset;
                }
                self.deliver_publication(cx, channel, &publication, epoch);
            }
            Some(Envelope::Join(info)) => {
                if let Some(info) = ClientInfo::of_protobuf(info) {
                    self.deliver_presence(cx, channel, &Push::Join(&info));
                }
            }
            Some(Envelope::Leave(info)) => {
                if let Some(info) = ClientInfo::of_protobuf(info) {
                    self.deliver_presence(cx, channel, &Push::Leave(&info));
                }
            }
            None => {}
        }
    }

    fn deliver_presence(&mut self, cx: &mut Cx<'_>, channel: &str, push: &Push<'_>) {
        let Some(there) = self.channels.get(channel) else { return };
        let mut encoded = Encoded::default();
        for subscriber in there.subscribers.iter().filter(|s| s.push_join_leave) {
            cx.outlets.append(subscriber.id, encoded.of(subscriber.wire, channel, push));
        }
    }

    fn deliver_publication(
        &mut self,
        cx: &mut Cx<'_>,
        channel: &str,
        publication: &Publication,
        epoch: &str,
    ) {
        let Some((name, there)) = self.channels.get_key_value(channel) else { return };
        let name = Arc::clone(name);
        let mut encoded = Encoded::default();
        let mut is_json = None;
        let mut ended = Vec::new();
        let mut delivered = 0;
        let _ = there;
        let Some(there) = self.channels.get_mut(channel) else { return };
        for subscriber in &mut there.subscribers {
            match follow(subscriber, publication.offset, epoch) {
                None => continue,
                Some(Fate::Stays) => {}
                Some(fate) => {
                    ended.push((subscriber.id, subscriber.server_side, fate));
                    continue;
                }
            }
            if subscriber.filter.as_ref().is_some_and(|f| !f.matches(&publication.tags)) {
                continue;
            }
            if subscriber.wire.form == Form::Json
                && !*is_json.get_or_insert_with(|| is_json_value(&publication.data))
            {
                ended.push((subscriber.id, subscriber.server_side, Fate::Inappropriate));
                continue;
            }
            let push = Push::Publication(publication);
            if cx.outlets.append(subscriber.id, encoded.of(subscriber.wire, &name, &push)) {
                delivered += 1;
            }
        }
        cx.shared.engine.live.delivered.fetch_add(delivered, Relaxed);
        there.counts.delivered.fetch_add(delivered, Relaxed);
        for (id, server_side, fate) in ended {
            match fate {
                Fate::Stays => {}
                Fate::Inappropriate => {
                    self.disconnect(cx, id, &Disconnect::INAPPROPRIATE_PROTOCOL);
                }
                Fate::Insufficient => self.insufficient(cx, id, &name, server_side),
            }
        }
    }

    /// A subscriber has missed something: it is told to come back, and recover.
    pub(super) fn insufficient(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        channel: &str,
        server_side: bool,
    ) {
        if server_side {
            self.disconnect(cx, id, &Disconnect::INSUFFICIENT_STATE);
        } else {
            self.end_subscription(cx, id, channel, &Unsubscribe::INSUFFICIENT_STATE);
        }
    }
}

/// Follows a subscriber's position. None: it has been sent this publication already.
fn follow(subscriber: &mut Subscriber, offset: u64, epoch: &str) -> Option<Fate> {
    if !subscriber.positioned || offset == 0 {
        return Some(Fate::Stays);
    }
    if *subscriber.epoch != *epoch {
        return Some(Fate::Insufficient);
    }
    if offset <= subscriber.offset {
        return None;
    }
    if offset != subscriber.offset + 1 {
        return Some(Fate::Insufficient);
    }
    subscriber.offset = offset;
    Some(Fate::Stays)
}

fn is_json_value(data: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
}
