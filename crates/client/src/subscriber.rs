//! Subscriptions, on a connection of their own.
//!
//! The task reads messages into a bounded inbox. When the inbox is full it reads no more, so that the server
//! notices a subscriber that does not keep up, and not this program's memory. After a broken connection
//! everything is subscribed to again, and the subscriber is told that there was a gap.

use crate::command::Command;
use crate::connection::stream::Stream;
use crate::connection::{Reconnect, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::parse::{LINE_BYTES_MAX, Parser};
use crate::value::{ServerError, Value};
use bytes::Bytes;
use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

/// Messages that wait for the subscriber.
const INBOX_MAX: usize = 1024;
/// A connection without traffic is asked whether it lives after so long, if no time-out says otherwise.
const PING_AFTER: Duration = Duration::from_secs(10);
/// The pause after `MOVED` is as long as that after so many failed attempts to connect.
const MOVED_PAUSE: u32 = 2;

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A message.
    Message(Message),
    /// The connection broke and everything is subscribed to again: messages in between are lost.
    Gap,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The pattern by which it came.
    pub pattern: Option<Bytes>,
    /// Its channel.
    pub channel: Bytes,
    /// What was published.
    pub payload: Bytes,
}

/// Which kind of subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SubscriptionKind {
    Channel,
    Pattern,
    Sharded,
}

impl SubscriptionKind {
    fn command(self, is_on: bool) -> &'static str {
        match (self, is_on) {
            (Self::Channel, true) => "SUBSCRIBE",
            (Self::Channel, false) => "UNSUBSCRIBE",
            (Self::Pattern, true) => "PSUBSCRIBE",
            (Self::Pattern, false) => "PUNSUBSCRIBE",
            (Self::Sharded, true) => "SSUBSCRIBE",
            (Self::Sharded, false) => "SUNSUBSCRIBE",
        }
    }
}

/// A subscriber with a connection of its own, which is closed when the subscriber is dropped.
#[derive(Debug)]
pub struct Subscriber {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    inbox: VecDeque<Event>,
    reader: Option<Waker>,
    task: Option<Waker>,
    wanted: BTreeSet<(SubscriptionKind, Vec<u8>)>,
    changes: Vec<Change>,
    is_closed: bool,
    /// The connection should be made anew.
    is_kicked: bool,
}

/// A change that the server has not confirmed.
#[derive(Debug)]
struct Change {
    kind: SubscriptionKind,
    is_on: bool,
    names: Vec<Vec<u8>>,
    /// Whether it has been written on this connection.
    is_sent: bool,
    left: usize,
    done: Option<oneshot::Sender<Result<()>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reconnect for Shared {
    fn reconnect(&self) {
        let mut state = self.lock();
        state.is_kicked = true;
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Subscriber {
    pub(crate) async fn connect(settings: Settings) -> Result<Self> {
        let stream = settings.connect().await?;
        let shared = Arc::new(Shared::default());
        tokio::spawn(Task { shared: shared.clone(), settings }.run(stream));
        Ok(Self { shared })
    }

    /// What breaks its connection, as long as there is one.
    pub(crate) fn handle(&self) -> Weak<dyn Reconnect> {
        let shared: Arc<dyn Reconnect> = self.shared.clone();
        Arc::downgrade(&shared)
    }

    /// Subscribes to channels; they are confirmed when it is ready.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn subscribe<C: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        self.change(SubscriptionKind::Channel, true, channels).await
    }

    /// Ends subscriptions to channels.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn unsubscribe<C: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        self.change(SubscriptionKind::Channel, false, channels).await
    }

    /// Subscribes to the channels that match patterns.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn psubscribe<C: AsRef<[u8]>>(
        &self,
        patterns: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        self.change(SubscriptionKind::Pattern, true, patterns).await
    }

    /// Ends subscriptions to patterns.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn punsubscribe<C: AsRef<[u8]>>(
        &self,
        patterns: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        self.change(SubscriptionKind::Pattern, false, patterns).await
    }

    /// Subscribes to sharded channels (Redis 7).
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn ssubscribe<C: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        self.change(SubscriptionKind::Sharded, true, channels).await
    }

    /// Ends subscriptions to sharded channels.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub async fn sunsubscribe<C: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        self.change(SubscriptionKind::Sharded, false, channels).await
    }

    async fn change<C: AsRef<[u8]>>(
        &self,
        kind: SubscriptionKind,
        is_on: bool,
        names: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        let names: Vec<Vec<u8>> = names.into_iter().map(|name| name.as_ref().to_vec()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let (done, confirmed) = oneshot::channel();
        self.queue_change(kind, is_on, names, done);
        confirmed
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "the subscriber is closed")))
    }

    fn queue_change(
        &self,
        kind: SubscriptionKind,
        is_on: bool,
        names: Vec<Vec<u8>>,
        done: oneshot::Sender<Result<()>>,
    ) {
        let mut state = self.shared.lock();
        for name in &names {
            match is_on {
                true => state.wanted.insert((kind, name.clone())),
                false => state.wanted.remove(&(kind, name.clone())),
            };
        }
        let left = names.len();
        state.changes.push(Change { kind, is_on, names, is_sent: false, left, done: Some(done) });
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }

    /// The next message or gap.
    pub async fn next(&mut self) -> Event {
        self.take().await
    }

    /// As [`Subscriber::next`], for a subscriber with which other tasks subscribe meanwhile. Only one task may wait at a
    /// time: another one's waker would be forgotten.
    pub async fn take(&self) -> Event {
        poll_fn(|cx| {
            let mut state = self.shared.lock();
            let event = state.inbox.pop_front();
            let task = if state.inbox.len() == INBOX_MAX / 2 { state.task.take() } else { None };
            if event.is_none() {
                state.reader = Some(cx.waker().clone());
            }
            drop(state);
            if let Some(task) = task {
                task.wake();
            }
            event.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}

struct Task {
    shared: Arc<Shared>,
    settings: Settings,
}

struct Wire {
    stream: Stream,
    parser: Parser,
    input: Vec<u8>,
    filled: usize,
    out: Vec<u8>,
    at: usize,
    quiet: Pin<Box<Sleep>>,
    /// It was asked whether it lives.
    is_asked: bool,
}

impl Task {
    async fn run(self, stream: Stream) {
        let mut next = Some(stream);
        loop {
            let stream = match next.take() {
                Some(stream) => stream,
                None => match self.connect_again().await {
                    Some(stream) => stream,
                    None => return,
                },
            };
            let mut wire = Wire {
                stream,
                parser: Parser::new(self.settings.limits),
                input: vec![0; 2 * LINE_BYTES_MAX],
                filled: 0,
                out: Vec::new(),
                at: 0,
                quiet: Box::pin(sleep(self.patience())),
                is_asked: false,
            };
            match poll_fn(|cx| self.poll(&mut wire, cx)).await {
                Ok(()) => return,
                // The cluster needs its time to agree on who has the slot.
                Err(error) if error.code() == "MOVED" => {
                    sleep(self.settings.backoff.pause(MOVED_PAUSE)).await;
                }
                Err(_) => {}
            }
        }
    }

    fn patience(&self) -> Duration {
        self.settings.response_timeout.unwrap_or(PING_AFTER)
    }

    /// Connects with pauses; nothing if the subscriber is gone. Everything is asked for again.
    async fn connect_again(&self) -> Option<Stream> {
        let mut attempt = 0;
        let stream = loop {
            let connect = async move {
                let stream = self.settings.connect().await;
                if stream.is_err() {
                    sleep(self.settings.backoff.pause(attempt)).await;
                }
                stream
            };
            let mut connect = pin!(connect);
            let result = poll_fn(|cx| {
                let mut state = self.shared.lock();
                if state.is_closed {
                    return Poll::Ready(None);
                }
                state.task = Some(cx.waker().clone());
                drop(state);
                connect.as_mut().poll(cx).map(Some)
            })
            .await?;
            match result {
                Ok(stream) => break stream,
                Err(_) => attempt += 1,
            }
        };
        self.ask_again();
        Some(stream)
    }

    /// Everything that is wanted is to be asked for on a new connection.
    fn ask_again(&self) {
        let mut state = self.shared.lock();
        let mut again: Vec<Change> = Vec::new();
        for (kind, name) in &state.wanted {
            match again.last_mut() {
                Some(change) if change.kind == *kind => {
                    change.names.push(name.clone());
                    change.left += 1;
                }
                _ => again.push(Change {
                    kind: *kind,
                    is_on: true,
                    names: vec![name.clone()],
                    is_sent: false,
                    left: 1,
                    done: None,
                }),
            }
        }
        // What waits for its confirmation is asked for once more; it does no harm.
        for change in &mut state.changes {
            change.is_sent = false;
            change.left = change.names.len();
        }
        state.changes.retain(|change| change.done.is_some());
        state.changes.splice(0..0, again);
        push(&mut state, Event::Gap);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Ready with `Ok` when the subscriber is gone.
    fn poll(&self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            let mut state = self.shared.lock();
            if state.is_closed {
                return Poll::Ready(Ok(()));
            }
            if std::mem::take(&mut state.is_kicked) {
                return Poll::Ready(Err(Error::connection("the server has moved")));
            }
            for change in state.changes.iter_mut().filter(|change| !change.is_sent) {
                change.is_sent = true;
                let mut command = Command::new(change.kind.command(change.is_on));
                change.names.iter().for_each(|name| command.push(name));
                command.write_to(&mut wire.out);
            }
            state.task = Some(cx.waker().clone());
            let is_full = state.inbox.len() >= INBOX_MAX;
            drop(state);
            wire.poll_write(cx)?;
            // A full inbox: the consumer wakes us when it has room.
            if is_full {
                return Poll::Pending;
            }
            if wire.poll_read(cx)?.is_pending() {
                return self.poll_quiet(wire, cx);
            }
            wire.is_asked = false;
            wire.quiet.as_mut().reset(Instant::now() + self.patience());
            self.accept(wire)?;
        }
    }

    /// Asks a connection without traffic whether it lives, and gives it up if it does not say so.
    fn poll_quiet(&self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<()>> {
        while wire.quiet.as_mut().poll(cx).is_ready() {
            if wire.is_asked {
                return Poll::Ready(Err(Error::new(ErrorKind::Timeout, "the server is silent")));
            }
            wire.is_asked = true;
            Command::new("PING").write_to(&mut wire.out);
            wire.quiet.as_mut().reset(Instant::now() + self.patience());
            wire.poll_write(cx)?;
        }
        Poll::Pending
    }

    fn accept(&self, wire: &mut Wire) -> Result<()> {
        let mut at = 0;
        let mut result = Ok(());
        let mut done = Vec::new();
        let slot = self.settings.resolver.as_ref().and_then(|resolver| resolver.slot());
        let mut state = self.shared.lock();
        while result.is_ok() {
            match wire.parser.parse(&wire.input[at..wire.filled]) {
                Ok((n, None)) => {
                    at += n;
                    break;
                }
                Ok((n, Some(value))) => {
                    at += n;
                    result = accept(&mut state, value, slot, &mut done);
                }
                Err(error) => result = Err(error),
            }
        }
        wire.input.copy_within(at..wire.filled, 0);
        wire.filled -= at;
        let reader = if state.inbox.is_empty() { None } else { state.reader.take() };
        drop(state);
        for (done, result) in done {
            let _ = done.send(result);
        }
        if let Some(reader) = reader {
            reader.wake();
        }
        result
    }
}

/// Gaps that follow one another are one.
fn push(state: &mut State, event: Event) {
    if event != Event::Gap || state.inbox.back() != Some(&Event::Gap) {
        state.inbox.push_back(event);
    }
}

type Done = Vec<(oneshot::Sender<Result<()>>, Result<()>)>;

/// One thing that the server sent; `slot` is what its node was chosen for.
fn accept(state: &mut State, value: Value, slot: Option<u16>, done: &mut Done) -> Result<()> {
    let items = match value {
        Value::Error(error) if slot.is_some() && moved_slot(&error) == slot => {
            return Err(error.into());
        }
        Value::Error(error) => {
            // It is about the oldest change that was sent.
            if let Some(at) = state.changes.iter().position(|change| change.is_sent) {
                let change = state.changes.remove(at);
                for name in change.names {
                    state.wanted.remove(&(change.kind, name));
                }
                done.extend(change.done.map(|done| (done, Err(error.into()))));
                return Ok(());
            }
            return Err(error.into());
        }
        Value::Push(items) | Value::Array(items) => items,
        _ => return Ok(()),
    };
    let mut items = items.into_iter().map(|item| item.into_bytes().unwrap_or_default());
    let mut next = || items.next().unwrap_or_default();
    let kind = next();
    match &*kind {
        b"message" | b"smessage" => {
            let (channel, payload) = (next(), next());
            push(state, Event::Message(Message { pattern: None, channel, payload }));
        }
        b"pmessage" => {
            let (pattern, channel, payload) = (Some(next()), next(), next());
            push(state, Event::Message(Message { pattern, channel, payload }));
        }
        other if other.ends_with(b"subscribe") => return confirm(state, other, &next(), done),
        _ => {}
    }
    Ok(())
}

/// The slot in `MOVED 3999 127.0.0.1:6381`.
fn moved_slot(error: &ServerError) -> Option<u16> {
    error.text().strip_prefix("MOVED ")?.split(' ').next()?.parse().ok()
}

fn confirm(state: &mut State, word: &[u8], name: &[u8], done: &mut Done) -> Result<()> {
    let found = state.changes.iter().position(|change| {
        change.is_sent && change.kind.command(change.is_on).as_bytes().eq_ignore_ascii_case(word)
    });
    match found {
        Some(at) => {
            state.changes[at].left -= 1;
            if state.changes[at].left == 0 {
                done.extend(state.changes.remove(at).done.map(|done| (done, Ok(()))));
            }
            Ok(())
        }
        // A cluster's slot has moved: it is subscribed to again where it is now.
        None if word == b"sunsubscribe"
            && state.wanted.contains(&(SubscriptionKind::Sharded, name.to_vec())) =>
        {
            Err(Error::connection("a channel has moved"))
        }
        None => Ok(()),
    }
}

impl Wire {
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<()> {
        let broke = |error| Error::connection(format!("the connection broke: {error}"));
        while self.at < self.out.len() {
            match Pin::new(&mut self.stream).poll_write(cx, &self.out[self.at..]) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => {
                    return Err(Error::connection("the connection takes no bytes"));
                }
                Poll::Ready(written) => self.at += written.map_err(broke)?,
            }
        }
        self.out.clear();
        self.at = 0;
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(Err(error)) => Err(broke(error)),
            _ => Ok(()),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>> {
        let mut room = ReadBuf::new(&mut self.input[self.filled..]);
        match Pin::new(&mut self.stream).poll_read(cx, &mut room) {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(Err(error)) => {
                Err(Error::connection(format!("the connection broke: {error}")))
            }
            Poll::Ready(Ok(())) if room.filled().is_empty() => {
                Err(Error::connection("the server closed the connection"))
            }
            Poll::Ready(Ok(())) => {
                self.filled += room.filled().len();
                Ok(Poll::Ready(()))
            }
        }
    }
}
