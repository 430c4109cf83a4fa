//! HTTP/1.1 as tests need it: one request on a connection of its own, and the whole answer.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::PATIENCE;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Of the first line.
    pub status: u16,
    /// The first line and the headers.
    pub head: String,
    /// All that stands behind them.
    pub body: Vec<u8>,
}

impl Answer {
    /// The answer that these bytes are; `None` when they end within its head, or are no answer.
    #[must_use]
    pub fn parse(all: &[u8]) -> Option<Self> {
        let end = all.windows(4).position(|w| w == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Self { status, head, body: all[end + 4..].to_vec() })
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header, whose name is written in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A connection on which nothing waits for ever.
///
/// # Panics
///
/// If there is none to be had.
#[must_use]
pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Sends bytes, and returns all that comes until the server closes.
#[must_use]
pub fn exchange(to: SocketAddr, request: &[&[u8]]) -> Vec<u8> {
    let mut stream = connect(to);
    // It may be refused before it was read whole.
    let _ = request.iter().try_for_each(|piece| stream.write_all(piece));
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all
}

/// A request with a body, for an answer that ends with the connection.
#[must_use]
pub fn head(method: &str, target: &str, headers: &[(&str, &str)], length: usize) -> String {
    let mut head =
        format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {length}\r\n\r\n"));
    head
}
