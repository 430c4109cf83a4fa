//! The connection to a server: TCP, with or without TLS, or a Unix socket. The options are redis-cli's.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use transport::{Check, Client, ClientOptions};

/// How long connecting, and one reply, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a server is.
#[derive(Debug, Default)]
pub(super) struct ServerAddress {
    pub(super) host: String,
    pub(super) port: u16,
    /// A Unix socket, which comes before host and port.
    pub(super) socket: Option<PathBuf>,
    pub(super) tls: Tls,
}

/// How TLS is spoken.
#[derive(Debug, Default)]
pub(super) struct Tls {
    on: bool,
    insecure: bool,
    sni: Option<String>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    authority: Option<PathBuf>,
    authorities: Option<PathBuf>,
}

impl Tls {
    /// Takes an option if it is one of these. `value` gives what stands behind it.
    ///
    /// # Errors
    /// Nothing stands there.
    pub(super) fn take(
        &mut self,
        option: &str,
        value: &mut dyn FnMut() -> Result<String, String>,
    ) -> Result<bool, String> {
        match option {
            "--tls" => self.on = true,
            "--insecure" => self.insecure = true,
            "--sni" => self.sni = Some(value()?),
            "--cert" => self.certificate = Some(value()?.into()),
            "--key-file" => self.key = Some(value()?.into()),
            "--cacert" => self.authority = Some(value()?.into()),
            "--cacertdir" => self.authorities = Some(value()?.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the options fit together.
    ///
    /// # Errors
    /// A text: they do not.
    pub(super) fn check(&self, socket: bool) -> Result<(), String> {
        let any = self.insecure
            || self.sni.is_some()
            || self.certificate.is_some()
            || self.key.is_some()
            || self.authority.is_some()
            || self.authorities.is_some();
        if !self.on {
            return if any { Err("these options need --tls".into()) } else { Ok(()) };
        }
        if socket {
            return Err("a Unix socket needs no --tls".into());
        }
        if self.certificate.is_some() != self.key.is_some() {
            return Err("--cert and --key-file go together".into());
        }
        if !self.insecure && self.authority.is_none() && self.authorities.is_none() {
            return Err("--tls needs --cacert FILE or --cacertdir DIR, or else --insecure".into());
        }
        Ok(())
    }

    fn client(&self) -> Result<Client, transport::Error> {
        let certificate = self.certificate.clone().zip(self.key.clone());
        Client::new(&ClientOptions {
            certificate,
            authority: self.authority.clone(),
            authorities: self.authorities.clone(),
            check: if self.insecure { Check::Nothing } else { Check::Authority },
            ..ClientOptions::default()
        })
    }
}

impl ServerAddress {
    /// Its name in errors.
    pub(super) fn name(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// A connection.
pub(super) enum Link {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<transport::Stream>),
}

impl Link {
    /// Connects.
    ///
    /// # Errors
    /// The system's, or the handshake's.
    pub(super) fn open(place: &ServerAddress) -> io::Result<Self> {
        if let Some(path) = &place.socket {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            return Ok(Self::Unix(stream));
        }
        let stream = connect(&place.host, place.port)?;
        if !place.tls.on {
            return Ok(Self::Tcp(stream));
        }
        let client = place.tls.client().map_err(|e| io::Error::other(e.to_string()))?;
        let name = place.tls.sni.as_deref().unwrap_or(&place.host);
        Ok(Self::Tls(Box::new(client.connect(stream, name)?)))
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

impl Read for Link {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(to),
            Self::Unix(stream) => stream.read(to),
            Self::Tls(stream) => stream.read(to),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
