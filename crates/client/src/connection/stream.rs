//! The bytes' way: TCP, a Unix socket, or TLS over TCP.

use crate::config::{Address, Config};
use crate::error::{Error, Result};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// An idle connection is probed after so long, so that what forgets connections in between does not.
const KEEPALIVE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

impl Stream {
    /// Opens a connection; nothing has been said on it yet.
    pub(crate) async fn open(config: &Config) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::connection(format!("cannot connect to {}: {error}", config.address))
        };
        match &config.address {
            Address::Tcp(host, port) => {
                // Without the brackets of an IPv6 address in a URL.
                let name = host.trim_start_matches('[').trim_end_matches(']');
                let stream = TcpStream::connect((name, *port)).await.map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE);
                // An unusual system may not have it; the connection works all the same.
                let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive);
                match &config.tls {
                    None => Ok(Self::Tcp(stream)),
                    #[cfg(feature = "tls")]
                    Some(tls) => {
                        let stream = tls.handshake(name, stream).await.map_err(failed)?;
                        Ok(Self::Tls(Box::new(stream)))
                    }
                    #[cfg(not(feature = "tls"))]
                    Some(never) => match *never {},
                }
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                tokio::net::UnixStream::connect(path).await.map(Self::Unix).map_err(failed)
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(Error::usage("there are no Unix sockets here")),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
