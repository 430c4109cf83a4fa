//! `/debug/topkeys`: the reply of APUS.TOPKEYS, as JSON.

use std::sync::Arc;

use super::answer::{self, Response, number, parameter};
use crate::Shared;
use observe::topkeys::By;
use serde_json::{Value, json};

pub(super) fn answer(query: &str, shared: &Arc<Shared>) -> Response {
    let (by, unit, divisor) = match parameter(query, "by").unwrap_or("hits") {
        "hits" => (By::Hits, "hits_per_second", 1.0),
        "bytes" => (By::Bytes, "bytes_per_second", 1.0),
        "cpu" => (By::Cpu, "cpu_usec_per_second", 1000.0),
        _ => return answer::bad("by must be hits, bytes or cpu\n"),
    };
    let count = match number(query, "count", 10, 128) {
        Ok(n) => n as usize,
        Err(why) => return answer::bad(why),
    };
    let keys = shared.engine.top_keys(by, count).into_iter().map(|k| {
        json!({
            // Bytes that are not UTF-8 are replaced: a page for people, not a way to get keys.
            "key": String::from_utf8_lossy(&k.key),
            "key_bytes": k.len,
            "db": k.db,
            unit: (k.per_second / divisor * 1000.0).round() / 1000.0,
            "percent": (k.share * 100.0).round() / 100.0,
        })
    });
    answer::json(&Value::Array(keys.collect()))
}
