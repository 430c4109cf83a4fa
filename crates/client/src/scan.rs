//! `SCAN` and its kin as asynchronous streams.

use crate::arg::Arg;
use crate::client::Client;
use crate::command::Command;
use crate::connection::Reply;
use crate::convert::FromValue;
use crate::error::{Error, Result};
use crate::server::Server;
use crate::value::Value;
use futures_core::Stream;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The elements of a scan, asked for as they are taken. An element may come twice, as the servers say; one that is
/// there during all of the scan comes.
///
/// ```no_run
/// # use apus_client::Client;
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// let mut keys = client.scan_keys::<String>("user:*");
/// while let Some(key) = keys.next().await {
///     println!("{}", key?);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing until it is taken from"]
pub struct Scan<T> {
    client: Client,
    name: &'static str,
    /// The key, if it is not the keyspace that is scanned.
    key: Option<Vec<u8>>,
    /// The masters of a cluster that are to be scanned; the first one is under way.
    masters: VecDeque<Arc<Server>>,
    options: Vec<Vec<u8>>,
    /// The cursor for the next call; nothing at the end.
    cursor: Option<String>,
    batch: VecDeque<Value>,
    asking: Option<Asking>,
    marker: PhantomData<fn() -> T>,
}

type Asking = Pin<Box<dyn Future<Output = Result<Value>> + Send>>;

impl<T> std::fmt::Debug for Scan<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan")
            .field("name", &self.name)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl<T: FromValue> Scan<T> {
    fn new(client: &Client, name: &'static str, key: Option<Vec<u8>>) -> Self {
        Self {
            client: client.clone(),
            name,
            masters: if key.is_none() { client.masters().into() } else { VecDeque::new() },
            key,
            options: Vec::new(),
            cursor: Some("0".into()),
            batch: VecDeque::new(),
            asking: None,
            marker: PhantomData,
        }
    }

    /// Adds options: `("COUNT", 1000)`, `("TYPE", "hash")`.
    pub fn option(mut self, option: impl Arg) -> Self {
        let command = Command::new("SCAN").arg(option);
        self.options.extend(command.args().skip(1).map(<[u8]>::to_vec));
        self
    }

    /// The next element; nothing at the end and after an error.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// All that is left.
    ///
    /// # Errors
    ///
    /// The first error.
    pub async fn all(mut self) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while let Some(element) = self.next().await {
            all.push(element?);
        }
        Ok(all)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(element) = self.element() {
                return Poll::Ready(Some(T::from_value(element)));
            }
            let Some(cursor) = &self.cursor else { return Poll::Ready(None) };
            let asking = self.asking.get_or_insert_with(|| {
                let mut command = Command::new(self.name).arg(&self.key).arg(cursor);
                self.options.iter().for_each(|option| command.push(option));
                if let Some(master) = self.masters.front() {
                    // By its own future: a client of a cluster would choose a node.
                    let connection = master.shared().clone();
                    return Box::pin(async move {
                        Value::from_value(Reply::new(connection, command).await?)
                    });
                }
                let client = self.client.clone();
                Box::pin(async move { client.call(command).await })
            });
            let Poll::Ready(reply) = asking.as_mut().poll(cx) else { return Poll::Pending };
            self.asking = None;
            if let Err(error) = reply.and_then(|reply| self.accept(reply)) {
                self.cursor = None;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn element(&mut self) -> Option<Value> {
        let element = self.batch.pop_front()?;
        // Fields with values, and members with scores, come in pairs.
        Some(match T::IS_PAIR {
            true => Value::Array(vec![element, self.batch.pop_front()?]),
            false => element,
        })
    }

    fn accept(&mut self, reply: Value) -> Result<()> {
        let (cursor, elements) = <(String, Value)>::from_value(reply)?;
        self.cursor = Some(cursor).filter(|cursor| cursor != "0");
        if self.cursor.is_none() {
            self.masters.pop_front();
            self.cursor = self.masters.front().map(|_| "0".into());
        }
        let elements = elements.into_elements();
        self.batch = elements.map_err(|value| Error::unexpected("an array", &value))?.into();
        Ok(())
    }
}

impl<T: FromValue> Stream for Scan<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(cx)
    }
}

impl Client {
    fn scan_of<T: FromValue>(&self, name: &'static str, key: &[u8]) -> Scan<T> {
        Scan::new(self, name, Some(key.to_vec()))
    }

    /// The keys that match a pattern; `*` are all. Of a cluster, those of all its masters, one after the other: a key
    /// whose slot moves meanwhile may come twice or not at all.
    pub fn scan_keys<T: FromValue>(&self, pattern: &str) -> Scan<T> {
        Scan::new(self, "SCAN", None).option(("MATCH", pattern))
    }

    /// The fields of a hash with their values: `scan_hash::<(String, String)>`.
    pub fn scan_hash<T: FromValue>(&self, key: impl AsRef<[u8]>) -> Scan<T> {
        self.scan_of("HSCAN", key.as_ref())
    }

    /// The members of a set.
    pub fn scan_set<T: FromValue>(&self, key: impl AsRef<[u8]>) -> Scan<T> {
        self.scan_of("SSCAN", key.as_ref())
    }

    /// The members of a sorted set with their scores: `scan_sorted_set::<(String, f64)>`.
    pub fn scan_sorted_set<T: FromValue>(&self, key: impl AsRef<[u8]>) -> Scan<T> {
        self.scan_of("ZSCAN", key.as_ref())
    }
}
