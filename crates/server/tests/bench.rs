//! `apus bench kv` against a server in this process: every request is answered and counted.

use std::net::TcpListener;
use std::process::Command;

fn bench(port: u16, args: &str) -> (bool, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_apus"))
        .args(["bench", "kv", "-p", &port.to_string()])
        .args(args.split(' '))
        .output()
        .unwrap();
    let all = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8_lossy(&all).into_owned())
}

#[test]
fn counts_what_the_server_did() {
    let builder = apus::Server::builder().option("threads", "1").unwrap();
    let server = builder.tcp(TcpListener::bind("127.0.0.1:0").unwrap()).start().unwrap();
    let port = server.addresses()[0].port();
    // A count that neither threads, pipelines nor connections divide.
    let (ok, text) = bench(port, "-t incr -n 2003 -c 7 --threads 2 -P 16 --resp 3");
    assert!(ok && text.contains("  2003 requests in "), "{text}");
    let (ok, text) = bench(port, "--rate 20000 -n 2000 -c 3 -q INCR counter:000000000000");
    assert!(ok, "{text}");
    let (ok, text) = bench(port, "-n 1 -c 1 INCR counter:000000000000 extra");
    assert!(!ok && text.contains("1 error replies, the first: ERR wrong number"), "{text}");
    // Every key exactly once, and the mix afterwards finds them.
    let args = "--fill --keys 500 --mix get=9,set=1 --dist zipf:0.99 --size 0-9000 -n 2000 -P 50";
    let (ok, text) = bench(port, args);
    assert!(ok && text.contains("  2000 requests in "), "{text}");
    use std::io::{Read, Write};
    let mut client = std::net::TcpStream::connect(server.addresses()[0]).unwrap();
    client.write_all(b"GET counter:000000000000\r\nDBSIZE\r\n").unwrap();
    let mut reply = [0; 16];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(String::from_utf8_lossy(&reply), "$4\r\n4003\r\n:501\r\n");
    server.stop();
    server.join();
}
