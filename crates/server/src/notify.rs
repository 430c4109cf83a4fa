//! Notices to systemd, as sd_notify(3) has it: a datagram to the socket named by `NOTIFY_SOCKET`.

use std::ffi::OsStr;
use std::io;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
#[cfg(target_os = "linux")]
use std::os::unix::net::SocketAddr;
use std::os::unix::net::UnixDatagram;

use apus::{Config, Log};
use config::{Id, Supervised};
use engine::log;

/// Tells that the server serves, if `supervised` asks for that.
pub(crate) fn ready(config: &Config, log: &Log) {
    let asked = match config.chosen(Id::Supervised) {
        Supervised::Systemd => true,
        Supervised::Auto => false,
        Supervised::Upstart | Supervised::No => return,
    };
    let told = match std::env::var_os("NOTIFY_SOCKET") {
        Some(socket) => send(&socket, b"READY=1\nSTATUS=Ready to accept connections\n"),
        None if asked => Err(io::Error::other("NOTIFY_SOCKET is not set")),
        None => Ok(()),
    };
    if let Err(e) = told {
        log!(log, Warning, "systemd is not told that the server is ready: {}", e);
    }
}

fn send(name: &OsStr, text: &[u8]) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = name.as_bytes().strip_prefix(b"@") {
        return socket.send_to_addr(text, &SocketAddr::from_abstract_name(name)?).map(drop);
    }
    socket.send_to(text, name).map(drop)
}
