//! The client: where commands are sent.

use crate::command::Command;
use crate::config::Config;
use crate::connection::{Batch, Connection, Reply};
use crate::dedicated::{Dedicated, has_more_than_replies};
use crate::error::{Error, Result};
use crate::pipeline::check_shareable;
use crate::request::{Response, Target, To};
use crate::server::Server;
use crate::spec::Flags;
use crate::value::Value;
use std::sync::Arc;

/// A client. A clone is another handle to the same one; its connections close when the last handle is dropped.
///
/// Callers on any number of tasks share its connections: commands that come while a write is under way leave
/// together in the next one. Commands that wait (`BLPOP`) get connections of their own.
#[derive(Clone, Debug)]
pub struct Client {
    server: Arc<Server>,
}

impl Client {
    /// Connects to the server of a URL; see [`Config`] for what it may say.
    ///
    /// # Errors
    ///
    /// What is wrong with the URL, the connection or the user.
    pub async fn connect(url: &str) -> Result<Self> {
        Self::with_config(url.parse()?).await
    }

    /// Connects as the configuration says.
    ///
    /// # Errors
    ///
    /// What is wrong with the connection or the user.
    pub async fn with_config(config: Config) -> Result<Self> {
        Ok(Self { server: Server::connect(config).await? })
    }

    /// Connects in the background: a server that is not there yet is no error, and commands wait for it. Needs
    /// to be called within tokio's runtime.
    #[must_use]
    pub fn lazy(config: Config) -> Self {
        Self { server: Server::lazy(config) }
    }

    /// Sends any command.
    pub fn call(&self, command: impl Into<Command>) -> Response<'_> {
        self.send(command.into())
    }

    #[inline]
    pub(crate) fn send(&self, command: Command) -> Response<'_> {
        let flags = command.spec().flags;
        if flags.has(Flags::CONNECTION) || has_more_than_replies(command.spec()) {
            if let Err(error) = check_shareable(&command) {
                return Response::failed(error);
            }
            return Response::failed(Error::usage(format!("{} is no request with a reply", command.name())));
        }
        if flags.has(Flags::BLOCKING) && command.is_blocking() {
            return Response::boxed(async move {
                let mut exclusive = self.server.acquire().await?;
                let reply = Reply::new(exclusive.connection.clone(), command).await;
                exclusive.is_clean = reply.is_ok();
                reply
            });
        }
        Response::reply(Reply::new(self.server.shared().clone(), command))
    }

    /// Sends several commands together; the replies may be errors.
    pub(crate) async fn replies(&self, commands: Vec<Command>) -> Result<Vec<Value>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = Batch::new();
        for command in &commands {
            check_shareable(command)?;
            batch.push(command);
        }
        let is_one = batch.replies == 1;
        let reply = Reply::batch(self.server.shared().clone(), batch).await?;
        Ok(if is_one { vec![reply] } else { reply.into_elements().unwrap_or_default() })
    }

    /// The connection for what concerns a key.
    pub(crate) fn connection_for(&self, _key: Option<&[u8]>) -> Result<Arc<Connection>> {
        Ok(self.server.shared().clone())
    }

    /// A connection of one's own.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub async fn dedicated(&self) -> Result<Dedicated> {
        Ok(Dedicated::new(self.server.acquire().await?))
    }

    /// What the shared connections have done.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::default();
        for (stats, pending) in self.server.stats() {
            metrics.commands += stats.commands;
            metrics.replies += stats.replies;
            metrics.discarded += stats.discarded;
            metrics.timeouts += stats.timeouts;
            metrics.writes += stats.writes;
            metrics.reads += stats.reads;
            metrics.connects += stats.connects;
            metrics.repeated += stats.repeated;
            metrics.pushes += stats.pushes;
            metrics.pending += pending;
        }
        metrics
    }
}

impl Target for Client {
    #[inline]
    fn target(&self) -> To<'_> {
        To::Client(self)
    }
}

/// Counts of all shared connections since they were made. `commands / writes` is how well commands are gathered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Commands that were queued.
    pub commands: u64,
    /// Replies that came.
    pub replies: u64,
    /// Commands given up before their reply came, or before they were sent.
    pub discarded: u64,
    /// Commands whose reply did not come in time.
    pub timeouts: u64,
    /// Buffers that were written.
    pub writes: u64,
    /// Reads that brought something.
    pub reads: u64,
    /// Connections that were made.
    pub connects: u64,
    /// Commands that only read and were written again after a connection broke.
    pub repeated: u64,
    /// What the server sent without being asked.
    pub pushes: u64,
    /// Commands that wait for their replies now.
    pub pending: usize,
}

/// The commands as methods, for pipelines and transactions: their requests go nowhere by themselves.
#[must_use]
pub fn cmd() -> Commands {
    Commands(())
}

/// See [`cmd`].
#[derive(Clone, Copy, Debug)]
pub struct Commands(());

impl Target for Commands {
    fn target(&self) -> To<'_> {
        To::Nowhere
    }
}
