//! A read that is not in the cache: it is sent, and its reply is kept unless something was said about its key meanwhile.

use crate::cache::links::Links;
use crate::cache::{Cache, Flight, Tracking};
use crate::command::Command;
use crate::connection::{Batch, Connection, Reply};
use crate::convert::FromValue;
use crate::error::{Error, ErrorKind, Result};
use crate::topology::cluster::{ATTEMPTS, no_node};
use crate::value::Value;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// A read that was begun.
pub(super) struct Read {
    pub(super) cache: Cache,
    pub(super) flight: Arc<Flight>,
    pub(super) key: Vec<u8>,
    pub(super) command: Command,
    pub(super) number: u64,
    pub(super) began: Instant,
}

/// What was read: the key's time to live is that of the same moment, in milliseconds.
struct Fresh {
    value: Value,
    left: Option<i64>,
    /// The server says when it changes.
    is_tracked: bool,
}

impl Read {
    pub(super) async fn run(self) {
        let reply = self.ask().await;
        let shared = &self.cache.shared;
        let kept = match &reply {
            Ok(Fresh { value, left, is_tracked: true }) if !matches!(value, Value::Error(_)) => {
                Some((value.clone(), shared.until(self.began, *left)))
            }
            _ => None,
        };
        let mut store = shared.store();
        store.fill(&self.key, self.command.encoded().0, self.number, kept);
        let waiting =
            std::mem::take(&mut *self.flight.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(store);
        let reply = reply.map(|fresh| fresh.value);
        for one in waiting {
            let _ = one.send(reply.clone());
        }
    }

    async fn ask(&self) -> Result<Fresh> {
        let links = match &self.cache.links {
            Links::One(connection) => return self.ask_on(connection.clone()).await,
            Links::Cluster(links) => links,
        };
        let cluster = &links.cluster;
        let mut attempt = 0;
        loop {
            // The read is in the store by now: whatever moves its slot after this takes it out.
            let (home, version) = cluster.home_of(&self.key);
            let reply = match home {
                Some(address) => self.ask_on(links.to(&address)).await,
                None => Err(no_node()),
            };
            let Err(error) = &reply else { return reply };
            if attempt >= ATTEMPTS {
                return reply;
            }
            match (error.code(), error.kind()) {
                // Nodes may not have agreed yet: the next map may be as wrong.
                ("MOVED", _) if attempt < 2 => cluster.refresh(version).await,
                // The slot is on its way: no node will send an invalidation for this key.
                ("ASK" | "TRYAGAIN", _) => {
                    let value = cluster.send(self.command.duplicate()).await?;
                    return Ok(Fresh { value, left: None, is_tracked: false });
                }
                ("MOVED" | "CLUSTERDOWN" | "LOADING", _) | (_, ErrorKind::Connection) => {
                    cluster.pause_and_refresh(version, attempt).await;
                }
                _ => return reply,
            }
            attempt += 1;
        }
    }

    /// The reply with the key's time to live, of one moment.
    async fn ask_on(&self, connection: Arc<Connection>) -> Result<Fresh> {
        let mut batch = Batch::new();
        if self.cache.shared.config.tracking == Tracking::OptIn {
            batch.push(&Command::new("CLIENT CACHING").arg("YES"));
        }
        batch.push(&Command::new("MULTI"));
        batch.push(&Command::new("PTTL").arg(&self.key));
        batch.push(&self.command);
        batch.push(&Command::new("EXEC"));
        // It changes nothing, and may be written again after a break.
        batch.is_repeatable = true;
        let replies = Reply::batch(connection, batch).await?;
        let mut replies = replies.into_elements().unwrap_or_default();
        match replies.pop() {
            Some(Value::Array(mut both)) if both.len() == 2 => {
                let value = both.pop().unwrap_or(Value::Nil);
                let left = both.pop().and_then(|left| i64::from_value(left).ok());
                Ok(Fresh { value, left, is_tracked: true })
            }
            // The reason is the refusal of the command within.
            Some(Value::Error(error)) => {
                let first = replies.into_iter().find_map(|reply| match reply {
                    Value::Error(error) => Some(error),
                    _ => None,
                });
                Err(first.unwrap_or(error).into())
            }
            other => Err(Error::unexpected("an array of two", &other.unwrap_or(Value::Nil))),
        }
    }
}
