//! What is due for a client by time: pings and their answers, presence, positions, expiry.

use std::sync::Arc;

use ::live::{Disconnect, Unsubscribe};

use super::client::late;
use super::{Cx, Hub, failed};
use crate::live::store::Span;

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
        if is_due(late(client.expire_at, grace.connection)) {
            return self.disconnect(cx, id, &Disconnect::EXPIRED);
        }
        let over = |sub: &&super::client::Subscription| {
            is_due(late(sub.expire_at, grace.subscription))
        };
        let over = client.subscriptions.iter().filter(over);
        let over: Vec<_> = over.map(|s| (Arc::clone(&s.channel), s.server_side)).collect();
        let (pings, refreshes, checks) =
            (is_due(client.ping_at), is_due(client.presence_at), is_due(client.check_at));
        for (channel, server_side) in over {
            if server_side {
                return self.disconnect(cx, id, &Disconnect::SUBSCRIPTION_EXPIRED);
            }
            self.end_subscription(cx, id, &channel, &Unsubscribe::EXPIRED);
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

    fn ping(&mut self, cx: &mut Cx<'_>, id: u64, now: i64) {
        let options = &self.options.client;
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut out = Vec::new();
        client.wire.ping(&mut out);
        cx.outlets.append(id, &out);
        client.ping_at = options.ping_interval.map_or(0, |t| now + t.as_millis().max(1) as i64);
        if !client.wire.is_unidirectional() {
            client.pinged = true;
            client.pong_until = options.pong_timeout.map_or(0, |t| now + t.as_millis() as i64);
        }
    }

    fn refresh_presence(&mut self, cx: &mut Cx<'_>, id: u64, now: i64) {
        let every = self.options.client.presence_update_interval.as_millis().max(1) as i64;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.presence_at = now + every;
        let present = client.subscriptions.iter().filter(|sub| sub.presence);
        let present: Vec<_> =
            present.map(|s| (Arc::clone(&s.channel), s.info.clone())).collect();
        for (channel, chan_info) in present {
            let Some(client) = self.clients.get(&id) else { return };
            let info = client.info_in(&chan_info);
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
            let Some(there) = self.channels.get(&channel) else { continue };
            let Some(sub) = there.get(id).filter(|sub| sub.positioned) else { continue };
            let (offset, epoch, server_side) = (sub.offset, Arc::clone(&sub.epoch), sub.server_side);
            let meta_ttl = there.namespace.history_meta_ttl;
            let span = Span { since: None, limit: 0, reverse: false };
            match self.store(cx).history(&channel, span, meta_ttl) {
                // What was published a moment ago is on its way.
                Ok((top, _)) if *top.epoch == *epoch && top.offset <= offset => {}
                Ok(_) if cx.thread.has_tapped() => {}
                Ok(_) => self.insufficient(cx, id, &channel, server_side),
                Err(why) => drop(failed(cx, &why)),
            }
        }
    }
}
