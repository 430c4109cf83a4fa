//! Futures dropped at random and connections cut at random, between real servers and many callers: replies always
//! belong to their commands. APUS_CLIENT_DROPS sets how many commands there are (default 200,000).

mod common;

use apus_client::prelude::*;
use apus_client::{Backoff, Config, Pipeline, cmd};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Passes bytes on until it is told to cut, and counts its cuts.
async fn proxy(port: u16, cut: Arc<tokio::sync::Notify>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        loop {
            let Ok((mut client, _)) = listener.accept().await else { return };
            let cut = cut.clone();
            tokio::spawn(async move {
                let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                let mut copy = pin!(tokio::io::copy_bidirectional(&mut client, &mut server));
                let mut cut = pin!(cut.notified());
                std::future::poll_fn(|cx| match cut.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => copy.as_mut().poll(cx).map(drop),
                })
                .await;
            });
        }
    });
    own
}

/// Polls a future up to so many times and drops it then.
async fn up_to<T>(polls: u64, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => {
                // Sometimes it is dropped before anything has happened.
                if left == 0 {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    })
    .await
}

async fn caller(client: Client, number: u64, stop: Arc<AtomicBool>, done: Arc<AtomicU64>) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (number + 1));
    let mut i = 0;
    while !stop.load(Relaxed) {
        i += 1;
        done.fetch_add(1, Relaxed);
        // What comes back says whose it is and which.
        let mine = format!("{number}:{i}");
        let polls = if random.below(3) == 0 { random.below(3) } else { u64::MAX };
        match random.below(4) {
            0..2 => {
                let echo = client.call(apus_client::Command::new("ECHO").arg(&mine));
                if let Some(Ok(value)) = up_to(polls, echo).await {
                    assert_eq!(value.as_str(), Some(mine.as_str()));
                }
            }
            2 => {
                let mut pipeline = Pipeline::new();
                for j in 0..3 {
                    pipeline.push(apus_client::Command::new("ECHO").arg(format!("{mine}:{j}")));
                }
                if let Some(Ok(values)) = up_to(polls, client.run::<Vec<String>>(pipeline)).await {
                    assert_eq!(
                        values,
                        [format!("{mine}:0"), format!("{mine}:1"), format!("{mine}:2")]
                    );
                }
            }
            _ => {
                // A key of its own: a SET that was dropped may still be run, after a later one.
                let mut pipeline = Pipeline::new();
                pipeline.push(cmd().set(&mine, &mine)).push(cmd().get(&mine));
                if let Some(Ok((_, value))) =
                    up_to(polls, client.run::<(String, String)>(pipeline)).await
                {
                    assert_eq!(value, mine);
                }
            }
        }
    }
}

#[test]
fn replies_belong_to_their_commands() {
    let commands =
        std::env::var("APUS_CLIENT_DROPS").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    common::on_each(&[], |server| async move {
        let cut = Arc::new(tokio::sync::Notify::new());
        let port = proxy(server.port, cut.clone()).await;
        let mut config: Config = format!("redis://127.0.0.1:{port}").parse().expect("a URL");
        config.backoff = Backoff { first: Duration::from_millis(1), max: Duration::from_millis(2) };
        config.commands_max = 48;
        config.connections = 2;
        let client = Client::with_config(config).await.expect("connected");
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let callers: Vec<_> = (0..64)
            .map(|i| tokio::spawn(caller(client.clone(), i, stop.clone(), done.clone())))
            .collect();
        while done.load(Relaxed) < commands
            && !callers.iter().any(tokio::task::JoinHandle::is_finished)
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
            cut.notify_waiters();
        }
        stop.store(true, Relaxed);
        for caller in callers {
            caller.await.expect("replies of their own");
        }
        let metrics = client.metrics();
        eprintln!("{} commands, {metrics:?}", done.load(Relaxed));
        assert!(metrics.connects > 4 && metrics.discarded > 100, "{metrics:?}");
        // It lives up to here: the port alone would not keep it.
        drop(server);
    });
}
