//! Subscriptions: how they begin, with or without what was missed, and how they end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::code::Refusal;
use ::live::options::{FromResp, RecoveryMode};
use ::live::permission::{self, Subscription as Granted};
use ::live::{Disconnect, Error, SubscribeOptions};

use super::channel::{Channel, Subscriber};
use super::client::Subscription;
use super::{Cx, Hub, encode, failed, read_only, ttl};
use crate::live::store::{Place, Span, Store};
use crate::live::tally::Key;
use live_protocol::filter::Node;
use live_protocol::{
    ClientInfo, Form, Publication, Publications, SubscribeRequest, SubscribeResult,
};

/// The flag with which a client wants a number in place of the channel's name.
const COMPACT: i64 = 1;

impl Hub {
    /// Subscribes a client that may subscribe. The caller sends the result, and then calls [`Self::joined`]. What
    /// a topic or the broker has was read before.
    pub(super) fn subscribe(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        asked: &SubscribeRequest,
        granted: &Granted,
        server_side: bool,
    ) -> Result<SubscribeResult, Refusal> {
        // Messages from before are not for it.
        cx.thread.receive();
        self.drain(cx);
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let options = &granted.options;
        let filter = filter(asked, options)?;
        let info = client.info_in(&options.info);
        let (wire, named) = (client.wire, client.named());
        self.flush(cx, &asked.channel);
        let channel = self.enter(cx, &asked.channel)?;
        let begun = self.begin(cx, asked, options, &info);
        let (mut result, place) = match begun {
            Ok(begun) => begun,
            Err(refusal) => {
                self.leave_if_empty(cx, &channel);
                return Err(refusal);
            }
        };
        result.data.clone_from(&options.data);
        if granted.client_side_refresh && options.expire_at > 0 {
            result.expires = true;
            result.ttl = ttl(cx.thread.cx.now, options.expire_at);
        }
        let there = self.channels.get(&channel);
        // To centrifuge-js a number in Protobuf is an object, by which it does not find the channel again.
        let compacts = wire.form == Form::Json
            && there.is_some_and(|there| there.namespace.allow_channel_compaction);
        let compact = compacts && asked.flag & COMPACT != 0;
        result.id = there.filter(|_| compact).map_or(0, |there| there.number);
        result.delta = options.delta_fossil && !asked.delta.is_empty();
        let base = if result.delta { chain(&mut result.publications) } else { 0 };
        let subscriber = Subscriber {
            id,
            wire,
            positioned: options.positioning || options.recovery,
            offset: place.offset,
            epoch: place.epoch.as_str().into(),
            push_join_leave: options.push_join_leave,
            server_side,
            filter,
            compact,
            delta: result.delta,
            base,
        };
        if let Some(there) = self.channels.get_mut(&channel) {
            there.space.subscriptions[named].begun.add(1);
            there.add(subscriber);
        }
        self.live.count_subscription(&cx.shared.engine.live, &channel, true);
        if let Some(client) = self.clients.get_mut(&id) {
            let kinds = (server_side, granted.client_side_refresh);
            client.subscriptions.push(Subscription::new(channel, options, kinds));
        }
        self.schedule(cx, id);
        Ok(result)
    }

    /// Tells a channel that a client has joined it.
    pub(super) fn joined(&mut self, cx: &mut Cx<'_>, id: u64, channel: &str) {
        self.catch_up(cx, id, channel);
        let Some(client) = self.clients.get(&id) else { return };
        let Some(sub) = client.subscription(channel).filter(|s| s.join_leave) else { return };
        let info = client.info_in(&sub.info);
        self.tell_presence(cx, channel, true, info);
    }

    /// Tells a channel that a client joins or leaves.
    fn tell_presence(&mut self, cx: &mut Cx<'_>, channel: &str, joins: bool, info: ClientInfo) {
        if self.counts_all() {
            let message = if joins { "join" } else { "leave" };
            self.tally.count(Key::Told(message, self.label(channel)));
        }
        if let Some(remote) = &self.live.remote {
            return remote.tell_presence(channel, joins, info);
        }
        self.store(cx).publish_presence(channel, joins, &info);
    }

    /// The thread follows a channel from now on.
    pub(super) fn enter(&mut self, cx: &mut Cx<'_>, channel: &str) -> Result<Arc<str>, Refusal> {
        if let Some((name, _)) = self.channels.get_key_value(channel) {
            return Ok(Arc::clone(name));
        }
        let namespace = Arc::clone(self.options.channel.find(channel)?.namespace);
        let counts = self.live.counts(&namespace.name);
        let from_resp = namespace.publish_from_resp != FromResp::Off;
        let name: Arc<str> = channel.into();
        self.numbered += 1;
        let space = self.tally.space(&namespace.name);
        let mut state = Channel::new(namespace, (counts, space), self.numbered);
        if state.namespace.topic.is_some() {
            state.topic = self.enter_topic(&name)?;
        }
        state.space.followed.begun.add(1);
        self.channels.insert(Arc::clone(&name), state);
        if let Some(remote) = &self.live.remote {
            remote.follow(channel, cx.thread.index, from_resp);
            return Ok(name);
        }
        let tap = Store::tap_of(&self.live.prefixes.broker, channel);
        cx.thread.tap(&cx.shared.engine, tap.as_bytes());
        if from_resp {
            cx.thread.tap(&cx.shared.engine, channel.as_bytes());
        }
        Ok(name)
    }

    /// … and does not when nobody here is subscribed.
    pub(super) fn leave_if_empty(&mut self, cx: &mut Cx<'_>, channel: &str) {
        let is_empty = |there: &Channel| there.subscribers.is_empty() && there.remote.begins == 0;
        if self.channels.get(channel).is_some_and(is_empty) {
            let left = self.channels.remove(channel);
            let left = left.inspect(|there| there.space.followed.ended.add(1));
            if let Some(topic) = left.and_then(|there| there.topic) {
                self.leave_topic(cx, &topic, channel);
            }
            if let Some(remote) = &self.live.remote {
                return remote.unfollow(channel, cx.thread.index);
            }
            let tap = Store::tap_of(&self.live.prefixes.broker, channel);
            cx.thread.untap(&cx.shared.engine, tap.as_bytes());
            cx.thread.untap(&cx.shared.engine, channel.as_bytes());
        }
    }

    /// Enters presence, and reads the position and what was missed. Returns the place that the client is at.
    fn begin(
        &mut self,
        cx: &mut Cx<'_>,
        asked: &SubscribeRequest,
        options: &SubscribeOptions,
        info: &ClientInfo,
    ) -> Result<(SubscribeResult, Place), Refusal> {
        let channel = &asked.channel;
        // Others would not be told of the client.
        if (options.presence || options.join_leave)
            && !self.is_remote()
            && cx.shared.engine.is_read_only()
        {
            return Err(read_only().into());
        }
        let span = self.span(asked, options);
        if options.presence {
            self.acts("add_presence", channel);
        }
        match span {
            Some(Span { limit: 0, .. }) => self.acts("history_stream_top", channel),
            Some(Span { reverse: true, .. }) => self.acts("history_recover_cache", channel),
            Some(_) => self.acts("history_recover", channel),
            None => {}
        }
        let read = match self.begun.remove(channel.as_str()) {
            Some(read) if self.is_topic(channel) => {
                self.enter_presence(cx, channel, (options, info)).and(read).map(shared)
            }
            Some(read) => read.map(shared),
            None => self.read(cx, channel, (options, info), span),
        };
        let (place, publications) = read.map_err(|why| {
            failed(cx, &why);
            Refusal::from(Disconnect::SERVER_ERROR)
        })?;
        let mut result = SubscribeResult::default();
        if span.is_none() {
            return Ok((result, Place::default()));
        }
        let recovers = recovers(asked, options);
        let cache = options.recovery_mode == RecoveryMode::Cache;
        result.positioned = true;
        result.recoverable = options.recovery;
        result.epoch.clone_from(&place.epoch);
        result.offset = place.offset;
        if recovers {
            result.was_recovering = true;
            let recovered = Self::recover(asked, cache, (&place, publications), &mut result);
            let sends = !result.publications.is_empty();
            self.count_recovery(cx, channel, result.recovered, sends);
            recovered?;
        }
        Ok((result, place))
    }

    /// Enters presence, and reads the history, in the store of this server.
    fn read(
        &mut self,
        cx: &mut Cx<'_>,
        channel: &str,
        (options, info): (&SubscribeOptions, &ClientInfo),
        span: Option<Span>,
    ) -> Result<(Place, Publications), String> {
        if self.is_remote() {
            return Err("the broker was not asked".into());
        }
        if self.is_topic(channel) {
            // New options have come between.
            return Err("the topic was not read".into());
        }
        self.enter_presence(cx, channel, (options, info))?;
        match span {
            Some(span) => {
                let mut recent = std::mem::take(&mut self.recent);
                let known = recent.known(channel, span);
                let read = self.store(cx).read(channel, span, options.history_meta_ttl, known);
                let found = read.and_then(|(place, read)| {
                    let of = (channel, span, &place);
                    let publications = recent.publications(of, read, cx.thread.cx.now)?;
                    Ok((place, publications))
                });
                self.recent = recent;
                found
            }
            None => Ok((Place::default(), Publications::default())),
        }
    }

    fn enter_presence(
        &mut self,
        cx: &mut Cx<'_>,
        channel: &str,
        (options, info): (&SubscribeOptions, &ClientInfo),
    ) -> Result<(), String> {
        if options.presence { self.store(cx).add_presence(channel, info) } else { Ok(()) }
    }

    /// What a subscription reads of the history; none: it has no position.
    pub(super) fn span(
        &self,
        asked: &SubscribeRequest,
        options: &SubscribeOptions,
    ) -> Option<Span> {
        if !options.positioning && !options.recovery {
            return None;
        }
        let cache = options.recovery_mode == RecoveryMode::Cache;
        Some(match (recovers(asked, options), cache) {
            (false, _) => Span { since: None, limit: 0, reverse: false },
            (true, true) => Span { since: None, limit: 1, reverse: true },
            (true, false) => {
                let most = self.options.client.recovery_max_publication_limit;
                let limit = if most == 0 { -1 } else { most as i64 };
                Span { since: Some(asked.offset), limit, reverse: false }
            }
        })
    }

    /// Whether a client can be given all that it has missed, and all of that.
    fn recover(
        asked: &SubscribeRequest,
        cache: bool,
        (place, mut publications): (&Place, Publications),
        result: &mut SubscribeResult,
    ) -> Result<(), Refusal> {
        /// The flag with which a client wants an error in place of a subscription that did not recover.
        const REJECT_UNRECOVERED: i64 = 2;
        let (epoch, top) = (&place.epoch, place.offset);
        let recovered = if cache {
            let latest = publications.last().map(|p| p.offset);
            let (recovered, sends) =
                permission::is_cache_recovered(epoch, top, &asked.epoch, asked.offset, latest);
            if !sends {
                publications = Publications::default();
            }
            recovered
        } else {
            let ends = publications.first().zip(publications.last());
            let missed = ends.map(|(first, last)| (first.offset, last.offset));
            permission::is_recovered(epoch, top, &asked.epoch, asked.offset, missed)
        };
        if !recovered && !cache && asked.flag & REJECT_UNRECOVERED != 0 {
            return Err(Error::UNRECOVERABLE_POSITION.into());
        }
        result.recovered = recovered;
        if recovered {
            if let Some(tf) = asked.tf.as_ref().and_then(Node::of) {
                let matching = publications.iter().filter(|p| tf.matches(&p.tags));
                publications = matching.cloned().collect::<Vec<_>>().into();
            }
            result.publications = publications;
            result.offset = asked.offset;
        }
        Ok(())
    }

    fn count_recovery(&self, cx: &Cx<'_>, channel: &str, recovered: bool, sends: bool) {
        let all = &cx.shared.engine.live;
        if recovered { &all.recovered } else { &all.not_recovered }.fetch_add(1, Relaxed);
        if let Some(there) = self.channels.get(channel) {
            let own = &there.counts;
            if recovered { &own.recovered } else { &own.not_recovered }.fetch_add(1, Relaxed);
            own.recovered_some.fetch_add(u64::from(recovered && sends), Relaxed);
        }
    }

    /// Ends a subscription without telling its client. Returns whether there was one.
    pub(super) fn unsubscribe(&mut self, cx: &mut Cx<'_>, id: u64, channel: &str) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return false };
        let Some(at) = client.subscriptions.iter().position(|s| &*s.channel == channel) else {
            return false;
        };
        let sub = client.subscriptions.swap_remove(at);
        let info = client.info_in(&sub.info);
        let named = client.named();
        if let Some(there) = self.channels.get_mut(channel) {
            there.space.subscriptions[named].ended.add(1);
            there.remove(id);
        }
        self.leave_if_empty(cx, channel);
        if sub.presence {
            self.acts("remove_presence", channel);
        }
        if let (true, Some(remote)) = (sub.presence, &self.live.remote) {
            remote.presence(channel, info.clone(), false);
        } else if sub.presence
            && let Err(why) = self.store(cx).remove_presence(channel, &info.client)
        {
            // It expires by itself.
            failed(cx, &why);
        }
        if sub.join_leave {
            self.tell_presence(cx, channel, false, info);
        }
        self.live.count_subscription(&cx.shared.engine.live, &sub.channel, false);
        true
    }
}

/// Makes publications deltas of those before them. Returns the offset of the last, to which the next delta refers.
fn chain(publications: &mut Publications) -> u64 {
    let base = publications.last().map_or(0, |last| last.offset);
    let mut chained = publications.to_vec();
    encode::chain(&mut chained);
    *publications = chained.into();
    base
}

/// What was read for one subscription.
fn shared((place, publications): (Place, Vec<Publication>)) -> (Place, Publications) {
    (place, publications.into())
}

/// Whether a client is given what it has missed.
pub(super) fn recovers(asked: &SubscribeRequest, options: &SubscribeOptions) -> bool {
    options.recovery && (asked.recover || options.auto_cache_recover)
}

/// The filter of a request, if it can be subscribed with.
pub(super) fn filter(
    asked: &SubscribeRequest,
    options: &SubscribeOptions,
) -> Result<Option<Arc<Node>>, Refusal> {
    let filter = match &asked.tf {
        Some(_) if !options.tags_filter => return Err(Error::BAD_REQUEST.into()),
        Some(tf) => Some(Arc::new(Node::of(tf).ok_or(Error::BAD_REQUEST)?)),
        None => None,
    };
    if !matches!(asked.delta.as_str(), "" | "fossil") {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    if asked.kind != 0 {
        // Maps and shared polls.
        return Err(Error::NOT_AVAILABLE.into());
    }
    Ok(filter)
}
