//! Futures of every kind, dropped after their first poll, their second, and so on until one is through: the client
//! goes on, and replies belong to their commands.

mod common;

use apus_client::prelude::*;
use apus_client::{CacheConfig, Client, Command, Pipeline, Script, Transaction, cmd};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls a future so many times and drops it then.
async fn up_to<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => {
                if left == 0 {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    })
    .await
}

/// Drops what `make` makes at each of its await points; an echo after each says whether replies are in order.
async fn at_every_point<T, F: Future<Output = apus_client::Result<T>>>(
    client: &Client,
    what: &str,
    make: impl Fn() -> F,
) {
    // Wakes that are for nothing make some more polls than there are points. A reply may also come while the first
    // poll goes on: then there was none, and it begins again.
    let (mut polls, mut dropped) = (0, 0);
    for _ in 0..1000 {
        let done = up_to(polls, make()).await;
        let text = format!("{what} after {polls}");
        let echo: String = client
            .call(Command::new("ECHO").arg(&text))
            .await
            .and_then(apus_client::FromValue::from_value)
            .expect("an echo");
        assert_eq!(echo, text);
        if let Some(result) = done {
            result.unwrap_or_else(|error| panic!("{what}: {error}"));
            if dropped > 1 {
                return;
            }
            (polls, dropped) = (0, 0);
        } else {
            (polls, dropped) = (polls + 1, dropped + 1);
        }
    }
    panic!("{what} is never through");
}

#[test]
fn dropped_at_every_await_point() {
    common::on_each(&[], |server| async move {
        let client = Client::connect(&server.url()).await.expect("connected");
        let client = &client;
        client.set("k", 1).await.expect("set");
        at_every_point(client, "a command", || client.get("k").to::<i64>()).await;
        at_every_point(client, "a pipeline", || {
            let mut pipeline = Pipeline::new();
            pipeline.push(cmd().get("k")).push(cmd().incr("n")).push(cmd().get("k"));
            client.run::<(i64, i64, i64)>(pipeline)
        })
        .await;
        at_every_point(client, "a transaction", || {
            let mut transaction = Transaction::new();
            transaction.push(cmd().incr("n")).push(cmd().get("k"));
            client.exec::<(i64, i64)>(transaction)
        })
        .await;
        at_every_point(client, "a script", || async {
            // One that the server has not seen yet.
            client.script_flush().await?;
            Script::new("return redis.call('GET', KEYS[1])").run::<i64>(client, "k", ()).await
        })
        .await;
        at_every_point(client, "a blocking command", || async {
            client.rpush("list", 1).await?;
            client.blpop("list", 0).to::<(String, i64)>().await
        })
        .await;
        at_every_point(client, "a connection of one's own", || async {
            let dedicated = client.dedicated().await?;
            dedicated.watch("k").await?;
            let value: i64 = dedicated.get("k").to().await?;
            dedicated.release();
            Ok(value)
        })
        .await;
        at_every_point(client, "a scan", || async {
            client.scan_keys::<String>("*").all().await.map(|keys| keys.len())
        })
        .await;
        at_every_point(client, "a subscription", || async {
            let mut subscriber = client.subscriber().await?;
            subscriber.subscribe(["c"]).await?;
            client.publish("c", "x").await?;
            let _ = subscriber.next().await;
            subscriber.unsubscribe(["c"]).await
        })
        .await;
        let cache = client.cache(CacheConfig::default()).await.expect("connected");
        at_every_point(client, "a read of a cache", || async {
            cache.clear();
            cache.get::<i64>("k").await
        })
        .await;
        // Nothing is left behind.
        assert_eq!(client.metrics().pending, 0, "{:?}", client.metrics());
    });
}
