//! A connection of hyper's, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// See the module's text.
pub(crate) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    /// Makes the handshake, if there is to be one, within this time.
    ///
    /// # Errors
    /// The client speaks no TLS, or does not come to an end.
    pub(crate) async fn open(
        stream: TcpStream,
        tls: Option<TlsAcceptor>,
        within: Duration,
    ) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Wire::Plain(stream)) };
        let secured = tokio::time::timeout(within, tls.accept(stream)).await;
        let secured = secured.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(Wire::Tls(Box::new(secured)))
    }

    /// Sends what the socket takes now; the rest is lost.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        let mut now = Context::from_waker(Waker::noop());
        let _ = match self {
            Wire::Plain(s) => s.try_write(bytes).map(|_| ()),
            Wire::Tls(s) => {
                let _ = Pin::new(&mut *s).poll_write(&mut now, bytes);
                let _ = Pin::new(&mut *s).poll_flush(&mut now);
                Ok(())
            }
        };
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Wire::Tls(s) => Pin::new(s).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(s) => Pin::new(s).poll_write(cx, bytes),
            Wire::Tls(s) => Pin::new(s).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(s) => Pin::new(s).poll_flush(cx),
            Wire::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Wire::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(s) => Pin::new(s).poll_write_vectored(cx, bufs),
            Wire::Tls(s) => Pin::new(s).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self, Wire::Plain(s) if s.is_write_vectored())
            || matches!(self, Wire::Tls(s) if s.is_write_vectored())
    }
}
