//! Entries of a stream as an asynchronous stream: `XREAD` and `XREADGROUP`, again and again.

use crate::client::Client;
use crate::command::Command;
use crate::convert::FromValue;
use crate::error::{Error, Result};
use crate::value::Value;
use bytes::Bytes;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its ID, such as `1700000000000-0`.
    pub id: String,
    /// Its fields and values; none for an entry of a group's own past that was deleted.
    pub fields: Vec<(Bytes, Bytes)>,
}

impl FromValue for Entry {
    fn from_value(value: Value) -> Result<Self> {
        let (id, fields) = <(String, Value)>::from_value(value)?;
        Ok(Self { id, fields: FromValue::from_value(fields)? })
    }
}

/// The entries of a stream, those that are there and those that come: it waits for them and does not end. An error
/// is an item; it goes on behind it where it was, if it is polled again. An entry that a group has delivered on a
/// connection which broke before the reply came stays pending in the group, and does not come again by itself.
///
/// ```no_run
/// # use apus_client::Client;
/// # async fn example(client: Client) -> apus_client::Result<()> {
/// let mut entries = client.entries("log").after("0");
/// while let Some(entry) = entries.next().await {
///     println!("{:?}", entry?.fields);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing until it is taken from"]
pub struct Entries {
    client: Client,
    key: Vec<u8>,
    /// The group and the consumer, if it is read for one.
    group: Option<(Vec<u8>, Vec<u8>)>,
    after: String,
    count: u32,
    wait: Duration,
    batch: VecDeque<Entry>,
    asking: Option<Asking>,
}

type Asking = Pin<Box<dyn Future<Output = Result<Value>> + Send>>;

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries")
            .field("key", &self.key)
            .field("group", &self.group)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// The entries of a stream that come from now on, or those [`after`](Entries::after) an ID.
    pub fn entries(&self, key: impl AsRef<[u8]>) -> Entries {
        Entries::new(self, key.as_ref(), None)
    }

    /// The entries of a stream that its group gives to a consumer; the program acknowledges them
    /// (`client.xack(key, group, id)`). The group must be there.
    pub fn group_entries(
        &self,
        key: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
    ) -> Entries {
        let group = (group.as_ref().to_vec(), consumer.as_ref().to_vec());
        Entries::new(self, key.as_ref(), Some(group))
    }
}

impl Entries {
    fn new(client: &Client, key: &[u8], group: Option<(Vec<u8>, Vec<u8>)>) -> Self {
        let after = if group.is_some() { ">" } else { "$" }.into();
        Self {
            client: client.clone(),
            key: key.to_vec(),
            group,
            after,
            count: 100,
            wait: Duration::from_secs(5),
            batch: VecDeque::new(),
            asking: None,
        }
    }

    /// Begins behind an ID: `0` is the beginning, `$` the end. For a group anything but `>` is what the consumer
    /// was given and has not acknowledged; when that has come, the group's new entries follow.
    pub fn after(mut self, id: impl Into<String>) -> Self {
        self.after = id.into();
        self
    }

    /// Entries of one reply, at most; 100 without this.
    pub fn count(mut self, count: u32) -> Self {
        self.count = count.max(1);
        self
    }

    /// How long the server waits before it answers that there is nothing, after which it is asked again; 5 s
    /// without this, at least 1 ms.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The next entry, when it comes.
    pub async fn next(&mut self) -> Option<Result<Entry>> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn command(&self) -> Command {
        let mut command = match &self.group {
            Some((group, consumer)) => Command::new("XREADGROUP").arg(("GROUP", group, consumer)),
            None => Command::new("XREAD"),
        };
        let wait = u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX).clamp(1, 1 << 40);
        command.push(("COUNT", self.count, "BLOCK", wait));
        command.arg(("STREAMS", &self.key, &self.after))
    }

    /// Where the end is now: `$` in a second call would leave out what came between the two.
    async fn last_id(client: Client, key: Vec<u8>) -> Result<Value> {
        let command = Command::new("XREVRANGE").arg((key, "+", "-", "COUNT", 1));
        let last = Vec::<Entry>::from_value(client.call(command).await?)?;
        let id = last.into_iter().next().map_or_else(|| "0-0".into(), |entry| entry.id);
        Ok(Value::Simple(id.into()))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Entry>>> {
        loop {
            if let Some(entry) = self.batch.pop_front() {
                return Poll::Ready(Some(Ok(entry)));
            }
            let asking = match self.asking.take() {
                Some(asking) => self.asking.insert(asking),
                None => {
                    let client = self.client.clone();
                    let asking: Asking = if self.after == "$" {
                        Box::pin(Self::last_id(client, self.key.clone()))
                    } else {
                        let command = self.command();
                        Box::pin(async move { client.call(command).await })
                    };
                    self.asking.insert(asking)
                }
            };
            let Poll::Ready(reply) = asking.as_mut().poll(cx) else { return Poll::Pending };
            self.asking = None;
            if let Err(error) = reply.and_then(|reply| self.accept(reply)) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn accept(&mut self, reply: Value) -> Result<()> {
        match reply {
            Value::Nil => return Ok(()),
            Value::Simple(_) => self.after = String::from_value(reply)?,
            reply => {
                let mut streams = <Vec<(Bytes, Vec<Entry>)>>::from_value(reply)?;
                let (_, entries) =
                    streams.pop().ok_or_else(|| Error::protocol("a reply without a stream"))?;
                let is_new = self.after == ">";
                match entries.last() {
                    Some(entry) if !is_new => self.after.clone_from(&entry.id),
                    // The consumer's past is over.
                    None if self.group.is_some() => ">".clone_into(&mut self.after),
                    _ => {}
                }
                self.batch = entries.into();
            }
        }
        Ok(())
    }
}

impl Stream for Entries {
    type Item = Result<Entry>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(cx)
    }
}
