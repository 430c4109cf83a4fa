//! Connecting and the few requests before and beside the load: blocking, one at a time.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::tls::Tls;

/// How long the server may take to let us in, or for one of these requests.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest reply to one of these requests.
const REPLY_MAX: usize = 1 << 20;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// A server, and how to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name in reports; empty when there is only one.
    pub(crate) name: String,
    pub(crate) address: Address,
    pub(crate) login: Login,
    pub(crate) tls: Option<Tls>,
}

/// How a connection begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: u32,
    pub(crate) resp3: bool,
}

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<transport::Stream>),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// `HOST:PORT`, `[V6]:PORT`, or `unix:PATH` (or a path that starts with `/`).
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Address::Unix(path.into()));
        }
        if text.starts_with('/') {
            return Ok(Address::Unix(text.into()));
        }
        let (host, port) = text.rsplit_once(':').ok_or(format!("'{text}' lacks a port"))?;
        let port = port.parse().map_err(|_| format!("'{port}' is not a port"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Address::Tcp(host.to_owned(), port))
    }

    fn connect(&self) -> io::Result<Socket> {
        let patience = Some(PATIENCE);
        match self {
            Address::Tcp(host, port) => {
                let mut last = io::Error::other("the name has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, PATIENCE) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_read_timeout(patience)?;
                            return Ok(Socket::Tcp(stream));
                        }
                        Err(e) => last = e,
                    }
                }
                Err(last)
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(patience)?;
                Ok(Socket::Unix(stream))
            }
        }
    }
}

impl Target {
    /// Whether a server is there, lets us in and is ready; an error names it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut socket = self.connect()?;
        let named = |e: &dyn std::fmt::Display| format!("{}: {e}", self.address);
        let reply = call(&mut socket, &["PING"]).map_err(|e| named(&e))?;
        // Others need not hinder the load: PING itself may be forbidden.
        let fatal = ["NOAUTH", "LOADING", "DENIED", "ERR max number of clients"];
        match reply.strip_prefix(b"-").map(String::from_utf8_lossy) {
            Some(e) if fatal.iter().any(|f| e.starts_with(f)) => Err(named(&e.trim_end())),
            _ => Ok(()),
        }
    }

    /// A connection that is let in; an error names the server.
    pub(crate) fn connect(&self) -> Result<Socket, String> {
        self.connect_as(&self.login)
    }

    fn connect_as(&self, login: &Login) -> Result<Socket, String> {
        let named = |e: &dyn std::fmt::Display| format!("{}: {e}", self.address);
        let mut socket = self.address.connect().map_err(|e| named(&e))?;
        if let (Some(tls), Address::Tcp(host, _)) = (&self.tls, &self.address) {
            let Socket::Tcp(plain) = socket else { return Err(named(&"this is no TCP")) };
            let secured = tls.secure(plain, host).map_err(|e| named(&e))?;
            socket = Socket::Tls(Box::new(secured));
        }
        let mut requests: Vec<Vec<&str>> = Vec::new();
        let db = login.db.to_string();
        if let Some(password) = &login.password {
            let user = login.user.as_deref();
            requests.push(["AUTH"].into_iter().chain(user).chain([password.as_str()]).collect());
        }
        if login.resp3 {
            requests.push(vec!["HELLO", "3"]);
        }
        if login.db != 0 {
            requests.push(vec!["SELECT", &db]);
        }
        for request in requests {
            let reply = call(&mut socket, &request).map_err(|e| named(&e))?;
            if let Some(error) = reply.strip_prefix(b"-") {
                return Err(named(&String::from_utf8_lossy(error).trim_end()));
            }
        }
        Ok(socket)
    }

    /// The process behind the server when it runs on this machine, by its own word.
    pub(crate) fn local_pid(&self) -> Option<u32> {
        let login = Login { resp3: false, db: 0, ..self.login.clone() };
        let mut socket = self.connect_as(&login).ok()?;
        let tcp = match &socket {
            Socket::Tcp(stream) => Some(stream),
            Socket::Tls(stream) => Some(stream.socket()),
            Socket::Unix(_) => None,
        };
        if let Some(stream) = tcp
            && stream.peer_addr().ok()?.ip() != stream.local_addr().ok()?.ip()
        {
            return None;
        }
        let info = call(&mut socket, &["INFO", "server"]).ok()?;
        let info = String::from_utf8_lossy(&info);
        let pid = info.lines().find_map(|l| l.strip_prefix("process_id:"))?.trim().parse().ok()?;
        (!super::sys::process_cpu(pid).is_empty()).then_some(pid)
    }
}

/// Sends one request and returns its reply as it came.
pub(crate) fn call(socket: &mut Socket, request: &[&str]) -> io::Result<Vec<u8>> {
    let mut text = format!("*{}\r\n", request.len());
    for arg in request {
        text.push_str(&format!("${}\r\n{arg}\r\n", arg.len()));
    }
    socket.write_all(text.as_bytes())?;
    let (mut frames, mut errors) = (super::frames::Frames::default(), Default::default());
    let (mut reply, mut buf) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let n = match socket.read(&mut buf) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let text = format!("no reply to {} in {PATIENCE:?}", request[0]);
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            other => other?,
        };
        if n == 0 {
            return Err(io::Error::other("the server closed the connection"));
        }
        reply.extend_from_slice(&buf[..n]);
        let done = frames.feed(&buf[..n], &mut errors).map_err(|b| {
            io::Error::other(format!("this is no RESP server: its reply has {b:#04x}"))
        })?;
        if done > 0 {
            return Ok(reply);
        }
        if reply.len() > REPLY_MAX {
            return Err(io::Error::other("the reply has no end"));
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.read(buf),
            Socket::Unix(s) => s.read(buf),
            Socket::Tls(s) => s.read(buf),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write(buf),
            Socket::Unix(s) => s.write(buf),
            Socket::Tls(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let tcp = |h: &str, p| Ok(Address::Tcp(h.into(), p));
        assert_eq!(Address::parse("localhost:7000"), tcp("localhost", 7000));
        assert_eq!(Address::parse("[::1]:7000"), tcp("::1", 7000));
        assert_eq!(Address::parse("unix:/a/b"), Ok(Address::Unix("/a/b".into())));
        assert_eq!(Address::parse("/a/b"), Address::parse("unix:/a/b"));
        assert!(Address::parse("localhost").is_err() && Address::parse("a:70000").is_err());
    }
}
