//! One client of one kind drives a server: `clients-bench CLIENT PORT CALLERS SECONDS [RATE] [DELAY_US] [THREADS]`.
//!
//! Prints the client, operations per second and nanoseconds of this process's CPU per operation. Each caller sets
//! its own 16 keys to 64 bytes, again and again; with a RATE (operations per second of all callers), at fixed times.

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

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
    let (operations, cpu) = runtime.block_on(async move {
        match client.as_str() {
            "apus" => apus(&plan).await,
            "redis" => redis_rs(&plan).await,
            "fred" => fred(&plan).await,
            // The callers' own cost.
            "nothing" => drive(&plan, |_| async {}).await,
            other => panic!("no client {other}"),
        }
    });
    println!("{} {:.0} {:.0}", args[1], operations.0, cpu);
    let _ = operations.1;
}

type Outcome = ((f64, u64), f64);

/// Runs the callers, after a second of warming up.
async fn drive<F, Fut>(plan: &Plan, call: F) -> Outcome
where
    F: Fn(String) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send,
{
    let (count, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut tasks = Vec::new();
    for caller in 0..plan.callers {
        let (call, count, stop) = (call.clone(), count.clone(), stop.clone());
        let pause = (plan.rate > 0).then(|| Duration::from_nanos(1_000_000_000 * plan.callers / plan.rate));
        let first = pause.map(|pause| pause.mul_f64(caller as f64 / plan.callers as f64));
        tasks.push(tokio::spawn(async move {
            let keys: Vec<String> = (0..16).map(|i| format!("key:{caller}:{i}")).collect();
            let ticker = pause.zip(first).map(|(pause, first)| Ticker::new(first, pause));
            let mut i = 0;
            while !stop.load(Relaxed) {
                if let Some(ticker) = &ticker {
                    ticker.wait().await;
                }
                call(keys[i % 16].clone()).await;
                i += 1;
                count.fetch_add(1, Relaxed);
            }
        }));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (begin, before, cpu_before) = (Instant::now(), count.load(Relaxed), cpu());
    tokio::time::sleep(plan.time).await;
    let (took, done, cpu) = (begin.elapsed(), count.load(Relaxed) - before, cpu() - cpu_before);
    stop.store(true, Relaxed);
    for task in tasks {
        let _ = task.await;
    }
    ((done as f64 / took.as_secs_f64(), done), cpu * 1e9 / done as f64)
}

/// Ticks at fixed times, those that are missed at once: tokio's own clock has milliseconds, in which commands would
/// gather by themselves.
struct Ticker {
    timer: AsyncFd<OwnedFd>,
    left: AtomicU64,
}

impl Ticker {
    fn new(first: Duration, every: Duration) -> Self {
        let spec = |time: Duration| Timespec {
            tv_sec: i64::try_from(time.as_secs()).expect("short"),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).expect("a timer");
        let times = Itimerspec { it_interval: spec(every), it_value: spec(first + Duration::from_nanos(1)) };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times).expect("set");
        #[expect(deprecated, reason = "an OwnedFd is open and the same until it is dropped")]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE).expect("watched");
        Self { timer, left: AtomicU64::new(0) }
    }

    async fn wait(&self) {
        while self.left.load(Relaxed) == 0 {
            let mut guard = self.timer.readable().await.expect("it ticks");
            let mut ticks = [0; 8];
            let read = |timer: &AsyncFd<OwnedFd>| {
                rustix::io::read(timer, &mut ticks).map_err(std::io::Error::from)
            };
            if guard.try_io(read).is_ok() {
                self.left.store(u64::from_ne_bytes(ticks), Relaxed);
            }
        }
        self.left.fetch_sub(1, Relaxed);
    }
}

/// Seconds of CPU that this process has used: user and system.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

const VALUE: [u8; 64] = [b'x'; 64];

async fn apus(plan: &Plan) -> Outcome {
    use apus_client::prelude::*;
    let mut config: apus_client::Config = format!("redis://127.0.0.1:{}", plan.port).parse().expect("a URL");
    config.flush_delay = (!plan.delay.is_zero()).then_some(plan.delay);
    let client = Client::with_config(config).await.expect("connected");
    let outcome = drive(plan, {
        let client = client.clone();
        move |key| {
            let client = client.clone();
            async move {
                client.set(&key, &VALUE).await.expect("set");
            }
        }
    })
    .await;
    eprintln!("{:?}", client.metrics());
    outcome
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
    })
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
    })
    .await
}
