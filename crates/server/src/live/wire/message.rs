//! What is sent to clients, and publications as they are kept.

use super::protobuf::Reader;
use super::{Form, Writer};
use ::live::{Disconnect, Error, Unsubscribe};

/// Who published, joined or left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientInfo {
    pub(crate) user: String,
    pub(crate) client: String,
    pub(crate) conn_info: Vec<u8>,
    pub(crate) chan_info: Vec<u8>,
}

impl ClientInfo {
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.text_always(1, "user", &self.user);
        w.text_always(2, "client", &self.client);
        w.raw(3, "conn_info", &self.conn_info);
        w.raw(4, "chan_info", &self.chan_info);
    }

    /// The Protobuf form, in which it is kept and sent to other servers.
    pub(crate) fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::message(&mut out, Form::Protobuf, |w| self.write(w));
        out
    }

    /// Reads that form. None: it is no such message.
    pub(crate) fn of_protobuf(bytes: &[u8]) -> Option<Self> {
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
pub(crate) struct Publication {
    pub(crate) data: Vec<u8>,
    pub(crate) info: Option<ClientInfo>,
    pub(crate) offset: u64,
    pub(crate) tags: Vec<(String, String)>,
    /// The data are a delta to those of the publication before.
    pub(crate) delta: bool,
    /// The data are sent as a text in JSON: the client takes deltas.
    pub(crate) as_text: bool,
    /// When it was published, in Unix milliseconds; 0: not known.
    pub(crate) time: u64,
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
    }

    /// The Protobuf form, in which it is kept and sent to other servers: without its offset.
    pub(crate) fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::message(&mut out, Form::Protobuf, |w| self.write(w));
        out
    }

    /// Reads that form. None: it is no such message.
    pub(crate) fn of_protobuf(bytes: &[u8]) -> Option<Self> {
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
                _ => {}
            }
        }
        reader.is_good().then_some(publication)
    }
}

/// The reply to a subscribe command; also a subscription in the reply to connect.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubscribeResult {
    pub(crate) expires: bool,
    pub(crate) ttl: u32,
    pub(crate) recoverable: bool,
    pub(crate) epoch: String,
    pub(crate) publications: Vec<Publication>,
    pub(crate) recovered: bool,
    pub(crate) offset: u64,
    pub(crate) positioned: bool,
    pub(crate) data: Vec<u8>,
    pub(crate) was_recovering: bool,
    pub(crate) delta: bool,
    /// The number that stands for the channel in pushes; 0: none does.
    pub(crate) id: u64,
}

impl SubscribeResult {
    fn write(&self, w: &mut Writer<'_>) {
        w.flag(1, "expires", self.expires);
        w.uint(2, "ttl", self.ttl.into());
        w.flag(3, "recoverable", self.recoverable);
        w.text(6, "epoch", &self.epoch);
        w.list(7, "publications", &self.publications, |w, p| p.write(w));
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
pub(crate) struct ConnectResult {
    pub(crate) client: String,
    pub(crate) version: String,
    pub(crate) expires: bool,
    pub(crate) ttl: u32,
    pub(crate) data: Vec<u8>,
    pub(crate) subs: Vec<(String, SubscribeResult)>,
    pub(crate) ping: u32,
    pub(crate) pong: bool,
    pub(crate) session: String,
    pub(crate) node: String,
    pub(crate) time: u64,
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
pub(crate) struct HistoryResult {
    pub(crate) publications: Vec<Publication>,
    pub(crate) epoch: String,
    pub(crate) offset: u64,
}

/// What a reply says.
#[derive(Clone, Debug)]
pub(crate) enum ReplyResult {
    Error(Error),
    Connect(Box<ConnectResult>),
    Subscribe(Box<SubscribeResult>),
    Unsubscribe,
    Publish,
    Presence(Vec<(String, ClientInfo)>),
    PresenceStats {
        clients: u32,
        users: u32,
    },
    History(HistoryResult),
    Rpc(Vec<u8>),
    /// The connection's client and version are not repeated.
    Refresh {
        client: String,
        version: String,
        expires: bool,
        ttl: u32,
    },
    SubRefresh {
        expires: bool,
        ttl: u32,
    },
}

/// The reply to a command.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) id: u32,
    pub(crate) result: ReplyResult,
}

impl Reply {
    /// Appends it in one of its forms.
    pub(crate) fn encode(&self, form: Form, out: &mut Vec<u8>) {
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
                        w.uint(1, "num_clients", (*clients).into());
                        w.uint(2, "num_users", (*users).into());
                    })
                }
                ReplyResult::History(page) => w.inner(11, "history", |w| {
                    w.list(1, "publications", &page.publications, |w, p| p.write(w));
                    w.text(2, "epoch", &page.epoch);
                    w.uint(3, "offset", page.offset);
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

/// What is sent without a command.
#[derive(Clone, Debug)]
pub(crate) enum Push<'a> {
    Publication(&'a Publication),
    Join(&'a ClientInfo),
    Leave(&'a ClientInfo),
    Unsubscribe(&'a Unsubscribe),
    Subscribe(&'a SubscribeResult),
    Connect(&'a ConnectResult),
    Disconnect(&'a Disconnect),
    Refresh { expires: bool, ttl: u32 },
}

impl Push<'_> {
    fn write(&self, channel: &str, w: &mut Writer<'_>) {
        w.text(2, "channel", channel);
        match self {
            Self::Publication(publication) => w.inner(4, "pub", |w| publication.write(w)),
            Self::Join(info) => w.inner(5, "join", |w| w.inner(1, "info", |w| info.write(w))),
            Self::Leave(info) => w.inner(6, "leave", |w| w.inner(1, "info", |w| info.write(w))),
            Self::Unsubscribe(end) => w.inner(7, "unsubscribe", |w| {
                w.uint(2, "code", end.code.into());
                w.text(3, "reason", &end.reason);
            }),
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
    pub(crate) fn encode(&self, channel: &str, form: Form, bare: bool, out: &mut Vec<u8>) {
        Writer::message(out, form, |w| {
            if bare {
                self.write(channel, w);
            } else {
                w.inner(4, "push", |w| self.write(channel, w));
            }
        });
    }
}
