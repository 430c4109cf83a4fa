//! Spans: what a program that collects them is told of its commands.

mod common;

use apus_client::prelude::*;
use apus_client::{Pipeline, Transaction, cmd};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<&'static str, String>;

/// Keeps the fields of spans that have ended.
#[derive(Clone, Default)]
struct Collector(Arc<State>);

#[derive(Default)]
struct State {
    next: AtomicU64,
    open: Mutex<HashMap<u64, (Fields, usize)>>,
    ended: Mutex<Vec<Fields>>,
}

struct Reader<'f>(&'f mut Fields);

impl Visit for Reader<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == "apus_client"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Relaxed) + 1;
        let mut fields = Fields::new();
        attributes.record(&mut Reader(&mut fields));
        self.0.open.lock().expect("spans").insert(id, (fields, 1));
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut open = self.0.open.lock().expect("spans");
        values.record(&mut Reader(&mut open.get_mut(&id.into_u64()).expect("open").0));
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.0.open.lock().expect("spans").get_mut(&id.into_u64()).expect("open").1 += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut open = self.0.open.lock().expect("spans");
        let (_, handles) = open.get_mut(&id.into_u64()).expect("open");
        *handles -= 1;
        let is_over = *handles == 0;
        if is_over {
            let (fields, _) = open.remove(&id.into_u64()).expect("open");
            self.0.ended.lock().expect("spans").push(fields);
        }
        is_over
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The only test of its process: another one without a collector could use a span first, and `tracing` remembers
/// who wanted it.
#[test]
fn spans_say_what_was_done_and_what_went_wrong() {
    let server = common::Server::start(common::kinds()[0], &[]);
    let collector = Collector::default();
    let _default = tracing::subscriber::set_default(collector.clone());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let take = || std::mem::take(&mut *collector.0.ended.lock().expect("spans"));
    let has = |fields: &Fields, expected: &[(&'static str, &str)]| {
        for (name, value) in expected {
            assert_eq!(fields.get(name).map(String::as_str), Some(*value), "{name} of {fields:?}");
        }
    };
    runtime.block_on(async {
        let client = Client::connect(&format!("{}/3", server.url())).await.expect("connected");
        client.set("secret key", "secret value").await.expect("set");
        let port = server.port.to_string();
        let [set] = take().try_into().expect("one span");
        has(
            &set,
            &[
                ("otel.name", "SET"),
                ("otel.kind", "client"),
                ("db.system.name", "redis"),
                ("db.operation.name", "SET"),
                ("db.namespace", "3"),
                ("server.address", "127.0.0.1"),
                ("server.port", &port),
            ],
        );
        assert!(!set.contains_key("error.type"), "{set:?}");
        assert!(!set.values().any(|value| value.contains("secret")), "{set:?}");

        client.incr("secret key").await.expect_err("no number");
        client.call(cmd().hget("secret key", "f")).await.expect_err("a string");
        let [incr, hget] = take().try_into().expect("two spans");
        has(&incr, &[("db.response.status_code", "ERR"), ("otel.status_code", "ERROR")]);
        has(&hget, &[("db.response.status_code", "WRONGTYPE"), ("error.type", "WRONGTYPE")]);

        let mut pipeline = Pipeline::new();
        pipeline.push(cmd().get("a")).push(cmd().get("b"));
        let _: Vec<Option<String>> = client.run(pipeline).await.expect("run");
        let mut transaction = Transaction::new();
        transaction.push(cmd().get("a")).push(cmd().incr("n"));
        let _: (Option<String>, i64) = client.exec(transaction).await.expect("executed");
        client.dedicated().await.expect("connected").get("a").await.expect("get");
        let [pipeline, transaction, get] = take().try_into().expect("three spans");
        has(&pipeline, &[("db.operation.name", "PIPELINE GET"), ("db.operation.batch.size", "2")]);
        has(&transaction, &[("db.operation.name", "MULTI"), ("db.operation.batch.size", "2")]);
        has(&get, &[("db.operation.name", "GET")]);

        // A future that is dropped ends its span, too.
        drop(client.get("a").into_future());
        assert_eq!(take().len(), 1);
        assert!(collector.0.open.lock().expect("spans").is_empty());
    });
}
