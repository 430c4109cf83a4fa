//! Servers that answer garbage, nothing, too much, half a reply; connections that are cut.

mod common;

use apus_client::prelude::*;
use apus_client::{Backoff, Config, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How many commands in RESP there are: each begins with an asterisk, and nothing else in these tests does.
fn commands(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'*').count()
}

/// Answers the handshake (HELLO, two of CLIENT SETINFO).
async fn greet(stream: &mut TcpStream) {
    let mut input = Vec::new();
    while commands(&input) < 3 {
        let mut piece = [0; 1000];
        let n = stream.read(&mut piece).await.expect("read");
        assert_ne!(n, 0, "the client went away");
        input.extend_from_slice(&piece[..n]);
    }
    stream.write_all(b"%1\r\n+proto\r\n:3\r\n+OK\r\n+OK\r\n").await.expect("written");
}

/// A server that does what `serve` says with each connection, given its number; and a configuration for it.
async fn fake<F, Fut>(serve: F) -> Config
where
    F: Fn(usize, TcpStream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        for i in 0.. {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            greet(&mut stream).await;
            tokio::spawn(serve(i, stream));
        }
    });
    let mut config: Config = format!("redis://127.0.0.1:{port}").parse().expect("a URL");
    config.backoff = Backoff { first: Duration::from_millis(1), max: Duration::from_millis(5) };
    config
}

/// Reads at least one command.
async fn one(stream: &mut TcpStream) {
    let mut piece = [0; 4096];
    assert_ne!(stream.read(&mut piece).await.expect("read"), 0);
}

#[test]
fn wrong_answers_break_the_connection_and_not_the_client() {
    let answers: &[(&[u8], ErrorKind)] = &[
        (b"HTTP/1.1 200 OK\r\n\r\n", ErrorKind::Protocol),
        (b"$5\r\nhello##", ErrorKind::Protocol),
        (b"*2\r\n$3\r\nab", ErrorKind::Connection),
        (b"", ErrorKind::Connection),
        (b"$999999999999\r\n", ErrorKind::Protocol),
        (b"$536870912\r\nabc", ErrorKind::Connection),
        (b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", ErrorKind::Protocol),
    ];
    for (answer, kind) in answers {
        common::runtime().block_on(async {
            let mut config = fake(move |i, mut stream| async move {
                one(&mut stream).await;
                // The second connection works.
                stream.write_all(if i == 0 { answer } else { b"+OK\r\n" }).await.expect("written");
                if i > 0 {
                    let _ = stream.read(&mut [0; 100]).await;
                }
            })
            .await;
            config.limits.depth_max = 5;
            let client = Client::with_config(config).await.expect("connected");
            let error = client.set("k", "v").await.expect_err("a wrong answer");
            assert_eq!(error.kind(), *kind, "{error}");
            assert!(error.is_maybe_executed(), "{error}");
            client.set("k", "v").await.expect("connected again");
        });
    }
}

#[test]
fn more_replies_than_commands_break_the_connection() {
    common::runtime().block_on(async {
        let config = fake(move |_, mut stream| async move {
            one(&mut stream).await;
            stream.write_all(b"+OK\r\n+OK\r\n").await.expect("written");
            let _ = stream.read(&mut [0; 100]).await;
        })
        .await;
        let client = Client::with_config(config).await.expect("connected");
        // The first reply is good; the second one belongs to no command and ends the connection.
        client.set("k", "v").await.expect("answered");
        client.set("k", "v").await.expect("answered on the next connection");
        assert!(client.metrics().connects >= 2);
    });
}

#[test]
fn reads_are_repeated_and_writes_are_not() {
    common::runtime().block_on(async {
        let seen = Arc::new(AtomicUsize::new(0));
        let counted = seen.clone();
        let config = fake(move |i, mut stream| {
            let seen = counted.clone();
            async move {
                let mut input = Vec::new();
                let mut piece = [0; 4096];
                while commands(&input) < if i == 0 { 2 } else { 1 } {
                    let n = stream.read(&mut piece).await.expect("read");
                    assert_ne!(n, 0);
                    input.extend_from_slice(&piece[..n]);
                }
                let sets = input.windows(3).filter(|word| word == b"SET").count();
                seen.fetch_add(sets, Relaxed);
                // The first connection ends without an answer.
                if i > 0 {
                    stream.write_all(b"$1\r\nv\r\n").await.expect("written");
                    let _ = stream.read(&mut piece).await;
                }
            }
        })
        .await;
        let client = Client::with_config(config).await.expect("connected");
        let read = tokio::spawn({
            let client = client.clone();
            async move { client.get("k").to::<String>().await }
        });
        let set = client.set("k", "v").await;
        let get = read.await.expect("no panic");
        let error = set.expect_err("it may have been executed");
        assert!(error.is_maybe_executed() && error.kind() == ErrorKind::Connection, "{error}");
        assert_eq!(get.expect("repeated"), "v");
        assert_eq!(seen.load(Relaxed), 1);
        assert_eq!(client.metrics().repeated, 1);
    });
}

#[test]
fn a_silent_server_is_left_while_others_go_on() {
    common::runtime().block_on(async {
        let mut config = fake(move |_, mut stream| async move {
            let _ = stream.read(&mut [0; 100]).await;
            std::future::pending::<()>().await;
        })
        .await;
        config.response_timeout = Some(Duration::from_millis(100));
        let silent = Client::with_config(config).await.expect("connected");
        let server = common::Server::start(common::kinds()[0], &[]);
        let healthy = Client::connect(&server.url()).await.expect("connected");
        let waiting = tokio::spawn({
            let silent = silent.clone();
            async move { silent.set("k", "v").await }
        });
        while !waiting.is_finished() {
            healthy.set("k", "v").await.expect("set");
        }
        let error = waiting.await.expect("no panic").expect_err("no reply");
        assert_eq!((error.kind(), error.is_maybe_executed()), (ErrorKind::Timeout, true));
    });
}

#[test]
fn commands_wait_for_a_server_that_comes_and_fail_in_time_if_none_does() {
    common::runtime().block_on(async {
        let port = testing::free_address().expect("a port").port();
        let mut config: Config = format!("redis://127.0.0.1:{port}").parse().expect("a URL");
        config.response_timeout = Some(Duration::from_millis(100));
        let client = Client::lazy(config.clone());
        let error = client.set("k", "v").await.expect_err("nobody is there");
        assert_eq!((error.kind(), error.is_maybe_executed()), (ErrorKind::Timeout, false));
        config.fail_while_down = true;
        let error = Client::lazy(config.clone()).set("k", "v").await.expect_err("nobody is there");
        assert_eq!((error.kind(), error.is_maybe_executed()), (ErrorKind::Connection, false));
        config.response_timeout = Some(testing::PATIENCE);
        config.fail_while_down = false;
        let client = Client::lazy(config);
        let waiting = tokio::spawn(async move { client.set("k", "v").await });
        let kind = common::kinds()[0];
        let _server = common::Server::start_in(kind, testing::TempDir::new(), port, &[]);
        waiting.await.expect("no panic").expect("set when the server came");
    });
}

/// The replies of one read wake its callers in pieces: the server has the commands of the first piece while the next one
/// runs.
#[test]
fn callers_that_one_read_wakes_overlap_with_the_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let config = fake(|_, mut stream| async move {
            for _ in 0..2 {
                let mut count = 0;
                while count < 128 {
                    let mut piece = [0; 8192];
                    let n = stream.read(&mut piece).await.expect("read");
                    assert_ne!(n, 0, "the client went away");
                    count += commands(&piece[..n]);
                }
                stream.write_all(&b"+OK\r\n".repeat(128)).await.expect("written");
            }
            let _ = stream.read(&mut [0; 100]).await;
        })
        .await;
        let client = Client::with_config(config).await.expect("connected");
        let callers: Vec<_> = (0..128)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move {
                    for _ in 0..2 {
                        client.set("k", "v").await.expect("set");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no panic");
        }
        // All at once, and then four pieces.
        assert!(client.metrics().writes >= 5, "{:?}", client.metrics());
    });
}
