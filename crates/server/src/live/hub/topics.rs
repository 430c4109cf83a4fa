//! Channels that are topics: subscriptions and histories wait for what is read of them, as others wait for an
//! application, and records arrive by mail. See [`crate::live::topics`].

use std::sync::Arc;

use ::live::code::Refusal;
use ::live::connect::Plan;
use ::live::options::{DataFormat, RecoveryMode};
use ::live::permission::Subscription as Granted;
use ::live::{Disconnect, Error};
use engine::Engine;
use log::Broker;

use super::ask::Done;
use super::batch::Arrived;
use super::broker::Reads;
use super::connect::subscription;
use super::subscribe::recovers;
use super::{Cx, Hub};
use crate::live::store::{Place, Span};
use crate::live::topics::{
    Asked, Follower, Found, Piece, Read, Record, Since, Topics, Wanted, may_read, told,
};
use live_protocol::{
    ConnectRequest, Form, HistoryRequest, HistoryResult, Publication, ReplyResult, SubscribeRequest,
};

/// A topic that channels of the thread follow.
pub(super) struct Followed {
    follower: Arc<Follower>,
    /// Subscriptions that wait for what is read.
    joining: usize,
    channels: Vec<Arc<str>>,
}

/// A question of a client that is answered when topics are read.
#[derive(Debug)]
pub(super) struct Reading {
    number: u64,
    /// The number of the client's command; 0: it was none.
    command: u32,
    then: Then,
}

#[derive(Debug)]
enum Then {
    Subscribe(Box<(SubscribeRequest, Granted)>),
    /// A request of the API subscribes.
    Push(Box<(SubscribeRequest, Granted)>),
    Connect(Box<(ConnectRequest, Plan)>),
    History(Box<HistoryRequest>),
}

impl Reading {
    /// Whether a client waits for the answer.
    pub(super) fn is_command(&self) -> bool {
        !matches!(self.then, Then::Push(_))
    }
}

pub(super) fn broker(engine: &Engine, topic: &str) -> Result<Broker, Refusal> {
    engine.topics.open(engine).cloned().map_err(|why| told(engine, topic, &why).into())
}

impl Hub {
    /// The topic that a channel is; none: it is a channel of its own.
    ///
    /// # Errors
    /// There is no such namespace, or the name is none of a topic.
    pub(super) fn topic_of(&self, channel: &str) -> Result<Option<Arc<str>>, Error> {
        let found = self.options.channel.find(channel)?;
        let Some(topic) = found.namespace.topic_of(found.rest) else { return Ok(None) };
        if self.is_remote() {
            // The broker has no log, and its other servers have not this one's.
            return Err(Error::NOT_AVAILABLE);
        }
        log::check_name("topic", &topic).map_err(|_| Error::UNKNOWN_CHANNEL)?;
        Ok(Some(topic.into()))
    }

    /// Whether a channel with subscribers is a topic.
    pub(super) fn is_topic(&self, channel: &str) -> bool {
        self.channels.get(channel).is_some_and(|there| there.topic.is_some())
    }

    /// Whether a channel is of a namespace of topics.
    pub(in super::super) fn is_of_topic(&self, channel: &str) -> bool {
        self.options.channel.find(channel).is_ok_and(|found| found.namespace.topic.is_some())
    }

    pub(super) fn asked(&mut self, cx: &Cx<'_>, client: u64) -> Asked {
        self.questions += 1;
        Asked {
            live: Arc::clone(&self.live),
            engine: Arc::clone(&cx.shared.engine),
            thread: cx.thread.index,
            client,
            number: self.questions,
        }
    }

    /// Has topics read for subscriptions of a client.
    fn join(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        topics: Vec<(Arc<str>, Since)>,
        then: Then,
    ) -> Result<(), Refusal> {
        let engine = &cx.shared.engine;
        let Some((first, _)) = topics.first() else { return Ok(()) };
        let broker = broker(engine, first)?;
        if !topics.iter().all(|(topic, _)| may_read(engine, topic)) {
            return Err(Error::PERMISSION_DENIED.into());
        }
        let limit = self.options.client.recovery_max_publication_limit;
        let asked = self.asked(cx, id);
        let mut wanted = Vec::new();
        for (topic, since) in topics {
            let followed = self.topics.entry(topic).or_insert_with_key(|topic| Followed {
                follower: Topics::follow(&asked.live, &asked.engine, topic, asked.thread),
                joining: 0,
                channels: Vec::new(),
            });
            followed.joining += 1;
            wanted.push(Wanted { follower: Arc::clone(&followed.follower), since, limit });
        }
        if let Some(client) = self.clients.get_mut(&id) {
            let reading = Reading { number: asked.number, command, then };
            client.waits.get_or_insert_default().readings.push(reading);
        }
        asked.join(&broker, wanted);
        Ok(())
    }

    /// Has the topic read that a subscribe command names; false: the channel is none.
    pub(super) fn read_for_subscribe(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        asked: &SubscribeRequest,
        granted: &Granted,
    ) -> Result<bool, Refusal> {
        let Some(topic) = self.topic_of(&asked.channel)? else { return Ok(false) };
        let since = since(asked, granted);
        let then = Then::Subscribe(Box::new((asked.clone(), granted.clone())));
        self.join(cx, id, command, vec![(topic, since)], then)?;
        Ok(true)
    }

    /// The same for a request of the API.
    pub(super) fn read_for_api(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        asked: &SubscribeRequest,
        granted: &Granted,
    ) -> bool {
        let topic = match self.topic_of(&asked.channel) {
            Ok(None) => return false,
            Ok(Some(topic)) => topic,
            Err(_) => return true,
        };
        let since = since(asked, granted);
        let then = Then::Push(Box::new((asked.clone(), granted.clone())));
        // The API has its answer already.
        let _ = self.join(cx, id, 0, vec![(topic, since)], then);
        true
    }

    /// The same for a connect command; the plan comes back if no channel is a topic.
    pub(super) fn read_for_connect(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        asked: &ConnectRequest,
        plan: Plan,
    ) -> Result<Option<Plan>, Refusal> {
        let mut topics = Vec::new();
        for (channel, options) in &plan.subscriptions {
            if self.is_read(channel) {
                continue;
            }
            let Some(topic) = self.topic_of(channel)? else { continue };
            let granted = Granted { options: options.clone(), client_side_refresh: false };
            topics.push((topic, since(&subscription(asked, channel), &granted)));
        }
        if topics.is_empty() {
            return Ok(Some(plan));
        }
        let then = Then::Connect(Box::new((asked.clone(), plan)));
        self.join(cx, id, command, topics, then)?;
        Ok(None)
    }

    /// Has a history read for a client.
    pub(super) fn read_for_history(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        asked: &HistoryRequest,
        span: Span,
    ) -> Done {
        let Some(topic) = self.topic_of(&asked.channel)? else {
            return Err(Error::NOT_AVAILABLE.into());
        };
        let engine = &cx.shared.engine;
        let broker = broker(engine, &topic)?;
        if !may_read(engine, &topic) {
            return Err(Error::PERMISSION_DENIED.into());
        }
        let question = self.asked(cx, id);
        let then = Then::History(Box::new(asked.clone()));
        if let Some(client) = self.clients.get_mut(&id) {
            let reading = Reading { number: question.number, command, then };
            client.waits.get_or_insert_default().readings.push(reading);
        }
        question.history_by_mail(&broker, topic, span);
        Ok(None)
    }

    /// Topics have been read.
    pub(super) fn topics_read(&mut self, cx: &mut Cx<'_>, id: u64, number: u64, read: &Read) {
        let waits = self.clients.get_mut(&id).and_then(|client| client.waits.as_mut());
        let at = waits.and_then(|waits| {
            let at = waits.readings.iter().position(|one| one.number == number)?;
            Some(waits.readings.swap_remove(at))
        });
        if let Some(Reading { command, then, .. }) = at {
            let connects = matches!(then, Then::Connect(_));
            let is_push = matches!(then, Then::Push(_));
            let done = match &read.found {
                Ok(found) => {
                    let done = self.topics_found(cx, id, command, then, found);
                    self.begun = Reads::new();
                    done
                }
                Err((topic, why)) => Err(told(&cx.shared.engine, topic, why).into()),
            };
            if !is_push {
                self.done(cx, id, command, connects, done);
            }
        }
        // Last: the channels that follow them have come.
        for topic in &read.topics {
            if let Some(followed) = self.topics.get_mut(topic) {
                followed.joining = followed.joining.saturating_sub(1);
            }
            self.leave_if_unfollowed(cx, topic);
        }
        self.go_on(cx, id);
    }

    fn topics_found(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        then: Then,
        found: &[Found],
    ) -> Done {
        match then {
            Then::Subscribe(both) => {
                let (asked, granted) = &*both;
                self.take_read(id, &asked.channel, found.first())?;
                self.subscribe_with(cx, id, command, asked, granted).map(|()| None)
            }
            Then::Push(both) => {
                let (asked, granted) = &*both;
                self.take_read(id, &asked.channel, found.first())?;
                self.subscribe_from_server(cx, id, asked, granted);
                Ok(None)
            }
            Then::Connect(both) => {
                let (asked, plan) = *both;
                let mut left = found.iter();
                // They are in the order of the channels.
                for (channel, _) in &plan.subscriptions {
                    if self.topic_of(channel)?.is_some() {
                        self.take_read(id, channel, left.next())?;
                    }
                }
                self.connect_with(cx, id, command, &asked, plan).map(|()| None)
            }
            Then::History(asked) => {
                let found = found.first().ok_or(Error::INTERNAL)?;
                let epoch = &*found.epoch;
                if asked.since.as_ref().is_some_and(|s| !s.epoch.is_empty() && s.epoch != epoch) {
                    return Err(Error::UNRECOVERABLE_POSITION.into());
                }
                let Some(client) = self.clients.get(&id) else { return Ok(None) };
                let publications = self.publications(&asked.channel, found, client.wire.form)?;
                let (epoch, offset) = (epoch.to_owned(), found.top);
                Ok(Some(ReplyResult::History(HistoryResult { publications, epoch, offset })))
            }
        }
    }

    /// Whether what a subscription begins with is there.
    pub(super) fn is_read(&self, channel: &str) -> bool {
        self.begun.contains_key(channel)
    }

    /// Keeps what was read for a subscription that begins now, if it still may.
    fn take_read(&mut self, id: u64, channel: &str, found: Option<&Found>) -> Result<(), Refusal> {
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        if client.subscription(channel).is_some() {
            return Err(Error::ALREADY_SUBSCRIBED.into());
        }
        let limit = self.options.client.channel_limit;
        if client.connected && limit > 0 && client.subscriptions.len() >= limit {
            return Err(Error::LIMIT_EXCEEDED.into());
        }
        // New options may have come meanwhile.
        let topic = self.topic_of(channel)?;
        let found = found.filter(|found| topic.as_ref() == Some(&found.topic));
        let read = self.missed(channel, found.ok_or(Error::INTERNAL)?, client.wire.form)?;
        self.begun.insert(channel.to_owned(), Ok(read));
        Ok(())
    }

    pub(super) fn is_binary(&self, channel: &str) -> bool {
        let found = self.options.channel.find(channel);
        found.is_ok_and(|f| f.namespace.publication_data_format == DataFormat::Binary)
    }

    fn publications(
        &self,
        channel: &str,
        found: &Found,
        form: Form,
    ) -> Result<Vec<Publication>, Refusal> {
        let binary = self.is_binary(channel);
        if binary && form == Form::Json && !found.records.iter().all(|(_, r)| r.is_json()) {
            return Err(Disconnect::INAPPROPRIATE_PROTOCOL.into());
        }
        let publication = |(at, record): &(u64, Record)| {
            let (data, offset) = (record.data(binary), at + 1);
            Publication { data, offset, ..Publication::default() }
        };
        Ok(found.records.iter().map(publication).collect())
    }

    /// The place of a topic's end, and what a subscriber has missed.
    fn missed(
        &self,
        channel: &str,
        found: &Found,
        form: Form,
    ) -> Result<(Place, Vec<Publication>), Refusal> {
        let place = Place { offset: found.top, epoch: found.epoch.to_string() };
        Ok((place, self.publications(channel, found, form)?))
    }

    /// A channel comes that may be a topic.
    pub(super) fn enter_topic(&mut self, channel: &Arc<str>) -> Result<Option<Arc<str>>, Refusal> {
        let Some(topic) = self.topic_of(channel)? else { return Ok(None) };
        let followed = self.topics.get_mut(&topic).ok_or(Error::INTERNAL)?;
        followed.channels.push(Arc::clone(channel));
        Ok(Some(topic))
    }

    /// … and goes.
    pub(super) fn leave_topic(&mut self, cx: &Cx<'_>, topic: &Arc<str>, channel: &str) {
        if let Some(followed) = self.topics.get_mut(topic) {
            followed.channels.retain(|one| **one != *channel);
        }
        self.leave_if_unfollowed(cx, topic);
    }

    fn leave_if_unfollowed(&mut self, cx: &Cx<'_>, topic: &Arc<str>) {
        let followed = self.topics.get(topic);
        if followed.is_some_and(|one| one.joining == 0 && one.channels.is_empty()) {
            self.topics.remove(topic);
            self.live.topics.leave(topic, cx.thread.index);
        }
    }

    fn channels_of(&self, topic: &str) -> Vec<Arc<str>> {
        self.topics.get(topic).map(|followed| followed.channels.clone()).unwrap_or_default()
    }

    /// Delivers records to the subscribers of the thread.
    pub(super) fn deliver_records(&mut self, cx: &mut Cx<'_>, piece: &Piece) {
        for channel in self.channels_of(&piece.topic) {
            let binary = self.is_binary(&channel);
            for (at, record) in (piece.first..).zip(&piece.records) {
                let Some(there) = self.channels.get(&channel) else { break };
                // The publication before it is known if it was sent.
                let previous = there.namespace.delta_publish.then(Vec::new);
                let (data, offset) = (record.data(binary), at + 1);
                let publication = Publication { data, offset, ..Publication::default() };
                let epoch = (&*piece.epoch).into();
                let arrived = Arrived { publication, since: offset, epoch, previous };
                self.arrive(cx, &channel, arrived);
            }
        }
    }

    /// Subscribers cannot go on: they come back, and are told whether they recover.
    pub(super) fn topic_ended(&mut self, cx: &mut Cx<'_>, topic: &str) {
        for channel in self.channels_of(topic) {
            self.end_all(cx, &channel);
        }
    }

    fn end_all(&mut self, cx: &mut Cx<'_>, channel: &str) {
        self.flush(cx, channel);
        let Some(there) = self.channels.get(channel) else { return };
        let all: Vec<_> = there.subscribers.iter().map(|s| (s.id, s.server_side)).collect();
        for (id, server_side) in all {
            self.insufficient(cx, id, channel, server_side);
        }
    }

    /// New options may name other topics.
    pub(in super::super) fn follow_other_topics(&mut self, cx: &mut Cx<'_>) {
        let differs = |channel: &Arc<str>, there: &super::Channel| {
            // A namespace that is gone is kept.
            self.topic_of(channel).is_ok_and(|topic| topic != there.topic)
        };
        let all = self.channels.iter().filter(|(channel, there)| differs(channel, there));
        let all: Vec<Arc<str>> = all.map(|(channel, _)| Arc::clone(channel)).collect();
        for channel in all {
            self.end_all(cx, &channel);
        }
    }
}

/// What a subscription must be given.
fn since(asked: &SubscribeRequest, granted: &Granted) -> Since {
    if !recovers(asked, &granted.options) {
        Since::Top
    } else if granted.options.recovery_mode == RecoveryMode::Cache {
        Since::Latest
    } else {
        Since::Offset(asked.offset)
    }
}
