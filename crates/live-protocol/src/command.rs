//! Commands of clients, from JSON and from Protobuf.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

use super::protobuf::{Reader, Value};

/// Bytes of an application: a JSON value, or any bytes in Protobuf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw(pub Vec<u8>);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        Ok(Self(raw.get().as_bytes().to_vec()))
    }
}

/// A null stands for the default, as in the decoder of Centrifugo.
fn nullable<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A filter of publications by their tags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// `and`, `or`, `not`; empty: a comparison.
    #[serde(deserialize_with = "nullable")]
    pub op: String,
    /// Which tag.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// The comparison.
    #[serde(deserialize_with = "nullable")]
    pub cmp: String,
    /// With what.
    #[serde(deserialize_with = "nullable")]
    pub val: String,
    /// With which, of `in` and `nin`.
    #[serde(deserialize_with = "nullable")]
    pub vals: Vec<String>,
    /// What `op` combines.
    #[serde(deserialize_with = "nullable")]
    pub nodes: Vec<Filter>,
}

/// A position in a channel.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Position {
    /// The offset.
    #[serde(deserialize_with = "nullable")]
    pub offset: u64,
    /// The epoch that the offset belongs to.
    #[serde(deserialize_with = "nullable")]
    pub epoch: String,
}

/// The fields of a `subscribe` command; the protocol's schema says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SubscribeRequest {
    /// Which channel.
    #[serde(deserialize_with = "nullable")]
    pub channel: String,
    /// A token.
    #[serde(deserialize_with = "nullable")]
    pub token: String,
    /// Publications behind the position are asked for.
    #[serde(deserialize_with = "nullable")]
    pub recover: bool,
    /// The epoch that the offset belongs to.
    #[serde(deserialize_with = "nullable")]
    pub epoch: String,
    /// The offset.
    #[serde(deserialize_with = "nullable")]
    pub offset: u64,
    /// What the application says.
    pub data: Raw,
    /// The position is to be checked.
    #[serde(deserialize_with = "nullable")]
    pub positioned: bool,
    /// The client means to recover later.
    #[serde(deserialize_with = "nullable")]
    pub recoverable: bool,
    /// Joins and leaves are asked for.
    #[serde(deserialize_with = "nullable")]
    pub join_leave: bool,
    /// The form of deltas that the client takes.
    #[serde(deserialize_with = "nullable")]
    pub delta: String,
    /// Which publications it wants, by their tags.
    pub tf: Option<Filter>,
    /// Bit 0: a number may stand for the channel in pushes.
    #[serde(deserialize_with = "nullable")]
    pub flag: i64,
    /// 0: a stream.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: i32,
}

/// The fields of a `connect` command; the protocol's schema says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConnectRequest {
    /// A token.
    #[serde(deserialize_with = "nullable")]
    pub token: String,
    /// What the application says.
    pub data: Raw,
    /// Channels to subscribe to.
    #[serde(deserialize_with = "nullable")]
    pub subs: HashMap<String, SubscribeRequest>,
    /// The client program's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The client program's version.
    #[serde(deserialize_with = "nullable")]
    pub version: String,
    /// Headers that take the place of those of HTTP.
    #[serde(deserialize_with = "nullable")]
    pub headers: HashMap<String, String>,
}

/// A command that names a channel, perhaps with a token.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ChannelRequest {
    /// Which channel.
    #[serde(deserialize_with = "nullable")]
    pub channel: String,
    /// A token.
    #[serde(deserialize_with = "nullable")]
    pub token: String,
}

/// The fields of a `publish` command; the protocol's schema says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PublishRequest {
    /// Which channel.
    #[serde(deserialize_with = "nullable")]
    pub channel: String,
    /// What the application says.
    pub data: Raw,
}

/// The fields of a `history` command; the protocol's schema says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HistoryRequest {
    /// Which channel.
    #[serde(deserialize_with = "nullable")]
    pub channel: String,
    /// How many; 0: none, only the position; negative: all.
    #[serde(deserialize_with = "nullable")]
    pub limit: i32,
    /// Only what lies behind it.
    pub since: Option<Position>,
    /// The newest first.
    #[serde(deserialize_with = "nullable")]
    pub reverse: bool,
}

/// The fields of a `rpc` command; the protocol's schema says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RpcRequest {
    /// What the application says.
    pub data: Raw,
    /// Which procedure.
    #[serde(deserialize_with = "nullable")]
    pub method: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Nothing {}

/// What a command asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// `connect`.
    Connect(Box<ConnectRequest>),
    /// `subscribe`.
    Subscribe(Box<SubscribeRequest>),
    /// `unsubscribe`.
    Unsubscribe(ChannelRequest),
    /// `publish`.
    Publish(PublishRequest),
    /// `presence`.
    Presence(ChannelRequest),
    /// `presence_stats`.
    PresenceStats(ChannelRequest),
    /// `history`.
    History(HistoryRequest),
    /// `ping`.
    Ping,
    /// `send`.
    Send(Vec<u8>),
    /// `rpc`.
    Rpc(RpcRequest),
    /// `refresh`.
    Refresh(String),
    /// `sub_refresh`.
    SubRefresh(ChannelRequest),
    /// Nothing: the answer to a ping.
    None,
}

/// A command. With id 0 it has no reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The number of the command; 0: there is no reply.
    pub id: u32,
    /// What it asks for.
    pub method: Method,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Text {
    #[serde(deserialize_with = "nullable")]
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
        } else if let Some(asked) = self.send {
            Method::Send(asked.data.0)
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
#[must_use]
pub fn decode_json(text: &[u8]) -> Option<Vec<Command>> {
    let mut commands = Vec::new();
    let mut all = serde_json::Deserializer::from_slice(text).into_iter::<Text>();
    loop {
        let rest = text.get(all.byte_offset()..)?.trim_ascii_start();
        if rest.is_empty() {
            // A frame without a command is none.
            return (!commands.is_empty()).then_some(commands);
        }
        // A command is an object: the reader of types would take an array of its fields, too.
        if rest[0] != b'{' || commands.len() == COMMANDS_MAX {
            return None;
        }
        let text = all.next()?.ok()?;
        commands.push(Command { id: text.id, method: text.method() });
    }
}

/// The command of a text of one connect request, as connections in one direction send it.
#[must_use]
pub fn connect_of_json(text: &[u8]) -> Option<ConnectRequest> {
    serde_json::from_slice(text).ok()
}

/// The commands of a frame: Protobuf messages, each with its length before it. None: it is malformed.
#[must_use]
pub fn decode_protobuf(mut bytes: &[u8]) -> Option<Vec<Command>> {
    let mut commands = Vec::new();
    while !bytes.is_empty() {
        let (message, len) = Reader::delimited(bytes)?;
        commands.push(command(message)?);
        if commands.len() > COMMANDS_MAX {
            return None;
        }
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
            let mut data = Vec::new();
            read(bytes, |field, value| {
                if field == 1 {
                    data = value.bytes().to_vec();
                }
                Some(())
            })?;
            Method::Send(data)
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
#[must_use]
pub fn connect_of_protobuf(bytes: &[u8]) -> Option<ConnectRequest> {
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

/// Commands of a frame. A client sends a handful, one per channel after it has connected again; an empty command has
/// two bytes, and takes fifty times as much when it is decoded.
pub const COMMANDS_MAX: usize = 4096;

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
#[must_use]
pub fn emulation_of_protobuf(bytes: &[u8]) -> Option<(String, String, Vec<u8>)> {
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
