//! Messages of channels on their way to the subscribers of a thread: each is taken apart once, encoded once for
//! each wire that it goes to, and appended to each subscriber's output.

use std::sync::atomic::Ordering::Relaxed;

use ::live::publication::from_resp;
use ::live::{Disconnect, Unsubscribe};

use super::batch::Arrived;
use super::channel::{Latest, Subscriber};
use super::encode::{Encoded, Shape, Shapes};
use super::{Cx, Hub};
use live_protocol::envelope::Envelope;
use live_protocol::{ClientInfo, Form, Publication, Push};

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
            let arrived = Arrived { publication, since: 0, epoch: "".into(), previous: None };
            self.arrive(cx, channel, arrived);
        }
    }

    fn deliver(&mut self, cx: &mut Cx<'_>, channel: &str, message: &[u8]) {
        match Envelope::of(message) {
            // Only records are publications of a topic.
            Some(Envelope::Publication { .. }) if self.is_topic(channel) => {}
            Some(Envelope::Publication { offset, epoch, previous, publication }) => {
                let Some(mut publication) = Publication::of_protobuf(publication) else { return };
                if offset > 0 {
                    publication.offset = offset;
                }
                let data_of = |kept: &[u8]| Publication::of_protobuf(kept).unwrap_or_default().data;
                let previous = previous.map(data_of);
                let (since, epoch) = (publication.offset, epoch.into());
                self.arrive(cx, channel, Arrived { publication, since, epoch, previous });
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
        let mut encoded = Encoded::new(channel, there.number);
        for subscriber in there.subscribers.iter().filter(|s| s.push_join_leave) {
            let bytes = encoded.of(subscriber, Shape::Plain, push);
            cx.outlets.append(subscriber.id, bytes);
        }
    }

    /// Sends a publication to the subscribers of this thread.
    pub(super) fn send_out(&mut self, cx: &mut Cx<'_>, channel: &str, arrived: Arrived) {
        let Some(there) = self.channels.get_mut(channel) else { return };
        let Arrived { publication, since, epoch, previous } = arrived;
        let source = source(there.latest.take(), &publication, &epoch, previous);
        let mut encoded = Encoded::new(channel, there.number);
        let mut shapes = Shapes::new(&publication, source.as_ref());
        let mut is_json = None;
        let mut ended = Vec::new();
        let (mut delivered, mut deltas) = (0, false);
        for subscriber in &mut there.subscribers {
            deltas |= subscriber.delta;
            match follow(subscriber, (since, publication.offset), &epoch) {
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
            let (shape, shaped) = shapes.of(subscriber);
            let bytes = encoded.of(subscriber, shape, &Push::Publication(shaped));
            if cx.outlets.append(subscriber.id, bytes) {
                delivered += 1;
            }
            subscriber.base = publication.offset;
        }
        if deltas && publication.offset > 0 {
            let (offset, data) = (publication.offset, publication.data);
            there.latest = Some(Latest { offset, epoch, data });
        }
        cx.shared.engine.live.delivered.fetch_add(delivered, Relaxed);
        there.counts.delivered.fetch_add(delivered, Relaxed);
        for (id, server_side, fate) in ended {
            match fate {
                Fate::Stays => {}
                Fate::Inappropriate => {
                    self.disconnect(cx, id, &Disconnect::INAPPROPRIATE_PROTOCOL);
                }
                Fate::Insufficient => self.insufficient(cx, id, channel, server_side),
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

/// What a delta to a publication starts from: what was sent last, or the publication before it; none: it does not go
/// out as a delta.
fn source(
    latest: Option<Latest>,
    publication: &Publication,
    epoch: &str,
    previous: Option<Vec<u8>>,
) -> Option<Latest> {
    let data = previous?;
    let latest = latest.filter(|latest| *latest.epoch == *epoch);
    let before = || {
        let offset = publication.offset.checked_sub(1).filter(|before| *before > 0)?;
        (!data.is_empty()).then(|| Latest { offset, epoch: epoch.into(), data })
    };
    latest.or_else(before)
}

/// Follows a subscriber's position over the publications from one offset to another. None: it has been sent them
/// already.
fn follow(subscriber: &mut Subscriber, (since, offset): (u64, u64), epoch: &str) -> Option<Fate> {
    if !subscriber.positioned || offset == 0 {
        return Some(Fate::Stays);
    }
    if *subscriber.epoch != *epoch {
        return Some(Fate::Insufficient);
    }
    if offset <= subscriber.offset {
        return None;
    }
    if since > subscriber.offset + 1 {
        return Some(Fate::Insufficient);
    }
    subscriber.offset = offset;
    Some(Fate::Stays)
}

fn is_json_value(data: &[u8]) -> bool {
    let is_text = std::str::from_utf8(data).is_ok();
    is_text && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
}
