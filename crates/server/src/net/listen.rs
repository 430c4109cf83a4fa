//! Opening of listeners.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};

/// An open listener.
pub(crate) enum Bound {
    Tcp(TcpListener),
    /// With its path, which is removed at the end.
    Unix(UnixListener, Option<PathBuf>),
}

/// Opens TCP listeners as `bind` and `port` say: `*` is every IPv4 address, `::*` every IPv6
/// address, a name in front of which stands `-` may be missing on this machine.
pub(crate) fn bind_tcp(bind: &[String], port: u16, backlog: i32) -> io::Result<Vec<TcpListener>> {
    let mut open = Vec::new();
    for name in bind {
        let (optional, name) = match name.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, name.as_str()),
        };
        let address = match name {
            "*" => Ok(SocketAddr::from(([0, 0, 0, 0], port))),
            "::*" => Ok(SocketAddr::from(([0u16; 8], port))),
            host => (host, port).to_socket_addrs().and_then(|mut all| {
                all.next().ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
            }),
        };
        match address.and_then(|a| listen(a, backlog)) {
            Ok(l) => open.push(l),
            // An address that this machine does not have, or a family it does not speak.
            Err(e)
                if optional
                    && matches!(
                        e.raw_os_error(),
                        Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT | libc::ENOPROTOOPT)
                            | Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::ENOENT)
                    ) => {}
            Err(e) => return Err(io::Error::new(e.kind(), format!("{name}:{port}: {e}"))),
        }
    }
    Ok(open)
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

/// Opens a Unix socket at `path`, in place of one that an earlier process left there; `mode` 0
/// keeps the permissions that the umask gives.
pub(crate) fn bind_unix(path: &Path, mode: u32, backlog: i32) -> io::Result<Bound> {
    let explain =
        |e: io::Error| io::Error::new(e.kind(), format!("unix socket {}: {e}", path.display()));
    match std::fs::symlink_metadata(path) {
        // A mistyped path must not cost anybody a file.
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
