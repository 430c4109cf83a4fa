//! `/metrics`: the page that Prometheus reads.
//!
//! It is made from the text of INFO, by the table in [`names`], so that the two cannot disagree,
//! and a new field of INFO takes one more line here. Figures that INFO does not have come behind
//! it, as `apus_…`: the costs of commands by phase, and each thread's part.

mod centrifugo;
mod live;
mod names;
mod replication;
mod web;

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::Engine;
use hyper::StatusCode;

use super::answer::{self, Response};
use super::ask;
use crate::Shared;
use names::{MetricKind, NAMES};

/// The text format, version 0.0.4.
const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn answer(shared: &Arc<Shared>) -> Response {
    match ask::worker(&shared.engine, session_commands::info).await {
        Some(info) => answer::body(StatusCode::OK, TYPE, page(&info, shared).into_bytes()),
        None => answer::busy(),
    }
}

/// A page in the making.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a metric; its samples follow.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (i, (label, text)) in labels.iter().enumerate() {
            self.0.push(if i == 0 { '{' } else { ',' });
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{label}=\"{text}\"");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn single(&mut self, name: &str, kind: MetricKind, help: &str, value: impl Display) {
        self.metric(name, kind.name(), help);
        self.sample(name, &[], value);
    }

    /// A metric with one label, if there are samples.
    fn labelled<L: AsRef<str>, V: Display>(
        &mut self,
        name: &str,
        (kind, help): (MetricKind, &str),
        label: &str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.metric(name, kind.name(), help);
            samples.for_each(|(l, v)| self.sample(name, &[(label, l.as_ref())], v));
        }
    }
}

/// INFO as fields and values.
struct Info<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Info<'a> {
    fn parse(text: &'a str) -> Self {
        Self(text.lines().filter_map(|line| line.split_once(':')).collect())
    }

    fn get(&self, field: &str) -> Option<&'a str> {
        self.0.iter().find(|(f, _)| *f == field).map(|(_, value)| *value)
    }

    /// A number; words of success and failure are 1 and 0.
    fn number(&self, field: &str) -> Option<&'a str> {
        match self.get(field)? {
            "ok" => Some("1"),
            "err" | "fail" => Some("0"),
            other => other.parse::<f64>().ok().map(|_| other),
        }
    }

    /// Fields that begin with `prefix`: the rest of the name, and the value.
    fn all(&self, prefix: &str) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
        self.0.iter().filter_map(move |(f, value)| Some((f.strip_prefix(prefix)?, *value)))
    }
}

/// The part `name=…` of a value of several.
fn part<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value.split(',').find_map(|p| p.strip_prefix(name)?.strip_prefix('='))
}

fn page(info: &str, shared: &Shared) -> String {
    let engine = &*shared.engine;
    let info = Info::parse(info);
    let mut page = Page::default();
    page.single("redis_up", MetricKind::Gauge, "1: the server answers.", 1);
    instance(&info, &mut page);
    for (field, metric, kind, help) in NAMES {
        if let Some(value) = info.number(field) {
            page.single(&format!("redis_{metric}"), *kind, help, value);
        }
    }
    commands(&info, &mut page);
    databases(&info, &mut page);
    replication::put(&info, &mut page);
    outside_of_info(engine, &mut page);
    costs(engine, &mut page);
    threads(engine, &mut page);
    web::web(&shared.web, &mut page);
    if let Some(channels) = &shared.live {
        live::live(channels, engine, &mut page);
    }
    page.0
}

fn instance(info: &Info<'_>, page: &mut Page) {
    const LABELS: [&str; 11] = [
        "role",
        "redis_version",
        "redis_build_id",
        "redis_mode",
        "os",
        "maxmemory_policy",
        "tcp_port",
        "run_id",
        "process_id",
        "master_replid",
        "apus_version",
    ];
    let name = "redis_instance_info";
    page.metric(name, "gauge", "Always 1; the labels say what the server is.");
    let labels = LABELS.map(|label| (label, info.get(label).unwrap_or("")));
    page.sample(name, &labels, 1);
}

fn commands(info: &Info<'_>, page: &mut Page) {
    let stats = info.all("cmdstat_");
    let mut counter = |name: &str, help: &str, of: &str, unit: f64| {
        let samples = stats
            .clone()
            .filter_map(|(cmd, value)| Some((cmd, part(value, of)?.parse::<f64>().ok()? / unit)));
        page.labelled(
            &format!("redis_commands_{name}"),
            (MetricKind::Counter, help),
            "cmd",
            samples,
        );
    };
    counter("total", "Executions of each command.", "calls", 1.0);
    counter("duration_seconds_total", "Seconds spent executing each command.", "usec", 1e6);
    let help = "Calls of each command that were refused before it ran.";
    counter("rejected_calls_total", help, "rejected_calls", 1.0);
    let help = "Executions of each command that ended in an error.";
    counter("failed_calls_total", help, "failed_calls", 1.0);
    let name = "redis_latency_percentiles_usec";
    let mut first = true;
    for (cmd, value) in info.all("latency_percentiles_usec_") {
        let Some((_, stat)) = stats.clone().find(|(c, _)| *c == cmd) else { continue };
        if std::mem::take(&mut first) {
            page.metric(name, "summary", "Microseconds of each command, by percentile.");
        }
        for (percentile, micros) in value.split(',').filter_map(|p| p.split_once('=')) {
            // As the exporter has it: the percentile, not the fraction.
            let quantile = percentile.trim_start_matches('p');
            page.sample(name, &[("cmd", cmd), ("quantile", quantile)], micros);
        }
        let sum = part(stat, "usec").unwrap_or("0");
        page.sample(&format!("{name}_sum"), &[("cmd", cmd)], sum);
        let count = part(stat, "calls").unwrap_or("0");
        page.sample(&format!("{name}_count"), &[("cmd", cmd)], count);
    }
    let errors =
        info.all("errorstat_").filter_map(|(err, value)| Some((err, part(value, "count")?)));
    let help = "Error replies by their first word.";
    page.labelled("redis_errors_total", (MetricKind::Counter, help), "err", errors);
}

fn databases(info: &Info<'_>, page: &mut Page) {
    let dbs = info.all("db").filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
    let mut gauge = |name: &str, help: &str, of: &str, unit: f64| {
        let samples = dbs.clone().filter_map(|(number, value)| {
            Some((format!("db{number}"), part(value, of)?.parse::<f64>().ok()? / unit))
        });
        page.labelled(name, (MetricKind::Gauge, help), "db", samples);
    };
    gauge("redis_db_keys", "Keys of each database.", "keys", 1.0);
    gauge("redis_db_keys_expiring", "Keys of each database that will expire.", "expires", 1.0);
    let help = "Mean seconds such keys have left.";
    gauge("redis_db_avg_ttl_seconds", help, "avg_ttl", 1000.0);
}

fn outside_of_info(engine: &Engine, page: &mut Page) {
    use MetricKind::Gauge;
    let start = engine.started_ms as f64 / 1000.0;
    page.single("redis_start_time_seconds", Gauge, "When it started, in Unix seconds.", start);
    page.single("redis_slowlog_length", Gauge, "Entries of the slow log.", engine.slowlog.len());
    let newest = engine.slowlog.newest(1);
    let (id, micros) = newest.first().map_or((0, 0), |e| (e.id, e.micros));
    page.single("redis_slowlog_last_id", Gauge, "Number of its newest entry.", id);
    let help = "How long that command took.";
    page.single("redis_last_slow_execution_duration_seconds", Gauge, help, micros as f64 / 1e6);
    let config = &engine.config;
    let help = "The option maxclients.";
    page.single("redis_config_maxclients", Gauge, help, config.int(Id::Maxclients));
    let help = "The option maxmemory.";
    page.single("redis_config_maxmemory", Gauge, help, config.bytes(Id::Maxmemory));
}

/// The cost of commands by phase, in seconds over all of them: the sampled cost, scaled to the
/// number of commands.
fn costs(engine: &Engine, page: &mut Page) {
    let b = engine.costs();
    let name = "apus_command_cost_seconds_total";
    page.metric(
        name,
        "counter",
        "Seconds by family of commands and phase, estimated from samples.",
    );
    for f in &b.families {
        let phases = [
            ("parse", f.parse),
            ("lock_wait", f.lock_wait),
            ("execute", f.execute),
            ("write", f.write),
        ];
        for (phase, nanos) in phases {
            let seconds = nanos * f.calls as f64 / 1e9;
            page.sample(name, &[("family", f.family), ("phase", phase)], seconds);
        }
    }
    let families = |value: fn(&observe::costs::FamilyCost) -> u64| {
        b.families.iter().map(move |f| (f.family, value(f))).collect::<Vec<_>>()
    };
    let help = "Commands whose phases were timed.";
    let name = "apus_command_cost_samples_total";
    page.labelled(name, (MetricKind::Counter, help), "family", families(|f| f.sampled));
    let help = "Times a command found a shard locked.";
    page.labelled(
        "apus_lock_waits_total",
        (MetricKind::Counter, help),
        "family",
        families(|f| f.lock_waits),
    );
    let t = engine.totals();
    let calls =
        [("read", t.reads_processed), ("write", t.writes_processed), ("wait", t.eventloop_cycles)];
    let help = "System calls of the event loops.";
    page.labelled("apus_syscalls_total", (MetricKind::Counter, help), "call", calls);
    let help = "Mean seconds of a system call, from samples.";
    let means = [("read", b.read / 1e9), ("write", b.write / 1e9)];
    page.labelled("apus_syscall_seconds", (MetricKind::Gauge, help), "call", means);
    let help = "Batches of input, each answered with one write.";
    page.single("apus_batches_total", MetricKind::Counter, help, t.batches);
}

fn threads(engine: &Engine, page: &mut Page) {
    let workers = engine.workers();
    let mut each =
        |name: &str, kind: MetricKind, help: &str, value: &dyn Fn(&engine::Worker) -> f64| {
            let samples = workers.iter().enumerate().map(|(i, w)| (i.to_string(), value(w)));
            page.labelled(name, (kind, help), "thread", samples);
        };
    let help = "Connections of each worker thread.";
    each("apus_thread_connections", MetricKind::Gauge, help, &|w| {
        w.connections.load(Relaxed) as f64
    });
    let help = "Commands executed by each worker thread.";
    each("apus_thread_commands_total", MetricKind::Counter, help, &|w| {
        w.stats.commands_processed.load(Relaxed) as f64
    });
    let help = "Seconds each worker thread was not waiting.";
    each("apus_thread_busy_seconds_total", MetricKind::Counter, help, &|w| {
        w.stats.eventloop_nanos.load(Relaxed) as f64 / 1e9
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.4.0\r\nos:Li\"nux\r\nuptime_in_seconds:7\r\n\r\n\
        # Persistence\r\nrdb_last_bgsave_status:ok\r\naof_last_write_status:err\r\n\
        # Commandstats\r\ncmdstat_get:calls=4,usec=10,usec_per_call=2.50,rejected_calls=1,failed_calls=0\r\n\
        # Errorstats\r\nerrorstat_ERR:count=3\r\n\
        # Latencystats\r\nlatency_percentiles_usec_get:p50=1.003,p99.9=2.007\r\n\
        # Keyspace\r\ndb3:keys=9,expires=2,avg_ttl=1500,subexpiry=0\r\n";

    #[test]
    fn fields_become_metrics() {
        let info = Info::parse(INFO);
        let mut page = Page::default();
        instance(&info, &mut page);
        commands(&info, &mut page);
        databases(&info, &mut page);
        for line in [
            "redis_commands_total{cmd=\"get\"} 4",
            "redis_commands_duration_seconds_total{cmd=\"get\"} 0.00001",
            "redis_commands_rejected_calls_total{cmd=\"get\"} 1",
            "redis_latency_percentiles_usec{cmd=\"get\",quantile=\"99.9\"} 2.007",
            "redis_latency_percentiles_usec_count{cmd=\"get\"} 4",
            "redis_errors_total{err=\"ERR\"} 3",
            "redis_db_keys{db=\"db3\"} 9",
            "redis_db_keys_expiring{db=\"db3\"} 2",
            "redis_db_avg_ttl_seconds{db=\"db3\"} 1.5",
        ] {
            assert!(page.0.lines().any(|l| l == line), "{line} is not in\n{}", page.0);
        }
        assert!(page.0.contains("os=\"Li\\\"nux\""), "{}", page.0);
        assert_eq!(info.number("rdb_last_bgsave_status"), Some("1"));
        assert_eq!(info.number("aof_last_write_status"), Some("0"));
        assert_eq!(info.number("redis_version"), None);
    }
}
