//! TLS of a load: redis-cli's options for it, and sockets that speak it.

use std::io::{self, Read, Write};
use std::sync::Arc;

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use transport::{Check, Client, ClientOptions, Link};

/// The options, as they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsOptions {
    on: bool,
    insecure: bool,
    sni: Option<String>,
    cert: Option<String>,
    key: Option<String>,
    options: ClientOptions,
}

impl TlsOptions {
    /// Takes an option if it is one of these. `value` gives what stands behind it.
    ///
    /// # Errors
    /// The option has no value.
    pub(crate) fn take(
        &mut self,
        flag: &str,
        value: &mut dyn FnMut() -> Result<String, String>,
    ) -> Result<bool, String> {
        match flag {
            "--tls" => self.on = true,
            "--insecure" => self.insecure = true,
            "--sni" => self.sni = Some(value()?),
            "--cert" => self.cert = Some(value()?),
            "--key" => self.key = Some(value()?),
            "--cacert" => self.options.authority = Some(value()?.into()),
            "--cacertdir" => self.options.authorities = Some(value()?.into()),
            "--tls-ciphers" => self.options.ciphers = value()?,
            "--tls-ciphersuites" => self.options.suites = value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// As `--tls` does.
    pub(crate) fn switch_on(&mut self) {
        self.on = true;
    }

    /// What they say, if `--tls` is among them.
    ///
    /// # Errors
    /// They cannot be followed.
    pub(crate) fn finish(self) -> Result<Option<Tls>, String> {
        let mut options = self.options;
        if !self.on {
            return Ok(None);
        }
        options.certificate = match (self.cert, self.key) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (None, None) => None,
            _ => return Err("--cert and --key go together".into()),
        };
        if self.insecure {
            options.check = Check::Nothing;
        } else if options.authority.is_none() && options.authorities.is_none() {
            return Err("--tls needs --cacert FILE or --cacertdir DIR, or else --insecure".into());
        }
        let client = Client::new(&options).map_err(|e| e.to_string())?;
        Ok(Some(Tls { client: Arc::new(client), sni: self.sni }))
    }
}

/// How TLS is spoken to a server.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    client: Arc<Client>,
    sni: Option<String>,
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.client, &other.client) && self.sni == other.sni
    }
}

impl Eq for Tls {}

impl Tls {
    /// Makes the handshake with the server of this name.
    pub(crate) fn secure(
        &self,
        socket: std::net::TcpStream,
        host: &str,
    ) -> io::Result<transport::Stream> {
        self.client.connect(socket, self.sni.as_deref().unwrap_or(host))
    }
}

/// A socket that speaks TLS and does not block.
pub(crate) struct Secured {
    socket: TcpStream,
    link: Link,
}

impl Secured {
    /// Takes over a blocking one.
    pub(crate) fn from_blocking(stream: transport::Stream) -> io::Result<Self> {
        let (socket, link) = stream.into_parts();
        socket.set_nonblocking(true)?;
        Ok(Self { socket: TcpStream::from_std(socket), link })
    }
}

impl Read for Secured {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.link.read(&mut self.socket, buf)
    }
}

impl Write for Secured {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.link.write(&mut self.socket, buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Secured {
    fn register(&mut self, r: &Registry, t: Token, i: Interest) -> io::Result<()> {
        self.socket.register(r, t, i)
    }

    fn reregister(&mut self, r: &Registry, t: Token, i: Interest) -> io::Result<()> {
        self.socket.reregister(r, t, i)
    }

    fn deregister(&mut self, r: &Registry) -> io::Result<()> {
        self.socket.deregister(r)
    }
}
