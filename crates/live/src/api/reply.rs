//! Replies become JSON. Fields that Centrifugo always writes are always written; of the others those that are zero
//! are left out, as there.

use super::request::{ApiError, Method};
use crate::json::Writer;

/// What a request comes to.
pub type Reply = Result<ReplyResult, ApiError>;

/// The result of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyResult {
    /// Of `publish`: the position, if there is a history.
    Publish {
        /// The offset.
        offset: u64,
        /// The epoch.
        epoch: String,
    },
    /// Of `broadcast`: the results of `publish`, in order.
    Broadcast(Vec<Reply>),
    /// Of methods that only do something.
    Empty,
    /// Of `presence`: clients.
    Presence(Vec<ClientInfo>),
    /// Of `presence_stats`.
    PresenceStats {
        /// Clients in the channel.
        num_clients: u32,
        /// Users in the channel.
        num_users: u32,
    },
    /// Of `history`.
    History(HistoryPage),
    /// Of `channels`: names, and clients in them.
    Channels(Vec<(String, ChannelInfo)>),
    /// Of `info`: nodes.
    Info(Vec<Node>),
    /// Of `rpc`: JSON.
    Rpc(Vec<u8>),
}

/// A client in a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The user.
    pub user: String,
    /// The client.
    pub client: String,
    /// JSON about the connection; empty: none.
    pub conn_info: Vec<u8>,
    /// JSON about the subscription; empty: none.
    pub chan_info: Vec<u8>,
}

/// A part of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// Publications, in order.
    pub publications: Vec<PublicationOut>,
    /// The newest offset of the channel.
    pub offset: u64,
    /// The epoch.
    pub epoch: String,
}

/// A publication of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicationOut {
    /// JSON.
    pub data: Vec<u8>,
    /// The client that published it.
    pub info: Option<ClientInfo>,
    /// Its offset.
    pub offset: u64,
    /// Names and values.
    pub tags: Vec<(String, String)>,
}

/// A channel with subscribers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelInfo {
    /// How many.
    pub num_clients: u32,
}

/// A node of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "their names are those of the API")]
pub struct Node {
    pub uid: String,
    pub name: String,
    pub version: String,
    pub num_clients: u32,
    pub num_users: u32,
    pub num_subs: u32,
    pub num_channels: u32,
    /// Seconds.
    pub uptime: u32,
    pub process: Option<Process>,
}

/// What a node takes of its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// Per cent of one core.
    pub cpu: f64,
    /// Bytes of memory.
    pub rss: i64,
}

/// A reply to one request: `{"result": …}` or `{"error": …}`.
#[must_use]
pub fn encode(reply: &Reply) -> Vec<u8> {
    let mut writer = Writer::default();
    write(&mut writer, reply, "result");
    writer.finish()
}

/// An error alone, for the body of a response whose status says that it is one.
#[must_use]
pub fn encode_error(error: &ApiError) -> Vec<u8> {
    let mut writer = Writer::default();
    write_error(&mut writer, error);
    writer.finish()
}

/// The replies to a batch, with the method of each request; `None` for a request that had none.
#[must_use]
pub fn encode_batch(replies: &[(Option<Method>, Reply)]) -> Vec<u8> {
    let mut writer = Writer::default().open();
    if !replies.is_empty() {
        writer.name("replies");
        writer.list(replies, |writer, (method, reply)| {
            write(writer, reply, method.map_or("", Method::name))
        });
    }
    writer.end();
    writer.finish()
}

/// A line of the reply to the old route.
#[must_use]
pub fn encode_legacy(id: u32, reply: &Reply) -> Vec<u8> {
    let mut writer = Writer::default().open();
    writer.number("id", id);
    write_fields(&mut writer, reply, "result");
    writer.end();
    writer.finish()
}

fn write(writer: &mut Writer, reply: &Reply, name: &str) {
    writer.begin();
    write_fields(writer, reply, name);
    writer.end();
}

fn write_fields(writer: &mut Writer, reply: &Reply, name: &str) {
    match reply {
        Ok(result) => {
            writer.name(name);
            write_result(writer, result);
        }
        Err(error) => {
            writer.name("error");
            write_error(writer, error);
        }
    }
}

fn write_error(writer: &mut Writer, error: &ApiError) {
    writer.begin();
    writer.number("code", error.code);
    writer.string("message", &error.message);
    writer.end();
}

/// A number that is written even if it is 0.
fn always(writer: &mut Writer, name: &str, number: impl std::fmt::Display) {
    writer.name(name);
    writer.raw(number.to_string());
}

fn write_result(writer: &mut Writer, result: &ReplyResult) {
    writer.begin();
    match result {
        ReplyResult::Publish { offset, epoch } => {
            writer.number("offset", *offset);
            writer.string("epoch", epoch);
        }
        ReplyResult::Broadcast(replies) => {
            writer.name("responses");
            writer.list(replies, |writer, reply| write(writer, reply, "result"));
        }
        ReplyResult::Empty => {}
        ReplyResult::Presence(clients) => {
            writer.name("presence");
            writer.begin();
            for client in clients {
                writer.name(&client.client);
                write_client(writer, client);
            }
            writer.end();
        }
        ReplyResult::PresenceStats { num_clients, num_users } => {
            always(writer, "num_clients", num_clients);
            always(writer, "num_users", num_users);
        }
        ReplyResult::History(page) => write_history(writer, page),
        ReplyResult::Channels(channels) => {
            writer.name("channels");
            writer.begin();
            for (name, info) in channels {
                writer.name(name);
                writer.begin();
                writer.number("num_clients", info.num_clients);
                writer.end();
            }
            writer.end();
        }
        ReplyResult::Info(nodes) => {
            writer.name("nodes");
            writer.list(nodes, write_node);
        }
        ReplyResult::Rpc(data) => writer.json("data", data),
    }
    writer.end();
}

fn write_client(writer: &mut Writer, client: &ClientInfo) {
    writer.begin();
    writer.name("user");
    writer.text(&client.user);
    writer.name("client");
    writer.text(&client.client);
    writer.json("conn_info", &client.conn_info);
    writer.json("chan_info", &client.chan_info);
    writer.end();
}

fn write_history(writer: &mut Writer, page: &HistoryPage) {
    writer.name("publications");
    writer.list(&page.publications, |writer, publication| {
        writer.begin();
        writer.json("data", &publication.data);
        if let Some(info) = &publication.info {
            writer.name("info");
            write_client(writer, info);
        }
        writer.number("offset", publication.offset);
        writer.texts("tags", &publication.tags);
        writer.end();
    });
    writer.name("epoch");
    writer.text(&page.epoch);
    always(writer, "offset", page.offset);
}

fn write_node(writer: &mut Writer, node: &Node) {
    writer.begin();
    for (name, text) in [("uid", &node.uid), ("name", &node.name), ("version", &node.version)] {
        writer.name(name);
        writer.text(text);
    }
    always(writer, "num_clients", node.num_clients);
    always(writer, "num_users", node.num_users);
    always(writer, "num_channels", node.num_channels);
    writer.number("uptime", node.uptime);
    if let Some(process) = &node.process {
        writer.name("process");
        writer.begin();
        always(writer, "cpu", process.cpu);
        writer.number("rss", process.rss);
        writer.end();
    }
    always(writer, "num_subs", node.num_subs);
    writer.end();
}
