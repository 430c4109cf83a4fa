//! The synchronous client: subscriptions and caches on threads without a runtime.

mod common;

use apus_client::blocking::Client;
use apus_client::prelude::{HashCommands, PubsubCommands, StringCommands};
use apus_client::{CacheConfig, Command, Event, cmd};
use common::{Server, kinds};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn subscriptions_wait_on_a_thread() {
    for kind in kinds() {
        eprintln!("{kind:?}");
        let server = Server::start(kind, &[]);
        let client = Client::connect(&server.url()).expect("connected");
        let mut subscriber = client.subscriber().expect("a connection");
        subscriber.subscribe(["news"]).expect("confirmed");
        subscriber.psubscribe(["p.*"]).expect("confirmed");
        assert_eq!(subscriber.next_within(Duration::from_millis(1)), None);
        let mut hears = |text: &str| match subscriber.next_within(PATIENCE) {
            Some(Event::Message(message)) => assert_eq!(&*message.payload, text.as_bytes()),
            other => panic!("{other:?}"),
        };
        let publisher = std::thread::spawn({
            let client = client.clone();
            move || client.call::<i64>(cmd().publish("news", "one")).expect("published")
        });
        hears("one");
        assert_eq!(publisher.join().expect("no panic"), 1);
        client.call::<i64>(cmd().publish("p.x", "two")).expect("published");
        hears("two");
        subscriber.unsubscribe(["news"]).expect("confirmed");
        assert_eq!(client.call::<i64>(cmd().publish("news", "three")).expect("published"), 0);
        // The connections live as long as one handle.
        drop(client);
        let other = Client::connect(&server.url()).expect("connected");
        other.call::<i64>(cmd().publish("p.x", "four")).expect("published");
        match subscriber.next_event() {
            Event::Message(message) => assert_eq!(&*message.payload, b"four"),
            other => panic!("{other:?}"),
        }
        subscriber.punsubscribe(["p.*"]).expect("confirmed");
    }
}

#[test]
fn a_cache_is_asked_by_threads() {
    for kind in kinds() {
        eprintln!("{kind:?}");
        let server = Server::start(kind, &[]);
        let client = Client::connect(&server.url()).expect("connected");
        let cache = client.cache(CacheConfig::default()).expect("a cache");
        client.call::<()>(cmd().set("a", 1)).expect("set");
        client.call::<()>(cmd().hset("h", [("x", 2)])).expect("set");
        for _ in 0..3 {
            assert_eq!(cache.get::<i64>("a").expect("get"), 1);
            assert_eq!(cache.call::<i64>(cmd().hget("h", "x")).expect("hget"), 2);
        }
        assert_eq!(cache.metrics().misses, 2);
        assert_eq!(cache.mget::<Option<i64>>(["a", "b"]).expect("mget"), [Some(1), None]);
        // Written by another connection: the server tells.
        client.call::<()>(cmd().set("a", 2)).expect("set");
        testing::eventually("it is told", || {
            (cache.get::<i64>("a").expect("get") == 2).then_some(())
        });
        cache.forget("a");
        cache.clear();
        assert_eq!(cache.metrics().entries, 0);
        assert!(cache.call::<()>(Command::new("SET").arg(("a", 1))).is_err(), "no read of a key");
    }
}
