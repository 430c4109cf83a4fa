//! What subscribers and publishers have in common on a connection.

use std::io::{self, Write};

use mio::net::TcpStream;

use super::options::{Options, Place};

/// Sends what a socket takes of this.
pub(super) fn send(stream: &mut TcpStream, out: &mut Vec<u8>) -> Result<(), String> {
    let mut sent = 0;
    while sent < out.len() {
        match stream.write(&out[sent..]) {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(format!("a connection: {e}")),
        }
    }
    match sent == out.len() {
        // Connections that wait keep no memory.
        true => *out = Vec::new(),
        false => drop(out.drain(..sent)),
    }
    Ok(())
}

/// The request of a handshake.
pub(super) fn upgrade(place: &Place) -> String {
    let Place { host, port, path, .. } = place;
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// The fields of a connect command.
pub(super) fn credentials(o: &Options) -> String {
    o.token.as_ref().map_or_else(String::new, |token| format!("\"token\":\"{token}\""))
}
