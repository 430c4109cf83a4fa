//! Publishing over a network that needs some milliseconds: callers that share a connection of apus-client, against
//! callers that share a pool of connections, each of which has one command under way.
//!
//! `distant PORT CALLERS POOL MILLISECONDS SECONDS` relays to the server's port, holds all replies back for so long,
//! and prints what each way does per second.

use apus_client::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|arg| arg.parse().expect("a number")).collect();
    let [port, callers, pool, latency, seconds] = args[..] else { panic!("see the source") };
    let (tell, told) = std::sync::mpsc::channel();
    // The network is another thread's work.
    std::thread::spawn(move || runtime().block_on(relay(port, Duration::from_millis(latency), &tell)));
    let port = told.recv().expect("a port");
    let time = Duration::from_secs(seconds);
    runtime().block_on(async {
        let shared = Client::connect(&format!("redis://127.0.0.1:{port}")).await.expect("connected");
        let (shared_rate, _) = drive(callers, time, move || {
            let client = shared.clone();
            async move { client.publish("channel", "{\"text\":\"xxxx\"}").await.map(drop).expect("published") }
        })
        .await;
        let (give, take) = mpsc::unbounded_channel();
        for _ in 0..pool {
            let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a URL");
            give.send(client.get_multiplexed_async_connection().await.expect("connected")).expect("open");
        }
        let take = Arc::new(Mutex::new(take));
        let (pool_rate, _) = drive(callers, time, move || {
            let (give, take) = (give.clone(), take.clone());
            async move {
                let mut connection = take.lock().await.recv().await.expect("open");
                let mut command = redis::cmd("PUBLISH");
                command.arg("channel").arg("{\"text\":\"xxxx\"}");
                let _: i64 = command.query_async(&mut connection).await.expect("published");
                let _ = give.send(connection);
            }
        })
        .await;
        println!("| callers | shared, 1/s | pool of {pool}, 1/s | ratio |\n|---|---|---|---|");
        println!("| {callers} | {shared_rate:.0} | {pool_rate:.0} | {:.1} |", shared_rate / pool_rate);
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn drive<F: Future<Output = ()> + Send>(
    callers: u64,
    time: Duration,
    call: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> (f64, u64) {
    let count = Arc::new(AtomicU64::new(0));
    let until = Instant::now() + time;
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (call, count) = (call.clone(), count.clone());
            tokio::spawn(async move {
                while Instant::now() < until {
                    call().await;
                    count.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let count = count.load(Relaxed);
    (count as f64 / time.as_secs_f64(), count)
}

async fn relay(to: u64, latency: Duration, tell: &std::sync::mpsc::Sender<u16>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    tell.send(listener.local_addr().expect("an address").port()).expect("it waits");
    loop {
        let (client, _) = listener.accept().await.expect("a connection");
        let server = TcpStream::connect(("127.0.0.1", u16::try_from(to).expect("a port"))).await.expect("connected");
        client.set_nodelay(true).expect("set");
        server.set_nodelay(true).expect("set");
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
        let (give, mut take) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
        tokio::spawn(async move {
            let mut piece = vec![0; 64 << 10];
            while let Ok(n @ 1..) = from_server.read(&mut piece).await {
                if give.send((Instant::now() + latency, piece[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            while let Some((due, piece)) = take.recv().await {
                tokio::time::sleep_until(due.into()).await;
                if to_client.write_all(&piece).await.is_err() {
                    return;
                }
            }
        });
    }
}
