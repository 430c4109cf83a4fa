//! A connection that publishes: over WebSocket, or through the server's HTTP API.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;

use super::frame;
use super::message;
use super::options::{Options, Place, Publish};
use super::wire::{credentials, send, upgrade};
use crate::kv::frames::Errors;
use crate::kv::responses::Responses;

/// See the module's text.
pub(super) struct Publisher {
    stream: TcpStream,
    out: Vec<u8>,
    kind: Kind,
    /// What stands before the body of each request of HTTP.
    head: String,
    size: usize,
    number: u64,
    /// Messages whose replies have not come.
    pub(super) unanswered: u64,
}

/// The handshake and the connect command. Returns what has come behind the head of the answer.
fn begin(o: &Options, place: &Place, stream: &mut std::net::TcpStream) -> Result<Vec<u8>, String> {
    let named = |e: io::Error| format!("a publisher: {e}");
    let mut out = upgrade(place).into_bytes();
    let (mut left, mut piece) = (Vec::new(), [0; 4096]);
    for end in [&b"\r\n\r\n"[..], b"\"id\":1"] {
        stream.write_all(&out).map_err(named)?;
        while memchr::memmem::find(&left, end).is_none() {
            match stream.read(&mut piece).map_err(named)? {
                0 => {
                    let text = String::from_utf8_lossy(&left).into_owned();
                    return Err(format!("a publisher is refused: {text}"));
                }
                n => left.extend_from_slice(&piece[..n]),
            }
        }
        out.clear();
        frame::text(&mut out, &format!("{{\"id\":1,\"connect\":{{{}}}}}", credentials(o)));
    }
    let head = memchr::memmem::find(&left, b"\r\n\r\n").map_or(0, |at| at + 4);
    left.drain(..head);
    Ok(left)
}

enum Kind {
    Websocket { left: Vec<u8> },
    Http(Box<Responses>),
}

impl Publisher {
    /// Connects.
    ///
    /// # Errors
    /// The server is unreachable, or refuses the connection.
    pub(super) fn connect(o: &Options, place: &Place, at: SocketAddr) -> Result<Self, String> {
        let named = |e: io::Error| format!("a publisher: {e}");
        let patience = Duration::from_secs(10);
        let mut stream = std::net::TcpStream::connect_timeout(&at, patience).map_err(named)?;
        stream.set_nodelay(true).map_err(named)?;
        stream.set_read_timeout(Some(patience)).map_err(named)?;
        let kind = match o.publish {
            Publish::Http => Kind::Http(Box::new(Responses::new(false))),
            Publish::Websocket | Publish::None => {
                Kind::Websocket { left: begin(o, place, &mut stream)? }
            }
        };
        stream.set_nonblocking(true).map_err(named)?;
        let head = format!(
            "POST /api/publish HTTP/1.1\r\nHost: {}:{}\r\nX-API-Key: {}\r\n\
             Content-Type: application/json\r\nContent-Length: ",
            place.host, place.port, o.api_key
        );
        let stream = TcpStream::from_std(stream);
        let out = Vec::new();
        Ok(Self { stream, out, kind, head, size: o.size, number: 1, unanswered: 0 })
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Makes a message ready; [`Self::flush`] sends it.
    pub(super) fn publish(&mut self, channel: &str, due_ns: u64, number: u64) {
        let mut body = format!("{{\"channel\":\"{channel}\",\"data\":");
        message::data(&mut body, due_ns, number, self.size);
        body.push('}');
        self.number += 1;
        self.unanswered += 1;
        match self.kind {
            Kind::Websocket { .. } => {
                let text = format!("{{\"id\":{},\"publish\":{body}}}", self.number);
                frame::text(&mut self.out, &text);
            }
            Kind::Http(_) => {
                let text = format!("{}{}\r\n\r\n{body}", self.head, body.len());
                self.out.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Sends what the socket takes.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        if self.out.is_empty() { Ok(()) } else { send(&mut self.stream, &mut self.out) }
    }

    /// Takes replies, and sends on.
    ///
    /// # Errors
    /// The connection has ended, or a reply is an error.
    pub(super) fn turn(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        self.flush()?;
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err("the server closed its connection".to_owned()),
                Ok(n) => self.replies(&buffer[..n])?,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.to_string()),
            }
        }
    }

    fn replies(&mut self, input: &[u8]) -> Result<(), String> {
        match &mut self.kind {
            Kind::Http(responses) => {
                let mut errors = Errors::default();
                let done = responses.feed(input, &mut errors)?;
                self.unanswered = self.unanswered.saturating_sub(done);
                // An error of the API has the status 200.
                let error = memchr::memmem::find(input, b"\"error\":{");
                if errors.count > 0 || error.is_some() {
                    return Err(format!("an answer: {}", String::from_utf8_lossy(input)));
                }
            }
            Kind::Websocket { left } => {
                left.extend_from_slice(input);
                let (mut at, mut pings) = (0, 0);
                while let Some(got) = frame::read(&left[at..])? {
                    at += got.len;
                    let payload = got.payload;
                    if got.opcode == frame::CLOSE
                        || memchr::memmem::find(payload, b"\"error\":{").is_some()
                    {
                        return Err(format!("a reply: {}", String::from_utf8_lossy(payload)));
                    }
                    for line in payload.split(|b| *b == b'\n') {
                        pings += usize::from(line == b"{}");
                        let reply = memchr::memmem::find(line, b"\"publish\":{").is_some();
                        self.unanswered = self.unanswered.saturating_sub(u64::from(reply));
                    }
                }
                left.drain(..at);
                for _ in 0..pings {
                    frame::text(&mut self.out, "{}");
                }
                self.flush()?;
            }
        }
        Ok(())
    }
}
