//! Client-side caching on real servers: what is kept, and that it is never older than what the server has said.

mod common;

use apus_client::prelude::*;
use apus_client::{Cache, CacheConfig, Command, Config, ErrorKind, Tracking, cmd};
use common::{Server, on_each};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    for _ in 0..1000 {
        if let Some(found) = ask().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("in vain: {what}");
}

async fn client(server: &Server) -> Client {
    Client::connect(&server.url()).await.expect("connected")
}

/// The value of a key that the cache says when all has been heard.
async fn settles(cache: &Cache, key: &str, value: Option<i64>) {
    eventually("the cache has heard of it", || async {
        (cache.get::<Option<i64>>(key).await.expect("get") == value).then_some(())
    })
    .await;
}

#[test]
fn replies_are_kept_until_their_keys_change() {
    for tracking in
        [Tracking::OptIn, Tracking::Broadcast(vec![]), Tracking::Broadcast(vec!["k".into()])]
    {
        on_each(&[], |server| {
            let tracking = tracking.clone();
            async move {
                let client = client(&server).await;
                let config = CacheConfig { tracking: tracking.clone(), ..CacheConfig::default() };
                let cache = client.cache(config).await.expect("connected");
                client.set("k", 1).await.expect("set");
                settles(&cache, "k", Some(1)).await;
                let misses = cache.metrics().misses;
                for _ in 0..10 {
                    assert_eq!(cache.get::<i64>("k").await.expect("get"), 1);
                }
                assert!(cache.metrics().misses <= misses + 1 && cache.metrics().hits >= 9);
                client.set("k", 2).await.expect("set");
                settles(&cache, "k", Some(2)).await;
                client.del("k").await.expect("del");
                settles(&cache, "k", None).await;
                client.set("k", 3).await.expect("set");
                settles(&cache, "k", Some(3)).await;
                client.flushall().await.expect("flushed");
                settles(&cache, "k", None).await;
                // A time to live ends a value without a word from the server.
                client.set("k", 4).px(150).await.expect("set");
                settles(&cache, "k", Some(4)).await;
                settles(&cache, "k", None).await;
                // Other types, other commands of the same key, several keys.
                client.hset("kh", [("a", 1), ("b", 2)]).await.expect("hset");
                assert_eq!(cache.call::<i64>(cmd().hget("kh", "a")).await.expect("hget"), 1);
                assert_eq!(cache.call::<i64>(cmd().hlen("kh")).await.expect("hlen"), 2);
                client.hset("kh", [("a", 7), ("c", 2)]).await.expect("hset");
                eventually("both have changed", || async {
                    let a: i64 = cache.call(cmd().hget("kh", "a")).await.expect("hget");
                    let n: i64 = cache.call(cmd().hlen("kh")).await.expect("hlen");
                    (a == 7 && n == 3).then_some(())
                })
                .await;
                client.mset([("k1", 1), ("k2", 2)]).await.expect("mset");
                eventually("all of them", || async {
                    let all: Vec<Option<i64>> =
                        cache.mget(["k1", "none", "k2"]).await.expect("mget");
                    (all == [Some(1), None, Some(2)]).then_some(())
                })
                .await;
                // What has no prefix is read and not kept.
                client.set("other", 1).await.expect("set");
                assert_eq!(cache.get::<i64>("other").await.expect("get"), 1);
                client.set("other", 2).await.expect("set");
                if tracking == Tracking::Broadcast(vec!["k".into()]) {
                    assert_eq!(cache.get::<i64>("other").await.expect("get"), 2);
                }
                let wrong = cache.call::<i64>(cmd().hget("k1", "f")).await.expect_err("a string");
                assert_eq!(wrong.code(), "WRONGTYPE");
                let wrong = cache.call::<i64>(cmd().set("k", 1)).await.expect_err("a write");
                assert_eq!(wrong.kind(), ErrorKind::Usage);
            }
        });
    }
}

#[test]
fn one_read_for_all_who_want_it() {
    on_each(&[], |server| async move {
        let client = client(&server).await;
        client.set("k", 1).await.expect("set");
        let cache = client.cache(CacheConfig::default()).await.expect("connected");
        // The server answers no client for a while, so that all of them have asked by then.
        client.call(Command::new("CLIENT PAUSE").arg((200, "ALL"))).await.expect("paused");
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                let cache = cache.clone();
                let task = tokio::spawn(async move { cache.get::<i64>("k").await });
                // The first one goes away; the others get what it has asked for.
                if i == 0 {
                    task.abort();
                }
                task
            })
            .collect();
        let mut answered = 0;
        for task in tasks {
            if let Ok(value) = task.await {
                assert_eq!(value.expect("get"), 1);
                answered += 1;
            }
        }
        let metrics = cache.metrics();
        assert!(answered >= 99 && metrics.misses == 1, "{answered} {metrics:?}");
    });
}

/// Passes on what a server sends in pieces, each of what came in some milliseconds: so a reply and the invalidation
/// behind it come in one read, which is when a value could be kept that is old already.
async fn in_pieces(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                let mut piece = vec![0; 1 << 20];
                loop {
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    match from_server.read(&mut piece).await {
                        Ok(n) if n > 0 && to_client.write_all(&piece[..n]).await.is_ok() => {}
                        _ => return,
                    }
                }
            });
        }
    });
    own
}

/// Readers never see a key go back, and in the end see its last value, while the connection is cut again and again.
#[test]
fn never_stale_under_writes_and_cuts() {
    const KEYS: usize = 8;
    for tracking in [Tracking::OptIn, Tracking::Broadcast(vec![])] {
        on_each(&[], |server| {
            let tracking = tracking.clone();
            async move {
                let client = client(&server).await;
                let port = in_pieces(server.port).await;
                let mut config: Config =
                    format!("redis://127.0.0.1:{port}").parse().expect("a URL");
                config.name = Some("cached".into());
                let reading = Client::with_config(config).await.expect("connected");
                let config = CacheConfig { tracking, entries_max: 6, ..CacheConfig::default() };
                let cache = reading.cache(config).await.expect("connected");
                let is_over = Arc::new(AtomicBool::new(false));
                let readers: Vec<_> = (0..16)
                    .map(|i| {
                        let (cache, is_over) = (cache.clone(), is_over.clone());
                        tokio::spawn(async move {
                            let mut seen = [0_i64; KEYS];
                            let mut turn: usize = i;
                            while !is_over.load(SeqCst) {
                                turn += 1;
                                let at = turn * 7 % KEYS;
                                // A cut may fail a read.
                                if let Ok(n) = cache.get::<Option<i64>>(format!("k{at}")).await {
                                    let n = n.unwrap_or(0);
                                    assert!(n >= seen[at], "k{at} went from {} to {n}", seen[at]);
                                    seen[at] = n;
                                }
                                tokio::task::yield_now().await;
                            }
                        })
                    })
                    .collect();
                for n in 1..=3000_i64 {
                    client.set(format!("k{}", n % 8), n).await.expect("set");
                    // A value that was kept wrongly stays, now that nothing changes.
                    if n % 40 == 0 {
                        for n in n - 7..=n {
                            settles(&cache, &format!("k{}", n % 8), Some(n)).await;
                        }
                    }
                    if n % 500 == 0 {
                        let list: String = client
                            .call(Command::new("CLIENT LIST"))
                            .await
                            .and_then(apus_client::FromValue::from_value)
                            .expect("a list");
                        for line in list.lines().filter(|line| line.contains("name=cached")) {
                            let id = line
                                .split(' ')
                                .next()
                                .and_then(|id| id.strip_prefix("id="))
                                .expect("an id");
                            client
                                .call(Command::new("CLIENT KILL").arg(("ID", id)))
                                .await
                                .expect("killed");
                        }
                    }
                }
                is_over.store(true, SeqCst);
                for reader in readers {
                    reader.await.expect("no reader saw the past");
                }
                let metrics = cache.metrics();
                assert!(
                    metrics.hits > 100 && metrics.clears >= 2 && metrics.entries <= 6,
                    "{metrics:?}"
                );
            }
        });
    }
}

#[test]
fn what_needs_resp3_says_so() {
    on_each(&[], |server| async move {
        let url = format!("{}?protocol=2", server.url());
        let client = Client::connect(&url).await.expect("connected");
        let error = client.cache(CacheConfig::default()).await.expect_err("RESP2");
        assert!(error.to_string().contains("RESP2"), "{error}");
    });
}

/// A connection that is dead and does not say so is found out, although every read finds what the cache keeps.
/// The half of a push behind the first words does not confuse the connection.
#[test]
fn a_silent_connection_is_not_believed() {
    common::runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(silent(stream));
            }
        });
        let mut config: Config = format!("redis://127.0.0.1:{port}").parse().expect("a URL");
        config.response_timeout = Some(Duration::from_millis(100));
        let client = Client::lazy(config);
        let check_every = Duration::from_millis(300);
        let cache = client.cache(CacheConfig { check_every, ..CacheConfig::default() }).await;
        let cache = cache.expect("connected");
        assert_eq!(cache.get::<String>("k").await.expect("get"), "v");
        eventually("everything is forgotten", || async {
            (cache.metrics().clears > 0).then_some(())
        })
        .await;
    });
}

/// Answers the first words and one read, and then nothing any more, without closing.
async fn silent(mut stream: TcpStream) {
    // HELLO, CLIENT SETINFO twice, CLIENT TRACKING; the client's other connection does not send the last.
    if !until(&mut stream, "TRACKING").await {
        return;
    }
    let words = b"%1\r\n+proto\r\n:3\r\n+OK\r\n+OK\r\n+OK\r\n>2\r\n$10\r\ninvali";
    stream.write_all(words).await.expect("written");
    stream.write_all(b"date\r\n*1\r\n$1\r\nx\r\n").await.expect("written");
    if !until(&mut stream, "EXEC").await {
        return;
    }
    let reply = b"+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:-1\r\n$1\r\nv\r\n";
    stream.write_all(reply).await.expect("written");
    until(&mut stream, "never").await;
}

/// Reads until a word has come, or the client goes away.
async fn until(stream: &mut TcpStream, word: &str) -> bool {
    let mut input = Vec::new();
    while !String::from_utf8_lossy(&input).contains(word) {
        let mut piece = [0; 1000];
        match stream.read(&mut piece).await {
            Ok(n) if n > 0 => input.extend_from_slice(&piece[..n]),
            _ => return false,
        }
    }
    true
}
