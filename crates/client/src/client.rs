//! The client: where commands are sent.

use crate::command::Command;
use crate::config::Config;
use crate::connection::{Batch, Reply};
use crate::convert::FromValue;
use crate::dedicated::{Dedicated, has_more_than_replies};
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::Metrics;
use crate::pipeline::{Pipeline, Transaction, check_shareable};
use crate::request::{Response, Sender, Target, To};
use crate::server::Server;
use crate::spec::Flags;
use crate::subscriber::Subscriber;
use crate::topology::cluster::{Cluster, Way};
use crate::value::Value;
use std::sync::Arc;

/// A client. A clone is another handle to the same one; its connections close when the last handle is dropped.
///
/// Callers on any number of tasks share its connections: commands that come while a write is under way leave
/// together in the next one. Commands that wait (`BLPOP`) get connections of their own.
#[derive(Clone, Debug)]
pub struct Client {
    topology: Topology,
}

#[derive(Clone, Debug)]
enum Topology {
    /// One server, or the master that sentinels name; and one of its replicas for what only reads, if that is wanted.
    Server(Arc<Server>, Option<Arc<Server>>),
    Cluster(Arc<Cluster>),
}

/// Where a cache reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'c> {
    Server(&'c Arc<Server>),
    Cluster(&'c Arc<Cluster>),
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
        if !config.cluster.is_empty() {
            return Ok(Self { topology: Topology::Cluster(Cluster::connect(config).await?) });
        }
        let replica = replica(&config);
        let master = Server::connect(Config { read_from_replicas: false, ..config }).await?;
        Ok(Self { topology: Topology::Server(master, replica) })
    }

    /// Connects in the background: a server that is not there yet is no error, and commands wait for it. Needs
    /// to be called within tokio's runtime. A cluster is not connected to in this way, but as one server.
    #[must_use]
    pub fn lazy(config: Config) -> Self {
        let replica = replica(&config);
        let master =
            Server::lazy(Config { read_from_replicas: false, cluster: Vec::new(), ..config });
        Self { topology: Topology::Server(master, replica) }
    }

    /// Sends any command.
    pub fn call(&self, command: impl Into<Command>) -> Response<'_> {
        self.send(command.into())
    }

    #[cfg(not(feature = "tracing"))]
    #[inline]
    pub(crate) fn send(&self, command: Command) -> Response<'_> {
        self.route(command)
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn send(&self, command: Command) -> Response<'_> {
        let span = crate::trace::command(&command, self.peer());
        self.route(command).spanned(span)
    }

    /// What spans say of the server.
    #[cfg(feature = "tracing")]
    fn peer(&self) -> crate::trace::Peer<'_> {
        match &self.topology {
            Topology::Server(master, _) => master.peer(),
            Topology::Cluster(_) => crate::trace::Peer { address: None, database: 0 },
        }
    }

    #[inline]
    fn route(&self, command: Command) -> Response<'_> {
        let flags = command.spec().flags;
        if flags.has(Flags::CONNECTION) || has_more_than_replies(command.spec()) {
            if let Err(error) = check_shareable(&command) {
                return Response::failed(error);
            }
            return Response::failed(Error::usage(format!(
                "{} is no request with a reply",
                command.name()
            )));
        }
        let (master, replica) = match &self.topology {
            Topology::Server(master, replica) => (master, replica),
            Topology::Cluster(cluster) => return Response::boxed(cluster.send(command)),
        };
        if flags.has(Flags::BLOCKING) && command.is_blocking() {
            return Response::boxed(async move {
                let mut exclusive = master.acquire().await?;
                let reply = Reply::new(exclusive.connection.clone(), command).await;
                exclusive.is_clean = reply.is_ok();
                reply
            });
        }
        let server = replica.as_ref().filter(|_| flags.has(Flags::READONLY)).unwrap_or(master);
        Response::reply(Reply::new(server.shared().clone(), command))
    }

    /// Sends several commands together; the replies may be errors.
    pub(crate) async fn replies(&self, commands: Vec<Command>) -> Result<Vec<Value>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        commands.iter().try_for_each(check_shareable)?;
        let server = match &self.topology {
            Topology::Server(master, _) => master,
            Topology::Cluster(cluster) => return cluster.replies(commands).await,
        };
        let mut batch = Batch::new();
        commands.iter().for_each(|command| batch.push(command));
        let is_one = batch.replies == 1;
        let reply = Reply::batch(server.shared().clone(), batch).await?;
        Ok(if is_one { vec![reply] } else { reply.into_elements().unwrap_or_default() })
    }

    fn server_for(&self, key: Option<&[u8]>) -> Result<Arc<Server>> {
        match &self.topology {
            Topology::Server(master, _) => Ok(master.clone()),
            Topology::Cluster(cluster) => cluster.server_for(key),
        }
    }

    /// Whether keys that belong together need a hash tag.
    #[cfg(feature = "broker")]
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.topology, Topology::Cluster(_))
    }

    /// The masters of a cluster; none if there is only one server.
    pub(crate) fn masters(&self) -> Vec<Arc<Server>> {
        match &self.topology {
            Topology::Server(..) => Vec::new(),
            Topology::Cluster(cluster) => cluster.masters(),
        }
    }

    /// Where a cache reads.
    pub(crate) fn source(&self) -> Source<'_> {
        match &self.topology {
            Topology::Server(master, _) => Source::Server(master),
            Topology::Cluster(cluster) => Source::Cluster(cluster),
        }
    }

    /// A connection of one's own.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub async fn dedicated(&self) -> Result<Dedicated> {
        Ok(Dedicated::new(self.server_for(None)?.acquire().await?))
    }

    /// A connection of one's own to the server of a cluster that has a key.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub async fn dedicated_for(&self, key: impl AsRef<[u8]>) -> Result<Dedicated> {
        Ok(Dedicated::new(self.server_for(Some(key.as_ref()))?.acquire().await?))
    }

    /// A subscriber, with a connection of its own.
    ///
    /// # Errors
    ///
    /// The connection cannot be made.
    pub async fn subscriber(&self) -> Result<Subscriber> {
        match &self.topology {
            Topology::Server(master, _) => master.subscriber().await,
            Topology::Cluster(cluster) => cluster.subscriber(None).await,
        }
    }

    /// A subscriber to sharded channels of the slot that a channel has; it goes with the slot when that moves.
    ///
    /// # Errors
    ///
    /// The connection cannot be made.
    pub async fn sharded_subscriber(&self, channel: impl AsRef<[u8]>) -> Result<Subscriber> {
        match &self.topology {
            Topology::Server(master, _) => master.subscriber().await,
            Topology::Cluster(cluster) => cluster.subscriber(Some(channel.as_ref())).await,
        }
    }

    /// What the shared connections have done.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::default();
        let servers: Vec<Arc<Server>> = match &self.topology {
            Topology::Server(master, replica) => {
                [master].into_iter().chain(replica).cloned().collect()
            }
            Topology::Cluster(cluster) => cluster.servers(),
        };
        servers.iter().for_each(|server| server.count_into(&mut metrics));
        metrics
    }
}

impl Client {
    /// Runs a pipeline; its replies are an array, in which errors have the places of their commands: take
    /// `Result<T>` for those that may fail.
    ///
    /// # Errors
    ///
    /// The first error among the replies, unless the type has a place for it; no reply.
    pub async fn run<T: FromValue>(&self, pipeline: Pipeline) -> Result<T> {
        #[cfg(feature = "tracing")]
        let span = crate::trace::batch("PIPELINE", &pipeline.commands, self.peer());
        let replies = self.replies(pipeline.commands);
        #[cfg(feature = "tracing")]
        let replies = crate::trace::within(span, replies);
        let replies = replies.await?;
        T::from_value(Value::Array(replies))
    }

    /// Runs a transaction.
    ///
    /// # Errors
    ///
    /// The server's if it refuses one of the commands, in which case it has executed none.
    pub async fn exec<T: FromValue>(&self, transaction: Transaction) -> Result<T> {
        let replies = self.run_transaction(&transaction);
        #[cfg(feature = "tracing")]
        let replies = crate::trace::within(transaction.span(self.peer()), replies);
        T::from_value(Value::Array(replies.await?))
    }

    async fn run_transaction(&self, transaction: &Transaction) -> Result<Vec<Value>> {
        if transaction.is_empty() {
            return Ok(Vec::new());
        }
        match &self.topology {
            Topology::Server(master, _) => transaction.run_on(master.shared(), false).await,
            Topology::Cluster(cluster) => cluster.exec(transaction).await,
        }
    }

    /// Watches keys, lets `body` read what it wants on a connection of its own and say what is to be done, and does
    /// it if no other client has changed one of the keys meanwhile. If one has, `body` is called again. So it is if
    /// the keys move within a cluster, on a connection to the node that has them now.
    ///
    /// ```no_run
    /// # use apus_client::{Transaction, cmd, prelude::*};
    /// # async fn example(client: Client) -> apus_client::Result<()> {
    /// let (left,): (i64,) = client
    ///     .exec_watching(["stock"], async |own| {
    ///         let stock: i64 = own.get("stock").to().await?;
    ///         let mut transaction = Transaction::new();
    ///         transaction.push(cmd().incrby("stock", if stock > 0 { -1 } else { 0 }));
    ///         Ok(transaction)
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `body`; the server's if it refuses a command; no reply.
    pub async fn exec_watching<T: FromValue, K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut body: impl AsyncFnMut(&Dedicated) -> Result<Transaction>,
    ) -> Result<T> {
        let keys: Vec<K> = keys.into_iter().collect();
        let first = keys.first().ok_or_else(|| Error::usage("no key is watched"))?.as_ref();
        let watch = keys.iter().fold(Command::new("WATCH"), |watch, key| watch.arg(key.as_ref()));
        let mut way = Way::default();
        loop {
            let error = match self.watch_and_exec(&mut way, first, &watch, &mut body).await {
                Ok(Some(replies)) => return T::from_value(Value::Array(replies)),
                Ok(None) => {
                    way = Way::default();
                    continue;
                }
                Err(error) => error,
            };
            match &self.topology {
                Topology::Cluster(cluster) if cluster.goes_on(&mut way, &error).await => {}
                _ => return Err(error),
            }
        }
    }

    /// One round of it; nothing if a key has changed.
    async fn watch_and_exec(
        &self,
        way: &mut Way,
        first: &[u8],
        watch: &Command,
        body: &mut impl AsyncFnMut(&Dedicated) -> Result<Transaction>,
    ) -> Result<Option<Vec<Value>>> {
        let (server, is_asking) = match &self.topology {
            Topology::Server(master, _) => (master.clone(), false),
            Topology::Cluster(cluster) => cluster.next_stop(way, Some(first))?,
        };
        let own = Dedicated::new(server.acquire().await?).behind_asking(is_asking);
        own.watch_until_exec(watch).await?;
        let transaction = body(&own).await?;
        let replies = match own.exec(transaction).await {
            Err(error) if error.kind() == ErrorKind::Aborted => None,
            replies => Some(replies?),
        };
        own.release();
        Ok(replies)
    }
}

/// The replica of a master that sentinels know; it is connected to in the background.
fn replica(config: &Config) -> Option<Arc<Server>> {
    let is_wanted = config.sentinel.is_some() && config.read_from_replicas;
    is_wanted.then(|| Server::lazy(config.clone()))
}

impl Target for Client {
    #[inline]
    fn target(&self) -> To<'_> {
        Some(self)
    }
}

impl Sender for Client {
    #[inline]
    fn send_command(&self, command: Command) -> Response<'_> {
        self.send(command)
    }
}

/// The commands as methods, for pipelines and transactions: their requests go nowhere by themselves.
#[must_use]
pub fn cmd() -> &'static Commands {
    &Commands(())
}

/// See [`cmd`].
#[derive(Clone, Copy, Debug)]
pub struct Commands(());

impl Target for Commands {
    fn target(&self) -> To<'_> {
        None
    }
}
