//! Messages between the hubs of threads.

use std::sync::Arc;

use engine::{Engine, Job};

use super::Live;
use super::hub::wire::Wire;
use super::remote::{Begun, Message};
use super::store::{Found, Place};
use super::topics::{Piece, Read};
use ::live::api::{DisconnectUser, Refresh, Reply, Subscribe, Unsubscribe};
use ::live::proxy::Outcome;
use ::live::{SubscribeOptions, Unsubscribe as End};
use live_protocol::Command;

/// What a hub is told by others.
#[derive(Clone, Debug)]
pub(crate) enum Mail {
    /// Commands of one of its clients, which came by a request of their own.
    Commands(u64, Vec<Command>),
    /// The outcome of a question that a client's command has asked, by its number.
    Answered(u64, u64, Outcome),
    /// Keys of tokens have arrived, or could not be had.
    Keys,
    /// With the options that the server that was asked has found.
    Subscribe(Subscribe, Box<SubscribeOptions>),
    Unsubscribe(Unsubscribe, End),
    Disconnect(DisconnectUser),
    Refresh(Refresh),
    /// The answer for a client of the API that has waited for other servers.
    Answer(u64, Reply),
    /// The status and the body for one that has waited for the broker.
    Body(u64, u16, Vec<u8>),
    /// What the broker says for a client's command, by the number of the question.
    Found(u64, u64, Result<Found, String>),
    /// The same for subscriptions that begin.
    Begun(u64, u64, Vec<Begun>),
    /// A message from the broker.
    Message(Arc<Message>),
    /// Messages of a channel were lost.
    Gap(Arc<str>),
    /// The position of a channel; none: it cannot be had.
    Position(Arc<str>, Option<Place>),
    /// Topics were read for a question of one of its clients, by its number.
    TopicsRead(u64, u64, Arc<Read>),
    /// Records of a topic that it follows.
    Records(Arc<Piece>),
    /// The subscribers of a topic cannot go on from where they are: it is gone, trimmed or damaged.
    TopicEnded(Arc<str>),
}

impl Live {
    /// Leaves mail for the hub of a thread, and wakes it.
    pub(crate) fn post(&self, engine: &Engine, thread: usize, mail: Mail) {
        self.post_some(engine, thread, [mail]);
    }

    /// The same with several.
    pub(super) fn post_some(
        &self,
        engine: &Engine,
        thread: usize,
        mail: impl IntoIterator<Item = Mail>,
    ) {
        let mut all = self.mail.lock();
        if all.len() <= thread {
            all.resize_with(thread + 1, Vec::new);
        }
        all[thread].extend(mail);
        drop(all);
        engine.post(thread, engine::Message::Run(Job::new(|_, _| {})));
    }

    /// Leaves mail for all hubs.
    pub(crate) fn post_all(&self, engine: &Engine, mail: &Mail) {
        for thread in 0..engine.workers().len() {
            self.post(engine, thread, mail.clone());
        }
    }

    /// Takes the mail of a thread.
    pub(super) fn take_mail(&self, thread: usize) -> Vec<Mail> {
        let mut all = self.mail.lock();
        all.get_mut(thread).map(std::mem::take).unwrap_or_default()
    }

    /// A session whose commands come by requests.
    pub(super) fn add_session(&self, session: &str, thread: usize, id: u64, wire: Wire) {
        self.sessions.lock().insert(session.into(), (thread, id, wire));
    }

    pub(super) fn remove_session(&self, session: &str) {
        self.sessions.lock().remove(session);
    }

    /// The thread and the client number of a session, and how its commands are sent.
    pub(super) fn find_session(&self, session: &str) -> Option<(usize, u64, Wire)> {
        self.sessions.lock().get(session).copied()
    }
}
