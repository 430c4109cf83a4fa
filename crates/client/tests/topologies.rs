//! Sentinel, a cluster of three Redis servers, and shards.

mod common;

use apus_client::prelude::*;
use apus_client::{
    CacheConfig, Client, Command, Config, Event, Function, Pipeline, Script, Shards, Value, cmd,
    shard_of, slot,
};
use common::cluster::start as cluster;
use common::{Server, eventually, has_redis};
use std::time::Duration;

#[test]
fn a_cluster() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster().await;
        let url = format!("redis+cluster://127.0.0.1:{}", servers[1].port);
        let client = Client::connect(&url).await.expect("connected");
        for i in 0..300 {
            client.set(format!("k{i}"), i).await.expect("set");
        }
        for (i, node) in nodes.iter().enumerate() {
            let count: i64 = node.dbsize().to().await.expect("a size");
            assert!((60..140).contains(&count), "node {i} has {count}");
        }
        // Split by slots, and put together in order.
        let keys: Vec<String> = (0..300).map(|i| format!("k{i}")).collect();
        let values: Vec<i64> = client.mget(&keys).to().await.expect("mget");
        assert_eq!(values, (0..300).collect::<Vec<i64>>());
        client.mset([("a", 1), ("b", 2), ("c", 3)]).await.expect("mset");
        assert_eq!(client.del(["a", "b", "c", "none"]).to::<i64>().await.expect("del"), 3);
        assert_eq!(client.dbsize().to::<i64>().await.expect("the sum"), 300);
        let mut scanned: Vec<String> = client.scan_keys("k*").all().await.expect("keys");
        scanned.sort_unstable();
        scanned.dedup();
        assert_eq!(scanned.len(), 300, "all nodes are scanned");
        let mut pipeline = Pipeline::new();
        for i in 0..100 {
            pipeline.push(cmd().get(format!("k{i}")));
        }
        let values: Vec<i64> = client.run(pipeline).await.expect("a pipeline");
        assert_eq!(values, (0..100).collect::<Vec<i64>>());
        let script = Script::new("return redis.call('GET', KEYS[1])");
        assert_eq!(script.run::<i64>(&client, "k7", ()).await.expect("a script"), 7);
        move_a_slot(&client, &servers, &nodes).await;
    });
}

/// ASK while a slot moves, TRYAGAIN for keys of which some have moved, MOVED afterwards.
async fn move_a_slot(client: &Client, servers: &[Server], nodes: &[Client]) {
    client.mset([("{t}1", 1), ("{t}2", 2)]).await.expect("set");
    let number = slot(b"t");
    let from = usize::from(number / 5461).min(2);
    let to = (from + 1) % 3;
    let mut ids = Vec::new();
    for node in nodes {
        ids.push(
            node.call(Command::new("CLUSTER MYID"))
                .await
                .expect("an id")
                .as_str()
                .expect("text")
                .to_owned(),
        );
    }
    let set = |node: &Client, word: &str, id: &str| {
        let (node, command) =
            (node.clone(), Command::new("CLUSTER SETSLOT").arg((number, word, id)));
        async move { node.call(command).await.expect("set") }
    };
    set(&nodes[to], "IMPORTING", &ids[from]).await;
    set(&nodes[from], "MIGRATING", &ids[to]).await;
    let migrate = |key: &'static str| {
        let command = Command::new("MIGRATE").arg(("127.0.0.1", servers[to].port, key, 0, 5000));
        async { nodes[from].call(command).await.expect("migrated") }
    };
    migrate("{t}1").await;
    // One is there and one here.
    assert_eq!(client.get("{t}1").to::<i64>().await.expect("ASK"), 1);
    assert_eq!(client.get("{t}2").to::<i64>().await.expect("here"), 2);
    let both = tokio::spawn({
        let client = client.clone();
        async move { client.mget(["{t}1", "{t}2"]).to::<Vec<i64>>().await }
    });
    migrate("{t}2").await;
    assert_eq!(both.await.expect("no panic").expect("TRYAGAIN, then ASK"), [1, 2]);
    for node in [to, from] {
        set(&nodes[node], "NODE", &ids[to]).await;
    }
    assert_eq!(client.incr("{t}1").to::<i64>().await.expect("MOVED"), 2);
    assert_eq!(nodes[to].get("{t}1").to::<i64>().await.expect("it is there"), 2);
}

#[test]
fn sentinel_and_a_failover() {
    if !has_redis() {
        return; // The sentinel is Redis's.
    }
    for kind in common::kinds() {
        eprintln!("{kind:?}");
        common::runtime().block_on(async {
            let master = Server::start(kind, &[]);
            let replica =
                Server::start(kind, &["--replicaof", &format!("127.0.0.1 {}", master.port)]);
            let sentinel = common::sentinel::start(master.port);
            let url = sentinel.url();
            let client = Client::connect(&url).await.expect("connected");
            client.set("k", 1).await.expect("set");
            let cache = client.cache(CacheConfig::default()).await.expect("connected");
            assert_eq!(cache.get::<i64>("k").await.expect("get"), 1);
            let asking = sentinel.knows_a_replica().await;
            let mut reading: Config = url.parse().expect("a URL");
            reading.read_from_replicas = true;
            let reading = Client::with_config(reading).await.expect("connected");
            eventually("the replica has it", || async {
                reading.get("k").to::<Option<i64>>().await.expect("get")
            })
            .await;
            let direct = Client::connect(&replica.url()).await.expect("connected");
            let calls: String = direct.info().arg("commandstats").to().await.expect("statistics");
            assert!(calls.contains("cmdstat_get:"), "the replica was read: {calls}");
            asking.call(Command::new("SENTINEL").arg(("FAILOVER", "m"))).await.expect("a failover");
            eventually("writes go to the new master", || async {
                let _ = client.set("k", 2).await;
                let direct = Client::connect(&replica.url()).await.expect("connected");
                // The sentinel closes the connections of a server that it has promoted.
                let role = direct.call(Command::new("ROLE")).await.ok()?;
                let is_master =
                    matches!(&role, Value::Array(items) if items[0].as_str() == Some("master"));
                (is_master && direct.get("k").to::<i64>().await.ok() == Some(2)).then_some(())
            })
            .await;
            // What the cache knew of the old master is forgotten, and the new one tells it what changes.
            for n in [2, 3] {
                client.set("k", n).await.expect("set");
                eventually("the cache follows", || async {
                    (cache.get::<i64>("k").await.ok() == Some(n)).then_some(())
                })
                .await;
            }
        });
    }
}

/// A master that is frozen closes nothing and answers nothing. No time-out ends the waiting here: it is the sentinels'
/// word alone by which commands, the cache and subscriptions leave it.
#[test]
fn a_frozen_master_is_left_when_sentinels_say_so() {
    if !has_redis() {
        return; // The sentinel is Redis's.
    }
    for kind in common::kinds() {
        eprintln!("{kind:?}");
        common::runtime().block_on(async {
            let master = Server::start(kind, &[]);
            let replica =
                Server::start(kind, &["--replicaof", &format!("127.0.0.1 {}", master.port)]);
            let sentinel = common::sentinel::start(master.port);
            let mut config: Config = sentinel.url().parse().expect("a URL");
            config.response_timeout = None;
            let client = Client::with_config(config).await.expect("connected");
            client.set("k", 1).await.expect("set");
            let check_every = Duration::from_secs(3600);
            let cache = client.cache(CacheConfig { check_every, ..CacheConfig::default() }).await;
            let cache = cache.expect("connected");
            assert_eq!(cache.get::<i64>("k").await.expect("get"), 1);
            let mut subscriber = client.subscriber().await.expect("connected");
            subscriber.subscribe(["news"]).await.expect("confirmed");
            let direct = Client::connect(&replica.url()).await.expect("connected");
            eventually("the replica has it", || async {
                direct.get("k").to::<Option<i64>>().await.expect("get")
            })
            .await;
            sentinel.knows_a_replica().await;
            master.signal("STOP");
            assert_eq!(subscriber.next().await, Event::Gap);
            // The first one may be on its way to the frozen master.
            eventually("it is set on the new master", || async { client.set("k", 2).await.ok() })
                .await;
            eventually("the cache follows", || async {
                (cache.get::<i64>("k").await.ok() == Some(2)).then_some(())
            })
            .await;
            eventually("it is heard", || async {
                (direct.publish("news", "again").to::<i64>().await.expect("published") == 1)
                    .then_some(())
            })
            .await;
            let Event::Message(message) = subscriber.next().await else { panic!("a gap") };
            assert_eq!(&*message.payload, b"again");
        });
    }
}

#[test]
fn shards() {
    common::on_each(&[], |first| async move {
        let second = Server::start(first.kind, &[]);
        let shards = Shards::connect([first.url(), second.url()]).await.expect("connected");
        for i in 0..50 {
            let key = format!("k{i}");
            shards.of(&key).set(&key, i).await.expect("set");
        }
        let in_second = (0..50).filter(|i| shard_of(format!("k{i}").as_bytes(), 2) == 1).count();
        let count: usize = shards.all()[1].dbsize().to().await.expect("a size");
        assert!(count == in_second && (5..45).contains(&count), "{count}");
    });
}

#[test]
fn subscriptions_and_gaps() {
    for kind in common::kinds() {
        for protocol in ["", "?protocol=2"] {
            let server = Server::start(kind, &[]);
            common::runtime().block_on(async {
                let mut config: Config =
                    format!("{}{protocol}", server.url()).parse().expect("a URL");
                config.response_timeout = Some(Duration::from_secs(2));
                let client = Client::with_config(config).await.expect("connected");
                let mut subscriber = client.subscriber().await.expect("connected");
                subscriber.subscribe(["a", "b"]).await.expect("confirmed");
                subscriber.psubscribe(["p*"]).await.expect("confirmed");
                subscriber.ssubscribe(["s"]).await.expect("confirmed");
                for (channel, is_sharded) in
                    [("a", false), ("b", false), ("px", false), ("s", true)]
                {
                    let command = if is_sharded {
                        cmd().spublish(channel, "x")
                    } else {
                        cmd().publish(channel, "x")
                    };
                    client.call(command).await.expect("published");
                    let Event::Message(message) = subscriber.next().await else { panic!("a gap") };
                    assert_eq!(
                        (&*message.channel, &*message.payload),
                        (channel.as_bytes(), &b"x"[..])
                    );
                    assert_eq!(message.pattern.as_deref(), (channel == "px").then_some(&b"p*"[..]));
                }
                subscriber.unsubscribe(["b"]).await.expect("confirmed");
                assert_eq!(client.publish("b", "x").to::<i64>().await.expect("published"), 0);
                // More than the inbox holds.
                for i in 0..5000 {
                    client.publish("a", i).await.expect("published");
                }
                for i in 0..5000 {
                    let Event::Message(message) = subscriber.next().await else { panic!("a gap") };
                    assert_eq!(&*message.payload, i.to_string().as_bytes());
                }
                client
                    .call(Command::new("CLIENT KILL").arg(("TYPE", "pubsub")))
                    .await
                    .expect("killed");
                assert_eq!(subscriber.next().await, Event::Gap);
                eventually("subscribed again", || async {
                    (client.publish("a", "again").to::<i64>().await.expect("published") == 1)
                        .then_some(())
                })
                .await;
                let Event::Message(message) = subscriber.next().await else { panic!("a gap") };
                assert_eq!(&*message.payload, b"again");
                assert_eq!(client.publish("b", "x").to::<i64>().await.expect("published"), 0);
            });
        }
    }
}

#[test]
fn scripts_and_scans() {
    common::on_each(&[], |server| async move {
        let client = Client::connect(&server.url()).await.expect("connected");
        let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
        for n in 1..=3 {
            assert_eq!(script.run::<i64>(&client, "n", 5).await.expect("run"), n * 5);
            if n == 2 {
                client.script_flush().await.expect("flushed");
            }
        }
        for i in 0..300 {
            client.set(format!("key:{i}"), i).await.expect("set");
            client.hset("h", (format!("f{i}"), i)).await.expect("hset");
            client.zadd("z", (i, format!("m{i}"))).await.expect("zadd");
        }
        let mut keys: Vec<String> =
            client.scan_keys("key:*").option(("COUNT", 50)).all().await.expect("keys");
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 300);
        let fields: Vec<(String, i64)> = client.scan_hash("h").all().await.expect("fields");
        assert!(fields.len() == 300 && fields.iter().all(|(f, v)| *f == format!("f{v}")));
        let members: Vec<(String, f64)> = client.scan_sorted_set("z").all().await.expect("members");
        assert!(members.len() == 300 && members.iter().all(|(m, s)| *m == format!("m{s}")));
        client.set("text", "x").await.expect("set");
        let mut wrong = client.scan_set::<String>("text");
        assert_eq!(
            wrong.next().await.expect("an error").expect_err("a string").code(),
            "WRONGTYPE"
        );
        assert!(wrong.next().await.is_none());
    });
}

#[test]
fn functions_are_loaded_where_they_are_missing() {
    const LIBRARY: &str = "#!lua name=counting\nredis.register_function('add', function(keys, args)\n\
        return redis.call('INCRBY', keys[1], args[1]) end)\n\
        redis.register_function{function_name='look', callback=function(keys)\n\
        return redis.call('GET', keys[1]) end, flags={'no-writes'}}";
    common::on_each(&[], |server| async move {
        let client = Client::connect(&server.url()).await.expect("connected");
        let (add, look) =
            (Function::new("add", LIBRARY), Function::new("look", LIBRARY).read_only());
        assert_eq!(add.run::<i64>(&client, "n", 5).await.expect("loaded"), 5);
        assert_eq!(add.run::<i64>(&client, "n", 5).await.expect("there"), 10);
        client.call(Command::new("FUNCTION FLUSH")).await.expect("flushed");
        assert_eq!(look.run::<i64>(&client, "n", ()).await.expect("loaded again"), 10);
        add.load(&client).await.expect("it is there");
        let none = Function::new("none", LIBRARY).run::<i64>(&client, "n", 1).await;
        assert!(none.expect_err("no such function").to_string().contains("not found"));
        let wrong = Function::new("f", "#!lua name=x\nnot lua").run::<i64>(&client, "n", 1).await;
        assert!(wrong.expect_err("it does not compile").to_string().contains("compil"));
    });
}

#[test]
fn entries_of_a_stream_as_they_come() {
    for protocol in ["", "?protocol=2"] {
        common::on_each(&[], |server| async move {
            let client =
                Client::connect(&format!("{}{protocol}", server.url())).await.expect("connected");
            for i in 0..10 {
                client.xadd("s", format!("{}-0", i + 1), ("n", i)).await.expect("xadd");
            }
            let wait = Duration::from_millis(20);
            let mut all = client.entries("s").after("0").count(3).wait(wait);
            for i in 0..10 {
                let entry = all.next().await.expect("it does not end").expect("an entry");
                assert_eq!(entry.id, format!("{}-0", i + 1));
                assert_eq!(entry.fields, [("n".into(), i.to_string().into())]);
            }
            // New ones, also after the server has said some times that there is nothing.
            let mut new = client.entries("s").wait(wait);
            let early = tokio::time::timeout(wait * 5, new.next()).await;
            assert!(early.is_err(), "{early:?}");
            client.xadd("s", "11-0", ("n", 10)).await.expect("xadd");
            for stream in [&mut all, &mut new] {
                assert_eq!(stream.next().await.expect("one").expect("an entry").id, "11-0");
            }
            // A group: what is new, and after a restart of the consumer what it has not acknowledged.
            client.call(Command::new("XGROUP CREATE").arg(("s", "g", "0"))).await.expect("a group");
            let mut consumer = client.group_entries("s", "g", "c").count(4).wait(wait);
            for i in 1..=11 {
                let entry = consumer.next().await.expect("one").expect("an entry");
                assert_eq!(entry.id, format!("{i}-0"));
                if i != 7 {
                    client.xack("s", "g", &entry.id).await.expect("acknowledged");
                }
            }
            drop(consumer);
            client.xadd("s", "12-0", ("n", 11)).await.expect("xadd");
            let mut again = client.group_entries("s", "g", "c").after("0").wait(wait);
            for id in ["7-0", "12-0"] {
                assert_eq!(again.next().await.expect("one").expect("an entry").id, id);
            }
            client.set("text", 1).await.expect("set");
            let wrong = client.entries("text").after("0").next().await.expect("an error");
            assert_eq!(wrong.expect_err("no stream").code(), "WRONGTYPE");
        });
    }
}
