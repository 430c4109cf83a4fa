//! Subscriptions to channels over all shards.

use crate::broker::event::{BrokerEvent, BrokerMessage};
use crate::broker::{envelope, is_partitioned};
use crate::error::Result;
use crate::subscriber::{Event, Message, Subscriber};
use crate::topology::{Shards, shard_of};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

/// Subscriptions, with a connection to each shard, or to each partition in a cluster; they end when this is dropped.
#[derive(Debug)]
pub struct Subscriptions {
    /// Of each shard one, or one for each partition; with the shard's number.
    subscribers: Vec<(usize, Subscriber)>,
    /// For each shard the first of its subscribers, and how many partitions it has; 0 if none.
    shards: Vec<(usize, usize)>,
    prefix: String,
    /// Where to look first, so that a busy shard does not keep the others' messages back.
    turn: AtomicUsize,
}

impl Subscriptions {
    pub(super) async fn connect(
        shards: &Shards,
        prefix: String,
        partitions: usize,
    ) -> Result<Self> {
        let (mut subscribers, mut firsts) = (Vec::new(), Vec::new());
        for (shard, client) in shards.all().iter().enumerate() {
            let partitions = if is_partitioned(client, partitions) { partitions } else { 0 };
            firsts.push((subscribers.len(), partitions));
            for partition in 0..partitions {
                let slot = format!("{{{partition}}}");
                subscribers.push((shard, client.sharded_subscriber(slot).await?));
            }
            if partitions == 0 {
                subscribers.push((shard, client.subscriber().await?));
            }
        }
        Ok(Self { subscribers, shards: firsts, prefix, turn: AtomicUsize::new(0) })
    }

    /// The subscriber that a channel has, its name there, and whether that is a sharded one.
    fn place(&self, channel: &str) -> (&Subscriber, String, bool) {
        let (first, partitions) = self.shards[shard_of(channel.as_bytes(), self.shards.len())];
        if partitions == 0 {
            return (&self.subscribers[first].1, format!("{}{channel}", self.prefix), false);
        }
        let partition = shard_of(channel.as_bytes(), partitions);
        let name = format!("{}{}", self.prefix, in_partition(channel, partitions));
        (&self.subscribers[first + partition].1, name, true)
    }

    /// Subscribes to a channel: what is published after this is ready comes.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn subscribe(&self, channel: &str) -> Result<()> {
        match self.place(channel) {
            (subscriber, name, true) => subscriber.ssubscribe([name]).await,
            (subscriber, name, false) => subscriber.subscribe([name]).await,
        }
    }

    /// Ends the subscription to a channel.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn unsubscribe(&self, channel: &str) -> Result<()> {
        match self.place(channel) {
            (subscriber, name, true) => subscriber.sunsubscribe([name]).await,
            (subscriber, name, false) => subscriber.unsubscribe([name]).await,
        }
    }

    /// What happens next.
    ///
    /// # Errors
    ///
    /// A message that is none of centrifuge's; the next call goes on behind it.
    pub async fn next(&mut self) -> Result<BrokerEvent> {
        match self.next_message().await {
            BrokerMessage::Gap { shard } => Ok(BrokerEvent::Gap { shard }),
            BrokerMessage::Message { channel, message } => envelope::open(channel, &message),
        }
    }

    /// What happens next, with messages as they were published, for programs that read their envelopes themselves.
    /// Others may subscribe meanwhile; only one task may wait at a time.
    pub async fn next_message(&self) -> BrokerMessage {
        let (shard, event) = poll_fn(|cx| {
            for i in 0..self.subscribers.len() {
                let at = (self.turn.load(Relaxed) + i) % self.subscribers.len();
                let (shard, subscriber) = &self.subscribers[at];
                // A wait that is given up loses nothing: events are taken when they are ready.
                if let Poll::Ready(event) = pin!(subscriber.take()).poll(cx) {
                    self.turn.store(at + 1, Relaxed);
                    return Poll::Ready((*shard, event));
                }
            }
            Poll::Pending
        })
        .await;
        let Event::Message(Message { channel, payload, .. }) = event else {
            return BrokerMessage::Gap { shard };
        };
        let channel = String::from_utf8_lossy(&channel);
        let channel = channel.strip_prefix(&self.prefix).unwrap_or(&channel);
        let (_, partitions) = self.shards[shard];
        // The partition is in front, in braces.
        let channel = match partitions {
            0 => channel,
            _ => channel.split_once('.').map_or(channel, |(_, channel)| channel),
        };
        BrokerMessage::Message { channel: channel.to_owned(), message: payload }
    }

    /// How many shards there are.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.len()
    }
}

/// A channel behind the number of its partition, which is what decides on its slot.
pub(super) fn in_partition(channel: &str, partitions: usize) -> String {
    format!("{{{}}}.{channel}", shard_of(channel.as_bytes(), partitions))
}
