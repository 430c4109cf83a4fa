//! What a proxy is asked: JSON, and headers.

use crate::json::{Writer, base64};
use crate::options::Proxy;

/// Whose question it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller<'a> {
    /// The client.
    pub client: &'a str,
    /// The name of its transport, as `websocket`.
    pub transport: &'a str,
    /// `json` or `protobuf`.
    pub protocol: &'a str,
    /// The user; not in a question about connect.
    pub user: &'a str,
    /// The connection's JSON for proxies.
    pub meta: Option<&'a [u8]>,
}

/// What it is about.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their names are those of the protocol")]
pub enum Event<'a> {
    Connect { data: &'a [u8], name: &'a str, version: &'a str, channels: &'a [&'a str] },
    Refresh,
    Subscribe { channel: &'a str, token: &'a str, data: &'a [u8] },
    Publish { channel: &'a str, data: &'a [u8] },
    SubRefresh { channel: &'a str },
    Rpc { method: &'a str, data: &'a [u8] },
}

impl Event<'_> {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect",
            Self::Refresh => "refresh",
            Self::Subscribe { .. } => "subscribe",
            Self::Publish { .. } => "publish",
            Self::SubRefresh { .. } => "sub_refresh",
            Self::Rpc { .. } => "rpc",
        }
    }
}

/// The body of a question. `data` of a client that speaks JSON is JSON; with `binary_encoding` it is sent as base64.
#[must_use]
pub fn request(proxy: &Proxy, caller: &Caller<'_>, event: &Event<'_>) -> Vec<u8> {
    let mut writer = Writer::default().open();
    for (name, text) in [
        ("client", caller.client),
        ("transport", caller.transport),
        ("protocol", caller.protocol),
        ("encoding", if proxy.binary_encoding { "binary" } else { "json" }),
    ] {
        writer.name(name);
        writer.text(text);
    }
    if !matches!(event, Event::Connect { .. }) {
        writer.name("user");
        writer.text(caller.user);
    }
    match event {
        Event::Connect { data, name, version, channels } => {
            write_data(&mut writer, proxy, data);
            writer.string("name", name);
            writer.string("version", version);
            writer.strings("channels", channels);
        }
        Event::Refresh => {}
        Event::Subscribe { channel, token, data } => {
            writer.string("channel", channel);
            writer.string("token", token);
            write_data(&mut writer, proxy, data);
        }
        Event::Publish { channel, data } => {
            writer.string("channel", channel);
            write_data(&mut writer, proxy, data);
        }
        Event::SubRefresh { channel } => writer.string("channel", channel),
        Event::Rpc { method, data } => {
            writer.string("method", method);
            write_data(&mut writer, proxy, data);
        }
    }
    if let Some(meta) = caller.meta.filter(|_| proxy.include_connection_meta) {
        writer.json("meta", meta);
    }
    writer.end();
    writer.finish()
}

fn write_data(writer: &mut Writer, proxy: &Proxy, data: &[u8]) {
    if proxy.binary_encoding {
        writer.string("b64data", &base64(data));
    } else if serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok() {
        writer.json("data", data);
    } else if !data.is_empty() {
        // Bytes of a client that speaks Protobuf: never into the JSON as they are.
        writer.string("b64data", &base64(data));
    }
}

/// The headers of a question over HTTP: those that are always sent, over them those of the connect command, over them
/// those of the client's request, each if the proxy lists them. `emulated` is from the connect command's `headers`,
/// `request` from the request of HTTP.
#[must_use]
pub fn headers(
    proxy: &Proxy,
    emulated: &[(String, String)],
    request: &[(String, String)],
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let put = |all: &mut Vec<(String, String)>, name: &str, value: &str| {
        all.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        all.push((name.to_owned(), value.to_owned()));
    };
    proxy.static_headers.iter().for_each(|(name, value)| put(&mut all, name, value));
    for (listed, headers) in [(&proxy.emulated_headers, emulated), (&proxy.http_headers, request)] {
        for (name, value) in headers {
            // A value with a line feed would be another header.
            let is_whole = !value.bytes().any(|byte| byte < b' ' && byte != b'\t');
            if is_whole && listed.iter().any(|allowed| name.eq_ignore_ascii_case(allowed)) {
                put(&mut all, name, value);
            }
        }
    }
    put(&mut all, "Content-Type", "application/json");
    all
}
