//! A WebSocket server that sends every message back, for Autobahn's test suite, which checks hundreds of good and bad
//! streams of frames (PyPI `autobahntestsuite`, Python 2.7):
//!
//! ```text
//! cargo run --release -p websocket --example echo 127.0.0.1:9001 &
//! wstest -m fuzzingclient -s spec.json   # "servers": [{"url": "ws://127.0.0.1:9001"}], without 12.* and 13.*
//! ```
//!
//! Compression (cases 12 and 13) is not offered.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use websocket::{Bad, Closing, Decoder, Message, frame, handshake};

/// The largest cases have 16 MiB.
const MAX: usize = 32 << 20;

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9001".to_owned());
    for stream in TcpListener::bind(address)?.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            // A client that goes away is no concern of the others.
            _ = serve(stream);
        });
    }
    Ok(())
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut input, mut out) = (Vec::new(), Vec::new());
    let mut piece = vec![0; 1 << 16];
    let head_end = loop {
        let n = stream.read(&mut piece)?;
        input.extend_from_slice(&piece[..n]);
        match input.windows(4).position(|w| w == b"\r\n\r\n") {
            Some(at) => break at + 4,
            None if n == 0 || input.len() > 1 << 16 => return Ok(()),
            None => {}
        }
    };
    let text = String::from_utf8_lossy(&input[..head_end]).into_owned();
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    match handshake::check("GET", field) {
        Ok(good) => good.answer(&mut out),
        Err(bad) => return write!(stream, "HTTP/1.1 {} {}\r\n\r\n", bad.0, bad.1),
    }
    stream.write_all(&out)?;
    input.drain(..head_end);
    let (mut decoder, mut closing) = (Decoder::default(), Closing::default());
    loop {
        out.clear();
        let mut at = 0;
        let ended = loop {
            match decoder.take(&input[at..], MAX) {
                Ok(None) => break false,
                Ok(Some((n, message))) => {
                    at += n;
                    if echo(message, &mut closing, &mut out) {
                        break true;
                    }
                }
                Err(Bad(code, why)) => {
                    frame::close(&mut out, code, why);
                    break true;
                }
            }
        };
        stream.write_all(&out)?;
        if ended {
            return stream.shutdown(std::net::Shutdown::Write);
        }
        input.drain(..at);
        let n = stream.read(&mut piece)?;
        if n == 0 {
            return Ok(());
        }
        input.extend_from_slice(&piece[..n]);
    }
}

/// Whether the connection is over.
fn echo(message: Option<Message>, closing: &mut Closing, out: &mut Vec<u8>) -> bool {
    match message {
        Some(Message::Text(bytes)) => frame::text(out, &bytes),
        Some(Message::Binary(bytes)) => frame::binary(out, &bytes),
        Some(Message::Ping(bytes)) => frame::pong(out, &bytes),
        Some(Message::Close(code, _)) => {
            if closing.receive() && closing.send() {
                frame::close(out, code.unwrap_or(1000), "");
            }
            return true;
        }
        Some(Message::Pong) | None => {}
    }
    false
}
