//! Metrics of live channels, by namespace; with `prometheus.enabled` in the configuration of live channels under the
//! names of Centrifugo, too, for dashboards that are written for it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use engine::Engine;

use super::Page;
use super::names::MetricKind::{Counter, Gauge};
use crate::live::{BrokerFigures, Figures, Live};

type All = BTreeMap<String, Figures>;

pub(super) fn live(live: &Live, engine: &Engine, page: &mut Page) {
    let all = live.figures();
    let counts = &engine.live;
    let (users, nodes) = live.users_and_nodes();
    let clients = counts.clients.load(Relaxed);
    let slow = counts.slow.load(Relaxed);
    page.single("apus_live_connections", Gauge, "Connections of live channels.", clients);
    page.single("apus_live_users", Gauge, "Users with connections.", users);
    page.single("apus_live_nodes", Gauge, "Servers that share the channels.", nodes);
    let help = "Connections of live channels since the start.";
    page.single("apus_live_connects_total", Counter, help, counts.connects.load(Relaxed));
    let help = "Connections that ended because they did not take what they were sent.";
    page.single("apus_live_slow_closes_total", Counter, help, slow);
    let mut each = |metric: &str, kind, help: &str, value: fn(&Figures) -> u64| {
        let samples = all.iter().map(|(name, figures)| (name, value(figures)));
        page.labelled(&format!("apus_live_{metric}"), (kind, help), "namespace", samples);
    };
    each("subscriptions", Gauge, "Subscriptions.", |f| f.subscriptions);
    each("channels", Gauge, "Channels with subscribers.", |f| f.channels);
    each("publications_total", Counter, "Publications of clients and the API.", |f| f.published);
    each("deliveries_total", Counter, "Publications sent to a subscriber, each.", |f| f.delivered);
    let name = "apus_live_recoveries_total";
    page.metric(name, "counter", "Subscriptions that wanted what they had missed.");
    for (namespace, figures) in &all {
        for (recovered, n) in [("yes", figures.recovered), ("no", figures.not_recovered)] {
            page.sample(name, &[("namespace", namespace), ("recovered", recovered)], n);
        }
    }
    if let Some(broker) = live.broker_figures() {
        self::broker(broker, page);
    }
    if live.options().prometheus.enabled {
        centrifugo(&all, (clients, users, nodes, slow), page);
    }
}

/// The servers of live-broker.
fn broker(broker: BrokerFigures, page: &mut Page) {
    let BrokerFigures { shards, connected, channels, messages, errors, gaps } = broker;
    let mut one = |name: &str, kind, help: &str, n: u64| {
        page.single(&format!("apus_live_broker_{name}"), kind, help, n);
    };
    one("shards", Gauge, "Servers of live-broker.", shards);
    one("connected", Gauge, "Servers of live-broker that are reached.", connected);
    one("channels", Gauge, "Channels that are followed at live-broker.", channels);
    one("messages_total", Counter, "Messages from live-broker.", messages);
    one("errors_total", Counter, "Operations at live-broker that failed.", errors);
    one("gaps_total", Counter, "Times that a connection for messages broke.", gaps);
}

/// The names of Centrifugo 6. Its metrics about its own insides have no counterpart here.
fn centrifugo(all: &All, (clients, users, nodes, slow): (u64, usize, usize, u64), page: &mut Page) {
    let sum = |value: fn(&Figures) -> u64| all.values().map(value).sum::<u64>();
    let mut node = |name: &str, help: &str, n: u64| {
        page.single(&format!("centrifugo_node_{name}"), Gauge, help, n);
    };
    node("num_clients", "Connections.", clients);
    node("num_users", "Users with connections.", users as u64);
    node("num_subscriptions", "Subscriptions.", sum(|f| f.subscriptions));
    node("num_channels", "Channels with subscribers.", sum(|f| f.channels));
    node("num_nodes", "Servers that share the channels.", nodes as u64);
    let name = "centrifugo_node_build";
    page.metric(name, "gauge", "The version.");
    page.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);

    let name = "centrifugo_node_messages_sent_count";
    page.metric(name, "counter", "Messages to other servers.");
    for (namespace, f) in all {
        let labels = [("type", "publication"), ("channel_namespace", namespace.as_str())];
        page.sample(name, &labels, f.published);
    }
    let name = "centrifugo_client_recover";
    page.metric(name, "counter", "Recoveries of clients.");
    for (namespace, f) in all {
        for (recovered, n) in [("yes", f.recovered), ("no", f.not_recovered)] {
            let labels = [("recovered", recovered), ("channel_namespace", namespace.as_str())];
            page.sample(name, &labels, n);
        }
    }
    let name = "centrifugo_client_subscriptions_inflight";
    page.metric(name, "gauge", "Subscriptions.");
    for (namespace, f) in all {
        page.sample(name, &[("channel_namespace", namespace)], f.subscriptions);
    }
    let name = "centrifugo_transport_messages_sent";
    page.metric(name, "counter", "Messages to clients.");
    for (namespace, f) in all {
        let labels =
            [("frame_type", "push_publication"), ("channel_namespace", namespace.as_str())];
        page.sample(name, &labels, f.delivered);
    }
    let name = "centrifugo_client_num_server_disconnects";
    page.metric(name, "counter", "Ends of connections by the server.");
    page.sample(name, &[("code", "3008")], slow);
}
