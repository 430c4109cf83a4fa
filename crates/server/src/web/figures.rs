//! What the web port tells of itself: fields of INFO, and JSON for the admin port.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};

use super::{Total, Web};

/// Percentiles that are told, with their names.
pub(crate) const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)];

/// Names of the classes of statuses.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

impl Web {
    /// Counts that are not of one route: names and values.
    pub(crate) fn figures(&self) -> [(&'static str, u64); 10] {
        let (cache, access) = (&self.cache, &self.access);
        let counts = &cache.counts;
        [
            ("cache_hits", counts.hits.load(Relaxed)),
            ("renderings", counts.renderings.load(Relaxed)),
            ("parts_kept", counts.parts_kept.load(Relaxed)),
            ("failures", counts.failures.load(Relaxed)),
            ("cache_evictions", counts.evictions.load(Relaxed)),
            ("cache_pages", cache.len() as u64),
            ("cache_bytes", cache.bytes() as u64),
            ("compressed_bytes", cache.compressed.load(Relaxed) as u64),
            ("access_log_lines", access.lines.load(Relaxed)),
            ("access_log_dropped", access.dropped.load(Relaxed)),
        ]
    }

    /// The fields of INFO's section.
    pub(crate) fn info(&self) -> Vec<(String, String)> {
        let routes = self.totals();
        let mut all = Total::default();
        routes.iter().for_each(|route| all.merge(route));
        let mut fields = vec![("web_requests".to_owned(), all.requests.to_string())];
        let mut put = |name: String, value: u64| fields.push((name, value.to_string()));
        for (name, n) in CLASSES.iter().zip(all.classes) {
            put(format!("web_responses_{name}"), n);
        }
        put("web_body_bytes".to_owned(), all.bytes);
        for (name, percent) in PERCENTILES {
            put(format!("web_usec_{name}"), all.latency.percentile(percent) / 1000);
        }
        for (name, n) in self.figures() {
            put(format!("web_{name}"), n);
        }
        for (i, route) in routes.iter().enumerate() {
            fields.push((format!("web_route_{i}"), line(route)));
        }
        fields
    }

    /// All of it, for `/debug/web`.
    pub(crate) fn json(&self) -> Value {
        let figures: serde_json::Map<_, _> =
            self.figures().into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect();
        let routes: Vec<Value> = self.totals().iter().map(of_route).collect();
        let mut all = Value::Object(figures);
        all["routes"] = routes.into();
        all
    }
}

/// The name comes last: it may contain commas.
fn line(t: &Total) -> String {
    let mut text = format!("requests={}", t.requests);
    for (name, n) in CLASSES.iter().zip(t.classes).filter(|(_, n)| *n > 0) {
        text.push_str(&format!(",{name}={n}"));
    }
    text.push_str(&format!(
        ",body_bytes={},hits={},renderings={},memory={}",
        t.bytes, t.hits, t.renderings, t.memory
    ));
    for (name, percent) in PERCENTILES {
        text.push_str(&format!(",usec_{name}={}", t.latency.percentile(percent) / 1000));
    }
    text.push_str(",route=");
    text.push_str(&t.route);
    text
}

fn of_route(t: &Total) -> Value {
    let classes: serde_json::Map<_, _> =
        CLASSES.iter().zip(t.classes).map(|(name, n)| ((*name).to_owned(), n.into())).collect();
    let micros: serde_json::Map<_, _> = PERCENTILES
        .iter()
        .map(|(name, p)| ((*name).to_owned(), (t.latency.percentile(*p) as f64 / 1e3).into()))
        .collect();
    json!({
        "route": t.route,
        "requests": t.requests,
        "responses": classes,
        "body_bytes": t.bytes,
        "hits": t.hits,
        "renderings": t.renderings,
        "memory": t.memory,
        "usec": micros,
    })
}
