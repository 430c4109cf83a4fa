//! History, positions and presence of channels as keys, in the layout of Centrifugo's Redis engine, changed by the
//! steps of its scripts: servers of both kinds may share the keys.
//!
//! | key | what it holds |
//! |---|---|
//! | `PREFIX.stream.CHANNEL` | a stream of publications: id `OFFSET-0`, field `d` |
//! | `PREFIX.stream.meta.CHANNEL` | a hash: `e` epoch, `s` top offset, `v` and `ve` version |
//! | `PREFIX.result.CHANNEL.KEY` | a hash, the result of a publication with an idempotency key: `e`, `s` |
//! | `PREFIX.presence.data.CHANNEL` | a hash: client to information |
//! | `PREFIX.presence.expire.CHANNEL` | a sorted set: client by the second at which it expires |
//!
//! Messages go to the PUB/SUB channel `PREFIX.client.CHANNEL`. The prefix is `centrifugo` unless the options have another;
//! presence may have one of its own.

use std::time::Duration;

use ::live::options::Prefixes;
use engine::{Engine, Session, Steps, Thread};

use super::value::Value;
use live_protocol::envelope::Envelope;
use live_protocol::{ClientInfo, Publication};

/// Seconds after which a client's presence expires that is not refreshed.
pub(super) const PRESENCE_TTL_S: i64 = 60;

/// What a replica says to those who want to publish.
pub(super) const READ_ONLY: &str = "this server is a replica: publish at its primary";

/// How a publication is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Keep {
    /// Most publications of the history; 0: it is not kept.
    pub(super) size: usize,
    pub(super) ttl: Duration,
    pub(super) meta_ttl: Duration,
    /// It may be sent as a delta.
    pub(super) delta: bool,
    /// Empty: none.
    pub(super) idempotency_key: String,
    pub(super) idempotency_ttl: Duration,
    /// 0: none.
    pub(super) version: u64,
    pub(super) version_epoch: String,
}

/// A place in a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) offset: u64,
    pub(super) epoch: String,
}

/// What is read of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Behind this offset, or with `reverse` before it; none: from the beginning, or the end.
    pub(super) since: Option<u64>,
    /// Below 0: all; 0: none.
    pub(super) limit: i64,
    pub(super) reverse: bool,
}

/// How a history was when it was read: at which place its top, and what [`extent`] said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) place: Place,
    /// Empty: it was not asked for.
    pub(super) extent: Vec<u8>,
}

/// What was read of a history.
pub(super) enum Read {
    /// What was read before: nothing has changed.
    Same,
    /// The reply of the command that has read it ([`publications`]), and what [`extent`] said.
    Reply(Vec<u8>, Vec<u8>),
}

/// What is asked of a store: of this server's, or of the broker's.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are publications")]
pub(super) enum Op {
    Publish { channel: String, publication: Publication, keep: Keep },
    History { channel: String, span: Span, meta_ttl: Duration },
    RemoveHistory { channel: String },
    Presence { channel: String },
}

/// What a store answers.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    Nothing,
    Place(Place),
    History(Place, Vec<Publication>),
    Presence(Vec<(String, ClientInfo)>),
}

/// The store, as a thread reaches it.
pub(super) struct Store<'a> {
    pub(super) engine: &'a Engine,
    pub(super) thread: &'a mut Thread,
    pub(super) session: &'a mut Session,
    pub(super) prefixes: &'a Prefixes,
}

/// Seconds of a key's life; none: it lives for ever.
fn seconds(time: Duration) -> Option<String> {
    (time.as_secs() > 0).then(|| time.as_secs().to_string())
}

fn expire(steps: &mut Steps<'_>, key: &str, time: Duration) -> Result<(), String> {
    if let Some(seconds) = seconds(time) {
        call(steps, &[b"expire", key.as_bytes(), seconds.as_bytes()])?;
    }
    Ok(())
}

fn call(steps: &mut Steps<'_>, words: &[&[u8]]) -> Result<Value, String> {
    Value::of(&steps.call(words)).ok()
}

/// A new epoch: eight letters, as Centrifugo's.
fn new_epoch() -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let bytes = engine::random_id(0);
    let letter = |b: u8| char::from(LETTERS[usize::from(b) % LETTERS.len()]);
    bytes.bytes().collect::<Vec<_>>().chunks(4).take(8).map(|c| letter(fold(c))).collect()
}

/// Hexadecimal digits as one byte.
fn fold(digits: &[u8]) -> u8 {
    digits.iter().fold(0u8, |all, b| all.wrapping_mul(31).wrapping_add(*b))
}

impl Store<'_> {
    fn key(&self, kind: &str, channel: &str) -> String {
        [&*self.prefixes.broker, ".", kind, ".", channel].concat()
    }

    /// The keys of a channel's presence: who is there until when, and what is known of them.
    fn presence_keys(&self, channel: &str) -> (String, String) {
        let prefix = &self.prefixes.presence;
        (format!("{prefix}.presence.expire.{channel}"), format!("{prefix}.presence.data.{channel}"))
    }

    /// The PUB/SUB channel of a channel.
    pub(super) fn tap_of(prefix: &str, channel: &str) -> String {
        [prefix, ".client.", channel].concat()
    }

    fn atomically<R>(
        &mut self,
        keys: &[&str],
        writes: bool,
        run: impl FnOnce(&mut Steps<'_>) -> Result<R, String>,
    ) -> Result<R, String> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let Self { engine, thread, session, .. } = self;
        thread
            .atomically(engine, session, (&keys, writes), run)
            .unwrap_or_else(|fail| Err(fail.0.into_owned()))
    }

    /// Does what is asked.
    pub(super) fn run(&mut self, op: &Op) -> Result<Found, String> {
        match op {
            Op::Publish { channel, publication, keep } => {
                self.publish(channel, publication, keep).map(|(place, _)| Found::Place(place))
            }
            Op::History { channel, span, meta_ttl } => {
                let (place, publications) = self.history(channel, *span, *meta_ttl)?;
                Ok(Found::History(place, publications))
            }
            Op::RemoveHistory { channel } => self.remove_history(channel).map(|()| Found::Nothing),
            Op::Presence { channel } => self.presence(channel).map(Found::Presence),
        }
    }

    /// Publishes. Returns the place of the publication, or of the one that it repeats, and whether it was left out.
    pub(super) fn publish(
        &mut self,
        channel: &str,
        publication: &Publication,
        keep: &Keep,
    ) -> Result<(Place, bool), String> {
        let tap = Self::tap_of(&self.prefixes.broker, channel);
        let bytes = publication.to_protobuf();
        if keep.size == 0 && keep.idempotency_key.is_empty() {
            self.thread.publish_in_order(self.engine, tap.as_bytes(), &bytes);
            return Ok((Place::default(), false));
        }
        let result = self.key(&format!("result.{channel}"), &keep.idempotency_key);
        if keep.size == 0 {
            return self.atomically(&[&result], true, |steps| {
                if let Some(place) = repeated(steps, &result)? {
                    return Ok((place, true));
                }
                steps.publish(tap.as_bytes(), &bytes);
                call(steps, &[b"hset", result.as_bytes(), b"e", b""])?;
                expire(steps, &result, keep.idempotency_ttl)?;
                Ok((Place::default(), false))
            });
        }
        let stream = self.key("stream", channel);
        let meta = self.key("stream.meta", channel);
        let keys = [&*stream, &meta, &result];
        let keys = if keep.idempotency_key.is_empty() { &keys[..2] } else { &keys };
        self.atomically(keys, true, |steps| {
            if let [_, _, result] = keys
                && let Some(place) = repeated(steps, result)?
            {
                return Ok((place, true));
            }
            let (place, left_out) = append(steps, (&stream, &meta, &tap), &bytes, keep)?;
            if left_out {
                return Ok((place, true));
            }
            if let [_, _, result] = keys {
                let offset = place.offset.to_string();
                let (e, s) = (place.epoch.as_bytes(), offset.as_bytes());
                call(steps, &[b"hset", result.as_bytes(), b"e", e, b"s", s])?;
                expire(steps, result, keep.idempotency_ttl)?;
            }
            Ok((place, false))
        })
    }

    /// Publishes that a client joins or leaves.
    pub(super) fn publish_presence(&mut self, channel: &str, joins: bool, info: &ClientInfo) {
        let tap = Self::tap_of(&self.prefixes.broker, channel);
        let message = Envelope::presence(joins, &info.to_protobuf());
        self.thread.publish_in_order(self.engine, tap.as_bytes(), &message);
    }

    /// The place of a channel's top, and publications. A channel without an epoch gets one, but not from a replica:
    /// there it has an empty one until the primary publishes, which subscribers are told as a new position.
    pub(super) fn history(
        &mut self,
        channel: &str,
        span: Span,
        meta_ttl: Duration,
    ) -> Result<(Place, Vec<Publication>), String> {
        let (place, read) = self.read(channel, span, meta_ttl, None)?;
        match read {
            Read::Reply(reply, _) => Ok((place, publications(&reply)?)),
            Read::Same => Ok((place, Vec::new())),
        }
    }

    /// The same, with the publications as a reply. `before` is how the history was when the same was read of it: while it
    /// is still so, nothing is read.
    pub(super) fn read(
        &mut self,
        channel: &str,
        span: Span,
        meta_ttl: Duration,
        before: Option<&Known>,
    ) -> Result<(Place, Read), String> {
        let stream = self.key("stream", channel);
        let meta = self.key("stream.meta", channel);
        let writes = !self.engine.is_read_only();
        self.atomically(&[&stream, &meta], writes, |steps| {
            let known = call(steps, &[b"hmget", meta.as_bytes(), b"e", b"s"])?;
            let mut place = Place::default();
            match known.list() {
                [e, s] if *e != Value::Nothing => {
                    place.epoch = e.text().unwrap_or_default();
                    place.offset = s.number().unwrap_or(0) as u64;
                }
                _ if !writes => {}
                _ => {
                    place.epoch = new_epoch();
                    call(steps, &[b"hset", meta.as_bytes(), b"e", place.epoch.as_bytes()])?;
                }
            }
            if writes {
                expire(steps, &meta, meta_ttl)?;
            }
            let extent = before.map(|_| extent(steps, &stream)).unwrap_or_default();
            if let Some(before) = before
                && !before.extent.is_empty()
                && (&before.place, &before.extent) == (&place, &extent)
            {
                return Ok((place, Read::Same));
            }
            let reply = range(steps, &stream, span, place.offset);
            Ok((place, Read::Reply(reply, extent)))
        })
    }

    /// Removes the publications of a history; its place stays.
    pub(super) fn remove_history(&mut self, channel: &str) -> Result<(), String> {
        let stream = self.key("stream", channel);
        self.atomically(&[&stream], true, |steps| call(steps, &[b"del", stream.as_bytes()]))?;
        Ok(())
    }

    /// A client is in a channel, from now on or still.
    pub(super) fn add_presence(&mut self, channel: &str, info: &ClientInfo) -> Result<(), String> {
        let (set, hash) = self.presence_keys(channel);
        let bytes = info.to_protobuf();
        let client = info.client.as_bytes();
        self.atomically(&[&set, &hash], true, |steps| {
            let until = (steps.now() / 1000 + PRESENCE_TTL_S).to_string();
            let ttl = Duration::from_secs(PRESENCE_TTL_S as u64);
            call(steps, &[b"hset", hash.as_bytes(), client, &bytes])?;
            expire(steps, &hash, ttl)?;
            call(steps, &[b"zadd", set.as_bytes(), until.as_bytes(), client])?;
            expire(steps, &set, ttl)
        })
    }

    /// A client is not in a channel any more.
    pub(super) fn remove_presence(&mut self, channel: &str, client: &str) -> Result<(), String> {
        let (set, hash) = self.presence_keys(channel);
        self.atomically(&[&set, &hash], true, |steps| {
            call(steps, &[b"hdel", hash.as_bytes(), client.as_bytes()])?;
            call(steps, &[b"zrem", set.as_bytes(), client.as_bytes()])?;
            Ok(())
        })
    }

    /// The clients that are in a channel.
    pub(super) fn presence(&mut self, channel: &str) -> Result<Vec<(String, ClientInfo)>, String> {
        let (set, hash) = self.presence_keys(channel);
        let writes = !self.engine.is_read_only();
        self.atomically(&[&set, &hash], writes, |steps| {
            let now = (steps.now() / 1000).to_string();
            let range: [&[u8]; 4] = [b"zrangebyscore", set.as_bytes(), b"0", now.as_bytes()];
            let expired = call(steps, &range)?;
            let expired = expired.list();
            if writes && !expired.is_empty() {
                for client in expired {
                    call(steps, &[b"hdel", hash.as_bytes(), client.bytes()])?;
                }
                call(steps, &[b"zremrangebyscore", set.as_bytes(), b"0", now.as_bytes()])?;
            }
            let all = call(steps, &[b"hgetall", hash.as_bytes()])?;
            let of = |pair: &[Value]| {
                Some((pair[0].text()?, ClientInfo::of_protobuf(pair.get(1)?.bytes())?))
            };
            // A replica leaves out what its primary has not removed yet.
            let lives = |pair: &&[Value]| writes || expired.iter().all(|client| *client != pair[0]);
            Ok(all.list().chunks(2).filter(lives).filter_map(of).collect())
        })
    }
}

/// The place of the publication with the same idempotency key, if there is one.
fn repeated(steps: &mut Steps<'_>, result: &str) -> Result<Option<Place>, String> {
    let known = call(steps, &[b"hmget", result.as_bytes(), b"e", b"s"])?;
    Ok(match known.list() {
        [e, s] if *e != Value::Nothing => Some(Place {
            epoch: e.text().unwrap_or_default(),
            offset: s.number().unwrap_or(0) as u64,
        }),
        _ => None,
    })
}

/// Adds a publication to the history, and publishes it. Returns its place, and whether it was left out because of its
/// version.
fn append(
    steps: &mut Steps<'_>,
    (stream, meta, tap): (&str, &str, &str),
    bytes: &[u8],
    keep: &Keep,
) -> Result<(Place, bool), String> {
    let meta_key = meta.as_bytes();
    let stream_key = stream.as_bytes();
    let known = call(steps, &[b"hget", meta_key, b"e"])?;
    let epoch = match known.text() {
        Some(epoch) => epoch,
        None => {
            let epoch = new_epoch();
            call(steps, &[b"hset", meta_key, b"e", epoch.as_bytes()])?;
            epoch
        }
    };
    if keep.version > 0 {
        let before = call(steps, &[b"hmget", meta_key, b"v", b"ve", b"s"])?;
        if let [v, ve, s] = before.list()
            && let Some(v) = v.number()
            && (keep.version_epoch.is_empty() || ve.text().as_deref() == Some(&keep.version_epoch))
            && v as u64 >= keep.version
        {
            let offset = s.number().unwrap_or(0) as u64;
            return Ok((Place { offset, epoch }, true));
        }
        let version = keep.version.to_string();
        let (v, ve) = (version.as_bytes(), keep.version_epoch.as_bytes());
        call(steps, &[b"hset", meta_key, b"v", v, b"ve", ve])?;
    }
    let offset = call(steps, &[b"hincrby", meta_key, b"s", b"1"])?;
    let offset = offset.number().ok_or("no offset")? as u64;
    expire(steps, meta, keep.meta_ttl)?;
    let mut previous = Vec::new();
    if offset == 1 {
        // A new epoch: what a stream of the one before still holds does not belong to it.
        call(steps, &[b"del", stream_key])?;
    } else if keep.delta {
        let last = call(steps, &[b"xrevrange", stream_key, b"+", b"-", b"COUNT", b"1"])?;
        let is_before = |entry: &&Value| {
            let id = entry.list().first().and_then(Value::text);
            id.is_some_and(|id| id.split('-').next() == Some(&*(offset - 1).to_string()))
        };
        previous = last.list().first().filter(is_before).and_then(data_of).unwrap_or_default();
    }
    let (size, id) = (keep.size.to_string(), offset.to_string());
    let (size, id) = (size.as_bytes(), id.as_bytes());
    call(steps, &[b"xadd", stream_key, b"MAXLEN", size, id, b"d", bytes])?;
    expire(steps, stream, keep.ttl)?;
    let previous = keep.delta.then_some(&*previous);
    let message = Envelope::publication((offset, &epoch), previous, bytes);
    steps.publish(tap.as_bytes(), &message);
    Ok((Place { offset, epoch }, false))
}

/// The publication of a stream's entry.
fn data_of(entry: &Value) -> Option<Vec<u8>> {
    let fields = entry.list().get(1)?.list();
    let pair = fields.chunks(2).find(|pair| pair[0].bytes() == b"d")?;
    Some(pair.get(1)?.bytes().to_vec())
}

/// The reply of the command that reads a part of a history; empty: there is nothing to read.
fn range(steps: &mut Steps<'_>, stream: &str, span: Span, top: u64) -> Vec<u8> {
    if span.limit == 0 {
        return Vec::new();
    }
    let limit = span.limit.to_string();
    let mut words: Vec<&[u8]> = Vec::new();
    let from = match (span.since, span.reverse) {
        (None, false) => "-".to_owned(),
        (None, true) => top.to_string(),
        (Some(since), false) => since.saturating_add(1).to_string(),
        // Nothing lies before the first.
        (Some(0 | 1), true) => return Vec::new(),
        (Some(since), true) => (since - 1).to_string(),
    };
    if span.reverse {
        words.extend([&b"xrevrange"[..], stream.as_bytes(), from.as_bytes(), b"-"]);
    } else {
        words.extend([&b"xrange"[..], stream.as_bytes(), from.as_bytes(), b"+"]);
    }
    if span.limit > 0 {
        words.extend([&b"COUNT"[..], limit.as_bytes()]);
    }
    steps.call(&words)
}

/// What changes with every change of a stream: its length, and its last entry. What is added becomes the last one, and
/// what is removed is missing in the length.
fn extent(steps: &mut Steps<'_>, stream: &str) -> Vec<u8> {
    let stream = stream.as_bytes();
    let mut all = steps.call(&[b"xlen", stream]);
    all.extend(steps.call(&[b"xrevrange", stream, b"+", b"-", b"COUNT", b"1"]));
    all
}

/// The publications of a history in the reply of the command that has read them.
pub(super) fn publications(reply: &[u8]) -> Result<Vec<Publication>, String> {
    if reply.is_empty() {
        return Ok(Vec::new());
    }
    let entries = Value::of(reply).ok()?;
    let of = |entry: &Value| {
        let id = entry.list().first()?.text()?;
        let mut publication = Publication::of_protobuf(&data_of(entry)?)?;
        // For servers only, as in messages.
        publication.time = 0;
        publication.offset = id.split('-').next()?.parse().ok()?;
        Some(publication)
    };
    Ok(entries.list().iter().filter_map(of).collect())
}
