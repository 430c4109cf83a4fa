//! What is sent to clients, and publications as they are kept.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::Form;
use super::protobuf::Reader;
use super::write::Writer;
use crate::{Disconnect, Error, Unsubscribe};

/// Who published, joined or left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The user.
    pub user: String,
    /// The connection.
    pub client: String,
    /// What the application says of the connection.
    pub conn_info: Vec<u8>,
    /// What it says of the connection in this channel.
    pub chan_info: Vec<u8>,
}

impl ClientInfo {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.text_always(1, "user", &self.user);
        w.text_always(2, "client", &self.client);
        w.raw(3, "conn_info", &self.conn_info);
        w.raw(4, "chan_info", &self.chan_info);
    }

    /// The Protobuf form, in which it is kept and sent to other servers.
    #[must_use]
    pub fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::message(&mut out, Form::Protobuf, |w| self.write(w));
        out
    }

    /// Reads that form. None: it is no such message.
    #[must_use]
    pub fn of_protobuf(bytes: &[u8]) -> Option<Self> {
        let mut info = Self::default();
        let mut reader = Reader::new(bytes);
        for (field, value) in &mut reader {
            match field {
                1 => info.user = value.text(),
                2 => info.client = value.text(),
                3 => info.conn_info = value.bytes().to_vec(),
                4 => info.chan_info = value.bytes().to_vec(),
                _ => {}
            }
        }
        reader.is_good().then_some(info)
    }
}

/// A publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Publication {
    /// The payload.
    pub data: Vec<u8>,
    /// The client that published, if one did.
    pub info: Option<ClientInfo>,
    /// The offset in the history; 0: none.
    pub offset: u64,
    /// What the application says beside the payload.
    pub tags: Vec<(String, String)>,
    /// The data are a delta to those of the publication before.
    pub delta: bool,
    /// The data are sent as a text in JSON: the client takes deltas.
    pub as_text: bool,
    /// When it was published, in Unix milliseconds; 0: not known.
    pub time: u64,
    /// The channel, where the client's subscription covers several.
    pub channel: String,
}

impl Publication {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        if self.as_text && w.is_json() {
            w.text(4, "data", &String::from_utf8_lossy(&self.data));
        } else {
            w.raw(4, "data", &self.data);
        }
        if let Some(info) = &self.info {
            w.inner(5, "info", |w| info.write(w));
        }
        w.uint(6, "offset", self.offset);
        w.texts(7, "tags", &self.tags);
        w.flag(8, "delta", self.delta);
        w.uint(9, "time", self.time);
        w.text(10, "channel", &self.channel);
    }

    /// The Protobuf form, in which it is kept and sent to other servers: without its offset.
    #[must_use]
    pub fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.data.len() + 96);
        Writer::message(&mut out, Form::Protobuf, |w| self.write(w));
        out
    }

    /// Reads that form. None: it is no such message.
    #[must_use]
    pub fn of_protobuf(bytes: &[u8]) -> Option<Self> {
        let mut publication = Self::default();
        let mut reader = Reader::new(bytes);
        for (field, value) in &mut reader {
            match field {
                4 => publication.data = value.bytes().to_vec(),
                5 => publication.info = ClientInfo::of_protobuf(value.bytes()),
                6 => publication.offset = value.number(),
                7 => publication.tags.push(value.pair()),
                8 => publication.delta = value.number() != 0,
                9 => publication.time = value.number(),
                10 => publication.channel = value.text(),
                _ => {}
            }
        }
        reader.is_good().then_some(publication)
    }
}

/// Publications as a reply has them, encoded once for each form however many replies have them: after an interruption
/// all subscribers of a channel recover the same. A clone is another owner of the same.
#[derive(Clone, Debug, Default)]
pub struct Publications(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    all: Vec<Publication>,
    json: OnceLock<Box<[u8]>>,
    protobuf: OnceLock<Box<[u8]>>,
}

impl From<Vec<Publication>> for Publications {
    fn from(all: Vec<Publication>) -> Self {
        if all.is_empty() {
            return Self::default();
        }
        Self(Some(Arc::new(Shared { all, json: OnceLock::new(), protobuf: OnceLock::new() })))
    }
}

impl Deref for Publications {
    type Target = [Publication];

    fn deref(&self) -> &[Publication] {
        self.0.as_ref().map_or(&[], |shared| &shared.all)
    }
}

impl Publications {
    /// Writes them as the field of the reply to subscribe; without any there is none.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let Some(shared) = &self.0 else { return };
        let (form, made) = match w.is_json() {
            true => (Form::Json, &shared.json),
            false => (Form::Protobuf, &shared.protobuf),
        };
        w.made(made.get_or_init(|| {
            let mut out = Vec::new();
            Writer::fields(&mut out, form, |w| {
                w.list(7, "publications", &shared.all, |w, p| p.write(w))
            });
            out.into()
        }));
    }
}

/// The reply to a subscribe command; also a subscription in the reply to connect.
#[derive(Clone, Debug, Default)]
pub struct SubscribeResult {
    /// It ends unless it is refreshed.
    pub expires: bool,
    /// When, in seconds from now.
    pub ttl: u32,
    /// The client may recover.
    pub recoverable: bool,
    /// The epoch that offsets belong to.
    pub epoch: String,
    /// Publications, the oldest first unless asked otherwise.
    pub publications: Publications,
    /// All publications that were missed are here.
    pub recovered: bool,
    /// The offset in the history; 0: none.
    pub offset: u64,
    /// The position is checked.
    pub positioned: bool,
    /// The payload.
    pub data: Vec<u8>,
    /// The client had asked to recover.
    pub was_recovering: bool,
    /// Deltas are sent.
    pub delta: bool,
    /// The number that stands for the channel in pushes; 0: none does.
    pub id: u64,
}

impl SubscribeResult {
    fn write(&self, w: &mut Writer<'_>) {
        w.flag(1, "expires", self.expires);
        w.uint(2, "ttl", self.ttl.into());
        w.flag(3, "recoverable", self.recoverable);
        w.text(6, "epoch", &self.epoch);
        self.publications.write(w);
        w.flag(8, "recovered", self.recovered);
        w.uint(9, "offset", self.offset);
        w.flag(10, "positioned", self.positioned);
        w.raw(11, "data", &self.data);
        w.flag(12, "was_recovering", self.was_recovering);
        w.flag(13, "delta", self.delta);
        w.uint(14, "id", self.id);
    }
}

/// The reply to a connect command; also the first push of a connection in one direction.
#[derive(Clone, Debug, Default)]
pub struct ConnectResult {
    /// The connection.
    pub client: String,
    /// The server's version.
    pub version: String,
    /// It ends unless it is refreshed.
    pub expires: bool,
    /// When, in seconds from now.
    pub ttl: u32,
    /// The payload.
    pub data: Vec<u8>,
    /// Subscriptions that the server has made.
    pub subs: Vec<(String, SubscribeResult)>,
    /// The server pings each so many seconds.
    pub ping: u32,
    /// Pings must be answered.
    pub pong: bool,
    /// The session, of emulated transports.
    pub session: String,
    /// The node, of emulated transports.
    pub node: String,
    /// The server's time in Unix milliseconds; 0: not told.
    pub time: u64,
}

impl ConnectResult {
    fn write(&self, w: &mut Writer<'_>) {
        w.text(1, "client", &self.client);
        w.text(2, "version", &self.version);
        self.write_but_expiry(w);
    }

    fn write_but_expiry(&self, w: &mut Writer<'_>) {
        w.flag(3, "expires", self.expires);
        w.uint(4, "ttl", self.ttl.into());
        w.raw(5, "data", &self.data);
        w.map((6, "subs", false), &self.subs, |w, sub| sub.write(w));
        w.uint(7, "ping", self.ping.into());
        w.flag(8, "pong", self.pong);
        w.text(9, "session", &self.session);
        w.text(10, "node", &self.node);
        w.uint(11, "time", self.time);
    }

    /// As a push: the numbers of its fields are others.
    fn write_push(&self, w: &mut Writer<'_>) {
        w.text(1, "client", &self.client);
        w.text(2, "version", &self.version);
        w.raw(3, "data", &self.data);
        w.map((4, "subs", false), &self.subs, |w, sub| sub.write(w));
        w.flag(5, "expires", self.expires);
        w.uint(6, "ttl", self.ttl.into());
        w.uint(7, "ping", self.ping.into());
        w.flag(8, "pong", self.pong);
        w.text(9, "session", &self.session);
        w.text(10, "node", &self.node);
        w.uint(11, "time", self.time);
    }
}

/// The reply to a history command.
#[derive(Clone, Debug, Default)]
pub struct HistoryResult {
    /// Publications, the oldest first unless asked otherwise.
    pub publications: Vec<Publication>,
    /// The epoch that offsets belong to.
    pub epoch: String,
    /// The offset in the history; 0: none.
    pub offset: u64,
}

/// What a reply says.
#[derive(Clone, Debug)]
pub enum ReplyResult {
    /// `error`.
    Error(Error),
    /// `connect`.
    Connect(Box<ConnectResult>),
    /// `subscribe`.
    Subscribe(Box<SubscribeResult>),
    /// `unsubscribe`.
    Unsubscribe,
    /// `publish`.
    Publish,
    /// `presence`.
    Presence(Vec<(String, ClientInfo)>),
    /// `presence_stats`.
    PresenceStats {
        /// Connections.
        clients: u32,
        /// Users.
        users: u32,
    },
    /// `history`.
    History(HistoryResult),
    /// `rpc`.
    Rpc(Vec<u8>),
    /// `refresh`.
    Refresh {
        /// The connection.
        client: String,
        /// The server's version.
        version: String,
        /// It ends unless it is refreshed.
        expires: bool,
        /// When, in seconds from now.
        ttl: u32,
    },
    /// `sub_refresh`.
    SubRefresh {
        /// It ends unless it is refreshed.
        expires: bool,
        /// When, in seconds from now.
        ttl: u32,
    },
}

/// The reply to a command.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The number of the command.
    pub id: u32,
    /// What it says.
    pub result: ReplyResult,
}

impl Reply {
    /// Appends it in one of its forms.
    pub fn encode(&self, form: Form, out: &mut Vec<u8>) {
        Writer::message(out, form, |w| {
            w.uint(1, "id", self.id.into());
            match &self.result {
                ReplyResult::Error(error) => w.inner(2, "error", |w| {
                    w.uint(1, "code", error.code.into());
                    w.text(2, "message", &error.message);
                    w.flag(3, "temporary", error.temporary);
                }),
                ReplyResult::Connect(connect) => w.inner(5, "connect", |w| connect.write(w)),
                ReplyResult::Subscribe(sub) => w.inner(6, "subscribe", |w| sub.write(w)),
                ReplyResult::Unsubscribe => w.inner(7, "unsubscribe", |_| {}),
                ReplyResult::Publish => w.inner(8, "publish", |_| {}),
                ReplyResult::Presence(all) => w.inner(9, "presence", |w| {
                    w.map((1, "presence", true), all, |w, info| info.write(w));
                }),
                ReplyResult::PresenceStats { clients, users } => {
                    w.inner(10, "presence_stats", |w| {
                        w.uint_always(1, "num_clients", (*clients).into());
                        w.uint_always(2, "num_users", (*users).into());
                    })
                }
                ReplyResult::History(page) => w.inner(11, "history", |w| {
                    w.list_always(1, "publications", &page.publications, |w, p| p.write(w));
                    w.text_always(2, "epoch", &page.epoch);
                    w.uint_always(3, "offset", page.offset);
                }),
                ReplyResult::Rpc(data) => w.inner(13, "rpc", |w| w.raw(1, "data", data)),
                ReplyResult::Refresh { client, version, expires, ttl } => {
                    w.inner(14, "refresh", |w| {
                        w.text(1, "client", client);
                        w.text(2, "version", version);
                        w.flag(3, "expires", *expires);
                        w.uint(4, "ttl", (*ttl).into());
                    });
                }
                ReplyResult::SubRefresh { expires, ttl } => w.inner(15, "sub_refresh", |w| {
                    w.flag(1, "expires", *expires);
                    w.uint(2, "ttl", (*ttl).into());
                }),
            }
        });
    }
}

/// How a push names its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel<'a> {
    /// By its name; empty: the push belongs to the connection.
    Name(&'a str),
    /// By the number of the reply to subscribe ([`SubscribeResult::id`]), if the client had set bit 0 of
    /// [`crate::SubscribeRequest::flag`] and the server agreed. Numbers belong to a connection.
    Id(u64),
}

impl<'a> From<&'a str> for Channel<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

/// What is sent without a command.
#[derive(Clone, Debug)]
pub enum Push<'a> {
    /// `publication`.
    Publication(&'a Publication),
    /// `join`.
    Join(&'a ClientInfo),
    /// `leave`.
    Leave(&'a ClientInfo),
    /// The server ended the subscription.
    Unsubscribe(&'a Unsubscribe),
    /// What an application sends to the connection, in no channel.
    Message(&'a [u8]),
    /// `subscribe`.
    Subscribe(&'a SubscribeResult),
    /// `connect`.
    Connect(&'a ConnectResult),
    /// `disconnect`.
    Disconnect(&'a Disconnect),
    /// `refresh`.
    Refresh {
        /// It ends unless it is refreshed.
        expires: bool,
        /// When, in seconds from now.
        ttl: u32,
    },
}

impl Push<'_> {
    /// Bytes of the application's data in it.
    #[must_use]
    pub fn data_len(&self) -> usize {
        match self {
            Self::Publication(publication) => publication.data.len(),
            Self::Message(data) => data.len(),
            _ => 0,
        }
    }

    fn write(&self, channel: Channel<'_>, w: &mut Writer<'_>) {
        match channel {
            Channel::Name(name) => w.text(2, "channel", name),
            Channel::Id(id) => w.uint(1, "id", id),
        }
        match self {
            Self::Publication(publication) => w.inner(4, "pub", |w| publication.write(w)),
            Self::Join(info) => w.inner(5, "join", |w| w.inner(1, "info", |w| info.write(w))),
            Self::Leave(info) => w.inner(6, "leave", |w| w.inner(1, "info", |w| info.write(w))),
            Self::Unsubscribe(end) => w.inner(7, "unsubscribe", |w| {
                w.uint(2, "code", end.code.into());
                w.text(3, "reason", &end.reason);
            }),
            Self::Message(data) => w.inner(8, "message", |w| w.raw(1, "data", data)),
            Self::Subscribe(sub) => w.inner(9, "subscribe", |w| {
                w.flag(1, "recoverable", sub.recoverable);
                w.text(4, "epoch", &sub.epoch);
                w.uint(5, "offset", sub.offset);
                w.flag(6, "positioned", sub.positioned);
                w.raw(7, "data", &sub.data);
            }),
            Self::Connect(connect) => w.inner(10, "connect", |w| connect.write_push(w)),
            Self::Disconnect(end) => w.inner(11, "disconnect", |w| {
                w.uint(1, "code", end.code.into());
                w.text(2, "reason", &end.reason);
                w.flag(3, "reconnect", end.reconnects());
            }),
            Self::Refresh { expires, ttl } => w.inner(12, "refresh", |w| {
                w.flag(1, "expires", *expires);
                w.uint(2, "ttl", (*ttl).into());
            }),
        }
    }

    /// Appends it in one of its forms. `bare`: not as a reply, for connections in one direction.
    pub fn encode<'c>(
        &self,
        channel: impl Into<Channel<'c>>,
        form: Form,
        bare: bool,
        out: &mut Vec<u8>,
    ) {
        let channel = channel.into();
        Writer::message(out, form, |w| {
            if bare {
                self.write(channel, w);
            } else {
                w.inner(4, "push", |w| self.write(channel, w));
            }
        });
    }
}

/// Appends a publication as clients of JSON get it: once for all subscribers of the channel.
pub fn encode_push_json(out: &mut Vec<u8>, channel: &str, publication: &Publication) {
    Push::Publication(publication).encode(channel, Form::Json, false, out);
}
