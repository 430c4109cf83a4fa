//! The figures of replication that have labels: of a primary by replica, and of a replica by its primary.
//!
//! Names and labels are redis_exporter's; `redis_connected_slave_lag_bytes` is an addition.

use super::names::MetricKind;
use super::{Info, Page, part};

/// Appends them.
pub(super) fn put(info: &Info<'_>, page: &mut Page) {
    replicas(info, page);
    primary(info, page);
}

/// The lines `slaveN` of INFO.
fn replicas(info: &Info<'_>, page: &mut Page) {
    let numbered = |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    let lines = info.all("slave").filter(|(name, _)| numbered(name));
    let offset = |text: &str| text.parse::<i64>().ok();
    let end = info.get("master_repl_offset").and_then(offset);
    let mut gauge = |name: &str, help: &str, value: &dyn Fn(&str) -> Option<i64>| {
        let mut first = true;
        for (_, line) in lines.clone() {
            let Some(value) = value(line) else { continue };
            if std::mem::take(&mut first) {
                page.metric(name, MetricKind::Gauge.name(), help);
            }
            let labels = [("slave_ip", "ip"), ("slave_port", "port"), ("slave_state", "state")];
            let labels = labels.map(|(label, of)| (label, part(line, of).unwrap_or("")));
            page.sample(name, &labels, value);
        }
    };
    let acknowledged = |line: &str| offset(part(line, "offset")?);
    gauge(
        "redis_connected_slave_offset_bytes",
        "The offset that each replica has acknowledged.",
        &acknowledged,
    );
    gauge(
        "redis_connected_slave_lag_bytes",
        "Bytes of the stream that each replica has not acknowledged.",
        &|line| Some((end? - acknowledged(line)?).max(0)),
    );
    gauge(
        "redis_connected_slave_lag_seconds",
        "Seconds since each replica has acknowledged something.",
        &|line| offset(part(line, "lag")?),
    );
}

/// What a replica says of its link.
fn primary(info: &Info<'_>, page: &mut Page) {
    let (Some(host), Some(port)) = (info.get("master_host"), info.get("master_port")) else {
        return;
    };
    let labels = [("master_host", host), ("master_port", port)];
    let mut gauge = |name: &str, help: &str, labels: &[(&str, &str)], value: &str| {
        page.metric(name, MetricKind::Gauge.name(), help);
        page.sample(name, labels, value);
    };
    let read_only = info.get("slave_read_only").unwrap_or("");
    let of_replica = [labels[0], labels[1], ("read_only", read_only)];
    let help = "Always 1; the labels say whom it follows.";
    gauge("redis_slave_info", help, &of_replica, "1");
    let up = if info.get("master_link_status") == Some("up") { "1" } else { "0" };
    gauge("redis_master_link_up", "1 while the stream of the primary arrives.", &labels, up);
    for (field, help) in [
        (
            "master_last_io_seconds_ago",
            "Seconds since the primary has said something; -1: the link is down.",
        ),
        ("master_sync_in_progress", "1 while a full copy arrives or is loaded."),
        ("slave_repl_offset", "The offset up to which the stream has been executed."),
    ] {
        if let Some(value) = info.number(field) {
            gauge(&format!("redis_{field}"), help, &labels, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(info: &str) -> String {
        let mut page = Page::default();
        put(&Info::parse(info), &mut page);
        page.0
    }

    fn samples(page: &str) -> Vec<&str> {
        page.lines().filter(|line| !line.starts_with('#')).collect()
    }

    #[test]
    fn a_primary_tells_of_each_replica() {
        let page = page(
            "role:master\nslave_priority:100\n\
             slave0:ip=10.0.0.1,port=7000,state=online,offset=90,lag=1\n\
             slave1:ip=10.0.0.2,port=7001,state=wait_bgsave,offset=0,lag=0\nmaster_repl_offset:120\n",
        );
        let first = "{slave_ip=\"10.0.0.1\",slave_port=\"7000\",slave_state=\"online\"}";
        let second = "{slave_ip=\"10.0.0.2\",slave_port=\"7001\",slave_state=\"wait_bgsave\"}";
        let mut expected = Vec::new();
        for (name, values) in
            [("offset_bytes", [90, 0]), ("lag_bytes", [30, 120]), ("lag_seconds", [1, 0])]
        {
            for (labels, value) in [first, second].iter().zip(values) {
                expected.push(format!("redis_connected_slave_{name}{labels} {value}"));
            }
        }
        assert_eq!(samples(&page), expected);
        assert_eq!(page.matches("# TYPE").count(), 3);
    }

    #[test]
    fn a_replica_tells_of_its_link() {
        let page = page(
            "role:slave\nmaster_host:db\nmaster_port:6379\nmaster_link_status:down\n\
             master_last_io_seconds_ago:-1\nmaster_sync_in_progress:1\nslave_repl_offset:7\nslave_read_only:1\n",
        );
        let labels = "{master_host=\"db\",master_port=\"6379\"}";
        let expected = [
            "redis_slave_info{master_host=\"db\",master_port=\"6379\",read_only=\"1\"} 1"
                .to_owned(),
            format!("redis_master_link_up{labels} 0"),
            format!("redis_master_last_io_seconds_ago{labels} -1"),
            format!("redis_master_sync_in_progress{labels} 1"),
            format!("redis_slave_repl_offset{labels} 7"),
        ];
        assert_eq!(samples(&page), expected);
    }
}
