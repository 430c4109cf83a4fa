//! What a client does on a healthy server, in both protocols.

mod common;

use apus_client::prelude::*;
use apus_client::{Command, Config, ErrorKind, Pipeline, Protocol, Transaction, Value, cmd};
use common::{Server, on_each};
use std::collections::HashMap;
use std::time::Duration;

async fn client(server: &Server, protocol: Protocol) -> Client {
    let mut config: Config = server.url().parse().expect("a URL");
    config.protocol = protocol;
    Client::with_config(config).await.expect("connected")
}

const PROTOCOLS: [Protocol; 2] = [Protocol::Auto, Protocol::Resp2];

#[test]
fn commands_and_their_types() {
    on_each(&[], |server| async move {
        for protocol in PROTOCOLS {
            let client = client(&server, protocol).await;
            client.flushall().await.expect("empty");
            assert_eq!(client.set("k", "v").await.expect("set"), Value::Okay);
            assert_eq!(client.get("k").to::<String>().await.expect("get"), "v");
            assert_eq!(client.get("none").to::<Option<String>>().await.expect("get"), None);
            assert!(client.set("k", "w").nx().await.expect("not set").is_nil());
            assert_eq!(client.incr("n").to::<u16>().await.expect("incr"), 1);
            client.hset("h", [("a", 1), ("b", 2)]).await.expect("hset");
            let map: HashMap<String, i64> = client.hgetall("h").to().await.expect("hgetall");
            assert_eq!(map, HashMap::from([("a".into(), 1), ("b".into(), 2)]));
            let added: i64 =
                client.zadd("z", [(1.5, "a"), (2.0, "b")]).ch().to().await.expect("zadd");
            assert_eq!(added, 2);
            let scores: Vec<(String, f64)> =
                client.zrange("z", 0, -1).withscores().to().await.expect("zrange");
            assert_eq!(scores, [("a".into(), 1.5), ("b".into(), 2.0)]);
            assert_eq!(client.zscore("z", "a").to::<f64>().await.expect("zscore"), 1.5);
            let id: String = client.xadd("s", "*", ("f", "v")).to().await.expect("xadd");
            assert!(id.contains('-'));
            assert_eq!(
                client
                    .eval("return {KEYS[1], ARGV[1]}", "k")
                    .arg("x")
                    .to::<(String, String)>()
                    .await
                    .expect("eval"),
                ("k".into(), "x".into())
            );
            let config: HashMap<String, String> =
                client.config_get("maxmemory").to().await.expect("config");
            assert_eq!(config["maxmemory"], "0");
            let info: String = client.info().to().await.expect("info");
            assert!(info.contains("redis_version"));
            assert_eq!(client.call(Command::new("ECHO").arg("x")).to_string().await, "x");
        }
    });
}

/// A reply as text, for a short test.
trait Text {
    fn to_string(self) -> impl Future<Output = String>;
}

impl Text for apus_client::Response<'_> {
    async fn to_string(self) -> String {
        self.await.expect("a reply").as_str().expect("text").to_owned()
    }
}

#[test]
fn errors_of_servers_and_of_usage() {
    on_each(&[], |server| async move {
        let client = client(&server, Protocol::Auto).await;
        client.set("k", "v").await.expect("set");
        let error = client.lpush("k", "x").await.expect_err("a string");
        assert_eq!((error.kind(), error.code()), (ErrorKind::Server, "WRONGTYPE"));
        assert!(!error.is_maybe_executed());
        assert_eq!(client.get("k").to::<i64>().await.expect_err("text").kind(), ErrorKind::Type);
        for name in ["MULTI", "SUBSCRIBE", "MONITOR", "CLIENT REPLY", "SELECT", "auth"] {
            let error = client.call(Command::new(name).arg("x")).await.expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Usage, "{name}");
        }
        assert_eq!(cmd().get("k").await.expect_err("nowhere").kind(), ErrorKind::Usage);
        assert_eq!(client.get("k").to_string_of().await, "v");
    });
}

trait TextOf {
    fn to_string_of(self) -> impl Future<Output = String>;
}

impl TextOf for apus_client::Request<'_> {
    async fn to_string_of(self) -> String {
        self.to().await.expect("text")
    }
}

#[test]
fn users_databases_and_sockets() {
    for kind in common::kinds() {
        let dir = testing::TempDir::new();
        let socket = dir.path().join("s.sock").display().to_string();
        let server = Server::start(kind, &["--requirepass", "p@ss w/rd", "--unixsocket", &socket]);
        common::runtime().block_on(async {
            let wrong = Client::connect(&server.url()).await.map(drop);
            // Without a password HELLO is refused.
            assert_eq!(wrong.expect_err("no password").code(), "NOAUTH");
            for parameters in ["", "&protocol=2"] {
                let url = format!(
                    "redis://:p%40ss%20w%2Frd@127.0.0.1:{}/3?client_name=me{parameters}",
                    server.port
                );
                let client = Client::connect(&url).await.expect("connected");
                client.set("where", 3).await.expect("set");
                assert_eq!(client.call(Command::new("CLIENT GETNAME")).to_string().await, "me");
                let url = format!("unix://:p%40ss%20w%2Frd@{socket}?db=3{parameters}");
                let client = Client::connect(&url).await.expect("connected");
                assert_eq!(client.get("where").to::<i64>().await.expect("the same database"), 3);
                let url = format!("redis+unix://default:p%40ss%20w%2Frd@{socket}?{parameters}");
                let client = Client::connect(&url).await.expect("connected");
                assert!(client.get("where").await.expect("another database").is_nil());
                let wrong = format!("redis://:wrong@127.0.0.1:{}?{parameters}", server.port);
                assert_eq!(
                    Client::connect(&wrong).await.map(drop).expect_err("wrong").code(),
                    "WRONGPASS"
                );
            }
        });
    }
}

#[test]
fn pipelines_and_transactions() {
    on_each(&[], |server| async move {
        for protocol in PROTOCOLS {
            let client = client(&server, protocol).await;
            client.flushall().await.expect("empty");
            let mut pipeline = Pipeline::new();
            pipeline.push(cmd().incr("n")).push(cmd().lpush("n", "x")).push(cmd().get("n"));
            let (n, wrong, text): (i64, apus_client::Result<i64>, String) =
                client.run(pipeline).await.expect("three");
            assert_eq!(
                (n, wrong.expect_err("a number").code(), text.as_str()),
                (1, "WRONGTYPE", "1")
            );
            let empty: Vec<i64> = client.run(Pipeline::new()).await.expect("nothing");
            assert!(empty.is_empty());

            let mut transaction = Transaction::new();
            transaction.push(cmd().incr("n")).push(cmd().incr("n"));
            assert_eq!(client.exec::<(i64, i64)>(transaction).await.expect("two"), (2, 3));
            let mut refused = Transaction::new();
            refused.push(cmd().incr("n")).push(Command::new("NO-SUCH-COMMAND"));
            let error = client.exec::<Vec<Value>>(refused).await.expect_err("refused");
            assert!(error.to_string().contains("unknown command"), "{error}");
            assert_eq!(client.get("n").to::<i64>().await.expect("as before"), 3);

            let dedicated = client.dedicated().await.expect("a connection");
            for (change, outcome) in [(false, true), (true, false)] {
                dedicated.watch("n").await.expect("watched");
                let n: i64 = dedicated.get("n").to().await.expect("a number");
                if change {
                    client.set("n", 100).await.expect("set");
                }
                let mut transaction = Transaction::new();
                transaction.push(cmd().set("n", n + 1));
                let result = dedicated.exec(transaction).await;
                assert_eq!(result.is_ok(), outcome);
                if let Err(error) = result {
                    assert_eq!(error.kind(), ErrorKind::Aborted);
                }
            }
            assert_eq!(client.get("n").to::<i64>().await.expect("the other's"), 100);
            // One without commands says whether the key is as it was, and ends the watch.
            for is_changed in [false, true, false] {
                dedicated.watch("n").await.expect("watched");
                if is_changed {
                    client.incr("n").await.expect("incremented");
                }
                let result = dedicated.exec(Transaction::new()).await.map_err(|error| error.kind());
                let expected = if is_changed { Err(ErrorKind::Aborted) } else { Ok(Vec::new()) };
                assert_eq!(result, expected);
                client.incr("n").await.expect("incremented");
            }
        }
    });
}

#[test]
fn commands_that_wait_do_not_hold_up_others() {
    on_each(&[], |server| async move {
        let client = client(&server, Protocol::Auto).await;
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.blpop("list", 0).to::<(String, String)>().await }
        });
        for i in 0..100 {
            client.set("k", i).await.expect("set");
        }
        assert!(!waiting.is_finished());
        client.lpush("list", "x").await.expect("pushed");
        assert_eq!(waiting.await.expect("no panic").expect("popped"), ("list".into(), "x".into()));
        // One that is given up takes its connection with it, and not an element.
        let given_up =
            tokio::time::timeout(Duration::from_millis(50), client.blpop("list", 0).into_future())
                .await;
        assert!(given_up.is_err());
        loop {
            let info: String = client.info().arg("clients").to().await.expect("info");
            if info.contains("blocked_clients:0") {
                break;
            }
        }
        client.lpush("list", "y").await.expect("pushed");
        assert_eq!(client.llen("list").to::<i64>().await.expect("a length"), 1);
    });
}

#[test]
fn long_values_and_many_callers() {
    on_each(&[], |server| async move {
        let mut config: Config = server.url().parse().expect("a URL");
        config.commands_max = 16;
        config.bytes_max = 1 << 20;
        let client = Client::with_config(config).await.expect("connected");
        let long = vec![b'x'; 8 << 20];
        client.set("long", &long).await.expect("set");
        let back: apus_client::Value = client.get("long").await.expect("get");
        assert!(back.as_bytes() == Some(&long));
        let tasks: Vec<_> = (0..500)
            .map(|i| {
                let client = client.clone();
                tokio::spawn(async move {
                    for j in 0..20 {
                        client.set(format!("k{i}"), j).await.expect("set");
                        assert_eq!(client.get(format!("k{i}")).to::<i64>().await.expect("get"), j);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        let metrics = client.metrics();
        assert_eq!((metrics.commands, metrics.replies, metrics.pending), (20_002, 20_002, 0));
        assert!(metrics.writes < metrics.commands, "{metrics:?}");
    });
}

#[test]
fn a_flush_delay_gathers_commands() {
    on_each(&[], |server| async move {
        let mut config: Config = server.url().parse().expect("a URL");
        config.flush_delay = Some(Duration::from_millis(30));
        let client = Client::with_config(config).await.expect("connected");
        let tasks: Vec<_> = (0..16)
            .map(|i| {
                let client = client.clone();
                tokio::spawn(async move {
                    for j in 0..20 {
                        client.set(format!("k{i}"), j).await.expect("set");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        let metrics = client.metrics();
        // Sixteen in a write, unless the machine has no time for some of them.
        assert!(metrics.writes * 4 < metrics.commands, "{metrics:?}");
    });
}

/// The delay is longer than the time for a reply.
#[test]
fn a_caller_alone_waits_for_no_flush_delay() {
    on_each(&[], |server| async move {
        let mut config: Config = server.url().parse().expect("a URL");
        config.flush_delay = Some(Duration::from_secs(3600));
        let client = Client::with_config(config).await.expect("connected");
        for i in 0..20 {
            client.set("k", i).await.expect("set");
        }
        assert_eq!(client.metrics().writes, client.metrics().commands);
    });
}

/// Many at once change one value by reading and writing it, and none of the changes is lost.
#[test]
fn transactions_that_watch_lose_nothing() {
    common::on_each(&[], |server| async move {
        let client = Client::connect(&server.url()).await.expect("connected");
        client.set("n", 0).await.expect("set");
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move {
                    for _ in 0..20 {
                        let add = async |own: &apus_client::Dedicated| {
                            let n: i64 = own.get("n").to().await?;
                            let mut transaction = apus_client::Transaction::new();
                            transaction.push(apus_client::cmd().set("n", n + 1));
                            Ok(transaction)
                        };
                        client.exec_watching::<(), _>(["n"], add).await.expect("executed");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        assert_eq!(client.get("n").to::<i64>().await.expect("get"), 160);
    });
}
