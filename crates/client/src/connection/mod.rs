//! One connection to one server, which any number of callers share.

mod delay;
mod driver;
mod handshake;
mod queue;
mod reply;
pub(crate) mod stream;

pub(crate) use driver::OnPush;
pub(crate) use queue::Stats;
pub(crate) use reply::{Batch, Reply};

use crate::config::{Backoff, Config};
use crate::error::{Error, Result};
use crate::parse::Limits;
use crate::topology::sentinel::Sentinels;
use crate::value::Value;
use driver::Driver;
use queue::Queue;
use std::sync::Arc;
use std::time::Duration;
use stream::Stream;

/// What the driver needs to know.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) limits: Limits,
    pub(crate) backoff: Backoff,
    pub(crate) flush_delay: Option<Duration>,
    pub(crate) response_timeout: Option<Duration>,
    pub(crate) fail_while_down: bool,
    /// A connection with a state of its own (watched keys) ends when it breaks.
    pub(crate) reconnect: bool,
    /// Who knows the address, if it is not that of the configuration.
    pub(crate) sentinels: Option<Arc<Sentinels>>,
}

impl Settings {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            limits: config.limits,
            backoff: config.backoff,
            flush_delay: config.flush_delay,
            response_timeout: config.response_timeout,
            fail_while_down: config.fail_while_down,
            reconnect: true,
            sentinels: None,
            config,
        }
    }

    /// Connects and introduces us, in the time that there is for it.
    pub(crate) async fn connect(&self) -> Result<Stream> {
        let connect = async {
            let Some(sentinels) = &self.sentinels else {
                let mut stream = Stream::open(&self.config).await?;
                handshake::introduce(&mut stream, &self.config, None).await?;
                return Ok(stream);
            };
            let config = Config { address: sentinels.find().await?, ..self.config.clone() };
            let mut stream = Stream::open(&config).await?;
            let role = handshake::introduce(&mut stream, &config, Some(&["ROLE"])).await?;
            sentinels.check_role(role.as_ref().unwrap_or(&Value::Nil))?;
            Ok(stream)
        };
        match tokio::time::timeout(self.config.connect_timeout, connect).await {
            Ok(result) => result,
            Err(_) => Err(Error::connection(format!(
                "cannot connect to {}: no answer in {:?}",
                self.config.address, self.config.connect_timeout
            ))),
        }
    }
}

/// A handle; when the last one is dropped, the driver ends.
#[derive(Debug)]
pub(crate) struct Connection {
    queue: Arc<Queue>,
}

impl Connection {
    /// Connects now; what is wrong with the first connection is an error.
    pub(crate) async fn connect(settings: Settings, on_push: Option<OnPush>) -> Result<Arc<Self>> {
        let stream = settings.connect().await?;
        Ok(Self::spawn(settings, Some(stream), on_push))
    }

    /// Connects in the background. Needs tokio's runtime.
    pub(crate) fn lazy(settings: Settings, on_push: Option<OnPush>) -> Arc<Self> {
        Self::spawn(settings, None, on_push)
    }

    fn spawn(settings: Settings, stream: Option<Stream>, on_push: Option<OnPush>) -> Arc<Self> {
        let queue = Arc::new(Queue::new(settings.config.commands_max, settings.config.bytes_max));
        let driver = Driver::new(queue.clone(), Arc::new(settings), on_push);
        tokio::spawn(driver.run(stream));
        Arc::new(Self { queue })
    }

    pub(crate) fn stats(&self) -> Stats {
        self.queue.lock().stats
    }

    /// Commands that wait for their replies.
    pub(crate) fn pending(&self) -> usize {
        self.queue.lock().pending()
    }

    /// Breaks the connection, so that it is made anew.
    pub(crate) fn reconnect(&self) {
        self.queue.kick();
    }

    /// Whether commands are refused: there is no connection now, or never again.
    pub(crate) fn is_down(&self) -> bool {
        self.queue.lock().is_down()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.queue.close();
    }
}
