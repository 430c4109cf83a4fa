//! Connections that the server makes itself: to the target of MIGRATE, with TLS if `tls-cluster` says so.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use engine::{Dial, Unreached, Wire};

use crate::tls::Tls;

/// Connects over TCP, and speaks TLS where that is wanted.
pub(crate) fn dial(tls: Arc<Tls>) -> Dial {
    Arc::new(move |host, port, within| {
        let addresses = (host, port).to_socket_addrs().map_err(|_| Unreached::NoAddress)?;
        let mut last = Unreached::NoAddress;
        for address in addresses {
            last = Unreached::Refused;
            if let Ok(stream) = TcpStream::connect_timeout(&address, within)
                && stream.set_nodelay(true).is_ok()
            {
                let Some(client) = tls.cluster_link() else {
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
}
