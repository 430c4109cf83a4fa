//! What other threads and the API want of the clients of a thread.

use std::sync::Arc;

use ::live::api::{self, Target};
use ::live::permission::Subscription as Granted;
use ::live::{Disconnect, SubscribeOptions, Unsubscribe};

use super::broker::After;
use super::client::Client;
use super::{Cx, Hub, ttl};
use crate::live::mail::Mail;
use live_protocol::{Push, SubscribeRequest};

/// Whether a request is about a client.
fn is_meant(target: &Target, client: &Client) -> bool {
    client.connected
        && *client.user == *target.user
        && (target.client.is_empty() || *client.uid == *target.client)
        && (target.session.is_empty() || *client.session == *target.session)
}

impl Hub {
    pub(super) fn read_mail(&mut self, cx: &mut Cx<'_>, mail: Mail) {
        match mail {
            Mail::Commands(id, commands) => self.commands(cx, id, commands),
            Mail::Answered(id, number, outcome) => self.answered(cx, id, number, &outcome),
            Mail::Keys => self.keys_arrived(cx),
            Mail::Subscribe(asked, options) => self.subscribe_by_api(cx, &asked, *options),
            Mail::Unsubscribe(asked, end) => self.unsubscribe_by_api(cx, &asked, &end),
            Mail::Disconnect(asked) => {
                for id in self.meant(&asked.target) {
                    let uid = self.clients.get(&id).map(|client| client.uid.to_string());
                    if uid.is_some_and(|uid| !asked.whitelist.contains(&uid)) {
                        self.disconnect(cx, id, &asked.disconnect);
                    }
                }
            }
            Mail::Refresh(asked) => self.refresh_by_api(cx, &asked),
            Mail::Answer(id, reply) => {
                self.answer_waiting(cx, id, (200, &api::encode(&reply)));
            }
            Mail::Body(id, status, body) => self.answer_waiting(cx, id, (status, &body)),
            Mail::TopicsRead(id, number, read) => self.topics_read(cx, id, number, &read),
            Mail::Records(piece) => self.deliver_records(cx, &piece),
            Mail::TopicEnded(topic) => self.topic_ended(cx, &topic),
            Mail::Found(id, number, found) => self.found(cx, id, number, found),
            Mail::Begun(id, number, begun) => self.begun(cx, id, number, begun),
            Mail::Message(message) => self.heard(cx, &message),
            Mail::Gap(channel) => self.gap(&channel),
            Mail::Position(channel, place) => self.position(cx, &channel, place.as_ref()),
        }
    }

    fn meant(&self, target: &Target) -> Vec<u64> {
        let of = self.clients.iter().filter(|(_, client)| is_meant(target, client));
        of.map(|(id, _)| *id).collect()
    }

    fn subscribe_by_api(
        &mut self,
        cx: &mut Cx<'_>,
        asked: &api::Subscribe,
        options: SubscribeOptions,
    ) {
        let granted = Granted { options, client_side_refresh: false };
        let mut request = SubscribeRequest { channel: asked.channel.clone(), ..Default::default() };
        if let Some(since) = &asked.recover_since {
            request.recover = true;
            request.offset = since.offset;
            request.epoch.clone_from(&since.epoch);
        }
        for id in self.meant(&asked.target) {
            let there = self.clients.get(&id).and_then(|c| c.subscription(&asked.channel));
            if there.is_some() {
                continue;
            }
            if self.read_for_api(cx, id, &request, &granted) {
                continue;
            }
            if self.is_remote() {
                let after = After::ByApi(Box::new(request.clone()), Box::new(granted.clone()));
                let _ = self.begin_remotely(cx, id, 0, after);
                continue;
            }
            self.subscribe_from_server(cx, id, &request, &granted);
        }
    }

    /// Subscribes a client, and tells it.
    pub(super) fn subscribe_from_server(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        request: &SubscribeRequest,
        granted: &Granted,
    ) {
        let Ok(result) = self.subscribe(cx, id, request, granted, true) else { return };
        self.push(cx, id, &request.channel, &Push::Subscribe(&result));
        for publication in result.publications.iter() {
            self.push(cx, id, &request.channel, &Push::Publication(publication));
        }
        self.joined(cx, id, &request.channel);
    }

    fn unsubscribe_by_api(&mut self, cx: &mut Cx<'_>, asked: &api::Unsubscribe, end: &Unsubscribe) {
        for id in self.meant(&asked.target) {
            let Some(client) = self.clients.get(&id) else { continue };
            let channels: Vec<Arc<str>> = match asked.channel.as_str() {
                "" => client.subscriptions.iter().map(|s| Arc::clone(&s.channel)).collect(),
                one => vec![one.into()],
            };
            for channel in channels {
                self.end_subscription(cx, id, &channel, end);
            }
        }
    }

    fn refresh_by_api(&mut self, cx: &mut Cx<'_>, asked: &api::Refresh) {
        let now = cx.thread.cx.now;
        for id in self.meant(&asked.target) {
            if asked.expired {
                self.disconnect(cx, id, &Disconnect::EXPIRED);
                continue;
            }
            let Some(client) = self.clients.get_mut(&id) else { continue };
            client.expire_at = asked.expire_at;
            if !asked.info.is_empty() {
                client.info = asked.info.clone().into();
            }
            let expires = asked.expire_at > 0;
            let ttl = if expires { ttl(now, asked.expire_at) } else { 0 };
            self.push(cx, id, "", &Push::Refresh { expires, ttl });
            self.schedule(cx, id);
        }
    }
}
