//! TLS for every port and every link.
//!
//! rustls does the cryptography (with ring); this crate decides what is offered, reads certificates and keys, and
//! turns records into bytes and back without a socket of its own.
//!
//! - [`Session`]: one connection's TLS, bytes in, bytes out.
//! - [`Link`]: a session over a socket that may not block, used like that socket.
//! - [`Client`]: the other side: connects a blocking socket, or makes sessions for a non-blocking one.
//! - [`Server`], [`ServerOptions`], [`ClientOptions`]: what the `tls-*` options say, checked and ready for use. A
//!   change makes a new one; connections keep that with which they began.
//! - [`Identity`], [`authorities`]: certificates, keys and authorities from files.
//!
//! It knows nothing of commands, of the configuration's file, or of an event loop.

mod certificate;
mod choice;
mod client;
mod link;
mod server;
mod session;
mod tickets;

pub use certificate::{Identity, Names, authorities, is_valid_now, names_of};
pub use choice::{Choice, Protocols};
pub use client::{Check, Client, ClientOptions, Stream};
pub use link::Link;
pub use rustls;
pub use server::{Asks, Server, ServerOptions};
pub use session::{Progress, Session};

/// Why TLS cannot be set up, or a connection cannot go on.
#[derive(Debug)]
pub enum Error {
    /// A file or an option is at fault; the text says which, and what to do.
    Setup(String),
    /// The peer sent what is no TLS: most likely it speaks without.
    NoTls,
    /// The peer broke the protocol, or there is no agreement.
    Protocol(rustls::Error),
    /// The peer sent many records without any content.
    Empty,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Setup(text) => f.write_str(text),
            Error::NoTls => f.write_str("the client does not speak TLS"),
            Error::Protocol(e) if is_version_1(e) => f.write_str(
                "invalid peer certificate: it is of version 1 of X.509, and version 3 is needed (`openssl x509 -req` \
                 makes it of a request with -extfile FILE)",
            ),
            Error::Protocol(e) => write!(f, "{e}"),
            Error::Empty => f.write_str("too many records without content"),
        }
    }
}

impl std::error::Error for Error {}

/// Whether a certificate was refused because it is of the first version, which has no extensions.
fn is_version_1(e: &rustls::Error) -> bool {
    use rustls::CertificateError::Other;
    // The library has no name of its own for it.
    matches!(e, rustls::Error::InvalidCertificate(Other(why)) if format!("{why:?}").contains("UnsupportedCertVersion"))
}

impl From<rustls::Error> for Error {
    fn from(e: rustls::Error) -> Self {
        match e {
            rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
                Error::NoTls
            }
            e => Error::Protocol(e),
        }
    }
}

impl From<Error> for std::io::Error {
    fn from(e: Error) -> Self {
        let kind = match e {
            Error::Setup(_) => std::io::ErrorKind::InvalidInput,
            _ => std::io::ErrorKind::InvalidData,
        };
        std::io::Error::new(kind, e)
    }
}

/// The cryptography of all sessions.
fn provider() -> rustls::crypto::CryptoProvider {
    rustls::crypto::ring::default_provider()
}
