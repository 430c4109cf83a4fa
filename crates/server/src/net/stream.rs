//! A connected socket, TCP or Unix.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use engine::Endpoint;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// A write to a peer that is gone is an error, not a signal.
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// Rust's runtime ignores the signal from the start.
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// See the module's text.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// The peer's address, for CLIENT LIST and protected mode.
    pub(crate) fn endpoint(&self) -> Endpoint {
        match self {
            Stream::Tcp(s) => {
                let peer = s.peer_addr().ok();
                let show = |a: Option<std::net::SocketAddr>| match a {
                    Some(a) => match a.ip().to_canonical() {
                        std::net::IpAddr::V6(ip) => format!("[{ip}]:{}", a.port()),
                        std::net::IpAddr::V4(ip) => format!("{ip}:{}", a.port()),
                    },
                    None => "?:0".into(),
                };
                Endpoint {
                    peer: show(peer),
                    local: show(s.local_addr().ok()),
                    unix: false,
                    loopback: peer.is_some_and(|a| a.ip().to_canonical().is_loopback()),
                    fd: i64::from(s.as_raw_fd()),
                }
            }
            Stream::Unix(s) => {
                let path = s.local_addr().ok();
                let path = path.as_ref().and_then(|a| a.as_pathname());
                let path = path.map_or_else(|| "?".into(), |p| p.display().to_string());
                Endpoint {
                    peer: format!("{path}:0"),
                    local: format!("{path}:0"),
                    unix: true,
                    loopback: true,
                    fd: i64::from(s.as_raw_fd()),
                }
            }
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(s) => s.as_fd(),
            Stream::Unix(s) => s.as_fd(),
        }
    }
}

impl Stream {
    /// Holds back output until [`finish`](Self::finish), so that the last reply and the end arrive
    /// together: a client that wakes up at the reply may run before we get to the end.
    pub(crate) fn hold_until_finished(&self) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Stream::Tcp(s) = self {
            // Where it cannot be had, the end comes a moment later.
            let _ = socket2::SockRef::from(s).set_tcp_cork(true);
        }
    }

    /// Tells the peer that nothing more comes, at once: a client that has its last reply must not
    /// take the connection for open while it is being closed here.
    pub(crate) fn finish(&self) {
        // A peer that is gone already needs no telling.
        let _ = match self {
            Stream::Tcp(s) => s.shutdown(std::net::Shutdown::Write),
            Stream::Unix(s) => s.shutdown(std::net::Shutdown::Write),
        };
    }
}

impl Stream {
    /// Whether the peer has closed its side: nothing more arrives behind the bytes that are already here.
    pub(crate) fn is_closed_by_peer(&self) -> bool {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flag = PollFlags::RDHUP;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flag = PollFlags::HUP;
        let mut look = [PollFd::new(self, flag)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let gone = flag | PollFlags::HUP | PollFlags::ERR;
        poll(&mut look, Some(&at_once)).is_ok() && look[0].revents().intersects(gone)
    }

    /// As a read, but the bytes stay: a later read returns them again.
    pub(crate) fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let (n, _) = recv(self, buf, RecvFlags::PEEK)?;
        Ok(n)
    }
}

// Through shared references, as for the sockets of `std`: a socket has two owners (`stuck`).
impl Read for &Stream {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let (n, _) = recv(*self, buf, RecvFlags::empty())?;
        Ok(n)
    }
}

impl Write for &Stream {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(send(*self, buf, NO_SIGNAL)?)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match *self {
            Stream::Tcp(s) => (&*s).write_vectored(bufs),
            Stream::Unix(s) => (&*s).write_vectored(bufs),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Stream {
    fn register(&mut self, r: &Registry, t: Token, i: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.register(r, t, i),
            Stream::Unix(s) => s.register(r, t, i),
        }
    }

    fn reregister(&mut self, r: &Registry, t: Token, i: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.reregister(r, t, i),
            Stream::Unix(s) => s.reregister(r, t, i),
        }
    }

    fn deregister(&mut self, r: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.deregister(r),
            Stream::Unix(s) => s.deregister(r),
        }
    }
}
