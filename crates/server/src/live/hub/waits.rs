//! Commands that wait: for an application's answer, for a key of a token, or for the commands before them.
//!
//! Commands of one client are executed in their order. So those behind one that waits wait, too, unless
//! `client.concurrency` lets more of them ask at the same time. Answers to pings never wait.

use std::collections::VecDeque;

use ::live::Disconnect;
use live_protocol::{Command, Method};

use super::ask::Pending;
use super::broker::Unread;
use super::client::Client;
use super::topics::Reading;
use super::{Cx, Hub};

/// Most bytes of commands that wait for those before them.
const QUEUE_MAX: usize = 1 << 20;
/// What a command counts beside its data.
const COMMAND_BYTES: usize = 128;

/// What a client waits for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Questions without an answer.
    pub(super) pending: Vec<Pending>,
    /// The same of the broker.
    pub(super) unread: Vec<Unread>,
    /// Topics that are being read.
    pub(super) readings: Vec<Reading>,
    /// Commands whose tokens need a key that is being fetched.
    keyless: Vec<Command>,
    queue: VecDeque<Command>,
    queue_bytes: usize,
}

impl Waits {
    /// Commands that were begun and have no reply.
    fn begun(&self) -> usize {
        self.keyless.len()
            + self.pending.iter().filter(|one| one.is_command()).count()
            + self.unread.iter().filter(|one| one.is_command()).count()
            + self.readings.iter().filter(|one| one.is_command()).count()
    }

    fn is_over(&self) -> bool {
        self.pending.is_empty()
            && self.unread.is_empty()
            && self.readings.is_empty()
            && self.keyless.is_empty()
            && self.queue.is_empty()
    }
}

/// The memory of a command, about.
fn weight(command: &Command) -> usize {
    let own = match &command.method {
        Method::Connect(asked) => asked.data.0.len() + asked.token.len(),
        Method::Subscribe(asked) => asked.data.0.len() + asked.token.len(),
        Method::Publish(asked) => asked.data.0.len(),
        Method::Rpc(asked) => asked.data.0.len(),
        Method::Send(data) => data.len(),
        Method::Refresh(token) => token.len(),
        Method::SubRefresh(asked) => asked.token.len(),
        _ => 0,
    };
    own + COMMAND_BYTES
}

/// Whether a command must wait for those that were begun.
fn must_wait(client: &Client, command: &Command, concurrency: usize) -> bool {
    let begun = client.waits.as_ref().map_or(0, |waits| waits.begun());
    // A subscription may be among them that is about to be ended; and without a user nothing may be done.
    let is_alone = matches!(command.method, Method::Unsubscribe(_)) || !client.connected;
    begun >= if is_alone { 1 } else { concurrency.max(1) }
}

fn is_pong(command: &Command) -> bool {
    command.id == 0 && matches!(command.method, Method::Ping | Method::None)
}

impl Hub {
    /// Executes commands of a client, in their order.
    pub(crate) fn commands(&mut self, cx: &mut Cx<'_>, id: u64, commands: Vec<Command>) {
        for command in commands {
            let Some(client) = self.clients.get_mut(&id) else { return };
            if client.unusable {
                return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
            }
            let queued = client.waits.as_ref().is_some_and(|waits| !waits.queue.is_empty());
            let waits = queued || must_wait(client, &command, self.options.client.concurrency);
            if !waits || is_pong(&command) && client.connected {
                self.command(cx, id, command);
                continue;
            }
            let waits = client.waits.get_or_insert_default();
            waits.queue_bytes += weight(&command);
            waits.queue.push_back(command);
            if waits.queue_bytes > QUEUE_MAX {
                // The client connects again, and recovers.
                return self.disconnect(cx, id, &Disconnect::SLOW);
            }
        }
    }

    /// A command of a client has been settled: those behind it may go on.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_>, id: u64) {
        loop {
            let Some(client) = self.clients.get_mut(&id) else { return };
            let Some(waits) = &client.waits else { return };
            if waits.is_over() {
                client.waits = None;
                return;
            }
            let Some(next) = waits.queue.front() else { return };
            if !client.unusable && must_wait(client, next, self.options.client.concurrency) {
                return;
            }
            if client.unusable {
                return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
            }
            let next = client.waits.as_mut().and_then(|waits| {
                let next = waits.queue.pop_front()?;
                waits.queue_bytes -= weight(&next);
                Some(next)
            });
            if let Some(next) = next {
                self.command(cx, id, next);
            }
        }
    }

    /// A command's token is of a key that is being fetched.
    pub(super) fn wait_for_key(&mut self, id: u64, command: Command) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.waits.get_or_insert_default().keyless.push(command);
        self.keyless.push(id);
    }

    /// Keys were fetched, or could not be.
    pub(super) fn keys_arrived(&mut self, cx: &mut Cx<'_>) {
        for id in std::mem::take(&mut self.keyless) {
            let waits = self.clients.get_mut(&id).and_then(|client| client.waits.as_mut());
            let commands = waits.map(|waits| std::mem::take(&mut waits.keyless));
            for command in commands.unwrap_or_default() {
                self.execute(cx, id, command);
            }
            self.go_on(cx, id);
        }
    }
}
