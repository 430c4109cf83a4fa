//! The broker and the presence manager beside a node of centrifuge (tests/clients/go/centrifuge/peer): both share
//! channels, histories, idempotency keys and presence, on Redis and on Apus, on one server and over shards.

mod common;

use apus_client::broker::{
    Broker, BrokerConfig, BrokerEvent, ClientInfo, HistoryFilter, PresenceConfig, PresenceManager,
    PresenceStats, PublishOptions, Recovery, Subscriptions,
};
use apus_client::{Command, Shards};
use common::{Product, Server};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

const MINUTE: Duration = Duration::from_secs(60);

/// A node of centrifuge.
struct Peer {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    id: u64,
    events: Vec<Value>,
}

/// The program, built once; nothing if there is no Go.
fn program() -> Option<&'static PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/go");
        let program = std::env::current_exe().ok()?.with_file_name("centrifuge-peer");
        let mut go = std::process::Command::new("go");
        let built = go
            .args(["build", "-o"])
            .arg(&program)
            .arg("./centrifuge/peer")
            .current_dir(dir)
            .status();
        match built {
            Ok(status) if status.success() => Some(program),
            other => {
                eprintln!("LEFT OUT: a node of centrifuge: {other:?}");
                None
            }
        }
    };
    PROGRAM.get_or_init(build).as_ref()
}

impl Peer {
    fn start(program: &PathBuf, addresses: &[String], words: &[&str]) -> Self {
        let mut child = tokio::process::Command::new(program)
            .arg(addresses.join(","))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("started");
        let input = child.stdin.take().expect("an input");
        let output = BufReader::new(child.stdout.take().expect("an output")).lines();
        Self { _child: child, input, output, id: 0, events: Vec::new() }
    }

    async fn line(&mut self) -> Value {
        let line = tokio::time::timeout(MINUTE, self.output.next_line()).await.expect("it answers");
        serde_json::from_str(&line.expect("read").expect("it runs")).expect("JSON")
    }

    /// Does something; its answer.
    async fn ask(&mut self, what: &str, channel: &str, mut more: Value) -> Value {
        self.id += 1;
        more["ID"] = self.id.into();
        more["Do"] = what.into();
        more["Channel"] = channel.into();
        self.input.write_all(format!("{more}\n").as_bytes()).await.expect("written");
        loop {
            let line = self.line().await;
            if line["id"] == self.id {
                assert!(line.get("error").is_none(), "{what}: {line}");
                return line;
            }
            self.events.push(line);
        }
    }

    /// The next event in a channel; late ones of other channels are dropped.
    async fn event(&mut self, channel: &str) -> Value {
        loop {
            let event =
                if self.events.is_empty() { self.line().await } else { self.events.remove(0) };
            if event["channel"] == channel {
                return event;
            }
        }
    }
}

fn info(client: &str, user: &str) -> ClientInfo {
    ClientInfo { client: client.into(), user: user.into(), ..ClientInfo::default() }
}

fn with_history() -> PublishOptions {
    PublishOptions { history_size: 100, history_ttl: MINUTE, ..PublishOptions::default() }
}

async fn next(subscriptions: &mut Subscriptions) -> BrokerEvent {
    tokio::time::timeout(MINUTE, subscriptions.next()).await.expect("it comes").expect("an event")
}

/// The text, the offset and the text of the one before it, of the next publication.
async fn publication(subscriptions: &mut Subscriptions) -> (String, u64, Option<String>) {
    match next(subscriptions).await {
        BrokerEvent::Publication { publication, previous, .. } => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&publication.data), publication.offset, previous.map(|before| text(&before.data)))
        }
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Copy)]
struct Variant {
    words: &'static [&'static str],
    shards: usize,
}

#[test]
fn channels_are_shared_with_centrifuge() {
    let Some(program) = program() else { return };
    for kind in common::kinds() {
        for variant in [
            Variant { words: &[], shards: 1 },
            Variant { words: &["resp2", "users"], shards: 1 },
            Variant { words: &["lists"], shards: 1 },
            Variant { words: &["users"], shards: 3 },
            Variant { words: &["fields", "users"], shards: 1 },
        ] {
            if variant.words.contains(&"fields") && kind == Product::Redis {
                continue; // HEXPIRE is newer than Debian's.
            }
            eprintln!("{kind:?} {:?} {}", variant.words, variant.shards);
            common::runtime().block_on(share(program, kind, variant));
        }
    }
}

async fn share(program: &PathBuf, kind: Product, variant: Variant) {
    let servers: Vec<Server> = (0..variant.shards).map(|_| Server::start(kind, &[])).collect();
    let addresses: Vec<String> =
        servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
    let peer = Peer::start(program, &addresses, variant.words);
    let shards = Shards::connect(servers.iter().map(Server::url)).await.expect("connected");
    agree(peer, shards, variant.words).await;
}

/// Messages, histories and presence, from both sides to both sides.
async fn agree(mut peer: Peer, shards: Shards, words: &[&str]) {
    let uses_lists = words.contains(&"lists");
    let partitions = if words.contains(&"partitions") { 8 } else { 0 };
    let config = BrokerConfig { uses_lists, partitions, ..BrokerConfig::default() };
    let broker = Broker::new(shards.clone(), config);
    // Enough channels that each shard has some.
    for channel in ["news", "a", "b", "chat:index", "канал"] {
        messages(&mut peer, &broker, channel).await;
        // A cluster's node may pass a message on late, to subscribers who came after it: a channel of its own.
        histories(&mut peer, &broker, &format!("{channel}:history"), uses_lists).await;
    }
    let config = PresenceConfig {
        counts_users: words.contains(&"users"),
        by_hash_field: words.contains(&"fields"),
        ..PresenceConfig::default()
    };
    presence(&mut peer, &PresenceManager::new(shards, config)).await;
}

/// The two topologies that Redis has and Apus has not both of: a cluster, with and without partitions, and Sentinel.
#[test]
fn channels_are_shared_with_centrifuge_in_a_cluster() {
    let Some(program) = program() else { return };
    if !common::has_redis() {
        return;
    }
    common::runtime().block_on(async {
        let (servers, nodes) = common::cluster::start().await;
        let url = format!("redis+cluster://127.0.0.1:{}", servers[0].port);
        for words in [&[][..], &["partitions", "users"], &["resp2", "lists"]] {
            eprintln!("{words:?}");
            for node in &nodes {
                node.call(Command::new("FLUSHALL")).await.expect("flushed");
            }
            let peer = Peer::start(program, std::slice::from_ref(&url), words);
            agree(peer, Shards::connect([&url]).await.expect("connected"), words).await;
        }
    });
}

#[test]
fn channels_are_shared_with_centrifuge_by_sentinel() {
    let Some(program) = program() else { return };
    if !common::has_redis() {
        return;
    }
    for kind in common::kinds() {
        for words in [&["users"][..], &["resp2"]] {
            eprintln!("{kind:?} {words:?}");
            common::runtime().block_on(async {
                let master = Server::start(kind, &[]);
                let sentinel = common::sentinel::start(master.port);
                let url = sentinel.url();
                let peer = Peer::start(program, std::slice::from_ref(&url), words);
                agree(peer, Shards::connect([&url]).await.expect("connected"), words).await;
            });
        }
    }
}

async fn messages(peer: &mut Peer, broker: &Broker, channel: &str) {
    let mut ours = broker.subscriptions().await.expect("connected");
    ours.subscribe(channel).await.expect("subscribed");
    peer.ask("subscribe", channel, json!({})).await;
    // Without a history, from both sides to both sides.
    let options = PublishOptions {
        info: Some(info("c1", "u1")),
        tags: [("by".into(), "rust".into())].into(),
        with_delta: true,
        ..PublishOptions::default()
    };
    broker.publish(channel, "ours", &options).await.expect("published");
    let event = peer.event(channel).await;
    let expected = json!({"event": "publication", "channel": channel, "data": "ours", "offset": 0, "epoch": "",
        "delta": true, "tags": {"by": "rust"}, "user": "u1"});
    assert_eq!(event, expected);
    assert_eq!(publication(&mut ours).await, ("ours".into(), 0, None));
    peer.ask("publish", channel, json!({"Data": "theirs", "User": "u2", "Client": "c2"})).await;
    assert_eq!(peer.event(channel).await["data"], "theirs");
    let BrokerEvent::Publication { publication, .. } = next(&mut ours).await else {
        panic!("something else")
    };
    assert_eq!((&*publication.data, publication.tags["by"].as_str()), (&b"theirs"[..], "go"));
    let theirs = publication.info.expect("who");
    assert_eq!((theirs.user.as_str(), &*theirs.connection_info), ("u2", &br#"{"a":1}"#[..]));
    // Once, whichever of the two publishes it first.
    for (key, ours_first) in [("k1", true), ("k2", false)] {
        let options = PublishOptions { idempotency_key: key.into(), ..PublishOptions::default() };
        if ours_first {
            assert!(!broker.publish(channel, key, &options).await.expect("published").is_repeated);
        }
        peer.ask("publish", channel, json!({"Data": key, "Key": key})).await;
        assert!(broker.publish(channel, key, &options).await.expect("published").is_repeated);
        assert_eq!(peer.event(channel).await["data"], key);
        assert_eq!(self::publication(&mut ours).await.0, key);
    }
    // Those who come and go, one after the other: a cluster's nodes pass messages on in no order.
    broker.publish_join(channel, &info("c3", "u3")).await.expect("published");
    assert_eq!(
        peer.event(channel).await,
        json!({"event": "join", "channel": channel, "user": "u3", "client": "c3"})
    );
    let join = next(&mut ours).await;
    assert!(matches!(join, BrokerEvent::Join { info, .. } if info.client == "c3"));
    peer.ask("leave", channel, json!({"Client": "c4", "User": "u4"})).await;
    assert_eq!(peer.event(channel).await["event"], "leave");
    let leave = next(&mut ours).await;
    assert!(matches!(leave, BrokerEvent::Leave { info, .. } if info.user == "u4"));
    ours.unsubscribe(channel).await.expect("done");
}

async fn histories(peer: &mut Peer, broker: &Broker, channel: &str, uses_lists: bool) {
    let mut ours = broker.subscriptions().await.expect("connected");
    ours.subscribe(channel).await.expect("subscribed");
    peer.ask("subscribe", channel, json!({})).await;
    let mut last = None;
    for n in 1..=10_u64 {
        let data = format!("h{n}");
        let position = if n % 2 == 0 {
            let answer = peer.ask("publish", channel, json!({"Data": data, "History": true})).await;
            assert_eq!(answer["offset"], n);
            answer["epoch"].as_str().expect("an epoch").to_owned()
        } else {
            let published =
                broker.publish(channel, data.clone(), &with_history()).await.expect("published");
            assert_eq!((published.position.offset, published.is_repeated), (n, false));
            published.position.epoch
        };
        assert!(last.is_none_or(|last| last == position), "one epoch");
        last = Some(position);
        let event = peer.event(channel).await;
        assert_eq!((&event["data"], &event["offset"]), (&json!(data), &json!(n)));
        assert_eq!(event["epoch"].as_str(), last.as_deref());
        assert_eq!(publication(&mut ours).await, (data, n, None));
    }
    let epoch = last.expect("an epoch");
    let all = broker.history(channel, &HistoryFilter::default()).await.expect("a history");
    let texts = |publications: &[apus_client::broker::Publication]| -> Vec<String> {
        publications
            .iter()
            .map(|p| format!("{}:{}", p.offset, String::from_utf8_lossy(&p.data)))
            .collect()
    };
    let answer = peer.ask("history", channel, json!({})).await;
    assert_eq!(json!(texts(&all.publications)), answer["publications"]);
    assert_eq!(
        (all.publications.len(), all.position.epoch.as_str()),
        (10, answer["epoch"].as_str().expect("text"))
    );
    let since = apus_client::broker::Position { offset: 7, epoch };
    let filter = HistoryFilter { since: Some(since.clone()), limit: Some(2), is_reverse: false };
    assert_eq!(
        texts(&broker.history(channel, &filter).await.expect("a part").publications),
        ["8:h8", "9:h9"]
    );
    let filter = HistoryFilter { since: Some(since.clone()), limit: None, is_reverse: true };
    match broker.history(channel, &filter).await {
        Ok(part) if !uses_lists => {
            let answer = peer.ask("history", channel, json!({"Since": 7, "Reverse": true})).await;
            assert_eq!(json!(texts(&part.publications)), answer["publications"]);
            assert_eq!(part.publications.len(), 6);
        }
        other => assert!(uses_lists && other.is_err()),
    }
    // A difference needs the one before it.
    let options = PublishOptions { with_delta: true, ..with_history() };
    broker.publish(channel, "h11", &options).await.expect("published");
    let event = peer.event(channel).await;
    assert_eq!((&event["previous"], &event["delta"]), (&json!("h10"), &json!(true)));
    assert_eq!(publication(&mut ours).await, ("h11".into(), 11, Some("h10".into())));
    once_and_recovered(peer, broker, channel, uses_lists, since).await;
}

async fn once_and_recovered(
    peer: &mut Peer,
    broker: &Broker,
    channel: &str,
    uses_lists: bool,
    since: apus_client::broker::Position,
) {
    let options = PublishOptions { idempotency_key: "once".into(), ..with_history() };
    let first = broker.publish(channel, "h12", &options).await.expect("published");
    let again = broker.publish(channel, "h12", &options).await.expect("published");
    assert_eq!((first.position.offset, again.position.offset, again.is_repeated), (12, 12, true));
    let answer =
        peer.ask("publish", channel, json!({"Data": "h12", "History": true, "Key": "once"})).await;
    assert_eq!(answer["offset"], 12);
    match broker.recover(channel, &since, 100).await.expect("a history") {
        Recovery::Recovered(history) => assert_eq!(history.publications.len(), 5),
        lost => panic!("{lost:?}"),
    }
    assert!(
        matches!(broker.recover(channel, &since, 4).await, Ok(Recovery::Lost(_))),
        "more than wanted"
    );
    let other = apus_client::broker::Position { epoch: "other".into(), ..since.clone() };
    assert!(
        matches!(broker.recover(channel, &other, 100).await, Ok(Recovery::Lost(_))),
        "another epoch"
    );
    if !uses_lists {
        let version = |version| PublishOptions { version, ..with_history() };
        assert!(!broker.publish(channel, "v2", &version(2)).await.expect("published").is_skipped);
        assert!(
            broker.publish(channel, "v1", &version(1)).await.expect("not published").is_skipped
        );
        peer.ask("publish", channel, json!({"Data": "v3", "History": true, "Version": 3})).await;
        assert!(
            broker.publish(channel, "v3", &version(3)).await.expect("not published").is_skipped
        );
    }
    broker.remove_history(channel).await.expect("removed");
    assert!(
        matches!(broker.recover(channel, &since, 100).await, Ok(Recovery::Lost(_))),
        "it is gone"
    );
    let answer = peer.ask("history", channel, json!({})).await;
    assert_eq!(answer["publications"], json!([]));
    peer.events.clear();
}

async fn presence(peer: &mut Peer, ours: &PresenceManager) {
    for (client, user, by_us) in [("c1", "u1", true), ("c2", "u1", false), ("c3", "u2", true)] {
        if by_us {
            ours.add("room", client, &info(client, user)).await.expect("added");
        } else {
            peer.ask("present", "room", json!({"Client": client, "User": user})).await;
        }
    }
    let there = peer.ask("presence", "room", json!({})).await;
    assert_eq!(there["present"], json!({"c1": "u1", "c2": "u1", "c3": "u2"}));
    assert_eq!((&there["clients"], &there["users"]), (&json!(3), &json!(2)));
    let found = ours.get("room").await.expect("who is there");
    assert_eq!((found.len(), found["c2"].user.as_str()), (3, "u1"));
    assert_eq!(ours.stats("room").await.expect("how many"), PresenceStats { clients: 3, users: 2 });
    ours.remove("room", "c2", "u1").await.expect("removed");
    peer.ask("absent", "room", json!({"Client": "c3", "User": "u2"})).await;
    ours.remove("room", "c3", "u2").await.expect("nothing is there");
    assert_eq!(ours.stats("room").await.expect("how many"), PresenceStats { clients: 1, users: 1 });
    let there = peer.ask("presence", "room", json!({})).await;
    assert_eq!((&there["present"], &there["users"]), (&json!({"c1": "u1"}), &json!(1)));
}

/// What has run out is gone, and a gap is told.
#[test]
fn presence_ends_and_gaps_are_told() {
    common::on_each(&[], |server| async move {
        let shards = Shards::connect([server.url()]).await.expect("connected");
        let config = PresenceConfig { ttl: Duration::from_secs(1), ..PresenceConfig::default() };
        let presence = PresenceManager::new(shards.clone(), config);
        presence.add("room", "c1", &info("c1", "u1")).await.expect("added");
        assert_eq!(presence.stats("room").await.expect("how many").clients, 1);
        for i in 0.. {
            if presence.get("room").await.expect("who is there").is_empty() {
                break;
            }
            assert!(i < 1000, "it stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let broker = Broker::new(shards.clone(), BrokerConfig::default());
        let mut subscriptions = broker.subscriptions().await.expect("connected");
        subscriptions.subscribe("news").await.expect("subscribed");
        let kill = Command::new("CLIENT KILL").arg(("TYPE", "pubsub"));
        shards.all()[0].call(kill).await.expect("killed");
        assert_eq!(next(&mut subscriptions).await, BrokerEvent::Gap { shard: 0 });
        let to = Command::new("PUBLISH").arg(("centrifuge.client.news", "__x"));
        while shards.all()[0].call(to_again(&to)).await.expect("published")
            == apus_client::Value::Int(0)
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let wrong = subscriptions.next().await.expect_err("no message of centrifuge's");
        assert_eq!(wrong.kind(), apus_client::ErrorKind::Protocol);
        broker.publish("news", "x", &PublishOptions::default()).await.expect("published");
        assert_eq!(publication(&mut subscriptions).await.0, "x");
    });
}

fn to_again(command: &Command) -> Command {
    command.args().skip(1).fold(Command::new("PUBLISH"), |again, arg| again.arg(arg))
}
