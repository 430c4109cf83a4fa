//! Messages of channels on their way to the subscribers of a thread: each is taken apart once, encoded once for
//! each wire that it goes to, and appended to each subscriber's output.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::live::publication::{from_resp, is_json};
use ::live::{Disconnect, Unsubscribe};

use super::batch::Arrived;
use super::channel::{Latest, Subscriber};
use super::encode::{Encoded, Shape, Shapes};
use super::wire::Transport;
use super::{Cx, Hub};
use crate::live::tally::{KINDS, Pushed, Space};
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

/// What has become of a publication.
#[derive(Default)]
struct Sent {
    delivered: u64,
    filtered: u64,
    /// Messages and bytes of each transport.
    over: [(u64, u64); KINDS],
}

impl Sent {
    fn add(&mut self, kind: Transport, size: usize) {
        self.delivered += 1;
        let (messages, bytes) = &mut self.over[kind as usize];
        *messages += 1;
        *bytes += size as u64;
    }

    fn count(self, space: &Space) {
        space.filtered.add(self.filtered);
        for (traffic, (messages, bytes)) in space.sent[0].iter().zip(self.over) {
            if messages > 0 {
                traffic.add(messages, bytes);
            }
        }
    }
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
                let own = name.strip_prefix(self.live.prefixes.broker.as_str());
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
    pub(super) fn deliver_plain(&mut self, cx: &mut Cx<'_>, channel: &str, message: &[u8]) {
        let Some(there) = self.channels.get(channel) else { return };
        if let Some(data) = from_resp(there.namespace.publish_from_resp, message) {
            let publication = Publication { data: data.into_owned(), ..Publication::default() };
            let arrived = Arrived { publication, since: 0, epoch: "".into(), previous: None };
            self.arrive(cx, channel, arrived);
        }
    }

    pub(super) fn deliver(&mut self, cx: &mut Cx<'_>, channel: &str, message: &[u8]) {
        match Envelope::of(message) {
            Some(Envelope::Publication { offset, epoch, previous, publication }) => {
                if let Some(mut arrived) = arrived((offset, epoch), previous, publication) {
                    // The time is for servers. Clients are not told it.
                    let time = std::mem::take(&mut arrived.publication.time);
                    if !self.hear_publication(cx, channel, time) {
                        return;
                    }
                    if self.is_late(cx, time) {
                        self.end_positioned(cx, channel);
                    }
                    self.arrive(cx, channel, arrived);
                }
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

    /// Counts a publication of a time, in Unix milliseconds. Returns whether it is for subscribers of this thread: only
    /// records are publications of a topic.
    fn hear_publication(&self, cx: &Cx<'_>, channel: &str, time: u64) -> bool {
        let Some(there) = self.channels.get(channel).filter(|there| there.topic.is_none()) else {
            return false;
        };
        there.space.came[Pushed::Publication as usize].add(1);
        if time > 0 {
            let age = (cx.thread.cx.now as u64).saturating_sub(time);
            self.tally.lag.add(Duration::from_millis(age));
        }
        true
    }

    /// Whether a publication of a time, in Unix milliseconds, was too long on its way; 0: its time is not known.
    fn is_late(&self, cx: &Cx<'_>, time: u64) -> bool {
        let most = self.options.client.channel_position_max_time_lag;
        most.is_some_and(|most| {
            let age = (cx.thread.cx.now as u64).saturating_sub(time);
            time > 0 && u128::from(age) > most.as_millis()
        })
    }

    /// What reaches a channel comes too late: subscribers that follow their position come back, and recover.
    fn end_positioned(&mut self, cx: &mut Cx<'_>, channel: &str) {
        let Some(there) = self.channels.get(channel) else { return };
        let positioned = there.subscribers.iter().filter(|s| s.positioned);
        let positioned: Vec<_> = positioned.map(|s| (s.id, s.server_side)).collect();
        for (id, server_side) in positioned {
            self.insufficient(cx, id, channel, server_side);
        }
    }

    fn deliver_presence(&mut self, cx: &mut Cx<'_>, channel: &str, push: &Push<'_>) {
        let Some(there) = self.channels.get(channel) else { return };
        let what = if matches!(push, Push::Join(_)) { Pushed::Join } else { Pushed::Leave };
        there.space.came[what as usize].add(1);
        let mut encoded = Encoded::new(channel, there.number);
        for subscriber in there.subscribers.iter().filter(|s| s.push_join_leave) {
            let (bytes, size) = encoded.of(subscriber, Shape::Plain, push);
            if cx.outlets.append(subscriber.id, bytes) {
                there.space.sent(what, subscriber.wire.kind).add(1, size as u64);
            }
        }
    }

    /// Sends a publication to the subscribers of this thread.
    pub(super) fn send_out(&mut self, cx: &mut Cx<'_>, channel: &str, arrived: Arrived) {
        self.send_to(cx, channel, arrived, None);
    }

    /// Sends a publication to one of them, or to all.
    pub(super) fn send_to(
        &mut self,
        cx: &mut Cx<'_>,
        channel: &str,
        arrived: Arrived,
        only: Option<u64>,
    ) {
        let began = (self.counts_all() && only.is_none()).then(Instant::now);
        let Some(there) = self.channels.get_mut(channel) else { return };
        let Arrived { publication, since, epoch, previous } = arrived;
        let source = match only {
            None => source(there.latest.take(), &publication, &epoch, previous),
            // The others are further.
            Some(_) => None,
        };
        let mut encoded = Encoded::new(channel, there.number);
        let mut shapes = Shapes::new(&publication, source.as_ref());
        let mut readable = None;
        let mut ended = Vec::new();
        let (mut sent, mut deltas) = (Sent::default(), false);
        for subscriber in &mut there.subscribers {
            if only.is_some_and(|only| only != subscriber.id) {
                continue;
            }
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
                sent.filtered += 1;
                continue;
            }
            if subscriber.wire.form == Form::Json
                && !*readable.get_or_insert_with(|| is_json(&publication.data))
            {
                ended.push((subscriber.id, subscriber.server_side, Fate::Inappropriate));
                continue;
            }
            let (shape, shaped) = shapes.of(subscriber);
            let (bytes, size) = encoded.of(subscriber, shape, &Push::Publication(shaped));
            if cx.outlets.append(subscriber.id, bytes) {
                sent.add(subscriber.wire.kind, size);
            }
            subscriber.base = publication.offset;
        }
        if deltas && publication.offset > 0 && only.is_none() {
            let (offset, data) = (publication.offset, publication.data);
            there.latest = Some(Latest { offset, epoch, data });
        }
        cx.shared.engine.live.delivered.fetch_add(sent.delivered, Relaxed);
        there.counts.delivered.fetch_add(sent.delivered, Relaxed);
        sent.count(&there.space);
        if let Some(began) = began {
            there.space.broadcasts.add(began.elapsed());
        }
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

/// A publication of a message.
pub(super) fn arrived(
    (offset, epoch): (u64, &str),
    previous: Option<&[u8]>,
    publication: &[u8],
) -> Option<Arrived> {
    let mut publication = Publication::of_protobuf(publication)?;
    if offset > 0 {
        publication.offset = offset;
    }
    let data_of = |kept: &[u8]| Publication::of_protobuf(kept).unwrap_or_default().data;
    let previous = previous.map(data_of);
    let (since, epoch) = (publication.offset, epoch.into());
    Some(Arrived { publication, since, epoch, previous })
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
