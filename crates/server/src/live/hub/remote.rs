//! Channels of the broker (`live-broker`), as clients of this thread use them: what is asked of it is answered by mail.
//!
//! ```text
//!  command ─► ask_remotely() ─► crate::live::remote ─► mail ─► found() ─► reply
//!  subscribe, connect ─► begin_remotely() ─► …       ─► mail ─► begun() ─► the same command once more, with what
//!                                                                          was read, to its end
//! ```
//!
//! A subscription begins in two steps. The thread follows the channel from the first on, and keeps the messages that
//! come until the second: what was read of the history may be older than they are, and the new subscriber is sent
//! those behind its position after its reply. So nothing is missed between the reading of a position and the
//! subscription, and nothing comes twice.

use std::sync::Arc;

use ::live::code::Refusal;
use ::live::{Disconnect, Error, SubscribeOptions};

use super::ask::Done;
use super::broker::{After, Reads, Unread};
use super::connect::subscription;
use super::subscribe::filter;
use super::{Cx, Hub, deliver, failed};
use crate::live::mail::Mail;
use crate::live::remote::{Begin, Begun, Message, MessageKind};
use crate::live::store::{Found, Op, Place};
use live_protocol::envelope::Envelope;
use live_protocol::{ClientInfo, HistoryResult, ReplyResult, SubscribeRequest};

/// Messages that are kept for subscriptions that begin.
const KEPT_MAX: usize = 4096;

impl Hub {
    /// Whether channels are in the broker.
    pub(super) fn is_remote(&self) -> bool {
        self.live.remote.is_some()
    }

    /// Whether a subscription has to ask the broker first.
    pub(super) fn begins_remotely(&self, channel: &str) -> bool {
        self.is_remote() && !self.begun.contains_key(channel)
    }

    /// Notes a question of a client. None: it is gone.
    fn question(&mut self, id: u64, command: u32, after: After) -> Option<u64> {
        let client = self.clients.get_mut(&id)?;
        self.questions += 1;
        let number = self.questions;
        client.waits.get_or_insert_default().unread.push(Unread { number, command, after });
        Some(number)
    }

    fn answer_to(&mut self, id: u64, number: u64) -> Option<Unread> {
        let waits = self.clients.get_mut(&id)?.waits.as_mut()?;
        let at = waits.unread.iter().position(|one| one.number == number)?;
        Some(waits.unread.swap_remove(at))
    }

    /// Asks the store of this server, or the broker, for a client's command.
    pub(super) fn ask_store(
        &mut self,
        cx: &mut Cx<'_>,
        (id, command): (u64, u32),
        op: Op,
        after: After,
    ) -> Done {
        if self.is_remote() {
            return self.ask_remotely(cx, (id, command), op, after);
        }
        let found = self.store(cx).run(&op);
        self.finish_command(cx, &after, found)
    }

    /// Asks the broker for a client's command, and goes on when the answer is there.
    pub(super) fn ask_remotely(
        &mut self,
        cx: &mut Cx<'_>,
        (id, command): (u64, u32),
        op: Op,
        after: After,
    ) -> Done {
        let Some(number) = self.question(id, command, after) else { return Ok(None) };
        let (live, engine) = (self.live(), Arc::clone(&cx.shared.engine));
        let thread = cx.thread.index;
        if let Some(remote) = &self.live.remote {
            remote.run(op, move |found| {
                live.post(&engine, thread, Mail::Found(id, number, found));
            });
        }
        Ok(None)
    }

    /// The broker has answered.
    pub(super) fn found(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        number: u64,
        found: Result<Found, String>,
    ) {
        let Some(Unread { command, after, .. }) = self.answer_to(id, number) else { return };
        let done = self.finish_command(cx, &after, found);
        self.done(cx, id, command, false, done);
        self.go_on(cx, id);
    }

    fn finish_command(
        &mut self,
        cx: &mut Cx<'_>,
        after: &After,
        found: Result<Found, String>,
    ) -> Done {
        let found = found.map_err(|why| Refusal::from(failed(cx, &why)))?;
        Ok(Some(match (after, found) {
            (After::Publish(channel), _) => {
                self.count_published(cx, channel);
                ReplyResult::Publish
            }
            (After::Presence { counts: false }, Found::Presence(all)) => ReplyResult::Presence(all),
            (After::Presence { counts: true }, Found::Presence(all)) => {
                let (clients, users) = crate::live::api::count(&all);
                ReplyResult::PresenceStats { clients, users }
            }
            (After::History(since), Found::History(place, publications)) => {
                if since.as_ref().is_some_and(|since| *since != place.epoch) {
                    return Err(Error::UNRECOVERABLE_POSITION.into());
                }
                let Place { epoch, offset } = place;
                ReplyResult::History(HistoryResult { publications, epoch, offset })
            }
            _ => return Err(Error::INTERNAL.into()),
        }))
    }

    /// Asks the broker for what subscriptions begin with, and goes on when that is there.
    pub(super) fn begin_remotely(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        after: After,
    ) -> Result<(), Refusal> {
        let mut all = Vec::new();
        let mut refused = None;
        for (asked, options, info) in self.beginnings(id, &after) {
            let entered = filter(&asked, &options).and_then(|_| self.enter(cx, &asked.channel));
            let channel = match entered {
                Ok(channel) => channel,
                Err(refusal) => {
                    refused = Some(refusal);
                    break;
                }
            };
            if let Some(there) = self.channels.get_mut(&channel) {
                there.remote.begins += 1;
            }
            all.push(Begin {
                presence: options.presence.then_some(info),
                span: self.span(&asked, &options),
                meta_ttl: options.history_meta_ttl,
                channel: asked.channel,
            });
        }
        if let Some(refusal) = refused {
            all.iter().for_each(|begin| self.begins_no_more(cx, &begin.channel));
            return Err(refusal);
        }
        let Some(number) = self.question(id, command, after) else { return Ok(()) };
        if let Some(remote) = &self.live.remote {
            remote.subscribe((cx.thread.index, id, number), all);
        }
        Ok(())
    }

    /// The subscriptions that something wants, and who others are told of there.
    fn beginnings(
        &self,
        id: u64,
        after: &After,
    ) -> Vec<(SubscribeRequest, SubscribeOptions, ClientInfo)> {
        let Some(client) = self.clients.get(&id) else { return Vec::new() };
        match after {
            After::Subscribe(asked, granted) | After::ByApi(asked, granted) => {
                let info = client.info_in(&granted.options.info);
                vec![((**asked).clone(), granted.options.clone(), info)]
            }
            After::Connect(asked, plan) => {
                let of = |(channel, options): &(String, SubscribeOptions)| {
                    let info = ClientInfo {
                        user: plan.user.clone(),
                        client: client.uid.to_string(),
                        conn_info: plan.info.clone(),
                        chan_info: options.info.clone(),
                    };
                    (subscription(asked, channel), options.clone(), info)
                };
                plan.subscriptions.iter().map(of).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What subscriptions begin with is there, or cannot be had.
    pub(super) fn begun(&mut self, cx: &mut Cx<'_>, id: u64, number: u64, all: Vec<Begun>) {
        let (all, reads): (Vec<Arc<Begin>>, Reads) = all
            .into_iter()
            .map(|Begun { begin, read }| (Arc::clone(&begin), (begin.channel.clone(), read)))
            .unzip();
        self.begun = reads;
        if let Some(Unread { command, after, .. }) = self.answer_to(id, number) {
            let connects = matches!(after, After::Connect(..));
            let done = self.subscribe_at_last(cx, id, command, after);
            self.done(cx, id, command, connects, done.map(|()| None));
        }
        self.begun = Reads::new();
        for begin in all {
            let client = self.clients.get(&id);
            let there = client.is_some_and(|c| c.subscription(&begin.channel).is_some());
            if let (false, Some(info), Some(remote)) = (there, &begin.presence, &self.live.remote) {
                // It may have been added although there is an error.
                remote.presence(&begin.channel, info.clone(), false);
            }
            self.begins_no_more(cx, &begin.channel);
        }
        self.go_on(cx, id);
    }

    fn subscribe_at_last(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        after: After,
    ) -> Result<(), Refusal> {
        let there = |hub: &Self, channel: &str| {
            hub.clients.get(&id).is_some_and(|client| client.subscription(channel).is_some())
        };
        let limit = self.options.client.channel_limit;
        let subscribed = self.clients.get(&id).map_or(0, |client| client.subscriptions.len());
        match after {
            After::Subscribe(asked, _) if there(self, &asked.channel) => {
                Err(Error::ALREADY_SUBSCRIBED.into())
            }
            // Others have begun at the same time.
            After::Subscribe(..) if limit > 0 && subscribed >= limit => {
                Err(Error::LIMIT_EXCEEDED.into())
            }
            After::Subscribe(asked, granted) => {
                self.subscribe_with(cx, id, command, &asked, &granted)
            }
            After::ByApi(asked, granted) => {
                if !there(self, &asked.channel) {
                    self.subscribe_from_server(cx, id, &asked, &granted);
                }
                Ok(())
            }
            After::Connect(asked, plan) => self.connect_with(cx, id, command, &asked, *plan),
            _ => Err(Disconnect::SERVER_ERROR.into()),
        }
    }

    fn begins_no_more(&mut self, cx: &mut Cx<'_>, channel: &str) {
        if let Some(there) = self.channels.get_mut(channel) {
            there.remote.begins = there.remote.begins.saturating_sub(1);
            if there.remote.begins == 0 {
                there.remote.kept = Vec::new();
                there.remote.overflows = false;
            }
        }
        self.leave_if_empty(cx, channel);
    }

    /// Sends a new subscriber what has come since its position was read.
    pub(super) fn catch_up(&mut self, cx: &mut Cx<'_>, id: u64, channel: &str) {
        let Some(there) = self.channels.get(channel) else { return };
        let Some(subscriber) = there.get(id).filter(|s| s.positioned) else { return };
        let (server_side, overflows) = (subscriber.server_side, there.remote.overflows);
        for message in there.remote.kept.clone() {
            let Some(Envelope::Publication { offset, epoch, publication, .. }) =
                Envelope::of(&message.payload)
            else {
                continue;
            };
            let arrived = deliver::arrived((offset, epoch), None, publication);
            if let Some(mut arrived) = arrived.filter(|arrived| arrived.publication.offset > 0) {
                arrived.publication.time = 0;
                self.send_to(cx, channel, arrived, Some(id));
            }
        }
        if overflows {
            self.insufficient(cx, id, channel, server_side);
        }
    }

    /// A message from the broker.
    pub(super) fn heard(&mut self, cx: &mut Cx<'_>, message: &Arc<Message>) {
        let name = &*message.name;
        match message.kind {
            MessageKind::Channel => {
                let there = self.channels.get_mut(name);
                if let Some(there) = there.filter(|there| there.remote.begins > 0) {
                    if there.remote.kept.len() < KEPT_MAX {
                        there.remote.kept.push(Arc::clone(message));
                    } else {
                        there.remote.overflows = true;
                    }
                }
                self.deliver(cx, name, &message.payload);
            }
            MessageKind::Plain => self.deliver_plain(cx, name, &message.payload),
            MessageKind::Control => {
                self.hear(cx, name, &message.payload);
            }
        }
    }

    /// Messages of a channel were lost; its position comes.
    pub(super) fn gap(&mut self, channel: &str) {
        let Some(there) = self.channels.get_mut(channel) else { return };
        let offsets = there.subscribers.iter().filter(|s| s.positioned).map(|s| s.offset);
        // What waits for a batch was not lost.
        let waiting = there.waiting.iter().map(|arrived| arrived.publication.offset);
        there.remote.before_gap = offsets.chain(waiting).max().unwrap_or(0);
    }

    /// Has the position of a channel looked at, if that was not done of late for another client.
    pub(super) fn check_remotely(&mut self, channel: &str, now: i64) {
        let delay = self.options.client.channel_position_check_delay.unwrap_or_default();
        let Some(there) = self.channels.get_mut(channel) else { return };
        if now - there.remote.checked_at < delay.as_millis() as i64 / 2 {
            return;
        }
        there.remote.checked_at = now;
        if let Some(remote) = &self.live.remote {
            remote.check(channel);
        }
    }

    /// The position of a channel, a while ago; none: it cannot be had, and messages were lost. Subscribers that have
    /// missed something are told, and those that know what the history has forgotten.
    pub(super) fn position(&mut self, cx: &mut Cx<'_>, channel: &str, place: Option<&Place>) {
        self.flush(cx, channel);
        let Some(there) = self.channels.get_mut(channel) else { return };
        let before_gap = std::mem::take(&mut there.remote.before_gap);
        let misses = |epoch: &str, offset: u64| match place {
            Some(top) => top.epoch != *epoch || top.offset > offset || top.offset < before_gap,
            None => true,
        };
        let behind: Vec<(u64, bool)> = there
            .subscribers
            .iter()
            .filter(|s| s.positioned && misses(&s.epoch, s.offset))
            .map(|s| (s.id, s.server_side))
            .collect();
        for (id, server_side) in behind {
            self.insufficient(cx, id, channel, server_side);
        }
    }
}
