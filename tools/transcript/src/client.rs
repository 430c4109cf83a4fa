//! A blocking client, just enough to replay transcripts and to talk to servers in tests.

use crate::{DecodeError, Reply, decode};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a reply may take before the test that waits for it is told so.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);

/// Longest reply that is taken, in bytes: what tests ask for is far shorter, and a mistake shall not
/// fill the machine.
const REPLY_MAX: usize = 256 << 20;

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    /// Bytes that arrived and are not decoded; those before `taken` are spent.
    received: Vec<u8>,
    taken: usize,
    pushes: Vec<Reply>,
}

/// Why a reply could not be had.
#[derive(Debug)]
pub enum ClientError {
    /// The connection failed, timed out, or the server closed it (`UnexpectedEof`).
    Io(io::Error),
    /// The server sent something that is not RESP.
    Decode(DecodeError),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "the server closed the connection")
            }
            ClientError::Io(e) if e.kind() == io::ErrorKind::WouldBlock => {
                write!(f, "no reply within {} s", REPLY_TIMEOUT.as_secs())
            }
            ClientError::Io(e) => write!(f, "connection: {e}"),
            ClientError::Decode(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(e: io::Error) -> Self {
        ClientError::Io(e)
    }
}

impl Client {
    /// Connects. The connection speaks RESP2 until a HELLO is sent.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        Ok(Client { stream, received: Vec::new(), taken: 0, pushes: Vec::new() })
    }

    /// Sends one command and waits for its reply.
    ///
    /// RESP3 pushes that arrive meanwhile are kept for [`Client::pushes`], except after a
    /// (un)subscription, whose reply is itself a push. A command that never gets a reply
    /// (after `CLIENT REPLY OFF`) ends in a timeout.
    pub fn call(&mut self, args: &[impl AsRef<[u8]>]) -> Result<Reply, ClientError> {
        self.send(args)?;
        let name = args.first().map_or(&[][..], |arg| arg.as_ref()).to_ascii_lowercase();
        loop {
            match self.receive()? {
                push @ Reply::Push(_) if !name.ends_with(b"subscribe") => self.pushes.push(push),
                reply => return Ok(reply),
            }
        }
    }

    /// Sends one command and does not wait.
    pub fn send(&mut self, args: &[impl AsRef<[u8]>]) -> io::Result<()> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            let arg = arg.as_ref();
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.send_raw(&request)
    }

    /// Sends bytes as they are: inline commands, and what is not a request at all.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits for the next reply or push.
    pub fn receive(&mut self) -> Result<Reply, ClientError> {
        loop {
            let mut rest = &self.received[self.taken..];
            if let Some(reply) = decode(&mut rest).map_err(ClientError::Decode)? {
                self.taken = self.received.len() - rest.len();
                return Ok(reply);
            }
            self.received.drain(..self.taken);
            self.taken = 0;
            if self.received.len() > REPLY_MAX {
                return Err(io::Error::from(io::ErrorKind::FileTooLarge).into());
            }
            let mut chunk = [0; 64 * 1024];
            let read = match self.stream.read(&mut chunk) {
                // The process was stopped and goes on.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            match read {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => self.received.extend_from_slice(&chunk[..n]),
            }
        }
    }

    /// Takes the pushes that arrived during [`Client::call`], oldest first.
    pub fn pushes(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.pushes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, ClientError};
    use crate::Reply;
    use std::io::{ErrorKind, Read, Write};
    use std::net::TcpListener;

    #[test]
    fn replies_pushes_and_a_closed_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 14];
            stream.read_exact(&mut request).expect("a request");
            // In two pieces, with a push in front of the reply.
            stream.write_all(b">1\r\n+p\r\n$3\r\na\r").expect("sent");
            stream.write_all(b"b\r\n+OK\r\n").expect("sent");
            request
        });
        let mut client = Client::connect(address).expect("connected");
        let reply = client.call(&["PING"]).expect("a reply");
        assert_eq!(reply, Reply::Bulk(b"a\rb".to_vec()));
        assert_eq!(client.pushes(), [Reply::Push(vec![Reply::Status(b"p".to_vec())])]);
        assert_eq!(client.receive().expect("the next"), Reply::Status(b"OK".to_vec()));
        match client.receive() {
            Err(ClientError::Io(e)) if e.kind() == ErrorKind::UnexpectedEof => {}
            other => panic!("{other:?} after the end"),
        }
        assert_eq!(&server.join().expect("the server"), b"*1\r\n$4\r\nPING\r\n");
    }
}
