//! The broker: another Apus or Redis, or several, where the channels of this server live (`live-broker`).
//!
//! ```text
//!  hub, API, LIVE.* ── Op ──► a thread with a runtime ── apus-client ──► broker: keys, PUB/SUB
//!        ▲                       │
//!        └── mail: what was found, messages of channels that the thread follows, positions after gaps
//! ```
//!
//! Event loops never wait here: what is asked is answered by mail, or by a function that is called on the runtime's
//! thread. Tasks begin in the order in which they were given, so that a channel that is left and entered again is
//! followed in the end. Each shard (see [`shard::Shard`]) is connected to by itself: a shard that is not reached
//! fails what is asked of its channels, at once, and no others.

mod connect;
mod operate;
mod shard;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ::live::api::{Reply, ReplyResult};
use ::live::options::Prefixes;
use apus_client::Config;
use bytes::Bytes;
use engine::Engine;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::shard::Shard;
use super::Live;
use super::api::Work;
use super::mail::Mail;
use super::store::{Found, Op, Place, Span};
use live_protocol::{ClientInfo, Publication};

/// How long the end of the server waits for what is told.
const FINISHES: Duration = Duration::from_secs(2);

/// A message of a channel that is followed.
#[derive(Debug)]
pub(crate) struct Message {
    pub(super) kind: MessageKind,
    /// The channel.
    pub(super) name: String,
    pub(super) payload: Bytes,
    _weight: Weight,
}

impl Message {
    fn new(kind: MessageKind, name: String, payload: Bytes, waiting: &Arc<AtomicUsize>) -> Self {
        let bytes = MESSAGE_BYTES + payload.len();
        waiting.fetch_add(bytes, Relaxed);
        Self { kind, name, payload, _weight: Weight(Arc::clone(waiting), bytes) }
    }
}

/// What a message counts beside its payload.
const MESSAGE_BYTES: usize = 128;

/// Bytes of messages that wait for the threads of this server, and one's part of them.
#[derive(Debug)]
struct Weight(Arc<AtomicUsize>, usize);

impl Drop for Weight {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Relaxed);
    }
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// Subscribers of a channel.
    Channel,
    /// This server; the name is without the prefix.
    Control,
    /// Subscribers of a channel: it was published to the channel's own name.
    Plain,
}

/// How a subscription begins: what is to be done before it, and read.
#[derive(Clone, Debug)]
pub(super) struct Begin {
    pub(super) channel: String,
    /// Who is there from now on, if that is kept.
    pub(super) presence: Option<ClientInfo>,
    /// What is read of the history; none: the channel's position does not matter.
    pub(super) span: Option<Span>,
    pub(super) meta_ttl: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(super) begin: Arc<Begin>,
    pub(super) read: Result<(Place, Vec<Publication>), String>,
}

/// See the module's text.
pub(crate) struct Remote {
    runtime: Handle,
    shards: Vec<Arc<Shard>>,
    at: At,
    /// What is told that nobody waits for.
    told: Arc<AtomicUsize>,
    /// Which shard is told next what is for other servers.
    turn: AtomicUsize,
    /// The runtime ends when this is dropped.
    _end: oneshot::Sender<()>,
}

/// The servers that `live-broker` names.
///
/// # Errors
/// What is wrong with which of the URLs, without the URL: it may contain a password.
pub(super) fn parse(text: &str) -> Result<Vec<Config>, String> {
    let parse = |(i, url): (usize, &str)| match url.parse::<Config>() {
        Ok(config) => Ok(config),
        Err(why) => Err(format!("live-broker: URL {}: {why}", i + 1)),
    };
    text.split_whitespace().enumerate().map(parse).collect()
}

impl Remote {
    /// Starts its thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn new(
        at: At,
        (prefixes, partitions): (&Prefixes, usize),
        configs: Vec<Config>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ends) = oneshot::channel();
        crate::start_thread("apus-live-broker".to_owned(), move || {
            let _ = runtime.block_on(ends);
        })?;
        let shards: Vec<Arc<Shard>> = configs
            .into_iter()
            .map(|config| Arc::new(Shard::new(config, prefixes, partitions)))
            .collect();
        let (turn, told) = (AtomicUsize::new(0), Arc::default());
        Ok(Self { runtime: handle, shards, at, told, turn, _end: end })
    }

    /// Begins to connect.
    pub(super) fn begin(&self) {
        for shard in &self.shards {
            self.runtime.spawn(connect::keep(Arc::clone(shard), self.at.clone()));
        }
    }

    /// Waits a moment for what was told: who has left, when the server ends.
    pub(super) fn finish(&self) {
        let until = Instant::now() + FINISHES;
        while self.told.load(Relaxed) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Does something that nobody waits for; the log has what goes wrong.
    fn tell_of(&self, what: impl Future<Output = Result<(), String>> + Send + 'static) {
        let Some(engine) = self.engine() else { return };
        let told = Arc::clone(&self.told);
        told.fetch_add(1, Relaxed);
        self.runtime.spawn(async move {
            if let Err(why) = what.await {
                engine::log!(engine.log, Verbose, "live: {}", why);
            }
            told.fetch_sub(1, Relaxed);
        });
    }

    fn engine(&self) -> Option<Arc<Engine>> {
        self.at.1.upgrade()
    }

    /// The shard of a channel.
    fn shard(&self, channel: &str) -> &Arc<Shard> {
        &self.shards[apus_client::shard_of(channel.as_bytes(), self.shards.len())]
    }

    /// Does what is asked; `done` is called on the runtime's thread.
    pub(super) fn run(&self, op: Op, done: impl FnOnce(Result<Found, String>) + Send + 'static) {
        let shard = Arc::clone(self.shard(op.channel()));
        self.runtime.spawn(async move { done(shard.run(&op).await) });
    }

    /// Does what remains of a request of the API.
    pub(super) fn settle(&self, work: Work, done: impl FnOnce(Reply) + Send + 'static) {
        self.settle_all(vec![work], |mut replies| {
            done(replies.pop().unwrap_or(Err(::live::api::ApiError::INTERNAL)));
        });
    }

    /// Does what remains of requests of the API, one after the other.
    pub(super) fn settle_all(
        &self,
        work: Vec<Work>,
        done: impl FnOnce(Vec<Reply>) + Send + 'static,
    ) {
        let Some((live, engine)) = self.at.0.upgrade().zip(self.engine()) else { return };
        self.runtime.spawn(async move {
            let mut replies = Vec::with_capacity(work.len());
            for one in work {
                replies.push(settle(&live, &engine, one).await);
            }
            done(replies);
        });
    }

    /// A thread follows a channel from now on. Messages come by mail, from [`Self::subscribe`] on.
    pub(super) fn follow(&self, channel: &str, thread: usize, plain: bool) {
        self.shard(channel).follow(channel, thread, plain);
    }

    /// A thread does not follow a channel any more.
    pub(super) fn unfollow(&self, channel: &str, thread: usize) {
        let shard = self.shard(channel);
        if let Some(plain) = shard.unfollow(channel, thread) {
            let (shard, channel) = (Arc::clone(shard), channel.to_owned());
            self.runtime.spawn(async move { shard.unsubscribe(&channel, plain).await });
        }
    }

    /// Subscribes to channels that a thread follows, and reads what their subscriptions begin with. The answer goes to
    /// the thread's hub, for a client and a question of its.
    pub(super) fn subscribe(&self, (thread, id, number): (usize, u64, u64), all: Vec<Begin>) {
        let Some((live, engine)) = self.at.0.upgrade().zip(self.engine()) else { return };
        let tasks: Vec<_> = all
            .into_iter()
            .map(|begin| {
                let (shard, begin) = (Arc::clone(self.shard(&begin.channel)), Arc::new(begin));
                self.runtime.spawn(async move {
                    let read = shard.begin(&begin).await;
                    Begun { begin, read }
                })
            })
            .collect();
        self.runtime.spawn(async move {
            let mut begun = Vec::with_capacity(tasks.len());
            for task in tasks {
                begun.extend(task.await);
            }
            live.post(&engine, thread, Mail::Begun(id, number, begun));
        });
    }

    /// A client is in a channel, still or not any more.
    pub(super) fn presence(&self, channel: &str, info: ClientInfo, there: bool) {
        let (shard, channel) = (Arc::clone(self.shard(channel)), channel.to_owned());
        // If it fails, it expires by itself, or is refreshed the next time.
        self.tell_of(async move { shard.presence(&channel, &info, there).await });
    }

    /// Tells a channel that a client joins or leaves.
    pub(super) fn tell_presence(&self, channel: &str, joins: bool, info: ClientInfo) {
        let (shard, channel) = (Arc::clone(self.shard(channel)), channel.to_owned());
        self.tell_of(async move { shard.tell_presence(&channel, joins, &info).await });
    }

    /// PUBLISH to the own name of a channel that a thread follows is for its subscribers, too, or not any more.
    pub(super) fn set_plain(&self, channel: &str, thread: usize, plain: bool) {
        let shard = Arc::clone(self.shard(channel));
        if plain {
            shard.follow(channel, thread, true);
        } else {
            shard.unset_plain(channel);
        }
        let channel = channel.to_owned();
        self.tell_of(async move { shard.follow_plain(&channel, plain).await });
    }

    /// Has the hubs that follow a channel told of its position.
    pub(super) fn check(&self, channel: &str) {
        let (shard, channel) = (Arc::clone(self.shard(channel)), channel.to_owned());
        let at = self.at.clone();
        self.runtime.spawn(async move { shard.check(at, channel, false).await });
    }

    /// Tells other servers: each listens at all shards, and one that can be reached is enough.
    pub(super) fn tell(&self, channel: String, message: Vec<u8>) {
        let shards = self.shards.clone();
        let first = self.turn.fetch_add(1, Relaxed);
        self.tell_of(async move {
            let message = Bytes::from(message);
            let mut failed = String::new();
            for i in 0..shards.len() {
                let shard = &shards[(first + i) % shards.len()];
                match shard.tell(&channel, &message).await {
                    Ok(()) => return Ok(()),
                    Err(why) => failed = why,
                }
            }
            Err(format!("other servers are not told: {failed}"))
        });
    }

    /// Listens to what other servers tell.
    pub(super) fn listen(&self, channels: &[String]) {
        for shard in &self.shards {
            let (shard, channels) = (Arc::clone(shard), channels.to_vec());
            self.runtime.spawn(async move { shard.listen(channels).await });
        }
    }

    pub(super) fn figures(&self) -> BrokerFigures {
        let sum = |of: fn(&Shard) -> u64| self.shards.iter().map(|shard| of(shard)).sum::<u64>();
        BrokerFigures {
            shards: self.shards.len() as u64,
            connected: sum(|shard| u64::from(shard.is_up())),
            channels: sum(|shard| shard.followed() as u64),
            messages: sum(|shard| shard.counts.messages.load(Relaxed)),
            errors: sum(|shard| shard.counts.errors.load(Relaxed)),
            gaps: sum(|shard| shard.counts.gaps.load(Relaxed)),
        }
    }
}

/// What there is to say of the broker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrokerFigures {
    /// Servers, and those that are reached.
    pub(crate) shards: u64,
    pub(crate) connected: u64,
    /// Channels that are followed.
    pub(crate) channels: u64,
    /// Since the start: messages, operations that failed, and times that a connection for messages broke.
    pub(crate) messages: u64,
    pub(crate) errors: u64,
    pub(crate) gaps: u64,
}

impl BrokerFigures {
    /// Fields of INFO.
    pub(super) fn info(&self) -> impl Iterator<Item = (String, String)> {
        let fields = [
            ("shards", self.shards),
            ("connected", self.connected),
            ("channels", self.channels),
            ("messages", self.messages),
            ("errors", self.errors),
            ("gaps", self.gaps),
        ];
        fields.into_iter().map(|(name, n)| (format!("live_broker_{name}"), n.to_string()))
    }
}

impl Op {
    fn channel(&self) -> &str {
        match self {
            Self::Publish { channel, .. }
            | Self::History { channel, .. }
            | Self::RemoveHistory { channel }
            | Self::Presence { channel } => channel,
        }
    }
}

async fn settle(live: &Live, engine: &Engine, work: Work) -> Reply {
    let Some(remote) = &live.remote else { return Err(::live::api::ApiError::INTERNAL) };
    match work {
        Work::Done(reply) => reply,
        Work::Ask(op, then) => {
            let found = remote.shard(op.channel()).run(&op).await;
            then.finish(live, engine, found)
        }
        Work::All(all) => {
            // All begin before the first is waited for.
            let mut begun = Vec::with_capacity(all.len());
            for one in all {
                begun.push(match one {
                    Work::Ask(op, then) => {
                        let shard = Arc::clone(remote.shard(op.channel()));
                        let task = remote.runtime.spawn(async move { shard.run(&op).await });
                        Ok((task, then))
                    }
                    Work::Done(reply) => Err(reply),
                    Work::All(_) => Err(Err(::live::api::ApiError::INTERNAL)),
                });
            }
            let mut replies = Vec::with_capacity(begun.len());
            for one in begun {
                replies.push(match one {
                    Ok((task, then)) => {
                        let found = task.await.unwrap_or_else(|why| Err(why.to_string()));
                        then.finish(live, engine, found)
                    }
                    Err(reply) => reply,
                });
            }
            Ok(ReplyResult::Broadcast(replies))
        }
    }
}

/// What is behind a server that may be gone.
type At = (Weak<Live>, Weak<Engine>);

/// Threads, and what they are to be told.
type Letters = HashMap<usize, Vec<Mail>>;

/// Posts letters; false: the server is gone.
fn post(at: &At, letters: Letters) -> bool {
    let (Some(live), Some(engine)) = (at.0.upgrade(), at.1.upgrade()) else { return false };
    for (thread, mail) in letters {
        live.post_some(&engine, thread, mail);
    }
    true
}
