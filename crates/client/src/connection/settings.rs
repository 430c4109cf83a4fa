//! How a connection is made.

use crate::config::{Address, Backoff, Config};
use crate::connection::handshake;
use crate::connection::stream::Stream;
use crate::error::{Error, Result};
use crate::parse::Limits;
use crate::value::Value;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What knows where a server is.
pub(crate) trait Resolve: Debug + Send + Sync {
    /// The address for the next connection.
    fn find(&self) -> Pin<Box<dyn Future<Output = Result<Address>> + Send + '_>>;

    /// Whether the server that was found is what was looked for, by its reply to `ROLE`.
    fn check_role(&self, role: &Value) -> Result<()>;

    /// The slot whose node is looked for, if it is that of a cluster: `MOVED` says then that it is to be looked for
    /// again.
    fn slot(&self) -> Option<u16> {
        None
    }
}

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
    /// Commands with which each connection begins, before any caller's; a refusal is an error.
    pub(crate) opening: Vec<Vec<Vec<u8>>>,
    /// Who knows the address, if it is not that of the configuration.
    pub(crate) resolver: Option<Arc<dyn Resolve>>,
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
            opening: Vec::new(),
            resolver: None,
            config,
        }
    }

    /// Connects and introduces us, in the time that there is for it.
    pub(crate) async fn connect(&self) -> Result<Stream> {
        let connect = async {
            let Some(resolver) = &self.resolver else {
                let mut stream = Stream::open(&self.config).await?;
                handshake::introduce(&mut stream, &self.config, &self.opening, None).await?;
                return Ok(stream);
            };
            let config = Config { address: resolver.find().await?, ..self.config.clone() };
            let mut stream = Stream::open(&config).await?;
            let role =
                handshake::introduce(&mut stream, &config, &self.opening, Some(&["ROLE"])).await?;
            resolver.check_role(role.as_ref().unwrap_or(&Value::Nil))?;
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
