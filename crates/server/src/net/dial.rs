//! Connections that the server makes itself: to the target of MIGRATE.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use engine::{Dial, Wire};

/// Connects over TCP.
pub(crate) fn tcp() -> Dial {
    Arc::new(|host, port, within| {
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, within) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Box::new(Tcp(stream)) as Box<dyn Wire>);
                }
                Err(e) => last = e,
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
