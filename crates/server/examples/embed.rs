//! The server inside another program: on a listener of its own, with the program's log.
//!
//! `cargo run --example embed`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::fmt::{Arguments, Display};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use apus::{Level, Log, Server, Sink};

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

/// The program's own log; a real one would hand the fields on, too.
struct Mine;

impl Sink for Mine {
    fn write(&self, level: Level, message: Arguments<'_>, _fields: &[(&str, &dyn Display)]) {
        println!("my log [{level:?}] {message}");
    }
}

fn main() -> std::io::Result<()> {
    let server = Server::builder()
        .option("threads", "2")?
        .option("maxmemory", "64mb")?
        .tcp(TcpListener::bind("127.0.0.1:0")?)
        .log(Log::new(Arc::new(Mine), Level::Notice))
        .start()?;
    let address = server.addresses()[0];
    println!("serving on {address}");

    let mut client = TcpStream::connect(address)?;
    client.write_all(b"SET greeting hello\r\nGET greeting\r\n")?;
    let mut reply = [0; 16];
    client.read_exact(&mut reply)?;
    println!("{}", String::from_utf8_lossy(&reply).escape_debug());

    // The last turn: input that has arrived is executed and answered, then all threads end.
    server.stop();
    server.join();
    Ok(())
}
