//! The connection to a shard: made, watched, and listened to.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use apus_client::broker::BrokerMessage;
use apus_client::{Command, Event};
use engine::log;

use super::super::mail::Mail;
use super::shard::{Link, Shard};
use super::{At, Letters, Message, MessageKind, post};

/// Between two looks whether a shard is there, and two attempts to reach it for the first time.
const PAUSE: Duration = Duration::from_secs(1);
/// Bytes of messages that may wait for the threads of this server.
const WAITING_MAX: usize = 64 << 20;
/// Messages that are passed on together.
const BATCH: usize = 256;

/// Connects to a shard, and keeps an eye on it for as long as the server runs.
pub(super) async fn keep(shard: Arc<Shard>, at: At) {
    let link = loop {
        match shard.connect().await {
            Ok(link) => break link,
            Err(why) => {
                if !note(&shard, &at, Some(why.to_string())) {
                    return;
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    };
    tokio::spawn(messages(Arc::clone(&shard), Arc::clone(&link), at.clone()));
    tokio::spawn(own_messages(Arc::clone(&shard), Arc::clone(&link), at.clone()));
    let control = shard.control.lock().clone();
    shard.listen(control).await;
    loop {
        let ping = link.client.call(Command::new("PING")).await;
        if !note(&shard, &at, ping.err().map(|why| why.to_string())) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Notes whether a shard is reached, and tells the log when that changes. False: the server is gone.
fn note(shard: &Shard, at: &At, why: Option<String>) -> bool {
    let Some(engine) = at.1.upgrade() else { return false };
    let text = why.clone();
    if shard.set_down(why) {
        match text {
            Some(why) => {
                log!(
                    engine.log,
                    Warning,
                    "live-broker {}: it is not reached: {}",
                    shard.name(),
                    why
                );
            }
            None => log!(engine.log, Notice, "live-broker {}: connected", shard.name()),
        }
    }
    true
}

/// Waits for one of what comes, and takes what else is there.
async fn some<T, F: Future<Output = T>>(mut next: impl FnMut() -> F) -> Vec<T> {
    let mut all = vec![next().await];
    while all.len() < BATCH {
        let mut one = pin!(next());
        let ready = poll_fn(|cx| match one.as_mut().poll(cx) {
            Poll::Ready(one) => Poll::Ready(Some(one)),
            Poll::Pending => Poll::Ready(None),
        });
        match ready.await {
            Some(one) => all.push(one),
            None => break,
        }
    }
    all
}

/// Adds a letter for each of the threads that follow a channel.
fn address(shard: &Shard, letters: &mut Letters, message: Message) {
    shard.counts.messages.fetch_add(1, Relaxed);
    let follows = shard.follows.lock();
    let Some(follow) = follows.get(&message.name) else { return };
    let message = Arc::new(message);
    for thread in &follow.threads {
        letters.entry(*thread).or_default().push(Mail::Message(Arc::clone(&message)));
    }
}

/// Passes messages of channels on.
async fn messages(shard: Arc<Shard>, link: Arc<Link>, at: At) {
    loop {
        let mut letters = Letters::new();
        for message in some(|| link.subscriptions.next_message()).await {
            match message {
                BrokerMessage::Message { channel, message } => {
                    let message =
                        Message::new(MessageKind::Channel, channel, message, &shard.waiting);
                    address(&shard, &mut letters, message);
                }
                BrokerMessage::Gap { .. } => {
                    post(&at, std::mem::take(&mut letters));
                    look_for_losses(&shard, &at);
                }
            }
        }
        if !post(&at, letters) {
            return;
        }
        // Then the broker's messages wait there, and if they are too many, it breaks the connection: a gap.
        while shard.waiting.load(Relaxed) > WAITING_MAX {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// The connection broke, and messages were lost: the positions of all channels are looked at, and subscribers that
/// have missed something are told.
fn look_for_losses(shard: &Arc<Shard>, at: &At) {
    shard.counts.gaps.fetch_add(1, Relaxed);
    if let Some(engine) = at.1.upgrade() {
        log!(
            engine.log,
            Warning,
            "live-broker {}: the connection for messages broke, and was made again: subscribers that have missed \
             something recover",
            shard.name()
        );
    }
    let mut letters = Letters::new();
    let follows = shard.follows.lock();
    let positioned = || follows.iter().filter(|(_, follow)| follow.positioned);
    for (channel, follow) in positioned() {
        let mail = Mail::Gap(channel.as_str().into());
        for thread in &follow.threads {
            letters.entry(*thread).or_default().push(mail.clone());
        }
    }
    // Before what comes after the gap.
    post(at, letters);
    for (channel, _) in positioned() {
        let (shard, at, channel) = (Arc::clone(shard), at.clone(), channel.clone());
        tokio::spawn(async move { shard.check(at, channel, true).await });
    }
}

/// Passes control messages on, and what is published to channels' own names.
async fn own_messages(shard: Arc<Shard>, link: Arc<Link>, at: At) {
    let prefix = format!("{}.", shard.prefixes.broker);
    loop {
        let mut letters = Letters::new();
        for event in some(|| link.own.take()).await {
            // After a gap nothing can be said of what had no history.
            let Event::Message(message) = event else { continue };
            let Ok(name) = std::str::from_utf8(&message.channel) else { continue };
            let payload = message.payload.clone();
            match name.strip_prefix(&prefix) {
                Some(name) if name == "control" || name.starts_with("node.") => {
                    let message = Message::new(
                        MessageKind::Control,
                        name.to_owned(),
                        payload,
                        &shard.waiting,
                    );
                    letters.entry(0).or_default().push(Mail::Message(Arc::new(message)));
                }
                _ => {
                    let message =
                        Message::new(MessageKind::Plain, name.to_owned(), payload, &shard.waiting);
                    address(&shard, &mut letters, message);
                }
            }
        }
        if !post(&at, letters) {
            return;
        }
    }
}
