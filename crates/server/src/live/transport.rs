//! The endpoints of live channels: requests that become WebSockets or streams, commands by requests, the API.

use std::sync::Arc;

use ::live::options::{Options, Stream, WebSocket};
use engine::Thread;
use http1::form::urlencoded;
use http1::response::{begin, end, field, length};
use http1::{Head, Method};
use resp::Out;

use super::emulation::Emulation;
use super::hub::wire::{Transport, Unsent, Wire};
use super::hub::{AnswerForm, Cx, Fields, received};
use super::mail::Mail;
use super::peers::{Waiting, Waits};
use super::{Hub, Live, api};
use crate::Shared;
use crate::web::{After, Responder};
use crate::web::{At, Streaming};
use live_protocol::{self as wire, Command, ConnectRequest, Form, Method as Does};
use websocket::handshake::{PROTOBUF, Refused};
use websocket::{Bad, Decoder, Message, frame};

const PLAIN: &str = "text/plain; charset=utf-8";

/// A request, and where its answer goes.
pub(super) struct Request<'a, 'h> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) head: &'a Head<'h>,
    pub(super) body: &'a [u8],
    pub(super) date: &'a str,
    pub(super) out: &'a mut Out,
    pub(super) options: Arc<Options>,
}

/// Answers a request that is for live channels; none: it is for pages.
pub(crate) fn answer(
    web: &mut Responder,
    shared: &Arc<Shared>,
    thread: &mut Thread,
    (head, body): (&Head<'_>, &[u8]),
    out: &mut Out,
) -> Option<After> {
    let live = shared.live.as_ref()?;
    let options = live.options();
    let path = &*head.target.path;
    let kind = kind_of(&options, path);
    let emulates = kind.is_none() && is_at(&options.emulation, path);
    let health = kind.is_none() && options.health.enabled && options.health.prefix == *path;
    let date = web.date.clone();
    let mut request =
        Request { shared, head, body, date: &date, out, options: Arc::clone(&options) };
    match kind {
        Some(kind) => Some(request.begin_stream(kind)),
        None if emulates => {
            let hub = web.hub(shared, thread)?;
            Some(request.emulate(live, &mut Cx { shared, thread, outlets: hub.1 }))
        }
        None if health => Some(request.plain(200, "application/json", b"{}")),
        None => {
            let hub = web.hub(shared, thread)?;
            api::answer(hub.0, &mut Cx { shared, thread, outlets: hub.1 }, &mut request)
        }
    }
}

fn is_at(stream: &Stream, path: &str) -> bool {
    stream.enabled && stream.prefix == path
}

/// The transport of a path.
fn kind_of(options: &Options, path: &str) -> Option<Transport> {
    let o = options;
    let is_socket = |socket: &WebSocket| socket.enabled && socket.prefix == path;
    Some(match () {
        () if is_socket(&o.websocket) => Transport::WebSocket,
        () if is_at(&o.sse, path) => Transport::Sse,
        () if is_at(&o.http_stream, path) => Transport::HttpStream,
        () if is_socket(&o.uni_websocket.websocket) => Transport::UniWebSocket,
        () if is_at(&o.uni_sse.stream, path) => Transport::UniSse,
        () if is_at(&o.uni_http_stream.stream, path) => Transport::UniHttpStream,
        () => return None,
    })
}

impl Live {
    /// Whether a path is an endpoint of clients.
    pub(crate) fn is_endpoint(&self, path: &str) -> bool {
        let options = self.options();
        kind_of(&options, path).is_some() || is_at(&options.emulation, path)
    }

    /// Most bytes of the body of a request for a path; none: none are expected there, or it is no endpoint of clients.
    pub(crate) fn body_max_of(&self, path: &str) -> Option<usize> {
        let o = self.options();
        let stream = match kind_of(&o, path) {
            Some(Transport::Sse) => &o.sse,
            Some(Transport::HttpStream) => &o.http_stream,
            Some(Transport::UniSse) => &o.uni_sse.stream,
            Some(Transport::UniHttpStream) => &o.uni_http_stream.stream,
            None if is_at(&o.emulation, path) => &o.emulation,
            Some(Transport::WebSocket | Transport::UniWebSocket) | None => return None,
        };
        Some(stream.body_max)
    }
}

impl Request<'_, '_> {
    /// Answers at once.
    pub(super) fn plain(&mut self, status: u16, content_type: &str, body: &[u8]) -> After {
        self.with_fields(status, &[], content_type, body)
    }

    fn with_fields(
        &mut self,
        status: u16,
        fields: &[(&str, &str)],
        content_type: &str,
        body: &[u8],
    ) -> After {
        let buf = &mut self.out.buf;
        begin(buf, status, self.date);
        self.allow_origin();
        let buf = &mut self.out.buf;
        for (name, value) in fields {
            field(buf, name, value);
        }
        if !body.is_empty() {
            field(buf, "Content-Type", content_type);
        }
        if status != 204 {
            length(buf, body.len());
        }
        let keeps = self.head.keep_alive && !self.shared.stopping();
        end(buf, keeps, self.head.minor);
        buf.extend_from_slice(body);
        if keeps { After::Keeps } else { After::Ends }
    }

    /// Answers when others have told what is needed.
    pub(super) fn wait(&mut self, waits: Waits) -> After {
        let keeps = self.head.keep_alive && !self.shared.stopping();
        let form = AnswerForm { date: self.date.to_owned(), keeps, minor: self.head.minor };
        After::Waits(Box::new(Waiting { waits: Some(waits), form }))
    }

    fn text(&mut self, status: u16, why: &str) -> After {
        self.plain(status, PLAIN, format!("{why}\n").as_bytes())
    }

    /// What a page of another origin needs to read the answer.
    fn allow_origin(&mut self) {
        if let Some(origin) = self.head.text("origin")
            && self.options.client.allowed_origins.allows(Some(origin))
        {
            let buf = &mut self.out.buf;
            field(buf, "Access-Control-Allow-Origin", origin);
            field(buf, "Access-Control-Allow-Credentials", "true");
            field(buf, "Vary", "Origin");
        }
    }

    /// The answer to a question of a browser before it sends a request of another origin.
    fn preflight(&mut self) -> After {
        let asked = self.head.text("access-control-request-headers").unwrap_or("").to_owned();
        let buf = &mut self.out.buf;
        begin(buf, 204, self.date);
        self.allow_origin();
        let buf = &mut self.out.buf;
        field(buf, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
        if !asked.is_empty() {
            field(buf, "Access-Control-Allow-Headers", &asked);
        }
        field(buf, "Access-Control-Max-Age", "300");
        end(buf, self.head.keep_alive, self.head.minor);
        if self.head.keep_alive { After::Keeps } else { After::Ends }
    }

    fn begin_stream(&mut self, kind: Transport) -> After {
        let cap = match self.options.client.queue_max_size {
            0 => usize::MAX / 4,
            bytes => bytes,
        };
        if self.shared.stopping() {
            return self.text(503, "the server stops");
        }
        if !self.options.client.allowed_origins.allows(self.head.text("origin")) {
            return self.text(403, "this origin is not allowed");
        }
        let asks = self.head.method != Method::Options;
        let live = self.shared.live.as_ref().filter(|_| asks);
        if live.is_some_and(|live| !live.lets_in(&self.shared.engine, &self.options)) {
            return self.text(503, "there are too many connections, or new ones");
        }
        match kind {
            Transport::WebSocket | Transport::UniWebSocket => self.begin_socket(kind, cap),
            Transport::Sse
            | Transport::UniSse
            | Transport::HttpStream
            | Transport::UniHttpStream => self.begin_http(kind, cap),
        }
    }

    fn begin_socket(&mut self, kind: Transport, cap: usize) -> After {
        let head = self.head;
        let method = if head.method == Method::Get { "GET" } else { "" };
        let handshake = match websocket::handshake::check(method, |name| head.text(name)) {
            Ok(handshake) => handshake,
            Err(Refused(status, why)) => {
                let version = [("Sec-WebSocket-Version", "13")];
                let fields = if status == 426 { &version[..] } else { &[] };
                return self.with_fields(status, fields, PLAIN, format!("{why}\n").as_bytes());
            }
        };
        let offered = head.text("sec-websocket-protocol").unwrap_or("");
        let offers = |name: &str| offered.split(',').any(|one| one.trim() == name);
        let query = urlencoded(head.target.query.as_bytes());
        let asks = |name: &str| query.iter().any(|(n, v)| n == name && v == "protobuf");
        let form = if handshake.protobuf || asks("cf_protocol") || asks("format") {
            Form::Protobuf
        } else {
            Form::Json
        };
        let buf = &mut self.out.buf;
        begin(buf, 101, self.date);
        field(buf, "Upgrade", "websocket");
        field(buf, "Connection", "Upgrade");
        field(buf, "Sec-WebSocket-Accept", &handshake.accept);
        if handshake.protobuf {
            field(buf, "Sec-WebSocket-Protocol", PROTOBUF);
        } else if offers("centrifuge-json") {
            field(buf, "Sec-WebSocket-Protocol", "centrifuge-json");
        }
        end(buf, true, 1);
        let (max, joins) = match kind {
            Transport::UniWebSocket => {
                let uni = &self.options.uni_websocket;
                (uni.websocket.message_max, uni.join_push_messages)
            }
            _ => (self.options.websocket.message_max, false),
        };
        let side = Side::Socket(Decoder::default(), max, joins);
        self.stream(Wire { kind, form }, side, cap)
    }

    fn begin_http(&mut self, kind: Transport, cap: usize) -> After {
        let head = self.head;
        let uni = matches!(kind, Transport::UniSse | Transport::UniHttpStream);
        let sse = matches!(kind, Transport::Sse | Transport::UniSse);
        let text = match head.method {
            Method::Options => return self.preflight(),
            Method::Post => self.body.to_vec(),
            Method::Get if sse => {
                let query = urlencoded(head.target.query.as_bytes());
                let asked = query.into_iter().find(|(name, _)| name == "cf_connect");
                asked.map_or_else(Vec::new, |(_, text)| text.into_bytes())
            }
            _ => return self.text(405, "this method is not for streams"),
        };
        let binary = !sse && is_binary(head);
        let form = if binary { Form::Protobuf } else { Form::Json };
        let first = match (uni, form) {
            (true, Form::Json) if text.trim_ascii().is_empty() => Some(connect(Default::default())),
            (true, Form::Json) => wire::connect_of_json(&text).map(connect),
            (true, Form::Protobuf) => wire::connect_of_protobuf(&text).map(connect),
            (false, Form::Json) => wire::decode_json(&text),
            (false, Form::Protobuf) => wire::decode_protobuf(&text),
        };
        let Some(first) = first.filter(|commands| !commands.is_empty()) else {
            return self.text(400, "there is no connect command");
        };
        let from = self.out.buf.len();
        self.allow_origin();
        let fields = self.out.buf.split_off(from);
        let buf = &mut self.out.buf;
        begin(buf, 200, self.date);
        buf.extend_from_slice(&fields);
        let content_type = match (sse, form) {
            (true, _) => "text/event-stream; charset=utf-8",
            (_, Form::Json) => "application/json",
            (_, Form::Protobuf) => "application/octet-stream",
        };
        field(buf, "Content-Type", content_type);
        field(buf, "Cache-Control", "private, no-cache, no-store, must-revalidate, max-age=0");
        field(buf, "X-Accel-Buffering", "no");
        field(buf, "X-Content-Type-Options", "nosniff");
        // The end of the connection is that of the body.
        end(buf, false, head.minor);
        if sse {
            buf.extend_from_slice(b"\r\n");
        }
        let waits = match kind {
            Transport::UniSse => self.options.uni_sse.connect_code_to_response.is_some(),
            Transport::UniHttpStream => {
                self.options.uni_http_stream.connect_code_to_response.is_some()
            }
            _ => false,
        };
        let unsent = waits.then(|| {
            let stream = self.out.buf.split_off(from);
            Unsent { stream, fields, date: self.date.to_owned() }
        });
        let asked = Box::new(Asked { first, size: text.len(), unsent });
        self.stream(Wire { kind, form }, Side::Response(asked), cap)
    }

    fn stream(&self, wire: Wire, side: Side, cap: usize) -> After {
        let http = self.forwarded();
        After::Streams(Box::new(Connection { wire, http, side }), cap)
    }

    /// The headers that applications are sent.
    fn forwarded(&self) -> Fields {
        let live = self.shared.live.as_ref();
        live.map_or_else(Fields::new, |live| {
            live.forwards(&self.options).of_request(self.head.fields())
        })
    }

    /// Commands for a stream, by a request of their own.
    fn emulate(&mut self, live: &Live, cx: &mut Cx<'_>) -> After {
        match self.head.method {
            Method::Options => return self.preflight(),
            Method::Post => {}
            _ => return self.text(405, "commands are posted here"),
        }
        if !self.options.client.allowed_origins.allows(self.head.text("origin")) {
            return self.text(403, "this origin is not allowed");
        }
        let binary = is_binary(self.head);
        let emulation =
            if binary { Emulation::of_protobuf(self.body) } else { Emulation::of_json(self.body) };
        let Some(emulation) = emulation else { return self.text(400, "this is no request") };
        if emulation.node != live.node && live.pass_on(cx, &emulation.node, emulation.encode()) {
            return self.plain(204, "", b"");
        }
        let there = (emulation.node == live.node).then(|| live.find_session(&emulation.session));
        let Some((thread, id, wire)) = there.flatten() else {
            return self.text(404, "there is no such session");
        };
        let commands = if binary {
            live_protocol::decode_protobuf(&emulation.data)
        } else {
            live_protocol::decode_json(&emulation.data)
        };
        let Some(commands) = commands else { return self.text(400, "these are no commands") };
        if self.options.prometheus {
            let tally = live.tally(cx.thread.index);
            received(&tally, wire.kind, emulation.data.len(), &commands);
        }
        live.post(&self.shared.engine, thread, Mail::Commands(id, commands));
        self.plain(204, "", b"")
    }
}

fn is_binary(head: &Head<'_>) -> bool {
    let content_type = head.text("content-type").unwrap_or("");
    content_type.split(';').next().unwrap_or("").trim() == "application/octet-stream"
}

/// A connect request as the only command.
fn connect(asked: ConnectRequest) -> Vec<Command> {
    vec![Command { id: 0, method: Does::Connect(Box::new(asked)) }]
}

/// Calls the hub of the connection's thread.
pub(super) fn with_hub(at: &mut At<'_>, f: impl FnOnce(&mut Hub, &mut Cx<'_>)) {
    let At { shared, thread, web, .. } = at;
    if let Some((hub, outlets)) = web.hub(shared, thread) {
        f(hub, &mut Cx { shared, thread, outlets });
    }
}

/// A client's connection.
struct Connection {
    wire: Wire,
    http: Fields,
    side: Side,
}

/// What comes from a client.
enum Side {
    /// A WebSocket: messages in frames, of so many bytes at most; and whether pushes that are sent together become one.
    Socket(Decoder, usize, bool),
    /// A response that does not end: what its request said.
    Response(Box<Asked>),
}

struct Asked {
    first: Vec<Command>,
    /// The bytes that said so.
    size: usize,
    /// The head, unless it was sent.
    unsent: Option<Unsent>,
}

impl Connection {
    fn message(&self, at: &mut At<'_>, bytes: &[u8]) {
        let (uni, id) = (self.wire.is_unidirectional(), at.id);
        let kind = self.wire.kind;
        let commands = match (uni, self.wire.form) {
            (true, Form::Json) => wire::connect_of_json(bytes).map(connect),
            (true, Form::Protobuf) => wire::connect_of_protobuf(bytes).map(connect),
            (false, Form::Json) => wire::decode_json(bytes),
            (false, Form::Protobuf) => wire::decode_protobuf(bytes),
        };
        with_hub(at, |hub, cx| match commands {
            Some(commands) if !commands.is_empty() => {
                hub.received(kind, bytes.len(), &commands);
                hub.commands(cx, id, commands);
            }
            _ => hub.malformed(cx, id),
        });
    }

    fn end(at: &mut At<'_>, code: u16, why: &str) {
        let mut last = Vec::new();
        frame::close(&mut last, code, why);
        at.web.outlets.end(at.id, &last);
        let id = at.id;
        with_hub(at, |hub, cx| hub.ended(cx, id));
    }
}

impl Streaming for Connection {
    fn begin(&mut self, at: &mut At<'_>) {
        let (wire, id) = (self.wire, at.id);
        let http = std::mem::take(&mut self.http);
        let side = &mut self.side;
        if let Side::Socket(_, _, true) = side {
            at.web.outlets.join(id);
        }
        with_hub(at, |hub, cx| {
            hub.open(cx, id, wire, http);
            if let Side::Response(asked) = side {
                if let Some(unsent) = asked.unsent.take() {
                    hub.hold_head(id, unsent);
                }
                hub.received(wire.kind, asked.size, &asked.first);
                hub.commands(cx, id, std::mem::take(&mut asked.first));
            }
        });
    }

    fn input(&mut self, at: &mut At<'_>, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        while consumed < bytes.len() && !at.web.outlets.is_ending(at.id) {
            // Behind the request for a response nothing is expected.
            let Side::Socket(decoder, max, _) = &mut self.side else { return bytes.len() };
            match decoder.take(&bytes[consumed..], *max) {
                Ok(None) => break,
                Ok(Some((n, message))) => {
                    consumed += n;
                    match message {
                        None | Some(Message::Pong) => {}
                        Some(Message::Text(bytes) | Message::Binary(bytes)) => {
                            self.message(at, &bytes);
                        }
                        Some(Message::Ping(bytes)) => {
                            let mut out = Vec::new();
                            frame::pong(&mut out, &bytes);
                            at.web.outlets.append(at.id, &out);
                        }
                        Some(Message::Close(code, _)) => Self::end(at, code.unwrap_or(1000), ""),
                    }
                }
                Err(Bad(code, why)) => {
                    Self::end(at, code, why);
                    break;
                }
            }
        }
        consumed
    }

    fn due(&mut self, at: &mut At<'_>) {
        let id = at.id;
        with_hub(at, |hub, cx| hub.due(cx, id));
    }

    fn slow(&mut self, at: &mut At<'_>) {
        let id = at.id;
        with_hub(at, |hub, cx| hub.slow(cx, id));
    }

    fn stop(&mut self, at: &mut At<'_>) {
        let id = at.id;
        with_hub(at, |hub, cx| hub.stop(cx, id));
    }

    fn ended(&mut self, at: &mut At<'_>) {
        let id = at.id;
        with_hub(at, |hub, cx| hub.ended(cx, id));
    }
}
