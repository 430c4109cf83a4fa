//! `/debug/heap`: where the memory is.
//!
//! `apus` is the server's own count: everything that passes through its allocator. `allocator` is
//! mimalloc's own account as it writes it: `page_bins` has, for every size class, how many pages (of
//! `page_size` bytes) are cut into blocks of `block_size`, which is as near to a heap profile as one
//! comes without paying for every allocation.

#![expect(unsafe_code, reason = "the allocator hands its statistics out as a C string")]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use libmimalloc_sys::{mi_free, mi_stats_get_json};
use serde_json::{Map, Value, json};

use super::answer::{self, Response};
use super::ask;
use crate::Shared;

pub(super) async fn answer(shared: &Arc<Shared>) -> Response {
    let Some(info) = ask::worker(&shared.engine, session_commands::info).await else {
        return answer::busy();
    };
    let field = |name: &str| {
        let line = info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|l| l.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let dbs = info.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("db")?.split_once(':')?;
        let keys = rest.split(',').find_map(|part| part.strip_prefix("keys="))?;
        Some((format!("db{name}"), Value::from(keys.parse::<u64>().ok()?)))
    });
    let apus = json!({
        "used": field("used_memory"),
        "peak": field("used_memory_peak"),
        "resident": field("used_memory_rss"),
        "at_start": field("used_memory_startup"),
        "keys_and_values": field("used_memory_dataset"),
        "tables_clients_and_start": field("used_memory_overhead"),
        "clients": field("mem_clients_normal"),
        "lazy_free_pending_objects": field("lazyfree_pending_objects"),
    });
    let keys: Map<String, Value> = dbs.collect();
    answer::json(&json!({ "apus_bytes": apus, "keys": keys, "allocator": allocator() }))
}

/// mimalloc's statistics, which it writes as JSON. `None` when it has no memory for them.
fn allocator() -> Option<Value> {
    // SAFETY: with a null buffer it allocates one and returns it, or null.
    let text = unsafe { mi_stats_get_json(0, std::ptr::null_mut()) };
    if text.is_null() {
        return None;
    }
    // SAFETY: it is a string that ends with NUL, and no other code has it.
    let json = serde_json::from_slice(unsafe { CStr::from_ptr(text) }.to_bytes()).ok();
    // SAFETY: allocated by the same allocator, and not used any more.
    unsafe { mi_free(text.cast::<c_void>()) };
    json
}
