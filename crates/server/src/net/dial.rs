//! Connections that the server makes itself: to the target of MIGRATE and to its primary, from
//! `bind-source-addr`, with TLS if `tls-cluster` or `tls-replication` says so.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use config::Id;
use engine::{Closer, Dial, Engine, Unreached, Wire};
use socket2::{Domain, Socket, Type};

use crate::tls::Tls;

/// Connects over TCP, and speaks TLS where that is wanted.
pub(crate) fn dial(tls: Arc<Tls>, engine: &Arc<Engine>) -> Dial {
    let engine = Arc::downgrade(engine);
    Arc::new(move |purpose, host, port, within| {
        let source = source(&engine);
        let addresses = (host, port).to_socket_addrs().map_err(|_| Unreached::NoAddress)?;
        let mut last = Unreached::NoAddress;
        for address in addresses {
            last = Unreached::Refused;
            if let Ok(stream) = connect(source, address, within)
                && stream.set_nodelay(true).is_ok()
            {
                let Some(client) = tls.link(purpose) else {
                    return Ok(Box::new(Tcp(stream)) as Box<dyn Wire>);
                };
                let limited = stream
                    .set_read_timeout(Some(within))
                    .and_then(|()| stream.set_write_timeout(Some(within)));
                // The next address may be another server.
                if limited.is_ok()
                    && let Ok(secured) = client.connect(stream, host)
                {
                    return Ok(Box::new(Secured(secured)) as Box<dyn Wire>);
                }
            }
        }
        Err(last)
    })
}

/// `bind-source-addr`.
fn source(engine: &Weak<Engine>) -> Option<IpAddr> {
    engine.upgrade()?.config.string(Id::BindSourceAddr).parse().ok()
}

/// A connection from the address `source`; from any if that is of another family or not of this machine, as in
/// Redis.
fn connect(source: Option<IpAddr>, to: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    if let Some(source) = source.filter(|source| source.is_ipv4() == to.is_ipv4()) {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        if socket.bind(&SocketAddr::new(source, 0).into()).is_ok() {
            socket.connect_timeout(&to.into(), within)?;
            return Ok(socket.into());
        }
    }
    TcpStream::connect_timeout(&to, within)
}

struct Tcp(TcpStream);

impl Read for Tcp {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Tcp {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Wire for Tcp {
    fn limit(&self, each: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(each))?;
        self.0.set_write_timeout(Some(each))
    }

    fn closer(&self) -> Option<Closer> {
        closer(&self.0)
    }

    fn local_end(&self) -> Option<(String, i32)> {
        local_end(&self.0)
    }
}

fn closer(socket: &TcpStream) -> Option<Closer> {
    let socket = socket.try_clone().ok()?;
    // A socket that is closed already has nothing to end.
    Some(Box::new(move || drop(socket.shutdown(Shutdown::Both))))
}

fn local_end(socket: &TcpStream) -> Option<(String, i32)> {
    Some((socket.local_addr().ok()?.to_string(), socket.as_raw_fd()))
}

struct Secured(transport::Stream);

impl Read for Secured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Secured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Wire for Secured {
    fn limit(&self, each: Duration) -> io::Result<()> {
        self.0.limit(each)
    }

    fn closer(&self) -> Option<Closer> {
        closer(self.0.socket())
    }

    fn local_end(&self) -> Option<(String, i32)> {
        local_end(self.0.socket())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_under_way_ends_with_its_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("its address");
        let mut wire = Tcp(connect(None, to, Duration::from_secs(5)).expect("a connection"));
        wire.limit(Duration::from_secs(60)).expect("a limit");
        let close = wire.closer().expect("a socket can be closed");
        let reading = std::thread::spawn(move || wire.read(&mut [0; 1]).expect("an end"));
        close();
        assert_eq!(reading.join().expect("no panic"), 0, "the limit would be an error");
    }
}
