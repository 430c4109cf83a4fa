//! One server: the connections to it that callers share, and those that one caller has for a while.

use crate::config::Config;
use crate::connection::{Connection, Reconnect, Resolve, Settings};
use crate::error::Result;
use crate::metrics::Metrics;
use crate::subscriber::Subscriber;
use crate::topology::sentinel::Sentinels;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    config: Config,
    sentinels: Option<Arc<Sentinels>>,
    shared: Box<[Arc<Connection>]>,
    next: AtomicUsize,
    idle: Mutex<Vec<Arc<Connection>>>,
    /// Subscribers and caches: they go where the server goes.
    followers: Mutex<Vec<Weak<dyn Reconnect>>>,
}

impl Server {
    /// Connects now.
    pub(crate) async fn connect(config: Config) -> Result<Arc<Self>> {
        let sentinels = sentinels(&config);
        let mut shared = Vec::new();
        for _ in 0..config.connections.max(1) {
            shared.push(Connection::connect(settings(&config, sentinels.as_ref()), None).await?);
        }
        Ok(Self::new(config, sentinels, shared))
    }

    /// Connects in the background.
    pub(crate) fn lazy(config: Config) -> Arc<Self> {
        let sentinels = sentinels(&config);
        let connect = |_| Connection::lazy(settings(&config, sentinels.as_ref()), None);
        let shared = (0..config.connections.max(1)).map(connect).collect();
        Self::new(config, sentinels, shared)
    }

    fn new(
        config: Config,
        sentinels: Option<Arc<Sentinels>>,
        shared: Vec<Arc<Connection>>,
    ) -> Arc<Self> {
        let server = Arc::new(Self {
            config,
            sentinels,
            shared: shared.into(),
            next: AtomicUsize::new(0),
            idle: Mutex::default(),
            followers: Mutex::default(),
        });
        if let Some(sentinels) = &server.sentinels {
            let watched = Arc::downgrade(&server);
            let tell = move |has_moved| match watched.upgrade() {
                Some(server) => {
                    if has_moved {
                        server.reconnect();
                    }
                    true
                }
                None => false,
            };
            tokio::spawn(sentinels.clone().watch(tell));
        }
        server
    }

    /// Makes its connections anew: the server is elsewhere now.
    pub(crate) fn reconnect(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.shared.iter().for_each(|connection| connection.reconnect());
        let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        followers.iter().filter_map(Weak::upgrade).for_each(|follower| follower.reconnect());
    }

    /// Has something's connection made anew when the server is elsewhere.
    pub(crate) fn follow(&self, follower: Weak<dyn Reconnect>) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|follower| follower.strong_count() > 0);
        followers.push(follower);
    }

    /// How its connections are made.
    pub(crate) fn settings(&self) -> Settings {
        settings(&self.config, self.sentinels.as_ref())
    }

    /// A subscriber with a connection of its own.
    pub(crate) async fn subscriber(&self) -> Result<Subscriber> {
        let subscriber = Subscriber::connect(self.settings()).await?;
        self.follow(subscriber.handle());
        Ok(subscriber)
    }

    /// A connection that others use, too.
    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Connection> {
        match &*self.shared {
            [only] => only,
            all => &all[self.next.fetch_add(1, Relaxed) % all.len()],
        }
    }

    /// A connection for one caller. It ends when it breaks, and waits for replies for ever.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<Exclusive> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(connection) if connection.is_down() => {}
                Some(connection) => {
                    return Ok(Exclusive { server: self.clone(), connection, is_clean: false });
                }
                None => break,
            }
        }
        let mut settings = settings(&self.config, self.sentinels.as_ref());
        settings.reconnect = false;
        settings.response_timeout = None;
        settings.flush_delay = None;
        let connection = Connection::connect(settings, None).await?;
        Ok(Exclusive { server: self.clone(), connection, is_clean: false })
    }

    /// What spans say of it: nothing of where it is if that is for sentinels to say.
    #[cfg(feature = "tracing")]
    pub(crate) fn peer(&self) -> crate::trace::Peer<'_> {
        let address = self.sentinels.is_none().then_some(&self.config.address);
        crate::trace::Peer { address, database: self.config.database }
    }

    pub(crate) fn count_into(&self, metrics: &mut Metrics) {
        self.shared.iter().for_each(|connection| connection.count_into(metrics));
    }
}

fn sentinels(config: &Config) -> Option<Arc<Sentinels>> {
    let sentinel = config.sentinel.as_ref()?;
    Some(Arc::new(Sentinels::new(config, sentinel, config.read_from_replicas)))
}

fn settings(config: &Config, sentinels: Option<&Arc<Sentinels>>) -> Settings {
    let mut settings = Settings::new(config.clone());
    settings.resolver = sentinels.map(|sentinels| sentinels.clone() as Arc<dyn Resolve>);
    settings
}

/// A connection that one caller has: kept for the next one if it is clean, closed if not.
#[derive(Debug)]
pub(crate) struct Exclusive {
    server: Arc<Server>,
    pub(crate) connection: Arc<Connection>,
    /// Nothing is under way on it, and its state is that of a new one.
    pub(crate) is_clean: bool,
}

#[cfg(feature = "tracing")]
impl Exclusive {
    pub(crate) fn peer(&self) -> crate::trace::Peer<'_> {
        self.server.peer()
    }
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
