//! One client of one kind drives a server: `clients-bench CLIENT PORT CALLERS SECONDS [RATE] [DELAY_US] [THREADS]`.
//!
//! Prints the client, operations per second, nanoseconds of CPU per operation, and, of apus-client, commands per write
//! and the median latency in microseconds. Each caller sets its own 16 keys to 64 bytes, again and again; with a RATE
//! (operations per second of all callers), when the thread of the pace starts it: see [`pace`]. That thread's CPU does not
//! count.

mod pace;

use pace::Pace;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

struct Plan {
    port: u16,
    callers: u64,
    time: Duration,
    rate: u64,
    delay: Duration,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, default: u64| args.get(i).map_or(default, |arg| arg.parse().expect("a number"));
    let plan = Plan {
        port: u16::try_from(number(2, 6379)).expect("a port"),
        callers: number(3, 128),
        time: Duration::from_millis(number(4, 4) * 1000),
        rate: number(5, 0),
        delay: Duration::from_micros(number(6, 0)),
    };
    let mut builder = match number(7, 0) {
        0 => tokio::runtime::Builder::new_current_thread(),
        threads => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(usize::try_from(threads).expect("few"));
            builder
        }
    };
    let runtime = builder.enable_all().build().expect("a runtime");
    let client = args[1].clone();
    let outcome = runtime.block_on(async move {
        match client.as_str() {
            "apus" => apus(&plan).await,
            "redis" => redis_rs(&plan).await,
            "fred" => fred(&plan).await,
            other => panic!("no client {other}"),
        }
    });
    let Outcome { rate, cpu, gathered, latency } = outcome;
    println!("{} {rate:.0} {cpu:.0} {gathered:.2} {}", args[1], latency.as_micros());
}

struct Outcome {
    /// Operations per second.
    rate: f64,
    /// Nanoseconds for each.
    cpu: f64,
    /// Commands per write.
    gathered: f64,
    /// The median.
    latency: Duration,
}

/// Commands and writes so far, and the median latency.
type Seen = (u64, u64, Duration);

/// Runs the callers, after a second of warming up.
async fn drive<F, Fut>(plan: &Plan, call: F, seen: impl Fn() -> Seen) -> Outcome
where
    F: Fn(String) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let (count, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let callers = usize::try_from(plan.callers).expect("few");
    let keys_of = |caller: usize| -> Vec<String> { (0..16).map(|i| format!("key:{caller}:{i}")).collect() };
    let mut tasks = Vec::new();
    let pace = (plan.rate > 0).then(|| {
        let keys: Vec<Vec<String>> = (0..callers).map(keys_of).collect();
        let (next, call) = (AtomicUsize::new(0), call.clone());
        Pace::new(plan.rate, callers, count.clone(), move |caller| {
            call(keys[caller][next.fetch_add(1, Relaxed) % 16].clone())
        })
    });
    for caller in 0..if pace.is_some() { 0 } else { callers } {
        let (call, count, stop) = (call.clone(), count.clone(), stop.clone());
        let keys = keys_of(caller);
        tasks.push(tokio::spawn(async move {
            let mut i = 0;
            while !stop.load(Relaxed) {
                call(keys[i % 16].clone()).await;
                i += 1;
                count.fetch_add(1, Relaxed);
            }
        }));
    }
    let cpu = || pace::cpu_of_others(pace.as_ref());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (begin, before, cpu_before, seen_before) = (Instant::now(), count.load(Relaxed), cpu(), seen());
    tokio::time::sleep(plan.time).await;
    let (took, done, cpu) = (begin.elapsed(), count.load(Relaxed) - before, cpu() - cpu_before);
    let (commands, writes, latency) = seen();
    stop.store(true, Relaxed);
    for task in tasks {
        let _ = task.await;
    }
    Outcome {
        rate: done as f64 / took.as_secs_f64(),
        cpu: cpu as f64 / done as f64,
        gathered: (commands - seen_before.0) as f64 / (writes - seen_before.1).max(1) as f64,
        latency,
    }
}

/// Of a client that does not count.
fn none() -> Seen {
    (0, 0, Duration::ZERO)
}

const VALUE: [u8; 64] = [b'x'; 64];

async fn apus(plan: &Plan) -> Outcome {
    use apus_client::prelude::*;
    let mut config: apus_client::Config = format!("redis://127.0.0.1:{}", plan.port).parse().expect("a URL");
    config.flush_delay = (!plan.delay.is_zero()).then_some(plan.delay);
    let client = Client::with_config(config).await.expect("connected");
    let call = {
        let client = client.clone();
        move |key| {
            let client = client.clone();
            async move {
                client.set(&key, &VALUE).await.expect("set");
            }
        }
    };
    drive(plan, call, || {
        let metrics = client.metrics();
        (metrics.commands, metrics.writes, metrics.latencies.quantile(0.5))
    })
    .await
}

async fn redis_rs(plan: &Plan) -> Outcome {
    use redis::AsyncCommands;
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", plan.port)).expect("a URL");
    let connection = client.get_multiplexed_async_connection().await.expect("connected");
    drive(plan, move |key| {
        let mut connection = connection.clone();
        async move {
            let _: () = connection.set(&key, &VALUE[..]).await.expect("set");
        }
    }, none)
    .await
}

async fn fred(plan: &Plan) -> Outcome {
    use fred::prelude::*;
    let config = Config::from_url(&format!("redis://127.0.0.1:{}", plan.port)).expect("a URL");
    let client = Builder::from_config(config).build().expect("a client");
    client.init().await.expect("connected");
    drive(plan, move |key| {
        let client = client.clone();
        async move {
            let _: () = client.set(key, &VALUE[..], None, None, false).await.expect("set");
        }
    }, none)
    .await
}
