//! `/debug/topkeys`: what APUS.TOPKEYS answers, as JSON.

use std::sync::Arc;

use super::http::{self, Response, number, parameter};
use super::json;
use crate::Shared;
use engine::By;

pub(super) fn answer(query: &str, shared: &Arc<Shared>) -> Response {
    let (by, unit, divisor) = match parameter(query, "by").unwrap_or("hits") {
        "hits" => (By::Hits, "hits_per_second", 1.0),
        "bytes" => (By::Bytes, "bytes_per_second", 1.0),
        "cpu" => (By::Cpu, "cpu_usec_per_second", 1000.0),
        _ => return http::bad("by must be hits, bytes or cpu\n"),
    };
    let count = match number(query, "count", 10, 128) {
        Ok(n) => n as usize,
        Err(why) => return http::bad(why),
    };
    let keys = shared.engine.top_keys(by, count).into_iter().map(|k| {
        json::object([
            // Bytes that are not UTF-8 are replaced: a page for people, not a way to get keys.
            ("key", json::string(&String::from_utf8_lossy(&k.key))),
            ("key_bytes", k.len.to_string()),
            ("db", k.db.to_string()),
            (unit, format!("{:.3}", k.per_second / divisor)),
            ("percent", format!("{:.2}", k.share)),
        ])
    });
    http::json(json::array(keys))
}
