//! A connection of one's own: for transactions with `WATCH`, for what changes a connection's state, and for
//! commands that wait.

use crate::command::Command;
use crate::connection::Reply;
use crate::error::{Error, Result};
use crate::pipeline::Transaction;
use crate::request::{Response, Sender, Target, To};
use crate::server::Exclusive;
use crate::spec::{Flags, Spec};
use crate::value::Value;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A connection that only its holder uses. It is closed when it is dropped, unless it is
/// [released](Dedicated::release). It does not connect again: what it had in its server is gone when it breaks.
#[derive(Debug)]
pub struct Dedicated {
    exclusive: Exclusive,
    /// It may no longer be as a new one.
    is_changed: AtomicBool,
    /// Its keys are on this node of a cluster, and their slot is another node's still: each command goes behind
    /// `ASKING`.
    is_asking: bool,
}

impl Dedicated {
    pub(crate) fn new(exclusive: Exclusive) -> Self {
        Self { exclusive, is_changed: AtomicBool::new(false), is_asking: false }
    }

    pub(crate) fn behind_asking(self, is_asking: bool) -> Self {
        Self { is_asking, ..self }
    }

    pub(crate) fn send(&self, command: Command) -> Response<'_> {
        let flags = command.spec().flags;
        if command.spec().name.is_empty() || flags.has(Flags::CONNECTION) {
            self.is_changed.store(true, Relaxed);
        }
        #[cfg(feature = "tracing")]
        let span = crate::trace::command(&command, self.exclusive.peer());
        let response = match has_more_than_replies(command.spec()) {
            true => Response::failed(Error::usage(format!(
                "{} has more than one reply: subscriptions are `Client::subscribe`",
                command.name()
            ))),
            false if self.is_asking => Response::boxed(async move { self.ask(&command).await }),
            false => Response::reply(Reply::new(self.exclusive.connection.clone(), command)),
        };
        #[cfg(feature = "tracing")]
        let response = response.spanned(span);
        response
    }

    /// Sends any command.
    pub fn call(&self, command: impl Into<Command>) -> Response<'_> {
        self.send(command.into())
    }

    /// Runs a transaction that fails if a key changes that was watched on this connection
    /// (`dedicated.watch(key)`).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Aborted`](crate::ErrorKind::Aborted) if one has changed; the server's, if it refuses a command of the transaction.
    pub async fn exec(&self, transaction: Transaction) -> Result<Vec<Value>> {
        let replies = transaction.run_on(&self.exclusive.connection, self.is_asking);
        #[cfg(feature = "tracing")]
        let replies = crate::trace::within(transaction.span(self.exclusive.peer()), replies);
        replies.await
    }

    /// Gives the connection back for use by others of this client, unless a command has changed its state; then
    /// it is closed.
    pub fn release(mut self) {
        self.exclusive.is_clean = !self.is_changed.load(Relaxed);
    }
}

impl Dedicated {
    /// Says `WATCH` on a connection that is given back only after an `EXEC`, which ends it.
    pub(crate) async fn watch_until_exec(&self, watch: &Command) -> Result<()> {
        let reply = match self.is_asking {
            true => self.ask(watch).await?,
            false => Reply::new(self.exclusive.connection.clone(), watch.duplicate()).await?,
        };
        match reply {
            Value::Error(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn ask(&self, command: &Command) -> Result<Value> {
        Reply::behind_asking(self.exclusive.connection.clone(), command).await
    }
}

impl Target for Dedicated {
    fn target(&self) -> To<'_> {
        Some(self)
    }
}

impl Sender for Dedicated {
    fn send_command(&self, command: Command) -> Response<'_> {
        self.send(command)
    }
}

/// Commands of which more comes than a reply.
pub(crate) fn has_more_than_replies(spec: &Spec) -> bool {
    let names = ["MONITOR", "SYNC", "PSYNC", "CLIENT REPLY"];
    names.contains(&spec.name) || spec.name.ends_with("SUBSCRIBE")
}
