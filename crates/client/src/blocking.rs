//! A synchronous client, for programs without a runtime.
//!
//! The connections live on a thread of their own; threads that call share them as tasks do, so that their commands
//! leave together.

use crate::arg::Arg;
use crate::cache::{CacheConfig, CacheMetrics};
use crate::command::Command;
use crate::config::Config;
use crate::convert::FromValue;
use crate::error::{Error, Result};
use crate::pipeline::{Pipeline, Transaction};
use crate::subscriber::Event;
use crate::value::Value;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A client whose calls wait for their replies. A clone is another handle to the same one. It must not be used on
/// a thread of tokio's: there its calls panic, as all of tokio's do that block.
///
/// ```no_run
/// use apus_client::{blocking, cmd, prelude::*};
///
/// let client = blocking::Client::connect("redis://127.0.0.1")?;
/// client.call::<()>(cmd().set("key", 7))?;
/// let n: i64 = client.call(cmd().get("key"))?;
/// # Ok::<(), apus_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    client: crate::Client,
    runtime: Arc<Runtime>,
}

#[derive(Debug)]
struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    fn start() -> Result<Self> {
        let failed = |error| Error::usage(format!("the client's thread cannot start: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            // An error says that the client is gone, which is the same.
            let _ = runtime.block_on(stopped);
        };
        let thread =
            std::thread::Builder::new().name("apus-client".into()).spawn(run).map_err(failed)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has no panic of ours to tell.
            let _ = thread.join();
        }
    }
}

impl Client {
    /// Connects to the server of a URL.
    ///
    /// # Errors
    ///
    /// What is wrong with the URL, the connection or the user.
    pub fn connect(url: &str) -> Result<Self> {
        Self::with_config(url.parse()?)
    }

    /// Connects as the configuration says.
    ///
    /// # Errors
    ///
    /// What is wrong with the connection or the user.
    pub fn with_config(config: Config) -> Result<Self> {
        let runtime = Arc::new(Runtime::start()?);
        let client = runtime.handle.block_on(crate::Client::with_config(config))?;
        Ok(Self { client, runtime })
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply; a reply of another type.
    pub fn call<T: FromValue>(&self, command: impl Into<Command>) -> Result<T> {
        T::from_value(self.runtime.handle.block_on(self.client.call(command))?)
    }

    /// Runs a pipeline: see [`Client::run`](crate::Client::run).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn run<T: FromValue>(&self, pipeline: Pipeline) -> Result<T> {
        self.runtime.handle.block_on(self.client.run(pipeline))
    }

    /// Runs a transaction: see [`Client::exec`](crate::Client::exec).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn exec<T: FromValue>(&self, transaction: Transaction) -> Result<T> {
        self.runtime.handle.block_on(self.client.exec(transaction))
    }

    /// A connection for subscriptions: see [`Client::subscriber`](crate::Client::subscriber).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn subscriber(&self) -> Result<Subscriber> {
        let subscriber = self.runtime.handle.block_on(self.client.subscriber())?;
        Ok(Subscriber { subscriber, runtime: self.runtime.clone() })
    }

    /// A connection for sharded subscriptions to channels of one slot: see
    /// [`Client::sharded_subscriber`](crate::Client::sharded_subscriber).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn sharded_subscriber(&self, channel: impl AsRef<[u8]>) -> Result<Subscriber> {
        let subscriber = self.runtime.handle.block_on(self.client.sharded_subscriber(channel))?;
        Ok(Subscriber { subscriber, runtime: self.runtime.clone() })
    }

    /// A client-side cache: see [`Client::cache`](crate::Client::cache).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn cache(&self, config: CacheConfig) -> Result<Cache> {
        let cache = self.runtime.handle.block_on(self.client.cache(config))?;
        Ok(Cache { cache, runtime: self.runtime.clone() })
    }

    /// Any command's reply as it is.
    ///
    /// # Errors
    ///
    /// What the server answers; no reply.
    pub fn value(&self, command: impl Into<Command>) -> Result<Value> {
        self.call(command)
    }
}

/// Subscriptions: see [`Subscriber`](crate::Subscriber). They end when this is dropped.
#[derive(Debug)]
pub struct Subscriber {
    subscriber: crate::Subscriber,
    runtime: Arc<Runtime>,
}

macro_rules! subscriptions {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {
        impl Subscriber {
            $(
                $(#[doc = $doc])+
                ///
                /// # Errors
                ///
                /// The server's refusal.
                pub fn $name<C: AsRef<[u8]>>(
                    &self,
                    names: impl IntoIterator<Item = C>,
                ) -> Result<()> {
                    self.runtime.handle.block_on(self.subscriber.$name(names))
                }
            )*
        }
    };
}

subscriptions! {
    /// Subscribes to channels: what is published after this has returned comes.
    subscribe;
    /// Ends subscriptions to channels.
    unsubscribe;
    /// Subscribes to all channels whose names match patterns.
    psubscribe;
    /// Ends subscriptions to patterns.
    punsubscribe;
    /// Subscribes to sharded channels.
    ssubscribe;
    /// Ends subscriptions to sharded channels.
    sunsubscribe;
}

impl Subscriber {
    /// Waits for what happens next.
    pub fn next_event(&mut self) -> Event {
        self.runtime.handle.block_on(self.subscriber.next())
    }

    /// Waits for what happens next, but not longer than this. A wait that is given up loses nothing.
    pub fn next_within(&mut self, time: Duration) -> Option<Event> {
        let next = self.subscriber.next();
        // The timer is made on the runtime that drives it.
        let wait = async { tokio::time::timeout(time, next).await.ok() };
        self.runtime.handle.block_on(wait)
    }
}

/// A client-side cache: see [`Cache`](crate::Cache). A clone is another handle to the same one.
#[derive(Clone, Debug)]
pub struct Cache {
    cache: crate::Cache,
    runtime: Arc<Runtime>,
}

impl Cache {
    /// A string's value: see [`Cache::get`](crate::Cache::get).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn get<T: FromValue>(&self, key: impl Arg) -> Result<T> {
        self.runtime.handle.block_on(self.cache.get(key))
    }

    /// Several values: see [`Cache::mget`](crate::Cache::mget).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn mget<T: FromValue>(&self, keys: impl IntoIterator<Item = impl Arg>) -> Result<Vec<T>> {
        self.runtime.handle.block_on(self.cache.mget(keys))
    }

    /// Any command that can be kept: see [`Cache::call`](crate::Cache::call).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn call<T: FromValue>(&self, command: impl Into<Command>) -> Result<T> {
        self.runtime.handle.block_on(self.cache.call(command))
    }

    /// Forgets what is kept of a key.
    pub fn forget(&self, key: impl AsRef<[u8]>) {
        self.cache.forget(key);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// What it has done, and what it holds.
    #[must_use]
    pub fn metrics(&self) -> CacheMetrics {
        self.cache.metrics()
    }
}
