//! Does one thing with channels through apus-client's broker, as tests/clients/go/centrifuge/load does through
//! centrifuge and rueidis: `channels ADDRESS CASE SECONDS`. Prints the operations, their rate, and microseconds of the
//! server's and of this process's CPU for each.

use apus_client::broker::{
    Broker, BrokerConfig, ClientInfo, HistoryFilter, PresenceConfig, PresenceManager, PublishOptions, Subscriptions,
};
use apus_client::prelude::*;
use apus_client::Shards;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CALLERS: usize = 128;
const CHANNELS: u64 = 1024;

struct Bench {
    broker: Broker,
    presence: PresenceManager,
    subscriptions: Subscriptions,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, address, case, seconds] = &args[..] else { panic!("channels ADDRESS CASE SECONDS") };
    let seconds: f64 = seconds.parse().expect("seconds");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let url = format!("redis://{address}");
        let client = Client::connect(&url).await.expect("connected");
        let shards = Shards::new(vec![client.clone()]).expect("one");
        // A prefix of its own, so that runs do not see each other's channels.
        let prefix = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos().to_string();
        let config =
            BrokerConfig { prefix: prefix.clone(), uses_lists: case.contains("list"), ..BrokerConfig::default() };
        let broker = Broker::new(shards.clone(), config);
        let presence = PresenceManager::new(shards, PresenceConfig { prefix, ..PresenceConfig::default() });
        let subscriptions = broker.subscriptions().await.expect("connected");
        let bench = Arc::new(Bench { broker, presence, subscriptions });
        prepare(&bench, case).await;
        load(&bench, case, seconds / 4.0).await;
        let (server, own) = (used(&client).await, cpu());
        let operations = load(&bench, case, seconds).await as f64;
        let (server, own) = (used(&client).await - server, cpu() - own);
        println!(
            "{operations} operations, {:.0}/s, {:.3} us, {:.3} us of its own",
            operations / seconds,
            server * 1e6 / operations,
            own * 1e6 / operations
        );
    });
}

fn channel(n: u64) -> String {
    format!("channel{}", n % CHANNELS)
}

fn payload(size: usize) -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(size - 11))
}

fn kept() -> PublishOptions {
    PublishOptions { history_size: 100, history_ttl: Duration::from_secs(100), ..PublishOptions::default() }
}

async fn prepare(bench: &Bench, case: &str) {
    match case {
        "recover" => {
            for n in 0..10 * CHANNELS {
                bench.broker.publish(&channel(n), payload(800), &kept()).await.expect("published");
            }
        }
        "presence" => {
            for n in 0..1000 {
                enter(bench, "many", n).await;
            }
        }
        _ => {}
    }
}

async fn enter(bench: &Bench, channel: &str, n: u64) {
    let client = format!("client-{n}");
    let info = ClientInfo {
        client: client.clone(),
        user: format!("user-{n}"),
        connection_info: payload(60).into(),
        ..ClientInfo::default()
    };
    bench.presence.add(channel, &client, &info).await.expect("added");
}

async fn one(bench: &Bench, case: &str, n: u64, options: &PublishOptions) {
    match case {
        "publish" | "history-stream" | "history-list" => {
            bench.broker.publish(&channel(n), payload(15), options).await.expect("published");
        }
        "publish-many" | "history-stream-many" | "history-list-many" => {
            bench.broker.publish(&channel(n), payload(200), options).await.expect("published");
        }
        "subscribe" => bench.subscriptions.subscribe(&channel(n)).await.expect("subscribed"),
        "subscribe-many" => bench.subscriptions.subscribe(&format!("s{n}")).await.expect("subscribed"),
        "recover" => {
            let filter = HistoryFilter { since: Some(Default::default()), ..HistoryFilter::default() };
            let history = bench.broker.history(&channel(n), &filter).await.expect("a history");
            assert_eq!(history.publications.len(), 10);
        }
        "add-presence" => {
            bench.presence.add(&channel(n), "client", &ClientInfo::default()).await.expect("added");
        }
        "add-presence-many" => enter(bench, &channel(n), n % 50).await,
        "presence" => assert_eq!(bench.presence.get("many").await.expect("present").len(), 1000),
        other => panic!("no case {other}"),
    }
}

async fn load(bench: &Arc<Bench>, case: &str, seconds: f64) -> u64 {
    let next = Arc::new(AtomicU64::new(0));
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (bench, case, next) = (bench.clone(), case.to_owned(), next.clone());
            let options = if case.contains("history") { kept() } else { PublishOptions::default() };
            tokio::spawn(async move {
                while Instant::now() < until {
                    let n = next.fetch_add(1, Relaxed) + 1;
                    one(&bench, &case, n, &options).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("no panic");
    }
    next.load(Relaxed)
}

/// The processor time that the server has used, in seconds.
async fn used(client: &Client) -> f64 {
    let info: String = client.info().arg("cpu").to().await.expect("info");
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        ["used_cpu_user", "used_cpu_sys"].contains(&name).then(|| value.trim().parse::<f64>().expect("seconds"))
    };
    info.lines().filter_map(value).sum()
}

/// Seconds of CPU that this process has used: user and system.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}
