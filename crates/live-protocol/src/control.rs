//! The messages with which servers that share channels tell each other about connections: Protobuf messages in PUB/SUB
//! channels, as nodes of centrifuge 0.38 send them (its internal/controlpb/control.proto).
//!
//! A message for all servers goes to `PREFIX.control`, one for a single server to `PREFIX.node.UID`. Fields that are not
//! known are left out. The order within a [`Message`] is that in which a node looks for what a command is.

use crate::protobuf::{Reader, Value};
use crate::{Form, write::Writer};

/// A message, and the server that sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The identifier of the sender.
    pub uid: String,
    /// What it says.
    pub message: Message,
}

/// What a command says.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the types say it")]
pub enum Message {
    Node(Node),
    /// The sender leaves.
    Shutdown,
    Unsubscribe(Unsubscribe),
    Subscribe(Subscribe),
    Disconnect(Disconnect),
    SurveyRequest(SurveyRequest),
    SurveyResponse(SurveyResponse),
    /// A message of an application to the servers; the operation, and its data.
    Notification(String, Vec<u8>),
    Refresh(Refresh),
}

/// A server, as it tells of itself every three seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its identifier.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// Connections.
    pub num_clients: u32,
    /// Users with connections.
    pub num_users: u32,
    /// Channels with subscribers.
    pub num_channels: u32,
    /// Subscriptions.
    pub num_subs: u32,
    /// Seconds since its start.
    pub uptime: u32,
    /// Figures: the seconds that they are for, and names with values; not in every message.
    pub metrics: Option<(f64, Vec<(String, f64)>)>,
    /// Bytes of an application.
    pub data: Vec<u8>,
}

/// Which connections a command is about: those of the user, or one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// The user; empty: connections without a user.
    pub user: String,
    /// The client; empty: all.
    pub client: String,
    /// The session; empty: all.
    pub session: String,
}

/// Subscribes connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are those of options of subscriptions")]
pub struct Subscribe {
    pub who: Who,
    pub channel: String,
    pub emit_presence: bool,
    pub emit_join_leave: bool,
    pub push_join_leave: bool,
    /// In seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    pub position: bool,
    pub recover: bool,
    pub channel_info: Vec<u8>,
    pub data: Vec<u8>,
    /// Offset and epoch.
    pub recover_since: Option<(u64, String)>,
    /// Where the permission came from.
    pub source: u32,
}

/// Ends subscriptions; of all channels, if it names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see the type")]
pub struct Unsubscribe {
    pub who: Who,
    pub channel: String,
    pub code: u32,
    pub reason: String,
}

/// Ends connections, but not those of the clients in the whitelist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see the type")]
pub struct Disconnect {
    pub who: Who,
    pub whitelist: Vec<String>,
    pub code: u32,
    pub reason: String,
}

/// Changes when connections expire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see the type")]
pub struct Refresh {
    pub who: Who,
    pub expired: bool,
    pub expire_at: i64,
    pub info: Vec<u8>,
}

/// A question to all servers, or one. Each answers with [`SurveyResponse`] to the one that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see the type")]
pub struct SurveyRequest {
    pub id: u64,
    pub op: String,
    pub data: Vec<u8>,
}

/// The answer to a [`SurveyRequest`]; with a code other than 0 the server has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see the type")]
pub struct SurveyResponse {
    pub id: u64,
    pub code: u32,
    pub data: Vec<u8>,
}

/// Reads a message by its fields. None: it is malformed.
fn read<T: Default>(bytes: &[u8], mut field: impl FnMut(&mut T, u32, Value<'_>)) -> Option<T> {
    let mut whole = T::default();
    let mut reader = Reader::new(bytes);
    for (number, value) in &mut reader {
        field(&mut whole, number, value);
    }
    reader.is_good().then_some(whole)
}

impl Command {
    /// Reads a command. None: it is malformed, or says nothing that is known.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut uid = String::new();
        let mut message = None;
        let mut reader = Reader::new(bytes);
        for (field, value) in &mut reader {
            let bytes = value.bytes();
            let found = match field {
                1 => {
                    uid = value.text();
                    continue;
                }
                4 => Message::Node(Node::of(bytes)?),
                5 => Message::Unsubscribe(Unsubscribe::of(bytes)?),
                6 => Message::Disconnect(Disconnect::of(bytes)?),
                7 => Message::Shutdown,
                8 => Message::SurveyRequest(read(bytes, |r: &mut SurveyRequest, f, v| match f {
                    1 => r.id = v.number(),
                    2 => r.op = v.text(),
                    3 => r.data = v.bytes().to_vec(),
                    _ => {}
                })?),
                9 => {
                    Message::SurveyResponse(read(bytes, |r: &mut SurveyResponse, f, v| match f {
                        1 => r.id = v.number(),
                        2 => r.code = v.number() as u32,
                        3 => r.data = v.bytes().to_vec(),
                        _ => {}
                    })?)
                }
                10 => Message::Subscribe(Subscribe::of(bytes)?),
                11 => {
                    let (op, data) = read(bytes, |n: &mut (String, Vec<u8>), f, v| match f {
                        1 => n.0 = v.text(),
                        2 => n.1 = v.bytes().to_vec(),
                        _ => {}
                    })?;
                    Message::Notification(op, data)
                }
                12 => Message::Refresh(Refresh::of(bytes)?),
                _ => continue,
            };
            message.get_or_insert(found);
        }
        reader.is_good().then_some(Self { uid, message: message? })
    }

    /// The command in bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::message(&mut out, Form::Protobuf, |w| {
            w.text(1, "", &self.uid);
            match &self.message {
                Message::Node(m) => w.inner(4, "", |w| m.write(w)),
                Message::Unsubscribe(m) => w.inner(5, "", |w| m.write(w)),
                Message::Disconnect(m) => w.inner(6, "", |w| m.write(w)),
                Message::Shutdown => w.inner(7, "", |_| {}),
                Message::SurveyRequest(m) => w.inner(8, "", |w| {
                    w.uint(1, "", m.id);
                    w.text(2, "", &m.op);
                    w.raw(3, "", &m.data);
                }),
                Message::SurveyResponse(m) => w.inner(9, "", |w| {
                    w.uint(1, "", m.id);
                    w.uint(2, "", m.code.into());
                    w.raw(3, "", &m.data);
                }),
                Message::Subscribe(m) => w.inner(10, "", |w| m.write(w)),
                Message::Notification(op, data) => w.inner(11, "", |w| {
                    w.text(1, "", op);
                    w.raw(2, "", data);
                }),
                Message::Refresh(m) => w.inner(12, "", |w| m.write(w)),
            }
        });
        out
    }
}

impl Node {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut good = true;
        let node = read(bytes, |n: &mut Self, field, v| match field {
            1 => n.uid = v.text(),
            2 => n.name = v.text(),
            3 => n.version = v.text(),
            4 => n.num_clients = v.number() as u32,
            5 => n.num_users = v.number() as u32,
            6 => n.num_channels = v.number() as u32,
            7 => n.uptime = v.number() as u32,
            8 => {
                n.metrics = metrics(v.bytes());
                good &= n.metrics.is_some();
            }
            9 => n.data = v.bytes().to_vec(),
            10 => n.num_subs = v.number() as u32,
            _ => {}
        });
        node.filter(|_| good)
    }

    /// What it has of metrics is not written: only Centrifugo's nodes have them.
    fn write(&self, w: &mut Writer<'_>) {
        w.text(1, "", &self.uid);
        w.text(2, "", &self.name);
        w.text(3, "", &self.version);
        w.uint(4, "", self.num_clients.into());
        w.uint(5, "", self.num_users.into());
        w.uint(6, "", self.num_channels.into());
        w.uint(7, "", self.uptime.into());
        w.raw(9, "", &self.data);
        w.uint(10, "", self.num_subs.into());
    }
}

fn double(value: Value<'_>) -> f64 {
    value.bytes().try_into().map_or(0.0, f64::from_le_bytes)
}

fn metrics(bytes: &[u8]) -> Option<(f64, Vec<(String, f64)>)> {
    read(bytes, |all: &mut (f64, Vec<(String, f64)>), field, v| match field {
        1 => all.0 = double(v),
        2 => {
            let item = read(v.bytes(), |item: &mut (String, f64), field, v| match field {
                1 => item.0 = v.text(),
                2 => item.1 = double(v),
                _ => {}
            });
            all.1.extend(item);
        }
        _ => {}
    })
}

impl Subscribe {
    fn of(bytes: &[u8]) -> Option<Self> {
        read(bytes, |s: &mut Self, field, v| match field {
            1 => s.who.user = v.text(),
            2 => s.channel = v.text(),
            3 => s.emit_presence = v.number() != 0,
            4 => s.emit_join_leave = v.number() != 0,
            5 => s.expire_at = v.number() as i64,
            6 => s.position = v.number() != 0,
            7 => s.recover = v.number() != 0,
            8 => s.channel_info = v.bytes().to_vec(),
            9 => s.who.client = v.text(),
            10 => s.data = v.bytes().to_vec(),
            11 => {
                s.recover_since = read(v.bytes(), |p: &mut (u64, String), field, v| match field {
                    1 => p.0 = v.number(),
                    2 => p.1 = v.text(),
                    _ => {}
                });
            }
            12 => s.who.session = v.text(),
            13 => s.push_join_leave = v.number() != 0,
            14 => s.source = v.number() as u32,
            _ => {}
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.text(1, "", &self.who.user);
        w.text(2, "", &self.channel);
        w.flag(3, "", self.emit_presence);
        w.flag(4, "", self.emit_join_leave);
        w.uint(5, "", self.expire_at as u64);
        w.flag(6, "", self.position);
        w.flag(7, "", self.recover);
        w.raw(8, "", &self.channel_info);
        w.text(9, "", &self.who.client);
        w.raw(10, "", &self.data);
        if let Some((offset, epoch)) = &self.recover_since {
            w.inner(11, "", |w| {
                w.uint(1, "", *offset);
                w.text(2, "", epoch);
            });
        }
        w.text(12, "", &self.who.session);
        w.flag(13, "", self.push_join_leave);
        w.uint(14, "", self.source.into());
    }
}

impl Unsubscribe {
    fn of(bytes: &[u8]) -> Option<Self> {
        read(bytes, |u: &mut Self, field, v| match field {
            1 => u.channel = v.text(),
            2 => u.who.user = v.text(),
            3 => u.who.client = v.text(),
            4 => u.who.session = v.text(),
            5 => u.code = v.number() as u32,
            6 => u.reason = v.text(),
            _ => {}
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.text(1, "", &self.channel);
        w.text(2, "", &self.who.user);
        w.text(3, "", &self.who.client);
        w.text(4, "", &self.who.session);
        w.uint(5, "", self.code.into());
        w.text(6, "", &self.reason);
    }
}

impl Disconnect {
    fn of(bytes: &[u8]) -> Option<Self> {
        read(bytes, |d: &mut Self, field, v| match field {
            1 => d.who.user = v.text(),
            2 => d.whitelist.push(v.text()),
            3 => d.code = v.number() as u32,
            4 => d.reason = v.text(),
            6 => d.who.client = v.text(),
            7 => d.who.session = v.text(),
            _ => {}
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.text(1, "", &self.who.user);
        for client in &self.whitelist {
            w.text(2, "", client);
        }
        w.uint(3, "", self.code.into());
        w.text(4, "", &self.reason);
        w.text(6, "", &self.who.client);
        w.text(7, "", &self.who.session);
    }
}

impl Refresh {
    fn of(bytes: &[u8]) -> Option<Self> {
        read(bytes, |r: &mut Self, field, v| match field {
            1 => r.who.user = v.text(),
            2 => r.who.client = v.text(),
            3 => r.expired = v.number() != 0,
            4 => r.expire_at = v.number() as i64,
            5 => r.info = v.bytes().to_vec(),
            6 => r.who.session = v.text(),
            _ => {}
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.text(1, "", &self.who.user);
        w.text(2, "", &self.who.client);
        w.flag(3, "", self.expired);
        w.uint(4, "", self.expire_at as u64);
        w.raw(5, "", &self.info);
        w.text(6, "", &self.who.session);
    }
}

/// The data of a survey `centrifuge_emulation`: commands for a session of another server. JSON is as the client
/// has sent it: a text of commands.
#[must_use]
pub fn emulation(node: &str, session: &str, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::message(&mut out, Form::Protobuf, |w| {
        w.text(1, "", node);
        w.text(2, "", session);
        w.raw(3, "", data);
    });
    out
}

/// The pattern that the survey `channels` asks with. None: it is malformed.
#[must_use]
pub fn channels_asked(bytes: &[u8]) -> Option<String> {
    read(bytes, |pattern: &mut String, field, v| {
        if field == 1 {
            *pattern = v.text();
        }
    })
}

/// The data of a survey `channels`.
#[must_use]
pub fn ask_channels(pattern: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::message(&mut out, Form::Protobuf, |w| w.text(1, "", pattern));
    out
}

/// The answer to a survey `channels`: channels, and their subscribers.
#[must_use]
pub fn answer_channels(channels: &[(String, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::message(&mut out, Form::Protobuf, |w| {
        w.map((1, "", false), channels, |w, n| w.uint(1, "", (*n).into()));
    });
    out
}

/// Channels, and their subscribers, of an answer. None: it is malformed.
#[must_use]
pub fn channels_answered(bytes: &[u8]) -> Option<Vec<(String, u32)>> {
    let count = |bytes: &[u8]| {
        read(bytes, |n: &mut u32, field, v| {
            if field == 1 {
                *n = v.number() as u32;
            }
        })
    };
    read(bytes, |all: &mut Vec<(String, u32)>, field, v| {
        if field == 1 {
            all.extend(read(v.bytes(), |pair: &mut (String, u32), field, v| match field {
                1 => pair.0 = v.text(),
                2 => pair.1 = count(v.bytes()).unwrap_or(0),
                _ => {}
            }));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who() -> Who {
        Who { user: "u".into(), client: "c".into(), session: "s".into() }
    }

    #[test]
    fn what_is_written_is_read_again_and_prefixes_do_no_harm() {
        let all = [
            Message::Node(Node {
                uid: "n".into(),
                name: "apus".into(),
                version: "1".into(),
                num_clients: 1,
                num_users: 2,
                num_channels: 3,
                num_subs: 4,
                uptime: 5,
                metrics: None,
                data: b"d".to_vec(),
            }),
            Message::Shutdown,
            Message::Subscribe(Subscribe {
                who: who(),
                channel: "ch".into(),
                emit_presence: true,
                emit_join_leave: true,
                push_join_leave: true,
                expire_at: -1,
                position: true,
                recover: true,
                channel_info: b"i".to_vec(),
                data: b"d".to_vec(),
                recover_since: Some((7, "e".into())),
                source: 10,
            }),
            Message::Unsubscribe(Unsubscribe {
                who: who(),
                channel: "ch".into(),
                code: 2000,
                reason: "r".into(),
            }),
            Message::Disconnect(Disconnect {
                who: who(),
                whitelist: vec!["a".into(), "b".into()],
                code: 3500,
                reason: "r".into(),
            }),
            Message::SurveyRequest(SurveyRequest { id: 1, op: "o".into(), data: vec![1] }),
            Message::SurveyResponse(SurveyResponse { id: 1, code: 2, data: vec![1] }),
            Message::Notification("o".into(), vec![2]),
            Message::Refresh(Refresh {
                who: who(),
                expired: true,
                expire_at: 9,
                info: b"{}".to_vec(),
            }),
        ];
        for message in all {
            let command = Command { uid: "from".into(), message };
            let bytes = command.encode();
            assert_eq!(Command::of(&bytes), Some(command));
            for n in 0..bytes.len() {
                let _ = Command::of(&bytes[..n]);
            }
        }
        let channels = vec![("a".to_owned(), 3), ("b".to_owned(), 0)];
        assert_eq!(channels_answered(&answer_channels(&channels)), Some(channels));
        assert_eq!(channels_asked(&ask_channels("a*")).as_deref(), Some("a*"));
    }
}
