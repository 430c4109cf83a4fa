//! The future of a reply.
//!
//! The bytes are queued when it is first polled. Dropped before, it sends nothing; dropped before the driver has
//! taken the bytes, they are taken back; dropped later, the reply is thrown away when it comes.

use crate::command::{Command, keep};
use crate::connection::handle::Connection;
use crate::connection::queue::{Payload, Submitted};
use crate::error::Result;
use crate::value::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A reply that is awaited. The reply to several commands is an array of theirs.
#[derive(Debug)]
#[must_use = "nothing is sent until it is polled"]
pub(crate) struct Reply {
    connection: Arc<Connection>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The ticket is there if there was no room.
    Command(Command, Option<u64>),
    Batch(Batch, Option<u64>),
    Waiting(u32),
    Done,
}

/// Several commands as they are written.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) replies: u32,
    pub(crate) is_repeatable: bool,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), replies: 0, is_repeatable: true }
    }

    pub(crate) fn push(&mut self, command: &Command) {
        command.write_to(&mut self.bytes);
        self.replies += 1;
        self.is_repeatable &= command.is_repeatable();
    }
}

impl Reply {
    pub(crate) fn new(connection: Arc<Connection>, command: Command) -> Self {
        Self { connection, state: State::Command(command, None) }
    }

    /// The replies of a batch, which is not empty.
    pub(crate) fn batch(connection: Arc<Connection>, batch: Batch) -> Self {
        Self { connection, state: State::Batch(batch, None) }
    }

    /// The reply to a command behind `ASKING`, which is about that command alone: no other may come in between.
    pub(crate) async fn behind_asking(
        connection: Arc<Connection>,
        command: &Command,
    ) -> Result<Value> {
        let mut batch = Batch::new();
        batch.push(&Command::new("ASKING"));
        batch.push(command);
        let replies = Self::batch(connection, batch).await?;
        Ok(replies.into_elements().ok().and_then(|mut replies| replies.pop()).unwrap_or(Value::Nil))
    }
}

impl Future for Reply {
    type Output = Result<Value>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let queue = &this.connection.queue;
        let (payload, ticket) = match &mut this.state {
            State::Command(command, ticket) => {
                let (bytes, count) = command.encoded();
                let repeatable = command.is_repeatable();
                (Payload { args: Some(count), bytes, replies: 1, repeatable }, ticket)
            }
            State::Batch(Batch { bytes, replies, is_repeatable }, ticket) => {
                let repeatable = *is_repeatable;
                (Payload { args: None, bytes, replies: *replies, repeatable }, ticket)
            }
            State::Waiting(slot) => {
                let reply = queue.poll_reply(*slot, cx);
                if reply.is_ready() {
                    this.state = State::Done;
                }
                return reply;
            }
            State::Done => panic!("a reply is polled after it was given"),
        };
        match queue.submit(payload, *ticket, cx.waker()) {
            Ok(Submitted::Slot(slot)) => this.state = State::Waiting(slot),
            Ok(Submitted::Full(place)) => *ticket = Some(place),
            Err(error) => {
                this.leave();
                return Poll::Ready(Err(error));
            }
        }
        Poll::Pending
    }
}

impl Reply {
    fn leave(&mut self) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Command(_, Some(ticket)) | State::Batch(_, Some(ticket)) => {
                self.connection.queue.forget_ticket(ticket);
            }
            State::Waiting(slot) => self.connection.queue.abandon(slot),
            State::Command(_, None) | State::Done => {}
            State::Batch(batch, None) => keep(batch.bytes),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.leave();
    }
}
