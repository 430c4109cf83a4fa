//! A connected socket: TCP, with TLS or without, or Unix.

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use engine::Endpoint;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use stdx::num::{I64_LEN_MAX, fmt_u64};
use transport::{Link, Session};

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
    Tls(Box<Secured>),
}

/// A TCP socket with TLS over it. The lock is for its two owners (`stuck`), which never use it at once.
pub(crate) struct Secured {
    tcp: TcpStream,
    link: Mutex<Link>,
}

impl Secured {
    /// Does something with the link and its socket.
    fn with<R>(&self, f: impl FnOnce(&mut Link, &mut &TcpStream) -> R) -> R {
        f(&mut self.link.lock(), &mut &self.tcp)
    }
}

impl Stream {
    /// A socket that speaks TLS, and has not spoken yet.
    pub(crate) fn secured(tcp: TcpStream, session: Session) -> Self {
        Stream::Tls(Box::new(Secured { tcp, link: Mutex::new(Link::new(session)) }))
    }

    /// The TCP socket, if it is one.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Stream::Tcp(s) => Some(s),
            Stream::Tls(s) => Some(&s.tcp),
            Stream::Unix(_) => None,
        }
    }

    /// Whether it speaks TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Whether a read would find something that no event announces. Only with TLS.
    pub(crate) fn has_more(&self) -> bool {
        matches!(self, Stream::Tls(s) if s.link.lock().has_more())
    }

    /// Goes on with the handshake as far as that goes without waiting. Returns whether there is nothing to wait for.
    pub(crate) fn handshake(&self) -> io::Result<bool> {
        match self {
            Stream::Tls(s) => s.with(|link, mut tcp| link.handshake(&mut tcp)),
            Stream::Tcp(_) | Stream::Unix(_) => Ok(true),
        }
    }

    /// Does something with the session, if it speaks TLS.
    pub(crate) fn with_session<R>(&self, f: impl FnOnce(&Session) -> R) -> Option<R> {
        match self {
            Stream::Tls(s) => Some(f(s.link.lock().session())),
            Stream::Tcp(_) | Stream::Unix(_) => None,
        }
    }

    /// Writes all of it or fails; with TLS, what the socket does not take goes before the next write.
    pub(crate) fn write_whole(&self, bytes: &[u8]) -> io::Result<()> {
        let mut plain = self;
        match self {
            Stream::Tls(s) => s.with(|link, tcp| link.write_whole(tcp, bytes)),
            Stream::Tcp(_) | Stream::Unix(_) if plain.write(bytes)? == bytes.len() => Ok(()),
            // A socket that takes no short reply is one whose client does not read.
            Stream::Tcp(_) | Stream::Unix(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Writes `bytes` from byte `*sent` on, as far as the socket takes them.
    pub(crate) fn write_some(&self, bytes: &[u8], sent: &mut usize) -> io::Result<()> {
        let mut stream = self;
        write_until(bytes.len(), sent, |from| stream.write(&bytes[from..]))
    }

    /// A connection of IP between these addresses, if they are known.
    pub(crate) fn between(&self, peer: Option<SocketAddr>, local: Option<SocketAddr>) -> Endpoint {
        let show = |a: Option<SocketAddr>| match a {
            Some(a) => match a.ip().to_canonical() {
                IpAddr::V6(ip) => format!("[{ip}]:{}", a.port()).into(),
                IpAddr::V4(ip) => show_v4(ip.octets(), a.port()).into(),
            },
            None => "?:0".into(),
        };
        Endpoint {
            peer: show(peer),
            local: show(local),
            unix: false,
            loopback: peer.is_some_and(|a| a.ip().to_canonical().is_loopback()),
            fd: self.as_fd().as_raw_fd(),
        }
    }

    /// The peer's address, for CLIENT LIST and protected mode.
    pub(crate) fn endpoint(&self) -> Endpoint {
        match self {
            Stream::Tcp(_) | Stream::Tls(_) => {
                let tcp = self.tcp();
                let peer = tcp.and_then(|s| s.peer_addr().ok());
                self.between(peer, tcp.and_then(|s| s.local_addr().ok()))
            }
            Stream::Unix(s) => {
                let path = s.local_addr().ok();
                let path = path.as_ref().and_then(|a| a.as_pathname());
                let path = path.map_or_else(|| "?".into(), |p| p.display().to_string());
                Endpoint {
                    peer: format!("{path}:0").into(),
                    local: format!("{path}:0").into(),
                    unix: true,
                    loopback: true,
                    fd: s.as_raw_fd(),
                }
            }
        }
    }
}

/// Writes by `write`, which is told where it begins, from byte `*sent` on until `total` have been written or the socket
/// takes no more.
pub(super) fn write_until(
    total: usize,
    sent: &mut usize,
    mut write: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<()> {
    while *sent < total {
        match write(*sent) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => *sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// An address as text: each connection needs two of them, and `format!` takes ten times as long.
fn show_v4(ip: [u8; 4], port: u16) -> String {
    let mut text = Vec::with_capacity("255.255.255.255:65535".len());
    let numbers = ip.into_iter().map(u64::from).chain([port.into()]);
    for (number, behind) in numbers.zip([".", ".", ".", ":", ""]) {
        text.extend_from_slice(fmt_u64(&mut [0; I64_LEN_MAX], number));
        text.extend_from_slice(behind.as_bytes());
    }
    String::from_utf8(text).unwrap_or_default()
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(s) => s.as_fd(),
            Stream::Unix(s) => s.as_fd(),
            Stream::Tls(s) => s.tcp.as_fd(),
        }
    }
}

impl Stream {
    /// Holds back output until [`finish`](Self::finish), so that the last reply and the end arrive
    /// together: a client that wakes up at the reply may run before we get to the end.
    pub(crate) fn hold_until_finished(&self) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(s) = self.tcp() {
            // Where it cannot be had, the end comes a moment later.
            let _ = socket2::SockRef::from(s).set_tcp_cork(true);
        }
    }

    /// With TLS, tells the peer that the end of the connection is meant. The socket stays open.
    pub(crate) fn say_goodbye(&self) {
        if let Stream::Tls(s) = self {
            s.with(|link, tcp| link.finish(tcp));
        }
    }

    /// Tells the peer that nothing more comes, at once: a client that has its last reply must not
    /// take the connection for open while it is being closed here.
    pub(crate) fn finish(&self) {
        // A peer that is gone already needs no telling.
        let _ = match self {
            Stream::Tcp(s) => s.shutdown(std::net::Shutdown::Write),
            Stream::Tls(s) => {
                self.say_goodbye();
                s.tcp.shutdown(std::net::Shutdown::Write)
            }
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
        if let Stream::Tls(s) = self {
            return s.with(|link, mut tcp| link.peek(&mut tcp, buf));
        }
        let (n, _) = recv(self, buf, RecvFlags::PEEK)?;
        Ok(n)
    }
}

// Through shared references, as for the sockets of `std`: a socket has two owners (`stuck`).
impl Read for &Stream {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Stream::Tls(s) = self {
            return s.with(|link, mut tcp| link.read(&mut tcp, buf));
        }
        let (n, _) = recv(*self, buf, RecvFlags::empty())?;
        Ok(n)
    }
}

impl Write for &Stream {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if let Stream::Tls(s) = self {
            return s.with(|link, tcp| link.write(tcp, buf));
        }
        Ok(send(*self, buf, NO_SIGNAL)?)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match *self {
            Stream::Tcp(s) => (&*s).write_vectored(bufs),
            Stream::Unix(s) => (&*s).write_vectored(bufs),
            Stream::Tls(s) => s.with(|link, tcp| link.write_pieces(tcp, bufs)),
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
            Stream::Tls(s) => s.tcp.register(r, t, i),
        }
    }

    fn reregister(&mut self, r: &Registry, t: Token, i: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.reregister(r, t, i),
            Stream::Unix(s) => s.reregister(r, t, i),
            Stream::Tls(s) => s.tcp.reregister(r, t, i),
        }
    }

    fn deregister(&mut self, r: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.deregister(r),
            Stream::Unix(s) => s.deregister(r),
            Stream::Tls(s) => s.tcp.deregister(r),
        }
    }
}
