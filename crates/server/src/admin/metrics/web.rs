//! Metrics of the web port, by route.

use super::Page;
use super::names::MetricKind::{self, Counter, Gauge};
use crate::web::{CLASSES, PERCENTILES, Total, Web};

/// Figures that are not of one route: their names, metrics, kinds and helps.
const FIGURES: [(&str, &str, MetricKind, &str); 7] = [
    ("failures", "failures_total", Counter, "Renderings that failed."),
    ("cache_evictions", "cache_evictions_total", Counter, "Pages that made room for others."),
    ("cache_pages", "cache_pages", Gauge, "Pages that are kept."),
    (
        "cache_bytes",
        "cache_bytes",
        Gauge,
        "Bytes of pages that are kept, of compressed forms and of fragments.",
    ),
    (
        "compressed_bytes",
        "compressed_bytes",
        Gauge,
        "Bytes of compressed forms of pages and files.",
    ),
    ("access_log_lines", "access_log_lines_total", Counter, "Lines of the access log."),
    ("access_log_dropped", "access_log_dropped_total", Counter, "Lines that were not written."),
];

pub(super) fn web(web: &Web, page: &mut Page) {
    for (name, value) in web.figures() {
        if let Some((_, metric, kind, help)) = FIGURES.iter().find(|(n, ..)| *n == name) {
            page.single(&format!("apus_web_{metric}"), *kind, help, value);
        }
    }
    let routes = web.totals();
    if routes.is_empty() {
        return;
    }
    let name = "apus_web_requests_total";
    page.metric(name, "counter", "Requests to the web port, by route and class of status.");
    for t in &routes {
        for (class, n) in CLASSES.iter().zip(t.classes).filter(|(_, n)| *n > 0) {
            page.sample(name, &[("route", &t.route), ("class", class)], n);
        }
    }
    let mut each = |metric: &str, kind: MetricKind, help: &str, value: fn(&Total) -> u64| {
        let samples = routes.iter().map(|t| (&t.route, value(t)));
        page.labelled(&format!("apus_web_{metric}"), (kind, help), "route", samples);
    };
    each("body_bytes_total", Counter, "Bytes of bodies.", |t| t.bytes);
    each("cache_hits_total", Counter, "Requests answered with a kept page.", |t| t.hits);
    each("renderings_total", Counter, "Templates that were rendered.", |t| t.renderings);
    each("route_cache_bytes", Gauge, "Bytes of pages that are kept.", |t| t.memory);
    let name = "apus_web_request_seconds";
    page.metric(
        name,
        "summary",
        "Seconds from a whole request to its whole answer, by percentile.",
    );
    for t in &routes {
        for (_, percent) in PERCENTILES {
            let quantile = (percent / 100.0).to_string();
            let seconds = t.latency.percentile(percent) as f64 / 1e9;
            page.sample(name, &[("route", &t.route), ("quantile", &quantile)], seconds);
        }
        page.sample(&format!("{name}_count"), &[("route", &t.route)], t.latency.total());
    }
}
