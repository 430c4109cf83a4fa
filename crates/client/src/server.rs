//! One server: the connections to it that callers share, and those that one caller has for a while.

use crate::config::Config;
use crate::connection::{Connection, Settings, Stats};
use crate::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    config: Config,
    shared: Box<[Arc<Connection>]>,
    next: AtomicUsize,
    idle: Mutex<Vec<Arc<Connection>>>,
}

impl Server {
    /// Connects now.
    pub(crate) async fn connect(config: Config) -> Result<Arc<Self>> {
        let mut shared = Vec::new();
        for _ in 0..config.connections.max(1) {
            shared.push(Connection::connect(Settings::new(config.clone()), None).await?);
        }
        Ok(Self::new(config, shared))
    }

    /// Connects in the background.
    pub(crate) fn lazy(config: Config) -> Arc<Self> {
        let connect = |_| Connection::lazy(Settings::new(config.clone()), None);
        let shared = (0..config.connections.max(1)).map(connect).collect();
        Self::new(config, shared)
    }

    fn new(config: Config, shared: Vec<Arc<Connection>>) -> Arc<Self> {
        let (next, idle) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { config, shared: shared.into(), next, idle })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// A connection that others use, too.
    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Connection> {
        match &*self.shared {
            [only] => only,
            all => &all[self.next.fetch_add(1, Relaxed) % all.len()],
        }
    }

    /// Whether the first of them has lost its server.
    pub(crate) fn is_down(&self) -> bool {
        self.shared.iter().all(|connection| connection.is_down())
    }

    /// A connection for one caller. It ends when it breaks, and waits for replies for ever.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<Exclusive> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(connection) if connection.is_down() => {}
                Some(connection) => return Ok(Exclusive { server: self.clone(), connection, is_clean: false }),
                None => break,
            }
        }
        let mut settings = Settings::new(self.config.clone());
        settings.reconnect = false;
        settings.response_timeout = None;
        settings.flush_delay = None;
        let connection = Connection::connect(settings, None).await?;
        Ok(Exclusive { server: self.clone(), connection, is_clean: false })
    }

    pub(crate) fn stats(&self) -> Vec<(Stats, usize)> {
        self.shared.iter().map(|connection| (connection.stats(), connection.pending())).collect()
    }
}

/// A connection that one caller has: kept for the next one if it is clean, closed if not.
#[derive(Debug)]
pub(crate) struct Exclusive {
    server: Arc<Server>,
    pub(crate) connection: Arc<Connection>,
    /// Nothing is under way on it, and its state is that of a new one.
    pub(crate) is_clean: bool,
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        if self.is_clean && !self.connection.is_down() && self.connection.pending() == 0 {
            let mut idle = self.server.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < self.server.config.idle_max {
                idle.push(self.connection.clone());
            }
        }
    }
}
