//! A TCP listener, and the options of its connections. Linux gives a connection those of its listener, so that they are
//! set once; elsewhere they are set on each.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use socket2::{SockRef, TcpKeepalive};

use super::listen::Door;

/// Whether connections have the options of their listener.
const INHERITS: bool = cfg!(target_os = "linux");

/// See the module's text.
pub(super) struct Listening {
    tcp: TcpListener,
    pub(super) door: Door,
    /// Where it listens.
    address: Option<SocketAddr>,
    /// Its connections keep the present seconds of TCP keepalive: those that are made from now on.
    keepalive_s: i64,
    /// So many of the next connections may have been made before: all that can wait, until none does.
    behind: usize,
    backlog: usize,
}

impl Listening {
    pub(super) fn open(
        r: &Registry,
        tcp: std::net::TcpListener,
        (token, door): (Token, Door),
        (keepalive_s, backlog): (i64, usize),
    ) -> io::Result<Self> {
        tcp.set_nonblocking(true)?;
        let address = tcp.local_addr().ok();
        let loopback = address.is_some_and(is_loopback);
        set(&SockRef::from(&tcp), keepalive_s, loopback);
        let mut tcp = TcpListener::from_std(tcp);
        r.register(&mut tcp, token, Interest::READABLE)?;
        // Clients connect from when the address is bound.
        Ok(Self { tcp, door, address, keepalive_s, behind: backlog, backlog })
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// The next connection, with its options, and the addresses of both sides as far as they are known.
    pub(super) fn accept(
        &mut self,
        keepalive_s: i64,
    ) -> io::Result<(TcpStream, Option<SocketAddr>, Option<SocketAddr>)> {
        if keepalive_s != self.keepalive_s {
            self.keepalive_s = keepalive_s;
            self.behind = self.backlog;
            keep_alive(&SockRef::from(&self.tcp), keepalive_s);
        }
        let accepted = self.tcp.accept();
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                if e.kind() == io::ErrorKind::WouldBlock {
                    self.behind = 0;
                }
                return Err(e);
            }
        };
        let loopback = is_loopback(peer);
        if self.behind > 0 || !INHERITS {
            self.behind = self.behind.saturating_sub(1);
            set(&SockRef::from(&stream), keepalive_s, loopback);
        } else if loopback && !self.address.is_some_and(is_loopback) {
            unpaced(&SockRef::from(&stream));
        }
        let local = match self.address {
            Some(address) if !address.ip().is_unspecified() => Some(address),
            _ => stream.local_addr().ok(),
        };
        Ok((stream, Some(peer), local))
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Sets the options. One that the system refuses is left as it is: connections work without.
fn set(socket: &SockRef<'_>, keepalive_s: i64, loopback: bool) {
    let _ = socket.set_tcp_nodelay(true);
    if loopback {
        unpaced(socket);
    }
    keep_alive(socket, keepalive_s);
}

/// Nothing is ever lost or congested within a machine; a system-wide choice such as BBR would pace replies with timers,
/// which costs processor time on both sides.
fn unpaced(socket: &SockRef<'_>) {
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_congestion(b"reno");
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// Has the system look after so many seconds of silence whether the peer is there; 0: not at all.
fn keep_alive(socket: &SockRef<'_>, seconds: i64) {
    let _ = match u64::try_from(seconds) {
        Ok(seconds @ 1..) => {
            let time = Duration::from_secs(seconds);
            let keepalive = TcpKeepalive::new().with_time(time);
            #[cfg(target_os = "linux")]
            let keepalive =
                keepalive.with_interval((time / 3).max(Duration::from_secs(1))).with_retries(3);
            socket.set_tcp_keepalive(&keepalive)
        }
        _ => socket.set_keepalive(false),
    };
}
