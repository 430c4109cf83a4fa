//! Subscriptions to channels over all shards.

use crate::broker::envelope;
use crate::broker::event::BrokerEvent;
use crate::error::Result;
use crate::subscriber::{Event, Message, Subscriber};
use crate::topology::{Shards, shard_of};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Subscriptions, with a connection to each shard; they end when this is dropped.
#[derive(Debug)]
pub struct Subscriptions {
    subscribers: Vec<Subscriber>,
    prefix: String,
    /// Where to look first, so that a busy shard does not keep the others' messages back.
    turn: usize,
}

impl Subscriptions {
    pub(super) async fn connect(shards: &Shards, prefix: String) -> Result<Self> {
        let mut subscribers = Vec::new();
        for client in shards.all() {
            subscribers.push(client.subscriber().await?);
        }
        Ok(Self { subscribers, prefix, turn: 0 })
    }

    fn subscriber(&self, channel: &str) -> &Subscriber {
        &self.subscribers[shard_of(channel.as_bytes(), self.subscribers.len())]
    }

    /// Subscribes to a channel: what is published after this is ready comes.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn subscribe(&self, channel: &str) -> Result<()> {
        self.subscriber(channel).subscribe([format!("{}{channel}", self.prefix)]).await
    }

    /// Ends the subscription to a channel.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn unsubscribe(&self, channel: &str) -> Result<()> {
        self.subscriber(channel).unsubscribe([format!("{}{channel}", self.prefix)]).await
    }

    /// What happens next.
    ///
    /// # Errors
    ///
    /// A message that is none of centrifuge's; the next call goes on behind it.
    pub async fn next(&mut self) -> Result<BrokerEvent> {
        let (shard, event) = poll_fn(|cx| {
            for i in 0..self.subscribers.len() {
                let shard = (self.turn + i) % self.subscribers.len();
                // A wait that is given up loses nothing: events are taken when they are ready.
                if let Poll::Ready(event) = pin!(self.subscribers[shard].next()).poll(cx) {
                    self.turn = shard + 1;
                    return Poll::Ready((shard, event));
                }
            }
            Poll::Pending
        })
        .await;
        match event {
            Event::Gap => Ok(BrokerEvent::Gap { shard }),
            Event::Message(Message { channel, payload, .. }) => {
                let channel = String::from_utf8_lossy(&channel);
                let channel = channel.strip_prefix(&self.prefix).unwrap_or(&channel).to_owned();
                envelope::open(channel, &payload)
            }
        }
    }
}
