//! What is due for a client by time: pings and their answers, presence, positions, expiry.

use std::sync::Arc;

use ::live::options::Proxy;
use ::live::proxy::{self, Event, Outcome, Retry};
use ::live::{Disconnect, Unsubscribe};

use super::ask::Then;
use super::{Cx, Hub, failed};
use crate::live::store::Span;
use crate::live::tally::Key;
use live_protocol::Form;

impl Hub {
    /// The time has come for something.
    pub(crate) fn due(&mut self, cx: &mut Cx<'_>, id: u64) {
        let now = cx.thread.cx.now;
        let grace = self.grace();
        let Some(client) = self.clients.get(&id) else { return };
        let is_due = |at: i64| at > 0 && at <= now;
        if is_due(client.stale_at) {
            return self.disconnect(cx, id, &Disconnect::STALE);
        }
        if is_due(client.pong_until) {
            return self.disconnect(cx, id, &Disconnect::NO_PONG);
        }
        if is_due(client.over_at(grace.connection)) && !self.ask_to_refresh(cx, id) {
            return self.disconnect(cx, id, &Disconnect::EXPIRED);
        }
        let Some(client) = self.clients.get(&id) else { return };
        let over = client.subscriptions.iter().filter(|s| is_due(s.over_at(grace.subscription)));
        let over: Vec<_> = over.map(|s| (Arc::clone(&s.channel), s.server_side)).collect();
        let (pings, refreshes, checks) =
            (is_due(client.ping_at), is_due(client.presence_at), is_due(client.check_at));
        for (channel, server_side) in over {
            if !self.ask_to_sub_refresh(cx, id, &channel) {
                self.subscription_expired(cx, id, &channel, server_side);
            }
        }
        if pings {
            self.ping(cx, id, now);
        }
        if refreshes {
            self.refresh_presence(cx, id, now);
        }
        if checks {
            self.check_positions(cx, id, now);
        }
        self.schedule(cx, id);
    }

    /// Asks the application whether a connection lives on, if it is to be asked. Returns whether it is.
    fn ask_to_refresh(&mut self, cx: &mut Cx<'_>, id: u64) -> bool {
        let Some(proxy) = self.options.client.refresh_proxy.clone() else { return false };
        let client = self.clients.get_mut(&id).filter(|client| !client.client_side_refresh);
        let Some(client) = client else { return false };
        client.refreshing = true;
        self.ask(cx, id, (0, &proxy), &Event::Refresh, Then::Refresh).is_ok()
    }

    /// The application has said whether a connection lives on.
    pub(super) fn refreshed(&mut self, cx: &mut Cx<'_>, id: u64, proxy: &Proxy, outcome: &Outcome) {
        let now = cx.thread.cx.now / 1000;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.refreshing = false;
        let expired = match proxy::refresh(proxy, outcome, now) {
            Ok(Retry::Refreshed(refreshed)) => {
                client.expire_at = refreshed.expire_at;
                if !refreshed.info.is_empty() {
                    client.info = refreshed.info.into();
                }
                if let Some(meta) = refreshed.meta {
                    client.meta = Some(meta.into());
                }
                client.expire_at != 0 && client.expire_at <= now
            }
            Ok(Retry::Expired) | Err(_) => true,
        };
        if expired {
            return self.disconnect(cx, id, &Disconnect::EXPIRED);
        }
        self.schedule(cx, id);
    }

    /// The same for a subscription.
    fn ask_to_sub_refresh(&mut self, cx: &mut Cx<'_>, id: u64, channel: &Arc<str>) -> bool {
        let Some(there) = self.channels.get(channel) else { return false };
        let Some(proxy) = there.namespace.sub_refresh_proxy.clone() else { return false };
        let client = self.clients.get_mut(&id);
        let Some(sub) = client.and_then(|client| client.subscription_mut(channel)) else {
            return false;
        };
        sub.refreshing = true;
        let then = Then::SubRefresh(Arc::clone(channel));
        self.ask(cx, id, (0, &proxy), &Event::SubRefresh { channel }, then).is_ok()
    }

    /// The application has said whether a subscription lives on.
    pub(super) fn sub_refreshed(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        proxy: &Proxy,
        channel: &Arc<str>,
        outcome: &Outcome,
    ) {
        let now = cx.thread.cx.now / 1000;
        let client = self.clients.get_mut(&id);
        // It may have been ended meanwhile, and begun again.
        let sub = client.and_then(|client| client.subscription_mut(channel));
        let Some(sub) = sub.filter(|sub| sub.refreshing) else { return };
        sub.refreshing = false;
        let expired = match proxy::sub_refresh(proxy, outcome, now) {
            Ok(Retry::Refreshed(refreshed)) => {
                sub.expire_at = refreshed.expire_at;
                if !refreshed.info.is_empty() {
                    sub.info = refreshed.info.into();
                }
                sub.expire_at != 0 && sub.expire_at <= now
            }
            Ok(Retry::Expired) | Err(_) => true,
        };
        let server_side = sub.server_side;
        if expired {
            self.subscription_expired(cx, id, channel, server_side);
        }
        self.schedule(cx, id);
    }

    fn subscription_expired(&mut self, cx: &mut Cx<'_>, id: u64, channel: &str, server_side: bool) {
        if server_side {
            return self.disconnect(cx, id, &Disconnect::SUBSCRIPTION_EXPIRED);
        }
        self.end_subscription(cx, id, channel, &Unsubscribe::EXPIRED);
    }

    fn ping(&mut self, cx: &mut Cx<'_>, id: u64, now: i64) {
        let options = &self.options.client;
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut out = Vec::new();
        client.wire.ping(&mut out);
        cx.outlets.append(id, &out);
        let kind = client.wire.kind;
        let size = if client.wire.form == Form::Json { 2 } else { 0 };
        client.ping_at = options.ping_interval.map_or(0, |t| now + t.as_millis().max(1) as i64);
        if !client.wire.is_unidirectional() {
            client.pinged_at = now;
            client.pong_until = options.pong_timeout.map_or(0, |t| now + t.as_millis() as i64);
        }
        if self.counts_all() {
            self.tally.message(Key::Sent(kind, "server_ping"), size);
        }
    }

    fn refresh_presence(&mut self, cx: &mut Cx<'_>, id: u64, now: i64) {
        let every = self.options.client.presence_update_interval.as_millis().max(1) as i64;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.presence_at = now + every;
        let present = client.subscriptions.iter().filter(|sub| sub.presence);
        let present: Vec<_> = present.map(|s| (Arc::clone(&s.channel), s.info.clone())).collect();
        for (channel, chan_info) in present {
            let Some(client) = self.clients.get(&id) else { return };
            let info = client.info_in(&chan_info);
            self.acts("add_presence", &channel);
            if let Some(remote) = &self.live.remote {
                remote.presence(&channel, info, true);
                continue;
            }
            if let Err(why) = self.store(cx).add_presence(&channel, &info) {
                failed(cx, &why);
            }
        }
    }

    /// Looks whether the client has been sent everything up to its channels' tops: a message may have been lost
    /// between servers, or the history have been replaced.
    fn check_positions(&mut self, cx: &mut Cx<'_>, id: u64, now: i64) {
        let every = self.options.client.channel_position_check_delay;
        cx.thread.receive();
        self.drain(cx);
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.check_at = every.map_or(0, |t| now + t.as_millis().max(1) as i64);
        let channels: Vec<_> =
            client.subscriptions.iter().map(|s| Arc::clone(&s.channel)).collect();
        for channel in channels {
            self.flush(cx, &channel);
            let Some(there) = self.channels.get(&channel) else { continue };
            if there.topic.is_some() {
                // What follows a topic reads it by offsets, and says when it cannot go on.
                continue;
            }
            let Some(sub) = there.get(id).filter(|sub| sub.positioned) else { continue };
            self.acts("history_stream_top", &channel);
            let (offset, epoch, server_side) =
                (sub.offset, Arc::clone(&sub.epoch), sub.server_side);
            if self.is_remote() {
                self.check_remotely(&channel, now);
                continue;
            }
            let meta_ttl = there.namespace.history_meta_ttl;
            let span = Span { since: None, limit: 0, reverse: false };
            match self.store(cx).history(&channel, span, meta_ttl) {
                // What was published a moment ago is on its way.
                Ok((top, _)) if *top.epoch == *epoch && top.offset <= offset => {}
                Ok(_) if cx.thread.has_tapped() || !self.held.is_empty() => {}
                Ok(_) => self.insufficient(cx, id, &channel, server_side),
                Err(why) => drop(failed(cx, &why)),
            }
        }
    }
}
