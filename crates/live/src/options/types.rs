//! What a configuration says, in the form that the server reads. Built by [`super::load`], checked as a whole, never
//! changed: a new file makes new [`Options`].
//!
//! Names are those of Centrifugo's options; [`super::rows`] has each with its default.

use crate::channel::Pattern;
use crate::code::Disconnect;
use crate::origin::Origins;
use crate::token::Verifier;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// All options of live channels.
#[derive(Debug)]
pub struct Options {
    /// Connections of clients.
    pub client: Client,
    /// Channels and their namespaces.
    pub channel: Channels,
    /// Calls of clients.
    pub rpc: Rpc,
    /// The server API over HTTP.
    pub http_api: HttpApi,
    /// The bidirectional WebSocket.
    pub websocket: WebSocket,
    /// The bidirectional Server-Sent Events.
    pub sse: Stream,
    /// The bidirectional HTTP stream.
    pub http_stream: Stream,
    /// The unidirectional WebSocket.
    pub uni_websocket: UniWebSocket,
    /// The unidirectional Server-Sent Events.
    pub uni_sse: UniStream,
    /// The unidirectional HTTP stream.
    pub uni_http_stream: UniStream,
    /// Where clients of [`Self::sse`] and [`Self::http_stream`] send; there if one of them is.
    pub emulation: Stream,
    /// What keys and PUB/SUB channels begin with.
    pub prefixes: Prefixes,
    /// The check of health.
    pub health: Handler,
    /// Metrics are under Centrifugo's names, too.
    pub prometheus: bool,
    /// The node's name in INFO and in the API's `info`; empty: the server chooses.
    pub node_name: String,
}

/// What keys and PUB/SUB channels begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefixes {
    /// Of histories, and of all messages.
    pub broker: String,
    /// Of presence.
    pub presence: String,
}

/// Connections of clients.
#[derive(Debug)]
pub struct Client {
    /// Verifies tokens of connections.
    pub token: Arc<Verifier>,
    /// Verifies tokens of subscriptions; the same as [`Self::token`] unless configured apart.
    pub subscription_token: Arc<Verifier>,
    /// The proxy that decides on connections without a token.
    pub connect_proxy: Option<Arc<Proxy>>,
    /// The proxy that refreshes connections; then clients do not.
    pub refresh_proxy: Option<Arc<Proxy>>,
    /// Origins that browsers may come from.
    pub allowed_origins: Origins,
    /// A client without a token is nobody, and connects.
    pub allow_anonymous_connect_without_token: bool,
    /// A token without a user does not connect.
    pub disallow_anonymous_connection_tokens: bool,
    /// Time between pings; `None`: no pings.
    pub ping_interval: Option<Duration>,
    /// Time for the answer to a ping; `None`: it is not waited for.
    pub pong_timeout: Option<Duration>,
    /// Grace after a connection's expiry for its refresh.
    pub expired_close_delay: Duration,
    /// Grace after a subscription's expiry for its refresh.
    pub expired_sub_close_delay: Duration,
    /// Time for the connect command after the transport is there; `None`: for ever.
    pub stale_close_delay: Option<Duration>,
    /// Most channels of a connection; 0: no limit.
    pub channel_limit: usize,
    /// Most bytes that wait for a connection; then it is [`Disconnect::SLOW`].
    pub queue_max_size: usize,
    /// Commands of a connection that may wait for an application at the same time; at least 1.
    pub concurrency: usize,
    /// Time between refreshes of a client's presence.
    pub presence_update_interval: Duration,
    /// Time between checks of a subscription's position; `None`: no checks.
    pub channel_position_check_delay: Option<Duration>,
    /// Most age of a publication that still counts as in time; `None`: any.
    pub channel_position_max_time_lag: Option<Duration>,
    /// Most connections of the server; 0: no limit.
    pub connection_limit: usize,
    /// Most connections of a user on this server; 0: no limit.
    pub user_connection_limit: usize,
    /// Most new connections in a second; 0: no limit.
    pub connection_rate_limit: u32,
    /// The reply to connect has the server's time.
    pub connect_include_server_time: bool,
    /// Most publications in a reply to history; 0: no limit.
    pub history_max_publication_limit: usize,
    /// Most publications in a recovery; with more the client is told that it could not recover. 0: no limit.
    pub recovery_max_publication_limit: usize,
    /// Tokens are read, not verified: for tests alone.
    pub insecure_skip_token_signature_verify: bool,
    /// Clients may do anything: for tests alone.
    pub insecure: bool,
    /// A channel of each user, which the server subscribes to.
    pub personal_channel: Option<PersonalChannel>,
    /// The header of requests that names the user, from a trusted proxy before the server.
    pub user_id_http_header: Option<String>,
    /// Ends of unidirectional connections in place of errors of connect, by their code.
    pub connect_code_to_disconnect: HashMap<u32, Disconnect>,
    /// Rates of commands of one connection.
    pub rate_limit: RateLimits,
}

/// A channel of each user, which the server subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonalChannel {
    /// Its namespace; empty: none.
    pub namespace: String,
    /// A new connection of a user ends the others.
    pub single_connection: bool,
}

/// At most `rate` in `interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The time that the rate is counted over; above 0.
    pub interval: Duration,
    /// How many; above 0.
    pub rate: u32,
}

/// Rates of commands of one connection; all rates of a list hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Of all commands.
    pub total: Vec<Rate>,
    /// Of each command without rates of its own.
    pub default: Vec<Rate>,
    /// By command, as `publish`.
    pub commands: Vec<(&'static str, Vec<Rate>)>,
}

/// Channels and their namespaces.
#[derive(Debug)]
pub struct Channels {
    /// Channels without a namespace.
    pub without_namespace: Arc<Namespace>,
    /// The others, by name.
    pub namespaces: HashMap<String, Arc<Namespace>>,
    /// Most bytes of a name; 0: no limit.
    pub max_length: usize,
    /// Names that begin so need a token; empty: none do.
    pub private_prefix: String,
    /// Ends the namespace in a name; empty: there are no namespaces.
    pub namespace_boundary: String,
    /// Begins the users in a name; empty: no name has users.
    pub user_boundary: String,
    /// Parts the users in a name; empty: there is one.
    pub user_separator: String,
}

/// How a client catches up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryMode {
    /// With everything that it missed.
    #[default]
    Stream,
    /// With the latest publication.
    Cache,
}

/// What publications must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataFormat {
    /// Not empty.
    #[default]
    NotEmpty,
    /// JSON.
    Json,
    /// A JSON object.
    JsonObject,
    /// Anything.
    Binary,
}

/// What a PUBLISH of Redis's protocol does to a channel. An option of Apus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FromResp {
    /// Nothing: only the API, `LIVE.PUBLISH` and clients publish.
    #[default]
    Off,
    /// JSON is published; what is not JSON is left out, and counted.
    Json,
    /// JSON is published, and other text as a JSON string; bytes that are no UTF-8 as base64 in a string.
    Wrap,
    /// Bytes as they are, for clients that speak Protobuf.
    Binary,
}

/// The options of a namespace.
#[derive(Debug)]
pub struct Namespace {
    /// Its name; empty for channels without one.
    pub name: String,
    /// The channels are of a kind that is supported; otherwise nothing may be done with them (108).
    pub is_available: bool,
    /// Clients in a channel are listed.
    pub presence: bool,
    /// Joins and leaves are published.
    pub join_leave: bool,
    /// … and pushed to clients that did not ask.
    pub force_push_join_leave: bool,
    /// Most publications of the history; 0: there is none.
    pub history_size: usize,
    /// How long the history is kept after its last publication; 0: there is none.
    pub history_ttl: Duration,
    /// How long offset and epoch are kept after their last use; never 0.
    pub history_meta_ttl: Duration,
    /// Clients follow their position even if they did not ask.
    pub force_positioning: bool,
    /// Clients may ask for positioning without access to the history.
    pub allow_positioning: bool,
    /// Clients recover even if they did not ask.
    pub force_recovery: bool,
    /// Clients may ask for recovery without access to the history.
    pub allow_recovery: bool,
    /// How clients catch up.
    pub recovery_mode: RecoveryMode,
    /// The latest publication comes with the subscription, unasked.
    pub auto_cache_recover: bool,
    /// Clients may ask for Fossil deltas.
    pub delta_fossil: bool,
    /// Every publication may go out as a delta.
    pub delta_publish: bool,
    /// Clients may filter by tags.
    pub allow_tags_filter: bool,
    /// Users that are known may subscribe.
    pub allow_subscribe_for_client: bool,
    /// … and clients without a user.
    pub allow_subscribe_for_anonymous: bool,
    /// Users may publish.
    pub allow_publish_for_client: bool,
    /// Subscribers may publish.
    pub allow_publish_for_subscriber: bool,
    /// … and clients without a user.
    pub allow_publish_for_anonymous: bool,
    /// Users may ask who is there.
    pub allow_presence_for_client: bool,
    /// Subscribers may ask who is there.
    pub allow_presence_for_subscriber: bool,
    /// … and clients without a user.
    pub allow_presence_for_anonymous: bool,
    /// Users may read the history.
    pub allow_history_for_client: bool,
    /// Subscribers may read the history.
    pub allow_history_for_subscriber: bool,
    /// … and clients without a user.
    pub allow_history_for_anonymous: bool,
    /// Names with users are for those users.
    pub allow_user_limited_channels: bool,
    /// What names must match, after the namespace; `None`: ASCII.
    pub channel_regex: Option<Pattern>,
    /// What publications must be.
    pub publication_data_format: DataFormat,
    /// Decides on subscriptions.
    pub subscribe_proxy: Option<Arc<Proxy>>,
    /// Decides on publications of clients.
    pub publish_proxy: Option<Arc<Proxy>>,
    /// Refreshes subscriptions.
    pub sub_refresh_proxy: Option<Arc<Proxy>>,
    /// How long publications wait for others, to go out together; 0: until the end of the loop's turn.
    pub batch_max_delay: Duration,
    /// Most publications that wait; 0: no limit.
    pub batch_max_size: usize,
    /// Of what waits only the latest goes out.
    pub batch_flush_latest: bool,
    /// Clients may have a number in place of the channel's name.
    pub allow_channel_compaction: bool,
    /// The topic of the log that the channels are; `{channel}` stands for the name after the namespace.
    pub topic: Option<String>,
    /// What PUBLISH does.
    pub publish_from_resp: FromResp,
}

impl Namespace {
    /// Whether channels keep a history.
    #[must_use]
    pub fn has_history(&self) -> bool {
        self.topic.is_some() || (self.history_size > 0 && !self.history_ttl.is_zero())
    }

    /// The topic that a channel is, by what follows the namespace in its name; `None`: it is none.
    #[must_use]
    pub fn topic_of(&self, rest: &str) -> Option<String> {
        self.topic.as_ref().map(|topic| topic.replace("{channel}", rest))
    }
}

/// Calls of clients.
#[derive(Debug, Default)]
pub struct Rpc {
    /// Methods without a namespace.
    pub without_namespace: RpcNamespace,
    /// The others, by name.
    pub namespaces: HashMap<String, RpcNamespace>,
    /// Ends the namespace in a method's name; empty: there are no namespaces.
    pub namespace_boundary: String,
    /// The method that replies nothing at once, to measure latency; `None`: there is none.
    pub ping_method: Option<String>,
}

/// Methods of one namespace.
#[derive(Clone, Debug, Default)]
pub struct RpcNamespace {
    /// What is called; `None`: the methods are not available.
    pub proxy: Option<Arc<Proxy>>,
}

/// Where a proxy sends its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A URL, `http` or `https`.
    Http(String),
    /// A function in the store, in the file `function:NAME`: FCALL with the request's JSON as its argument, whose
    /// reply is the response's JSON. An addition of Apus.
    Function(String),
}

/// A proxy: whom to ask, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Its name, for logs and metrics.
    pub name: String,
    /// Where it sends its requests.
    pub endpoint: Endpoint,
    /// Time for a response; above 0.
    pub timeout: Duration,
    /// Headers of the client's request that go along, in lower case.
    pub http_headers: Vec<String>,
    /// Headers of the client's connect command that go along, in lower case. The client chooses their values.
    pub emulated_headers: Vec<String>,
    /// Headers that are always sent.
    pub static_headers: Vec<(String, String)>,
    /// Data are sent as base64, in `b64data`.
    pub binary_encoding: bool,
    /// The connection's `meta` is sent.
    pub include_connection_meta: bool,
    /// What statuses of HTTP other than 200 mean.
    pub status_transforms: Vec<StatusTransform>,
    /// TLS of the client side, beyond what the scheme `https` brings.
    pub tls: Option<ClientTls>,
}

/// What a status of HTTP means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusTransform {
    /// The status.
    pub status: u16,
    /// What the client is told.
    pub to: crate::code::Refusal,
}

/// TLS towards a proxy's backend. Keys and certificates are PEM, base64 of PEM, or the path of a file of PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// The client's certificate.
    pub cert: String,
    /// Its key.
    pub key: String,
    /// Authorities that sign the backend's certificate; empty: the system's.
    pub server_ca: String,
    /// The name in the backend's certificate; empty: the URL's host.
    pub server_name: String,
    /// The backend's certificate is not checked.
    pub insecure_skip_verify: bool,
}

/// The server API over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpApi {
    /// Whether it is there.
    pub enabled: bool,
    /// Its paths begin so.
    pub prefix: String,
    /// The key that requests show; empty with [`Self::insecure`] `false`: no request is let in.
    pub key: String,
    /// No key is asked for.
    pub insecure: bool,
    /// Errors are statuses of HTTP for all requests, not only for those that ask.
    pub error_mode_transport: bool,
}

/// The bidirectional WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSocket {
    /// Whether it is there.
    pub enabled: bool,
    /// Its path.
    pub prefix: String,
    /// Most bytes of a message.
    pub message_max: usize,
}

/// The unidirectional WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniWebSocket {
    /// What both WebSockets have.
    pub websocket: WebSocket,
    /// No push says why the connection ends; the close frame does.
    pub disable_disconnect_push: bool,
    /// Pushes of one write are one message, parted by line feeds.
    pub join_push_messages: bool,
}

/// An HTTP handler without a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Whether it is there.
    pub enabled: bool,
    /// Its path.
    pub prefix: String,
}

/// An HTTP handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Whether it is there.
    pub enabled: bool,
    /// Its path.
    pub prefix: String,
    /// Most bytes of a request's body.
    pub body_max: usize,
}

/// A unidirectional HTTP handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniStream {
    /// What all handlers have.
    pub stream: Stream,
    /// Responses of HTTP in place of errors and ends of connect, by their code; `None`: they are told in the stream.
    pub connect_code_to_response: Option<HashMap<u32, HttpResponse>>,
}

impl UniStream {
    /// The status and the body that a refused connect is answered with, by the code and the text of the refusal;
    /// `None`: it is told in the stream. A code without a response of its own is an error of the server, as in
    /// Centrifugo.
    #[must_use]
    pub fn response<'a>(&'a self, code: u32, text: &'a str) -> Option<(u16, &'a str)> {
        let all = self.connect_code_to_response.as_ref()?;
        Some(match all.get(&code) {
            Some(own) if own.body.is_empty() => (own.status, text),
            Some(own) => (own.status, &own.body),
            None => (500, "Internal Server Error"),
        })
    }
}

/// A response of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}
