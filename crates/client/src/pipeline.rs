//! Several commands that are written together: a pipeline, and a transaction.

use crate::command::Command;
use crate::connection::{Batch, Connection, Reply};
use crate::error::{Error, ErrorKind, Result};
use crate::spec::Flags;
use crate::value::Value;
use std::sync::Arc;

/// Commands that leave in one write and whose replies come together. Others may be executed in between.
///
/// Concurrent requests are pipelined anyway; this is for one task that does not want to wait for each reply.
///
/// ```no_run
/// # use apus_client::{Pipeline, cmd, prelude::*};
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// let mut pipeline = Pipeline::new();
/// pipeline.push(cmd().incr("hits")).push(cmd().get("name"));
/// let (hits, name): (i64, Option<String>) = client.run(pipeline).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "it does nothing until it is run"]
pub struct Pipeline {
    pub(crate) commands: Vec<Command>,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a command.
    pub fn push(&mut self, command: impl Into<Command>) -> &mut Self {
        self.commands.push(command.into());
        self
    }

    /// How many commands there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether there is no command.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

/// Commands that are executed together or not at all: `MULTI` … `EXEC`.
///
/// ```no_run
/// # use apus_client::{Transaction, cmd, prelude::*};
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// let mut transaction = Transaction::new();
/// transaction.push(cmd().decrby("from", 5)).push(cmd().incrby("to", 5));
/// let (from, to): (i64, i64) = client.exec(transaction).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "it does nothing until it is run"]
pub struct Transaction {
    commands: Vec<Command>,
}

impl Transaction {
    /// An empty transaction.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a command.
    pub fn push(&mut self, command: impl Into<Command>) -> &mut Self {
        self.commands.push(command.into());
        self
    }

    /// Whether it has no command: then it is only of use to learn whether a watched key has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The key that decides which server of a cluster it belongs to.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        self.commands.iter().find_map(Command::first_key)
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn span(&self, peer: crate::trace::Peer<'_>) -> tracing::Span {
        crate::trace::batch("MULTI", &self.commands, peer)
    }

    /// Writes it whole and reads what became of it. With `is_asking` the node executes it though its slot is another
    /// node's still: `ASKING` holds until the end of a transaction that begins right behind it.
    pub(crate) async fn run_on(
        &self,
        connection: &Arc<Connection>,
        is_asking: bool,
    ) -> Result<Vec<Value>> {
        let mut batch = Batch::new();
        if is_asking {
            batch.push(&Command::new("ASKING"));
        }
        batch.push(&Command::new("MULTI"));
        for command in &self.commands {
            check_shareable(command)?;
            batch.push(command);
        }
        batch.push(&Command::new("EXEC"));
        batch.is_repeatable = false;
        let replies = Reply::batch(connection.clone(), batch).await?;
        let mut replies = replies.into_elements().unwrap_or_default();
        match replies.pop() {
            Some(Value::Array(items)) => Ok(items),
            Some(Value::Nil) => Err(aborted()),
            // The reason is the refusal of one of its commands, not that EXEC was refused for that.
            Some(Value::Error(error)) => Err(replies
                .into_iter()
                .find_map(|reply| match reply {
                    Value::Error(error) => Some(error),
                    _ => None,
                })
                .unwrap_or(error)
                .into()),
            other => Err(Error::unexpected("an array", &other.unwrap_or(Value::Nil))),
        }
    }
}

/// Commands that make no sense on a connection that others use.
pub(crate) fn check_shareable(command: &Command) -> Result<()> {
    if !command.spec().flags.has(Flags::CONNECTION) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{} changes a connection that others share: use `Client::dedicated`, `exec` or `subscribe`, or set it in the \
         configuration",
        command.name()
    )))
}

fn aborted() -> Error {
    Error::new(ErrorKind::Aborted, "a watched key has changed")
}
