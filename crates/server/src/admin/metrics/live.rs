//! Metrics of live channels, by namespace; with `prometheus.enabled` in the configuration of live channels under the
//! names of Centrifugo, too, for dashboards that are written for it.

use std::sync::atomic::Ordering::Relaxed;

use engine::Engine;

use super::names::MetricKind::{self, Counter, Gauge};
use super::{Page, centrifugo};
use crate::live::{Asked, BrokerFigures, Figures, Live, ProxyFigures, STEPS_MS};

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
    let proxies = live.proxy_figures();
    each_proxy(&proxies, page);
    if live.options().prometheus {
        centrifugo::put(live, &all, (clients, users, nodes), page);
        centrifugo::proxies(&proxies, page);
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

/// Questions to applications.
fn each_proxy(all: &[(Asked, ProxyFigures)], page: &mut Page) {
    if all.is_empty() {
        return;
    }
    let mut each = |metric: &str, kind: MetricKind, help: &str, value: fn(&ProxyFigures) -> u64| {
        let name = format!("apus_live_proxy_{metric}");
        page.metric(&name, kind.name(), help);
        for (asked, figures) in all {
            page.sample(&name, &own_labels(asked), value(figures));
        }
    };
    each("requests_total", Counter, "Questions to applications.", |f| f.requests);
    let help = "Questions without an answer that can be used.";
    each("errors_total", Counter, help, |f| f.errors);
    each("timeouts_total", Counter, "Questions without an answer in time.", |f| f.timeouts);
    each("waiting", Gauge, "Questions that have no answer yet.", |f| f.waiting);
    let help = "Seconds from a question to its answer, or to its end without one.";
    proxy_times("apus_live_proxy_seconds", help, all, |asked| own_labels(asked).to_vec(), page);
}

fn own_labels(asked: &Asked) -> [(&str, &str); 2] {
    [("event", asked.event), ("proxy", &asked.proxy)]
}

/// A histogram of the times of answers.
pub(super) fn proxy_times<'a>(
    name: &str,
    help: &str,
    all: &'a [(Asked, ProxyFigures)],
    labels: fn(&'a Asked) -> Vec<(&'a str, &'a str)>,
    page: &mut Page,
) {
    page.metric(name, "histogram", help);
    let ends = STEPS_MS.map(|ms| (ms as f64 / 1e3).to_string());
    for (asked, f) in all {
        let own = labels(asked);
        let all = ends.iter().map(String::as_str).zip(f.within).chain([("+Inf", f.answered)]);
        for (end, n) in all {
            page.sample(&format!("{name}_bucket"), &[&*own, &[("le", end)]].concat(), n);
        }
        page.sample(&format!("{name}_sum"), &own, f.seconds);
        page.sample(&format!("{name}_count"), &own, f.answered);
    }
}
