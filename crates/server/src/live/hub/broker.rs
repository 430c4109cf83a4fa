//! What is asked of the broker (`live-broker`), and what waits for it: see [`super::remote`].

use std::collections::HashMap;
use std::sync::Arc;

use ::live::connect::Plan;
use ::live::permission::Subscription as Granted;

use crate::live::remote::Message;
use crate::live::store::Place;
use live_protocol::{ConnectRequest, Publication, SubscribeRequest};

/// What was read from the broker for subscriptions that begin now, by channel.
pub(super) type Reads = HashMap<String, Result<(Place, Vec<Publication>), String>>;

/// What a channel of the broker has besides others.
#[derive(Default)]
pub(crate) struct Followed {
    /// Subscriptions that begin.
    pub(super) begins: u32,
    /// Messages that came meanwhile.
    pub(super) kept: Vec<Arc<Message>>,
    /// There were more.
    pub(super) overflows: bool,
    /// The last offset before messages were lost; 0: none were.
    pub(super) before_gap: u64,
    /// When its position was asked for, in Unix milliseconds.
    pub(super) checked_at: i64,
}

/// What is done with the broker's answer.
#[derive(Debug)]
pub(super) enum After {
    Subscribe(Box<SubscribeRequest>, Box<Granted>),
    Connect(Box<ConnectRequest>, Box<Plan>),
    /// A subscription that the API wants.
    ByApi(Box<SubscribeRequest>, Box<Granted>),
    /// In a channel.
    Publish(String),
    Presence {
        counts: bool,
    },
    /// With the epoch that the history must have.
    History(Option<String>),
}

/// A question to the broker without an answer.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) number: u64,
    /// The number of the client's command.
    pub(super) command: u32,
    pub(super) after: After,
}

impl Unread {
    /// Whether a client waits for the answer.
    pub(super) fn is_command(&self) -> bool {
        !matches!(self.after, After::ByApi(..))
    }
}
