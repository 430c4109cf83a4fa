//! What a hub counts for [`crate::live::tally`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use live_protocol::{Command, Method};
use stdx::hash::NumberMap;

use super::Hub;
use super::wire::Transport;
use crate::live::tally::Key;

/// A command that has no reply yet.
struct Begun {
    /// Of a client, by its number.
    number: u32,
    method: &'static str,
    namespace: Arc<str>,
    at: Instant,
}

/// Commands whose time is measured.
#[derive(Default)]
pub(super) struct Timing {
    /// The one that is being executed, and its client.
    now: Option<(u64, Begun)>,
    /// Those that wait for others, by client.
    late: NumberMap<Vec<Begun>>,
}

impl Timing {
    fn take(&mut self, id: u64, number: u32) -> Option<Begun> {
        if let Some((_, begun)) =
            self.now.take_if(|(client, begun)| *client == id && begun.number == number)
        {
            return Some(begun);
        }
        let all = self.late.get_mut(&id)?;
        let at = all.iter().position(|begun| begun.number == number)?;
        let begun = all.swap_remove(at);
        if all.is_empty() {
            self.late.remove(&id);
        }
        Some(begun)
    }

    /// A client is gone.
    pub(super) fn forget(&mut self, id: u64) {
        self.late.remove(&id);
        self.now.take_if(|(client, _)| *client == id);
    }
}

impl Hub {
    /// Whether what takes a look at the clock, or a lock, is counted.
    pub(super) fn counts_all(&self) -> bool {
        self.options.prometheus
    }

    /// The namespace of a channel, as a label; empty where there is none.
    pub(super) fn label(&self, channel: &str) -> Arc<str> {
        let found = self.options.channel.find(channel);
        found.map_or_else(|_| "".into(), |found| found.namespace.name.as_str().into())
    }

    /// A client's command is executed now.
    pub(super) fn command_begins(&mut self, id: u64, command: &Command) {
        if !self.counts_all() {
            return;
        }
        let namespace = channel_of(&command.method).map_or_else(|| "".into(), |c| self.label(c));
        let (number, method) = (command.id, name(&command.method));
        self.timing.now = Some((id, Begun { number, method, namespace, at: Instant::now() }));
    }

    /// It has been executed. Without a reply it waits for one.
    pub(super) fn command_executed(&mut self, id: u64) {
        let Some((client, begun)) = self.timing.now.take() else { return };
        if client == id && self.clients.get(&id).is_some_and(|client| client.waits.is_some()) {
            self.timing.late.entry(id).or_default().push(begun);
        }
    }

    /// A command is replied to. Returns its method.
    pub(super) fn command_replied(
        &mut self,
        id: u64,
        number: u32,
        error: Option<u32>,
    ) -> &'static str {
        let Some(begun) = self.timing.take(id, number) else { return "unknown" };
        let Begun { method, namespace, at, .. } = begun;
        if let Some(code) = error {
            self.tally.count(Key::Error(method, code, Arc::clone(&namespace)));
        }
        self.tally.time(Key::Command(method, namespace), at.elapsed());
        method
    }

    /// A message of a client has come, with these commands.
    pub(crate) fn received(&self, kind: Transport, bytes: usize, commands: &[Command]) {
        if self.counts_all() {
            received(&self.tally, kind, bytes, commands);
        }
    }

    /// A ping is answered that was sent at a time, in Unix milliseconds.
    pub(super) fn ponged(&self, kind: Transport, sent: i64, now: i64) {
        let took = Duration::from_millis((now - sent).max(0) as u64);
        self.tally.pings[kind as usize].add(took);
    }

    /// Something is asked of the store.
    pub(super) fn acts(&self, action: &'static str, channel: &str) {
        if self.counts_all() {
            self.tally.count(Key::Action(action, self.label(channel)));
        }
    }
}

/// Counts commands that have come in one message: each has an equal part of the bytes.
pub(in super::super) fn received(
    tally: &crate::live::tally::Tally,
    kind: Transport,
    bytes: usize,
    commands: &[Command],
) {
    for (at, command) in commands.iter().enumerate() {
        let rest = if at == 0 { bytes % commands.len() } else { 0 };
        let is_pong = command.id == 0 && matches!(command.method, Method::Ping | Method::None);
        let frame = if is_pong { "client_pong" } else { name(&command.method) };
        tally.message(Key::Received(kind, frame), bytes / commands.len() + rest);
    }
}

/// What a client has told of itself, as a place among [`crate::live::tally::NAMES`].
pub(super) fn names(name: &str, version: &str) -> u8 {
    u8::from(!name.is_empty()) + 2 * u8::from(!version.is_empty())
}

fn channel_of(method: &Method) -> Option<&str> {
    Some(match method {
        Method::Subscribe(asked) => &asked.channel,
        Method::Unsubscribe(asked) => &asked.channel,
        Method::Publish(asked) => &asked.channel,
        Method::Presence(asked) | Method::PresenceStats(asked) => &asked.channel,
        Method::History(asked) => &asked.channel,
        Method::SubRefresh(asked) => &asked.channel,
        _ => return None,
    })
}

/// The name of a command, as limits of rates have it.
pub(super) fn name(method: &Method) -> &'static str {
    match method {
        Method::Connect(_) => "connect",
        Method::Subscribe(_) => "subscribe",
        Method::Unsubscribe(_) => "unsubscribe",
        Method::Publish(_) => "publish",
        Method::Presence(_) => "presence",
        Method::PresenceStats(_) => "presence_stats",
        Method::History(_) => "history",
        Method::Ping | Method::None => "ping",
        Method::Send(_) => "send",
        Method::Rpc(_) => "rpc",
        Method::Refresh(_) => "refresh",
        Method::SubRefresh(_) => "sub_refresh",
    }
}
