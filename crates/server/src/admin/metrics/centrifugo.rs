//! Metrics under the names of Centrifugo 6 and with its labels, for dashboards that are written for it: with
//! `prometheus.enabled` in the configuration of live channels.
//!
//! Its metrics about brokers of other kinds, consumers, map subscriptions and shared polls have no counterpart here:
//! docs/live.md has the list.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Page;
use super::live::proxy_times;
use super::names::MetricKind::{self, Counter, Gauge};
use crate::live::{
    Asked, BROADCAST_US, Figures, Key, LAG_US, Live, Measured, NAMES, PING_US, ProxyFigures,
    Pushed, STEPS_MS, Space, Sum, Transport,
};

type All = BTreeMap<String, Figures>;
type Samples<'a> = Vec<(Vec<(&'a str, &'a str)>, u64)>;

/// The parts of all that summaries tell times of.
const QUANTILES: [(&str, f64); 3] = [("0.5", 0.5), ("0.99", 0.99), ("0.999", 0.999)];
/// What stands for names and versions that clients have told.
const TOLD: [&str; 2] = ["", "unregistered"];

pub(super) fn put(
    live: &Live,
    all: &All,
    (clients, users, nodes): (u64, usize, usize),
    page: &mut Page,
) {
    let sum = live.tallied();
    node(live, all, (clients, users, nodes), page);
    messages_between_servers(all, &sum, page);
    actions(&sum, page);
    on_the_way(&sum, page);
    recoveries(all, page);
    connections(&sum, page);
    subscriptions(&sum, page);
    commands(&sum, page);
    ends(&sum, page);
    transports(&sum, page);
    api(&sum, page);
}

/// A metric and its samples; without any there is none.
fn family(name: &str, kind: MetricKind, help: &str, samples: Samples<'_>, page: &mut Page) {
    let name = format!("centrifugo_{name}");
    if !samples.is_empty() {
        page.metric(&name, kind.name(), help);
        samples.iter().for_each(|(labels, n)| page.sample(&name, labels, n));
    }
}

/// Times as a summary, and as a histogram of the same name with `_histogram`.
fn times(name: &str, help: &str, all: &[(Vec<(&str, &str)>, &Measured)], page: &mut Page) {
    if all.is_empty() {
        return;
    }
    let name = format!("centrifugo_{name}");
    page.metric(&name, "summary", help);
    for (labels, measured) in all {
        for (text, part) in QUANTILES {
            let value = measured.quantile(part);
            page.sample(&name, &[labels, &[("quantile", text)][..]].concat(), value);
        }
        page.sample(&format!("{name}_sum"), labels, measured.seconds());
        page.sample(&format!("{name}_count"), labels, measured.n);
    }
    let name = format!("{name}_histogram");
    page.metric(&name, "histogram", help);
    let ends = STEPS_MS.map(|ms| ms * 1000);
    for (labels, measured) in all {
        histogram(&name, labels, &ends, (measured.within(), measured.n, measured.seconds()), page);
    }
}

/// The samples of a histogram, whose counts are of each step and those before it.
fn histogram(
    name: &str,
    labels: &[(&str, &str)],
    ends_us: &[u64],
    (within, n, seconds): (Vec<u64>, u64, f64),
    page: &mut Page,
) {
    let ends = ends_us.iter().map(|us| (*us as f64 / 1e6).to_string());
    for (end, count) in ends.zip(within).chain([("+Inf".to_owned(), n)]) {
        page.sample(&format!("{name}_bucket"), &[labels, &[("le", &*end)][..]].concat(), count);
    }
    page.sample(&format!("{name}_sum"), labels, seconds);
    page.sample(&format!("{name}_count"), labels, n);
}

/// Counts of steps as those of each step and those before it.
fn added((mut within, n, seconds): (Vec<u64>, u64, f64)) -> (Vec<u64>, u64, f64) {
    let mut seen = 0;
    for count in &mut within {
        seen += *count;
        *count = seen;
    }
    // A time that is counted meanwhile is in its step first.
    (within, n.max(seen), seconds)
}

/// The sum of a count over the threads of a namespace.
fn over(spaces: &[Arc<Space>], count: impl Fn(&Space) -> u64) -> u64 {
    spaces.iter().map(|space| count(space)).sum()
}

fn node(live: &Live, all: &All, (clients, users, nodes): (u64, usize, usize), page: &mut Page) {
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
    let help = "Connections that were refused because of client.connection_limit.";
    page.single("centrifugo_node_client_connection_limit", Counter, help, live.refused());
}

fn messages_between_servers(all: &All, sum: &Sum, page: &mut Page) {
    let labels = |of, space| vec![("type", of), ("channel_namespace", space)];
    let mut sent: Samples<'_> =
        all.iter().map(|(name, f)| (labels("publication", name.as_str()), f.published)).collect();
    for (key, measured) in &sum.others {
        if let Key::Told(what, space) = key {
            sent.push((labels(what, space), measured.n));
        }
    }
    family("node_messages_sent_count", Counter, "Messages to channels and servers.", sent, page);
    let mut came: Samples<'_> = Vec::new();
    for (name, spaces) in &sum.spaces {
        for what in Pushed::ALL {
            let n = over(spaces, |space| space.came[what as usize].get());
            came.push((labels(what.name(), name), n));
        }
    }
    for (key, measured) in &sum.others {
        if let Key::Heard(what) = key {
            came.push((labels(what, ""), measured.n));
        }
    }
    let help = "Messages of channels and servers that have come, to each thread.";
    family("node_messages_received_count", Counter, help, came, page);
}

fn actions(sum: &Sum, page: &mut Page) {
    let labels = |action, space| vec![("action", action), ("channel_namespace", space)];
    let (mut begun, mut ended) = (0, 0);
    for spans in sum.threads.iter().flat_map(|tally| tally.connections.iter().flatten()) {
        begun += spans.begun.get();
        ended += spans.ended.get();
    }
    let mut all: Samples<'_> =
        vec![(labels("add_client", ""), begun), (labels("remove_client", ""), ended)];
    for (name, spaces) in &sum.spaces {
        let mut one = |action, count: fn(&Space) -> u64| {
            all.push((labels(action, name.as_str()), over(spaces, count)));
        };
        one("add_subscription", |s| s.subscriptions.iter().map(|s| s.begun.get()).sum());
        one("remove_subscription", |s| s.subscriptions.iter().map(|s| s.ended.get()).sum());
        one("broker_subscribe", |s| s.followed.begun.get());
        one("broker_unsubscribe", |s| s.followed.ended.get());
    }
    for (key, measured) in &sum.others {
        if let Key::Action(action, space) = key {
            all.push((labels(action, space), measured.n));
        }
    }
    family("node_action_count", Counter, "Things done.", all, page);
    let surveys: Vec<_> = sum
        .others
        .iter()
        .filter_map(|(key, measured)| match key {
            Key::Survey(op) => Some((vec![("op", *op)], measured)),
            _ => None,
        })
        .collect();
    times("node_survey_duration_seconds", "Seconds of questions to all servers.", &surveys, page);
}

/// From a publication to the subscribers.
fn on_the_way(sum: &Sum, page: &mut Page) {
    let name = "centrifugo_node_broadcast_duration_seconds";
    page.metric(name, "histogram", "Seconds from a publication to all subscribers of a thread.");
    for (namespace, spaces) in &sum.spaces {
        let mut all = Default::default();
        spaces.iter().for_each(|space| space.broadcasts.add_to(&mut all));
        let labels = [("type", "publication"), ("channel_namespace", namespace.as_str())];
        histogram(name, &labels, &BROADCAST_US, added(all), page);
    }
    let name = "centrifugo_node_pub_sub_lag_seconds";
    page.metric(name, "histogram", "Seconds from publishing to delivery.");
    let mut all = Default::default();
    sum.threads.iter().for_each(|tally| tally.lag.add_to(&mut all));
    histogram(name, &[], &LAG_US, added(all), page);
    let filtered = |(name, spaces): (&'_ String, &Vec<Arc<Space>>)| {
        (name.clone(), over(spaces, |space| space.filtered.get()))
    };
    let name = "centrifugo_node_tags_filter_dropped_publications";
    let help = "Publications that a filter has left out, each.";
    page.labelled(name, (Counter, help), "channel_namespace", sum.spaces.iter().map(filtered));
}

fn recoveries(all: &All, page: &mut Page) {
    let mut samples: Samples<'_> = Vec::new();
    for (namespace, f) in all {
        let kinds = [
            ("yes", "yes", f.recovered_some),
            ("yes", "no", f.recovered - f.recovered_some),
            ("no", "no", f.not_recovered),
        ];
        for (recovered, some, n) in kinds {
            let labels = vec![
                ("recovered", recovered),
                ("channel_namespace", namespace.as_str()),
                ("has_recovered_publications", some),
            ];
            samples.push((labels, n));
        }
    }
    family("client_recover", Counter, "Recoveries of clients.", samples, page);
}

fn connections(sum: &Sum, page: &mut Page) {
    let (mut accepted, mut inflight): (Samples<'_>, Samples<'_>) = (Vec::new(), Vec::new());
    for kind in Transport::ALL {
        for names in 0..NAMES {
            let (mut begun, mut ended) = (0, 0);
            for tally in &sum.threads {
                let spans = &tally.connections[kind as usize][names];
                ended += spans.ended.get();
                begun += spans.begun.get();
            }
            let labels = vec![
                ("transport", kind.name()),
                ("accept_protocol", ""),
                ("client_name", TOLD[names & 1]),
                ("client_version", TOLD[names >> 1]),
            ];
            if begun > 0 {
                accepted.push((labels.clone(), begun));
                inflight.push((labels, begun.saturating_sub(ended)));
            }
        }
    }
    family("client_connections_accepted", Counter, "Connections since the start.", accepted, page);
    family("client_connections_inflight", Gauge, "Connections.", inflight, page);
    let name = "centrifugo_client_ping_pong_duration_seconds";
    page.metric(name, "histogram", "Seconds from a ping to its answer.");
    for kind in Transport::ALL {
        let mut all = Default::default();
        sum.threads.iter().for_each(|tally| tally.pings[kind as usize].add_to(&mut all));
        if all.1 > 0 {
            histogram(name, &[("transport", kind.name())], &PING_US, added(all), page);
        }
    }
}

fn subscriptions(sum: &Sum, page: &mut Page) {
    let (mut accepted, mut inflight): (Samples<'_>, Samples<'_>) = (Vec::new(), Vec::new());
    for (namespace, spaces) in &sum.spaces {
        for (named, told) in TOLD.into_iter().enumerate() {
            let ended = over(spaces, |space| space.subscriptions[named].ended.get());
            let begun = over(spaces, |space| space.subscriptions[named].begun.get());
            let labels = vec![("client_name", told), ("channel_namespace", namespace.as_str())];
            if begun > 0 || named == 0 {
                accepted.push((labels.clone(), begun));
                inflight.push((labels, begun.saturating_sub(ended)));
            }
        }
    }
    let help = "Subscriptions since the start.";
    family("client_subscriptions_accepted", Counter, help, accepted, page);
    family("client_subscriptions_inflight", Gauge, "Subscriptions.", inflight, page);
}

fn commands(sum: &Sum, page: &mut Page) {
    let all: Vec<_> = sum
        .others
        .iter()
        .filter_map(|(key, measured)| match key {
            Key::Command(method, space) => {
                Some((vec![("method", *method), ("channel_namespace", &**space)], measured))
            }
            _ => None,
        })
        .collect();
    times("client_command_duration_seconds", "Seconds from a command to its reply.", &all, page);
    with_codes("client_num_reply_errors", "Errors in replies to clients.", sum, page, |key| {
        let Key::Error(method, code, space) = key else { return None };
        Some((vec![("method", *method)], *code, vec![("channel_namespace", &**space)]))
    });
}

fn ends(sum: &Sum, page: &mut Page) {
    let help = "Ends of subscriptions by the server.";
    with_codes("client_num_server_unsubscribes", help, sum, page, |key| {
        let Key::Unsubscribed(code, space) = key else { return None };
        Some((vec![], *code, vec![("channel_namespace", &**space)]))
    });
    let help = "Ends of connections by the server.";
    with_codes("client_num_server_disconnects", help, sum, page, |key| {
        let Key::Disconnected(code) = key else { return None };
        Some((vec![], *code, vec![]))
    });
}

/// A metric with the label `code`, and labels before and behind it.
fn with_codes<'a>(
    name: &str,
    help: &str,
    sum: &'a Sum,
    page: &mut Page,
    of: impl Fn(&'a Key) -> Option<(Vec<(&'a str, &'a str)>, u32, Vec<(&'a str, &'a str)>)>,
) {
    let name = format!("centrifugo_{name}");
    page.metric(&name, "counter", help);
    for (key, measured) in &sum.others {
        if let Some((mut labels, code, behind)) = of(key) {
            let code = code.to_string();
            labels.push(("code", &code));
            labels.extend(behind);
            page.sample(&name, &labels, measured.n);
        }
    }
}

/// Messages and bytes, by transport, what they are, and namespace.
type Traffics<'a> = BTreeMap<(&'a str, &'a str, &'a str), (u64, u64)>;

fn transports(sum: &Sum, page: &mut Page) {
    let (mut sent, mut received) = (Traffics::new(), Traffics::new());
    for (namespace, spaces) in &sum.spaces {
        let frames = ["push_publication", "push_join", "push_leave"];
        for (what, frame) in Pushed::ALL.into_iter().zip(frames) {
            for kind in Transport::ALL {
                let n = over(spaces, |space| space.sent(what, kind).messages.get());
                let bytes = over(spaces, |space| space.sent(what, kind).bytes.get());
                if n > 0 {
                    sent.insert((kind.name(), frame, namespace), (n, bytes));
                }
            }
        }
    }
    for (key, measured) in &sum.others {
        let (all, kind, frame) = match key {
            Key::Sent(kind, frame) => (&mut sent, kind, frame),
            Key::Received(kind, frame) => (&mut received, kind, frame),
            _ => continue,
        };
        let (messages, bytes) = all.entry((kind.name(), frame, "")).or_default();
        *messages += measured.n;
        *bytes += measured.sum;
    }
    for (all, name, help) in
        [(&sent, "sent", "to clients"), (&received, "received", "from clients")]
    {
        let samples = |value: fn(&(u64, u64)) -> u64| -> Samples<'_> {
            let of = |((transport, frame, namespace), counts): (&(_, _, _), _)| {
                let labels = vec![
                    ("transport", *transport),
                    ("frame_type", *frame),
                    ("channel_namespace", *namespace),
                ];
                (labels, value(counts))
            };
            all.iter().map(of).collect()
        };
        let name = format!("transport_messages_{name}");
        family(&name, Counter, &format!("Messages {help}."), samples(|counts| counts.0), page);
        let (name, help) = (format!("{name}_size"), format!("Bytes of messages {help}."));
        family(&name, Counter, &help, samples(|counts| counts.1), page);
    }
}

fn api(sum: &Sum, page: &mut Page) {
    let all: Vec<_> = sum
        .others
        .iter()
        .filter_map(|(key, measured)| match key {
            Key::Api(protocol, method) => {
                Some((vec![("protocol", *protocol), ("method", *method)], measured))
            }
            _ => None,
        })
        .collect();
    times("api_command_duration_seconds", "Seconds of requests of the API.", &all, page);
    let name = "centrifugo_api_command_errors_total";
    page.metric(name, "counter", "Errors of the API.");
    for (key, measured) in &sum.others {
        if let Key::ApiError(protocol, method, code) = key {
            let code = code.to_string();
            let labels = [("protocol", *protocol), ("method", *method), ("error", &*code)];
            page.sample(name, &labels, measured.n);
        }
    }
}

/// Questions to applications; functions are a protocol of their own.
pub(super) fn proxies(all: &[(Asked, ProxyFigures)], page: &mut Page) {
    fn labels(asked: &Asked) -> Vec<(&str, &str)> {
        vec![("protocol", asked.protocol), ("type", asked.event), ("name", &asked.proxy)]
    }
    if all.is_empty() {
        return;
    }
    let help = "Duration of proxy call.";
    let name = "centrifugo_proxy_duration_seconds";
    page.metric(name, "summary", help);
    for (asked, f) in all {
        for (text, part) in QUANTILES {
            let own = [&labels(asked)[..], &[("quantile", text)]].concat();
            page.sample(name, &own, quantile(f, part));
        }
        page.sample(&format!("{name}_sum"), &labels(asked), f.seconds);
        page.sample(&format!("{name}_count"), &labels(asked), f.answered);
    }
    proxy_times("centrifugo_proxy_duration_seconds_histogram", help, all, labels, page);
    let mut each = |name: &str, kind: MetricKind, help: &str, value: fn(&ProxyFigures) -> u64| {
        page.metric(name, kind.name(), help);
        for (asked, figures) in all {
            page.sample(name, &labels(asked), value(figures));
        }
    };
    each("centrifugo_proxy_errors", Counter, "Proxy call error count.", |f| f.errors);
    let help = "Number of inflight proxy requests.";
    each("centrifugo_proxy_inflight_requests", Gauge, help, |f| f.waiting);
}

/// The seconds that a part of the answers took at most, by the ends of their steps.
fn quantile(f: &ProxyFigures, part: f64) -> f64 {
    if f.answered == 0 {
        return f64::NAN;
    }
    let wanted = ((part * f.answered as f64).ceil() as u64).max(1);
    let step = f.within.iter().position(|n| *n >= wanted);
    step.map_or(f64::INFINITY, |step| STEPS_MS[step] as f64 / 1e3)
}
