//! Commands of clients, from JSON and from Protobuf.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

use super::protobuf::{Reader, Value};

/// Bytes of an application: a JSON value, or any bytes in Protobuf.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        Ok(Self(if raw.get() == "null" { Vec::new() } else { raw.get().as_bytes().to_vec() }))
    }
}

/// A filter of publications by their tags.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Filter {
    pub(crate) op: String,
    pub(crate) key: String,
    pub(crate) cmp: String,
    pub(crate) val: String,
    pub(crate) vals: Vec<String>,
    pub(crate) nodes: Vec<Filter>,
}

/// A position in a channel.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Position {
    pub(crate) offset: u64,
    pub(crate) epoch: String,
}

/// See the schema.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SubscribeRequest {
    pub(crate) channel: String,
    pub(crate) token: String,
    pub(crate) recover: bool,
    pub(crate) epoch: String,
    pub(crate) offset: u64,
    pub(crate) data: Raw,
    pub(crate) positioned: bool,
    pub(crate) recoverable: bool,
    pub(crate) join_leave: bool,
    pub(crate) delta: String,
    pub(crate) tf: Option<Filter>,
    pub(crate) flag: i64,
    #[serde(rename = "type")]
    pub(crate) kind: i32,
}

/// See the schema.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ConnectRequest {
    pub(crate) token: String,
    pub(crate) data: Raw,
    pub(crate) subs: HashMap<String, SubscribeRequest>,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) headers: HashMap<String, String>,
}

/// A command that names a channel, perhaps with a token.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChannelRequest {
    pub(crate) channel: String,
    pub(crate) token: String,
}

/// See the schema.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PublishRequest {
    pub(crate) channel: String,
    pub(crate) data: Raw,
}

/// See the schema.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HistoryRequest {
    pub(crate) channel: String,
    pub(crate) limit: i32,
    pub(crate) since: Option<Position>,
    pub(crate) reverse: bool,
}

/// See the schema.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RpcRequest {
    pub(crate) data: Raw,
    pub(crate) method: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Nothing {}

/// What a command asks for.
#[derive(Clone, Debug)]
pub(crate) enum Method {
    Connect(Box<ConnectRequest>),
    Subscribe(Box<SubscribeRequest>),
    Unsubscribe(ChannelRequest),
    Publish(PublishRequest),
    Presence(ChannelRequest),
    PresenceStats(ChannelRequest),
    History(HistoryRequest),
    Ping,
    Send,
    Rpc(RpcRequest),
    Refresh(String),
    SubRefresh(ChannelRequest),
    /// Nothing: the answer to a ping.
    None,
}

/// A command. With id 0 it has no reply.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) id: u32,
    pub(crate) method: Method,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Text {
    id: u32,
    connect: Option<Box<ConnectRequest>>,
    subscribe: Option<Box<SubscribeRequest>>,
    unsubscribe: Option<ChannelRequest>,
    publish: Option<PublishRequest>,
    presence: Option<ChannelRequest>,
    presence_stats: Option<ChannelRequest>,
    history: Option<HistoryRequest>,
    ping: Option<Nothing>,
    send: Option<PublishRequest>,
    rpc: Option<RpcRequest>,
    refresh: Option<ChannelRequest>,
    sub_refresh: Option<ChannelRequest>,
}

impl Text {
    /// The first request counts, in the order of the schema.
    fn method(self) -> Method {
        if let Some(asked) = self.connect {
            Method::Connect(asked)
        } else if let Some(asked) = self.subscribe {
            Method::Subscribe(asked)
        } else if let Some(asked) = self.unsubscribe {
            Method::Unsubscribe(asked)
        } else if let Some(asked) = self.publish {
            Method::Publish(asked)
        } else if let Some(asked) = self.presence {
            Method::Presence(asked)
        } else if let Some(asked) = self.presence_stats {
            Method::PresenceStats(asked)
        } else if let Some(asked) = self.history {
            Method::History(asked)
        } else if self.ping.is_some() {
            Method::Ping
        } else if self.send.is_some() {
            Method::Send
        } else if let Some(asked) = self.rpc {
            Method::Rpc(asked)
        } else if let Some(asked) = self.refresh {
            Method::Refresh(asked.token)
        } else if let Some(asked) = self.sub_refresh {
            Method::SubRefresh(asked)
        } else {
            Method::None
        }
    }
}

/// The commands of a text: JSON objects, parted by line ends. None: it is malformed.
pub(crate) fn decode_json(text: &[u8]) -> Option<Vec<Command>> {
    let mut commands = Vec::new();
    for command in serde_json::Deserializer::from_slice(text).into_iter::<Text>() {
        let text = command.ok()?;
        commands.push(Command { id: text.id, method: text.method() });
    }
    Some(commands)
}

/// The command of a text of one connect request, as connections in one direction send it.
pub(crate) fn connect_of_json(text: &[u8]) -> Option<ConnectRequest> {
    serde_json::from_slice(text).ok()
}

/// The commands of a frame: Protobuf messages, each with its length before it. None: it is malformed.
pub(crate) fn decode_protobuf(mut bytes: &[u8]) -> Option<Vec<Command>> {
    let mut commands = Vec::new();
    while !bytes.is_empty() {
        let (message, len) = Reader::delimited(bytes)?;
        commands.push(command(message)?);
        bytes = &bytes[len..];
    }
    Some(commands)
}

fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(u32, Value<'a>) -> Option<()>) -> Option<()> {
    let mut reader = Reader::new(bytes);
    for (field, value) in &mut reader {
        each(field, value)?;
    }
    reader.is_good().then_some(())
}

fn command(bytes: &[u8]) -> Option<Command> {
    let mut id = 0;
    let mut found: Option<(u32, &[u8])> = None;
    read(bytes, |field, value| {
        match field {
            1 => id = value.number() as u32,
            // The lowest field is the one that counts.
            4..=15 if found.is_none_or(|(first, _)| field < first) => {
                found = Some((field, value.bytes()));
            }
            _ => {}
        }
        Some(())
    })?;
    let Some((field, bytes)) = found else { return Some(Command { id, method: Method::None }) };
    let method = match field {
        4 => Method::Connect(Box::new(connect_of_protobuf(bytes)?)),
        5 => Method::Subscribe(Box::new(subscribe(bytes)?)),
        6 => Method::Unsubscribe(channel(bytes)?),
        7 => Method::Publish(publish(bytes)?),
        8 => Method::Presence(channel(bytes)?),
        9 => Method::PresenceStats(channel(bytes)?),
        10 => Method::History(history(bytes)?),
        11 => Method::Ping,
        12 => {
            read(bytes, |_, _| Some(()))?;
            Method::Send
        }
        13 => {
            let mut asked = RpcRequest::default();
            read(bytes, |field, value| {
                match field {
                    1 => asked.data = Raw(value.bytes().to_vec()),
                    2 => asked.method = value.text(),
                    _ => {}
                }
                Some(())
            })?;
            Method::Rpc(asked)
        }
        14 => {
            let mut token = String::new();
            read(bytes, |field, value| {
                if field == 1 {
                    token = value.text();
                }
                Some(())
            })?;
            Method::Refresh(token)
        }
        _ => Method::SubRefresh(channel(bytes)?),
    };
    Some(Command { id, method })
}

/// A connect request in Protobuf.
pub(crate) fn connect_of_protobuf(bytes: &[u8]) -> Option<ConnectRequest> {
    let mut asked = ConnectRequest::default();
    read(bytes, |field, value| {
        match field {
            1 => asked.token = value.text(),
            2 => asked.data = Raw(value.bytes().to_vec()),
            3 => {
                let (mut name, mut request) = (String::new(), SubscribeRequest::default());
                read(value.bytes(), |field, value| {
                    match field {
                        1 => name = value.text(),
                        2 => request = subscribe(value.bytes())?,
                        _ => {}
                    }
                    Some(())
                })?;
                asked.subs.insert(name, request);
            }
            4 => asked.name = value.text(),
            5 => asked.version = value.text(),
            6 => asked.headers.extend([value.pair()]),
            _ => {}
        }
        Some(())
    })?;
    Some(asked)
}

fn subscribe(bytes: &[u8]) -> Option<SubscribeRequest> {
    let mut asked = SubscribeRequest::default();
    read(bytes, |field, value| {
        match field {
            1 => asked.channel = value.text(),
            2 => asked.token = value.text(),
            3 => asked.recover = value.number() != 0,
            6 => asked.epoch = value.text(),
            7 => asked.offset = value.number(),
            8 => asked.data = Raw(value.bytes().to_vec()),
            9 => asked.positioned = value.number() != 0,
            10 => asked.recoverable = value.number() != 0,
            11 => asked.join_leave = value.number() != 0,
            12 => asked.delta = value.text(),
            13 => asked.tf = Some(filter(value.bytes(), 0)?),
            14 => asked.flag = value.number() as i64,
            15 => asked.kind = value.number() as i32,
            _ => {}
        }
        Some(())
    })?;
    Some(asked)
}

/// Filters within filters that are read.
const DEPTH_MAX: usize = 32;

fn filter(bytes: &[u8], depth: usize) -> Option<Filter> {
    let mut node = Filter::default();
    read(bytes, |field, value| {
        match field {
            1 => node.op = value.text(),
            2 => node.key = value.text(),
            3 => node.cmp = value.text(),
            4 => node.val = value.text(),
            5 => node.vals.push(value.text()),
            6 if depth < DEPTH_MAX => node.nodes.push(filter(value.bytes(), depth + 1)?),
            6 => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(node)
}

fn channel(bytes: &[u8]) -> Option<ChannelRequest> {
    let mut asked = ChannelRequest::default();
    read(bytes, |field, value| {
        match field {
            1 => asked.channel = value.text(),
            2 => asked.token = value.text(),
            _ => {}
        }
        Some(())
    })?;
    Some(asked)
}

fn publish(bytes: &[u8]) -> Option<PublishRequest> {
    let mut asked = PublishRequest::default();
    read(bytes, |field, value| {
        match field {
            1 => asked.channel = value.text(),
            2 => asked.data = Raw(value.bytes().to_vec()),
            _ => {}
        }
        Some(())
    })?;
    Some(asked)
}

fn history(bytes: &[u8]) -> Option<HistoryRequest> {
    let mut asked = HistoryRequest::default();
    read(bytes, |field, value| {
        match field {
            1 => asked.channel = value.text(),
            7 => asked.limit = value.number() as i32,
            8 => {
                let mut since = Position::default();
                read(value.bytes(), |field, value| {
                    match field {
                        1 => since.offset = value.number(),
                        2 => since.epoch = value.text(),
                        _ => {}
                    }
                    Some(())
                })?;
                asked.since = Some(since);
            }
            9 => asked.reverse = value.number() != 0,
            _ => {}
        }
        Some(())
    })?;
    Some(asked)
}

/// Node, session and data of a request that carries commands.
pub(crate) fn emulation_of_protobuf(bytes: &[u8]) -> Option<(String, String, Vec<u8>)> {
    let (mut node, mut session, mut data) = Default::default();
    read(bytes, |field, value| {
        match field {
            1 => node = value.text(),
            2 => session = value.text(),
            3 => data = value.bytes().to_vec(),
            _ => {}
        }
        Some(())
    })?;
    Some((node, session, data))
}
