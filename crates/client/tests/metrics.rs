//! What the client counts.

mod common;

use apus_client::prelude::*;
use apus_client::{Client, Pipeline, cmd};

#[test]
fn metrics_count_errors_and_times() {
    common::on_each(&[], |server| async move {
        let client = Client::connect(&server.url()).await.expect("connected");
        client.set("k", "v").await.expect("set");
        client.incr("k").await.expect_err("no number");
        let mut pipeline = Pipeline::new();
        pipeline.push(cmd().get("k")).push(cmd().incr("k"));
        let _: (String, apus_client::Result<i64>) = client.run(pipeline).await.expect("run");
        let metrics = client.metrics();
        assert_eq!((metrics.commands, metrics.replies, metrics.errors), (4, 4, 2), "{metrics:?}");
        assert_eq!((metrics.failures, metrics.pending, metrics.pending_bytes), (0, 0, 0));
        assert_eq!(metrics.latencies.count(), 4);
        let whole = metrics.latencies.sum();
        assert!(!whole.is_zero() && metrics.latencies.quantile(1.0) <= whole * 2, "{metrics:?}");
        // One that waits.
        client.call(apus_client::Command::new("CLIENT PAUSE").arg((100, "ALL"))).await.expect("ok");
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.get("k").await }
        });
        while client.metrics().pending == 0 && !waiting.is_finished() {
            tokio::task::yield_now().await;
        }
        waiting.await.expect("no panic").expect("get");
        let slowest = client.metrics().latencies.quantile(1.0);
        assert!(slowest.as_millis() >= 90, "the pause is in it: {slowest:?}");
        // The server answers no more.
        drop(server);
        let mut failed = 0;
        while failed == 0 {
            let set = tokio::time::timeout(std::time::Duration::from_secs(1), client.set("k", 1));
            failed = match set.await {
                Ok(Err(_)) => client.metrics().failures,
                // It waits for a connection that does not come.
                _ => client.metrics().connects_failed,
            };
        }
    });
}
