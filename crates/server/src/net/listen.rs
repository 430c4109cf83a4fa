//! Opening of listeners.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};

/// What a listener is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Commands.
    Resp,
    /// Commands, with TLS.
    Tls,
    /// Pages.
    Web,
}

/// An open listener.
pub(crate) enum Bound {
    Tcp(TcpListener),
    /// Whose connections speak TLS.
    Tls(TcpListener),
    /// For pages.
    Web(TcpListener),
    /// With its path, which is removed at the end.
    Unix(UnixListener, Option<PathBuf>),
}

/// An address to listen on.
struct Wanted {
    address: SocketAddr,
    /// As it was written, for errors.
    name: String,
    /// It may be missing on this machine.
    optional: bool,
}

/// The addresses that `bind` and `port` name: `*` is every IPv4 address, `::*` every IPv6 address, a name in
/// front of which stands `-` may be missing on this machine.
fn wanted(bind: &[String], port: u16) -> io::Result<Vec<Wanted>> {
    let mut all: Vec<Wanted> = Vec::new();
    for word in bind {
        let (optional, name) = match word.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, word.as_str()),
        };
        let address = match name {
            "*" => Ok(SocketAddr::from(([0, 0, 0, 0], port))),
            "::*" => Ok(SocketAddr::from(([0u16; 8], port))),
            host => (host, port).to_socket_addrs().and_then(|mut all| {
                all.next().ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
            }),
        };
        match address {
            Ok(address) => all.push(Wanted { address, name: name.to_owned(), optional }),
            Err(e) if optional && is_missing(&e) => {}
            Err(e) => return Err(explain(name, port, &e)),
        }
    }
    Ok(all)
}

/// Whether an error says that this machine does not have an address, or does not speak its family.
fn is_missing(e: &io::Error) -> bool {
    matches!(
        e.raw_os_error(),
        Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT | libc::ENOPROTOOPT)
            | Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::ENOENT)
    )
}

fn explain(name: &str, port: u16, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{name}:{port}: {e}"))
}

/// Opens TCP listeners as `bind` and `port` say.
pub(crate) fn bind_tcp(bind: &[String], port: u16, backlog: i32) -> io::Result<Vec<TcpListener>> {
    let mut open = Vec::new();
    for w in wanted(bind, port)? {
        match listen(w.address, backlog) {
            Ok(l) => open.push(l),
            Err(e) if w.optional && is_missing(&e) => {}
            Err(e) => return Err(explain(&w.name, port, &e)),
        }
    }
    Ok(open)
}

/// Listeners whose addresses can be changed while they are in use. `open` are the addresses and their
/// listeners.
///
/// Listeners of addresses that stay are not touched. All others are closed before any is opened, since an
/// address cannot be listened on twice, and `*` is every address. If one cannot be opened, those of before
/// are opened again.
///
/// # Errors
/// An address cannot be listened on.
pub(crate) fn rebind<L>(
    open: &mut Vec<(SocketAddr, L)>,
    bind: &[String],
    port: u16,
    backlog: i32,
    mut close: impl FnMut(L),
    mut start: impl FnMut(TcpListener) -> io::Result<L>,
) -> io::Result<()> {
    let wanted = if port == 0 { Vec::new() } else { wanted(bind, port)? };
    let stays = |address: &SocketAddr| wanted.iter().any(|w| w.address == *address);
    let (kept, gone): (Vec<_>, Vec<_>) =
        std::mem::take(open).into_iter().partition(|(address, _)| stays(address));
    *open = kept;
    let addresses: Vec<SocketAddr> = gone.iter().map(|(address, _)| *address).collect();
    gone.into_iter().for_each(|(_, l)| close(l));
    let mut new = Vec::new();
    let mut failed = None;
    for w in wanted {
        if open.iter().chain(&new).any(|(address, _)| *address == w.address) {
            continue;
        }
        match listen(w.address, backlog).and_then(&mut start) {
            Ok(l) => new.push((w.address, l)),
            Err(e) if w.optional && is_missing(&e) => {}
            Err(e) => {
                failed = Some(explain(&w.name, port, &e));
                break;
            }
        }
    }
    let Some(e) = failed else {
        open.append(&mut new);
        return Ok(());
    };
    new.into_iter().for_each(|(_, l)| close(l));
    for address in addresses {
        match listen(address, backlog).and_then(&mut start) {
            Ok(l) => open.push((address, l)),
            // Another process has taken the address meanwhile.
            Err(again) => return Err(io::Error::new(e.kind(), format!("{e}; {address}: {again}"))),
        }
    }
    Err(e)
}

fn listen(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait for old connections to leave TIME_WAIT.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Opens a Unix socket at `path`, replacing one that an earlier process left there; `mode` 0 keeps the
/// permissions that the umask gives.
pub(crate) fn bind_unix(path: &Path, mode: u32, backlog: i32) -> io::Result<Bound> {
    let explain =
        |e: io::Error| io::Error::new(e.kind(), format!("unix socket {}: {e}", path.display()));
    match std::fs::symlink_metadata(path) {
        // A mistyped path must not delete a file.
        Ok(there) if !there.file_type().is_socket() => {
            let text = "there is something that is no socket; remove it or take another path";
            return Err(explain(io::Error::new(io::ErrorKind::AlreadyExists, text)));
        }
        Ok(_) => std::fs::remove_file(path).map_err(explain)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(explain(e)),
    }
    let open = || -> io::Result<UnixListener> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&socket2::SockAddr::unix(path)?)?;
        socket.listen(backlog)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    let listener = open().map_err(explain)?;
    if mode != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(explain)?;
    }
    Ok(Bound::Unix(listener, Some(path.to_owned())))
}
