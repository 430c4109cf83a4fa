//! The client's side: links that the server makes itself, and load generators.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::{Choice, Error, Identity, Session, authorities};

/// How a server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Check {
    /// Whether an authority has signed it. The name is not compared, as in Redis and its tools: an authority of
    /// one's own signs one's own servers only.
    #[default]
    Authority,
    /// That, and its name.
    Name,
    /// Not at all: an attacker in between can read and change everything.
    Nothing,
}

/// What a link's options say.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The client's own certificate and key, if it shows one.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The password of the key, if it is protected.
    pub password: String,
    /// Authorities of servers' certificates, a file …
    pub authority: Option<PathBuf>,
    /// … and a directory.
    pub authorities: Option<PathBuf>,
    /// How a server's certificate is checked.
    pub check: Check,
    /// Protocol versions, as in `tls-protocols`.
    pub protocols: String,
    /// Ciphers up to TLS 1.2, as in `tls-ciphers`.
    pub ciphers: String,
    /// Ciphers of TLS 1.3, as in `tls-ciphersuites`.
    pub suites: String,
}

/// A client's side of TLS, ready for any number of connections.
///
/// ```no_run
/// use std::io::{Read, Write};
/// use std::net::TcpStream;
///
/// let options = transport::ClientOptions {
///     authority: Some("ca.crt".into()),
///     ..Default::default()
/// };
/// let client = transport::Client::new(&options)?;
/// let socket = TcpStream::connect("primary.example:6380")?;
/// let mut link = client.connect(socket, "primary.example")?;
/// link.write_all(b"PING\r\n")?;
/// let mut pong = [0; 7];
/// link.read_exact(&mut pong)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    /// What the options name and the library lacks, one text for each.
    pub lacking: Vec<String>,
}

impl Client {
    /// Reads the files and checks everything.
    ///
    /// # Errors
    /// A file is not good, or an option; the text says which.
    pub fn new(o: &ClientOptions) -> Result<Self, Error> {
        let choice = Choice::new(&o.protocols, &o.ciphers, &o.suites)?;
        let provider = Arc::new(choice.provider);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&choice.versions)
            .map_err(|e| Error::Setup(format!("protocols and ciphers do not fit: {e}")))?;
        let inner = match o.check {
            Check::Nothing => None,
            _ => {
                if o.authority.is_none() && o.authorities.is_none() {
                    return Err(Error::Setup(
                        "a server's certificate cannot be checked without the certificate of its \
                         authority"
                            .into(),
                    ));
                }
                let roots: RootCertStore =
                    authorities(o.authority.as_deref(), o.authorities.as_deref())?;
                let built = WebPkiServerVerifier::builder_with_provider(
                    Arc::new(roots),
                    Arc::clone(&provider),
                );
                Some(built.build().map_err(|e| Error::Setup(format!("authorities: {e}")))?)
            }
        };
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        let verifier = Verifier { inner, schemes, name: o.check == Check::Name };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &o.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let identity = Identity::read(certificate, key, &o.password)?;
                builder.with_client_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(
                    (*identity.key).clone(),
                )))
            }
        };
        config.enable_early_data = false;
        Ok(Self { config: Arc::new(config), lacking: choice.lacking })
    }

    /// A session for a connection to `host`, a name or an address. A name is sent (SNI).
    ///
    /// # Errors
    /// The name cannot be one.
    pub fn session(&self, host: &str) -> Result<Session, Error> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::Setup(format!("'{host}' is not the name of a server")))?;
        Session::client(Arc::clone(&self.config), name)
    }

    /// Speaks TLS over a connected socket that blocks. The handshake is made here, in the time limits of the socket.
    ///
    /// # Errors
    /// The socket's, or that the two cannot agree.
    pub fn connect(&self, socket: TcpStream, host: &str) -> io::Result<Stream> {
        let mut link = crate::Link::new(self.session(host)?);
        let mut socket = socket;
        while !link.handshake(&mut socket)? {}
        Ok(Stream(Some((socket, link))))
    }
}

/// A blocking link over TLS. Its end tells the peer that the end is meant.
pub struct Stream(Option<(TcpStream, crate::Link)>);

const THERE: &str = "it is only given away as a whole";

impl Stream {
    /// How long a read and a write may take each.
    ///
    /// # Errors
    /// The socket's.
    pub fn limit(&self, each: Duration) -> io::Result<()> {
        self.socket().set_read_timeout(Some(each))?;
        self.socket().set_write_timeout(Some(each))
    }

    /// The socket, for its options and its addresses.
    pub fn socket(&self) -> &TcpStream {
        &self.0.as_ref().expect(THERE).0
    }

    /// The socket and the link, for a caller that goes on without blocking.
    pub fn into_parts(mut self) -> (TcpStream, crate::Link) {
        self.0.take().expect(THERE)
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stream").field(self.socket()).finish()
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let (socket, link) = self.0.as_mut().expect(THERE);
        link.read_some(socket, to)
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let (socket, link) = self.0.as_mut().expect(THERE);
        link.write(socket, from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some((socket, link)) = &mut self.0 {
            link.finish(socket);
        }
    }
}

/// Checks servers' certificates; see [`Check`].
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    schemes: Vec<SignatureScheme>,
    name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::Error::InvalidCertificate;
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        let checked =
            inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            // It compares names last: everything else is good.
            Err(InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match &self.inner {
            Some(inner) => inner.verify_tls12_signature(message, cert, dss),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match &self.inner {
            Some(inner) => inner.verify_tls13_signature(message, cert, dss),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
