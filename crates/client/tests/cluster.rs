//! Caches and subscriptions on a real Redis cluster whose slots move and whose masters fail.

mod common;

use apus_client::prelude::*;
use apus_client::{
    Backoff, Cache, CacheConfig, Client, Command, Config, Dedicated, Event, Subscriber, Tracking,
    Transaction, cmd, slot,
};
use common::{Server, cluster, eventually, has_redis};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// The number of the node that has a slot at the beginning.
fn node_of(slot: u16) -> usize {
    usize::from(slot / 5461).min(2)
}

async fn connect(server: &Server) -> Client {
    let url = format!("redis+cluster://127.0.0.1:{}", server.port);
    let mut config: Config = url.parse().expect("a URL");
    config.backoff = Backoff { first: Duration::from_millis(5), max: Duration::from_millis(100) };
    Client::with_config(config).await.expect("connected")
}

fn quick(tracking: Tracking) -> CacheConfig {
    CacheConfig { tracking, check_every: Duration::from_millis(50), ..CacheConfig::default() }
}

/// The cache says in the end what the key is.
async fn settles(cache: &Cache, key: &str, value: Option<i64>) {
    eventually(&format!("the cache says that {key} is {value:?}"), || async {
        (cache.get::<Option<i64>>(key).await.ok() == Some(value)).then_some(())
    })
    .await;
}

/// Until a reply comes from what is kept.
async fn is_kept(cache: &Cache, key: &str) {
    eventually("it is kept", || async {
        let hits = cache.metrics().hits;
        cache.get::<Option<i64>>(key).await.expect("get");
        (cache.metrics().hits > hits).then_some(())
    })
    .await;
}

#[test]
fn a_cache_forgets_what_has_moved() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster::start().await;
        for (i, tracking) in [Tracking::OptIn, Tracking::Broadcast(vec![])].into_iter().enumerate()
        {
            let client = connect(&servers[0]).await;
            // Another program's, which learns from redirections alone.
            let other = connect(&servers[1]).await;
            let cache = client.cache(quick(tracking)).await.expect("a cache");
            // A key that is there, and one that is not: its old node will never say that it came.
            let (there, missing) = (format!("{{m{i}}}there"), format!("{{m{i}}}missing"));
            let number = slot(there.as_bytes());
            let from = node_of(number);
            let to = (from + 1) % 3;
            other.set(&there, 1).await.expect("set");
            settles(&cache, &there, Some(1)).await;
            settles(&cache, &missing, None).await;
            is_kept(&cache, &missing).await;
            cluster::move_slot(number, &nodes, &servers, from, to).await;
            other.set(&there, 2).await.expect("set");
            other.set(&missing, 3).await.expect("set");
            settles(&cache, &there, Some(2)).await;
            settles(&cache, &missing, Some(3)).await;
            // It is kept again, and the new node tells.
            is_kept(&cache, &there).await;
            is_kept(&cache, &missing).await;
            // A transaction by an old map is refused whole, and run where its keys are.
            let mut transaction = Transaction::new();
            transaction.push(cmd().set(&there, 4)).push(cmd().get(&there));
            let stale = connect(&servers[2]).await;
            cluster::move_slot(number, &nodes, &servers, to, from).await;
            let (_, four): (String, i64) = stale.exec(transaction).await.expect("executed");
            assert_eq!(four, 4);
            other.del(&missing).await.expect("del");
            settles(&cache, &there, Some(4)).await;
            settles(&cache, &missing, None).await;
            assert!(cache.get::<i64>("{m}unset").await.is_err(), "nil is no number");
        }
    });
}

/// The first half of a move: the keys are on the new node already, and the slot is the old one's.
#[test]
fn a_transaction_follows_keys_whose_slot_is_on_its_way() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster::start().await;
        let client = connect(&servers[0]).await;
        let number = slot(b"{m}");
        let from = node_of(number);
        let to = (from + 1) % 3;
        client.set("{m}there", 1).await.expect("set");
        cluster::begin_move(number, &nodes, &servers, (from, to)).await;
        // All keys are on the other node, or new.
        let mut transaction = Transaction::new();
        transaction.push(cmd().incr("{m}there")).push(cmd().get("{m}there"));
        let (two, again): (i64, i64) = client.exec(transaction).await.expect("it follows ASK");
        assert_eq!((two, again), (2, 2));
        let mut transaction = Transaction::new();
        transaction.push(cmd().set("{m}new", 7)).push(cmd().get("{m}new"));
        let (_, seven): (String, i64) = client.exec(transaction).await.expect("it follows ASK");
        assert_eq!(seven, 7);
        // One that watches reads there, too.
        let double = async |own: &Dedicated| {
            let n: i64 = own.get("{m}there").to().await?;
            let mut transaction = Transaction::new();
            transaction.push(cmd().set("{m}there", 2 * n)).push(cmd().incr("{m}there"));
            Ok(transaction)
        };
        let replies = client.exec_watching::<(String, i64), _>(["{m}there"], double).await;
        assert_eq!(replies.expect("it follows ASK").1, 5);
        // Nothing of it is where the slot still is.
        let keys = Command::new("CLUSTER COUNTKEYSINSLOT").arg(number);
        let left = nodes[from].call(keys).await.expect("counted");
        assert_eq!(left, apus_client::Value::Int(0));
    });
}

async fn add_one(client: &Client, i: usize) {
    let add = async |own: &Dedicated| {
        let n: Option<i64> = own.hget("{m}n", "all").to().await?;
        // The slot may move here, where the transaction is not sent yet.
        tokio::task::yield_now().await;
        let mut transaction = Transaction::new();
        transaction.push(cmd().hset("{m}n", ("all", n.unwrap_or(0) + 1)));
        transaction.push(cmd().hincrby("{m}n", format!("of{i}"), 1));
        Ok(transaction)
    };
    client.exec_watching::<(), _>(["{m}n"], add).await.expect("executed");
}

/// Many change one value by reading and writing it while its slot moves to and fro, and no change is lost. A client
/// whose map is old is sent on, too.
#[test]
fn transactions_that_watch_lose_nothing_while_their_slot_moves() {
    const EACH: i64 = 100;
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster::start().await;
        let number = slot(b"{m}n");
        let mut at = node_of(number);
        let mut tasks = Vec::new();
        for (i, server) in servers.iter().enumerate() {
            let client = connect(server).await;
            // The compiler does not see that the future of a closure that borrows may change threads.
            let runtime = tokio::runtime::Handle::current();
            let add_all = move || {
                runtime.block_on(async {
                    for _ in 0..EACH {
                        add_one(&client, i).await;
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                });
            };
            tasks.push(tokio::task::spawn_blocking(add_all));
        }
        let stale = connect(&servers[0]).await;
        let mut moves = 0;
        while moves < 4 || tasks.iter().any(|task| !task.is_finished()) {
            let to = (at + 1) % 3;
            cluster::move_slot(number, &nodes, &servers, at, to).await;
            at = to;
            moves += 1;
        }
        for task in tasks {
            task.await.expect("no panic");
        }
        let read = async |own: &Dedicated| {
            let mut transaction = Transaction::new();
            assert_eq!(own.hget("{m}n", "all").to::<i64>().await?, 3 * EACH);
            transaction.push(cmd().hmget("{m}n", ["all", "of0", "of1", "of2"]));
            Ok(transaction)
        };
        let (counts,): (Vec<i64>,) = stale.exec_watching(["{m}n"], read).await.expect("executed");
        assert_eq!(counts, [3 * EACH, EACH, EACH, EACH]);
    });
}

/// The map is that of `CLUSTER SHARDS`, and of `CLUSTER SLOTS` for a user who may not have the other.
#[test]
fn a_map_of_shards_or_of_slots() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster::start().await;
        let calls = async |name: &str| -> u64 {
            let mut all = 0;
            for node in &nodes {
                let info: String = node.info().arg("commandstats").to().await.expect("statistics");
                let of = |line: &str| line.split(['=', ',']).nth(1)?.parse::<u64>().ok();
                let name = format!("cmdstat_cluster|{name}:");
                all +=
                    info.lines().filter(|line| line.starts_with(&name)).filter_map(of).sum::<u64>();
            }
            all
        };
        for allowed in ["shards", "slots"] {
            for node in &nodes {
                let rule = format!("+cluster|{allowed}");
                let user = Command::new("ACL SETUSER").arg(("u", "reset", "on", ">p"));
                let user = user.arg(("+@all", "~*", "-cluster", rule));
                node.call(user).await.expect("a user");
            }
            let before = (calls("shards").await, calls("slots").await);
            let url = format!("redis+cluster://u:p@127.0.0.1:{}", servers[0].port);
            let client = Client::connect(&url).await.expect("connected");
            for i in 0..20 {
                client.set(format!("k{i}"), i).await.expect("set");
            }
            let now = (calls("shards").await, calls("slots").await);
            let asked = (now.0 > before.0, now.1 > before.1);
            assert_eq!(asked, (allowed == "shards", allowed == "slots"), "{before:?} {now:?}");
        }
    });
}

/// While slots move to and fro, no reader sees a key go back, and in the end all is as it was written last.
#[test]
fn a_cache_is_never_stale_while_slots_move() {
    const KEYS: usize = 12;
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster::start().await;
        let (servers, nodes) = (Arc::new(servers), Arc::new(nodes));
        let (client, writer) = (connect(&servers[0]).await, connect(&servers[1]).await);
        let cache = client.cache(quick(Tracking::OptIn)).await.expect("a cache");
        // Four tags, of which three move.
        let key = |i: usize| format!("{{t{}}}{i}", i % 4);
        let is_over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..8)
            .map(|reader| {
                let (cache, is_over) = (cache.clone(), is_over.clone());
                tokio::spawn(async move {
                    let mut seen = [0_i64; KEYS];
                    let mut turn: usize = reader;
                    while !is_over.load(SeqCst) {
                        turn += 1;
                        let at = turn * 5 % KEYS;
                        if let Ok(n) = cache.get::<Option<i64>>(key(at)).await {
                            let n = n.unwrap_or(0);
                            assert!(n >= seen[at], "{} went from {} to {n}", key(at), seen[at]);
                            seen[at] = n;
                        }
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        let mover = tokio::spawn({
            let (servers, nodes, is_over) = (servers.clone(), nodes.clone(), is_over.clone());
            async move {
                let mut at: Vec<usize> =
                    (0..3).map(|tag| node_of(slot(key(tag).as_bytes()))).collect();
                let mut moves = 0;
                while !is_over.load(SeqCst) {
                    let tag = moves % 3;
                    let (from, to) = (at[tag], (at[tag] + 1) % 3);
                    let number = slot(key(tag).as_bytes());
                    cluster::move_slot(number, &nodes, &servers, from, to).await;
                    at[tag] = to;
                    moves += 1;
                }
                moves
            }
        });
        let mut last = [None; KEYS];
        for n in 1..=2000_i64 {
            let at = usize::try_from(n).expect("small") * 7 % KEYS;
            writer.set(key(at), n).await.expect("a write follows its slot");
            last[at] = Some(n);
            if n % 100 == 0 {
                for (at, value) in last.iter().enumerate() {
                    settles(&cache, &key(at), *value).await;
                }
            }
        }
        is_over.store(true, SeqCst);
        for reader in readers {
            reader.await.expect("no reader saw the past");
        }
        let moves = mover.await.expect("no panic");
        for (at, value) in last.iter().enumerate() {
            settles(&cache, &key(at), *value).await;
        }
        let metrics = cache.metrics();
        eprintln!("{moves} moves, {metrics:?}");
        assert!(metrics.hits > 100 && moves >= 6, "{metrics:?}");
    });
}

/// Publishes until it is heard.
async fn is_heard(client: &Client, subscriber: &mut Subscriber, channel: &str, text: &str) {
    eventually("it is heard", || async {
        client
            .call(cmd().spublish(channel, text))
            .await
            .ok()
            .filter(|n| *n == apus_client::Value::Int(1))
    })
    .await;
    loop {
        match subscriber.next().await {
            Event::Message(message) if &*message.payload == text.as_bytes() => return,
            _ => {}
        }
    }
}

#[test]
fn sharded_subscriptions_go_with_their_slot() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = cluster::start().await;
        let client = connect(&servers[0]).await;
        let number = slot(b"{c}news");
        let from = node_of(number);
        let to = (from + 1) % 3;
        let mut subscriber = client.sharded_subscriber("{c}news").await.expect("connected");
        subscriber.ssubscribe(["{c}news", "{c}more"]).await.expect("confirmed");
        is_heard(&client, &mut subscriber, "{c}news", "one").await;
        // Another slot's channel is refused and breaks nothing.
        let other = if slot(b"{d}") == number { "{e}" } else { "{d}" };
        let error = subscriber.ssubscribe([other]).await.expect_err("another slot");
        assert!(
            ["MOVED", "CROSSSLOT"].contains(&error.code())
                || node_of(slot(other.as_bytes())) == from,
            "{error}"
        );
        cluster::move_slot(number, &nodes, &servers, from, to).await;
        assert_eq!(subscriber.next().await, Event::Gap);
        is_heard(&client, &mut subscriber, "{c}news", "two").await;
        is_heard(&client, &mut subscriber, "{c}more", "three").await;
    });
}

/// A replica takes over, and the old master is killed: commands, the cache and subscriptions go on.
#[test]
fn a_failover_in_a_cluster() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (mut servers, nodes) = cluster::start().await;
        let (_replica, replica_client) = cluster::replica(&servers[0], &nodes[0]).await;
        let client = connect(&servers[1]).await;
        let cache = client.cache(quick(Tracking::OptIn)).await.expect("a cache");
        // A key of the first node's.
        let name = (0..).map(|i| format!("k{i}")).find(|k| node_of(slot(k.as_bytes())) == 0);
        let name = name.expect("there is one");
        client.set(&name, 1).await.expect("set");
        settles(&cache, &name, Some(1)).await;
        let mut subscriber = client.sharded_subscriber(&name).await.expect("connected");
        subscriber.ssubscribe([&name]).await.expect("confirmed");
        eventually("the map has the replica", || async {
            let text = format!("{:?}", nodes[1].call(Command::new("CLUSTER NODES")).await);
            (text.matches("slave").count() == 1).then_some(())
        })
        .await;
        replica_client.call(Command::new("CLUSTER FAILOVER")).await.expect("a failover");
        eventually("it is a master", || async {
            let role = replica_client.call(Command::new("ROLE")).await.expect("a role");
            format!("{role:?}").contains("master").then_some(())
        })
        .await;
        drop(servers.remove(0));
        eventually("it is set on the new master", || async { client.set(&name, 2).await.ok() })
            .await;
        settles(&cache, &name, Some(2)).await;
        is_kept(&cache, &name).await;
        client.set(&name, 3).await.expect("set");
        settles(&cache, &name, Some(3)).await;
        is_heard(&client, &mut subscriber, &name, "again").await;
    });
}

/// A node that answers nothing, without closing: keys of other nodes go on, those of its own fail in time.
#[test]
fn a_node_that_stalls_does_not_hold_others_back() {
    if !has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, _nodes) = cluster::start().await;
        let url = format!("redis+cluster://127.0.0.1:{}", servers[0].port);
        let mut config: Config = url.parse().expect("a URL");
        config.response_timeout = Some(Duration::from_millis(500));
        let client = Client::with_config(config).await.expect("connected");
        let key = |node| {
            let name = (0..).map(|i| format!("k{i}")).find(|k| node_of(slot(k.as_bytes())) == node);
            name.expect("there is one")
        };
        for node in 0..3 {
            client.set(key(node), node).await.expect("set");
        }
        servers[2].signal("STOP");
        let stalled = tokio::spawn({
            let (client, key) = (client.clone(), key(2));
            async move { client.set(key, 9).await }
        });
        let mut others = 0;
        while !stalled.is_finished() {
            client.set(key(0), others).await.expect("set");
            client.set(key(1), others).await.expect("set");
            others += 1;
        }
        let error = stalled.await.expect("no panic").expect_err("no reply");
        assert!(error.is_maybe_executed() && others > 10, "{error} {others}");
        servers[2].signal("CONT");
        eventually("it is back", || async { client.set(key(2), 3).await.ok() }).await;
    });
}
