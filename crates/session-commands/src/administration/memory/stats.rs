//! MEMORY STATS: <https://redis.io/docs/latest/commands/memory-stats/>

use commands::Outcome;
use commands::row::{Group, Row, Scope};
use resp::{Args, Reply};

use super::Figures;
use crate::administration::command;
use engine::{Call, SessionCommand};

pub(super) static STATS: SessionCommand = command(
    Row {
        name: "memory|stats",
        group: Group::Server,
        since: "4.0.0",
        arity: 2,
        tips: super::TIPS,
        scope: Scope::Each,
        complexity: "O(1)",
        summary: "Answers where memory goes, in bytes.",
        syntax: "MEMORY STATS",
        transcript: r#"
> MEMORY STATS
~  1) "peak.allocated"
~  2) (integer) *
...
"#,
        ..Row::DEFAULT
    },
    run,
);

/// A figure of the reply.
enum Figure {
    Bytes(i64),
    Ratio(f64),
    /// A database's tables.
    Tables(u64),
}

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    use Figure::{Bytes, Ratio, Tables};
    let f = Figures::now(call);
    let bytes = |n: u64| Bytes(n as i64);
    let keys = f.keys() as u64;
    let mut all: Vec<(String, Figure)> = Vec::new();
    let mut put = |name: &str, figure| all.push((name.to_owned(), figure));
    put("peak.allocated", bytes(f.peak));
    put("total.allocated", bytes(f.used));
    put("startup.allocated", bytes(f.startup));
    put("replication.backlog", Bytes(0));
    put("clients.slaves", Bytes(0));
    put("clients.normal", bytes(f.clients));
    put("cluster.links", Bytes(0));
    put("aof.buffer", Bytes(0));
    put("lua.caches", Bytes(0));
    put("functions.caches", Bytes(0));
    for db in &f.dbs {
        put(&format!("db.{}", db.index), Tables(db.table));
    }
    put("overhead.db.hashtable.lut", bytes(f.dbs.iter().map(|db| db.table).sum()));
    put("overhead.db.hashtable.rehashing", bytes(f.resizing.1));
    put("overhead.total", bytes(f.overhead()));
    put("db.dict.rehashing.count", bytes(f.resizing.0));
    put("keys.count", bytes(keys));
    put("keys.bytes-per-key", bytes(f.dataset().checked_div(keys).unwrap_or(0)));
    put("dataset.bytes", bytes(f.dataset()));
    put("dataset.percentage", Ratio(f.dataset_percent()));
    put("peak.percentage", Ratio(f.peak_percent()));
    // The allocator does not report the memory that it keeps for itself: all of that is in the
    // resident bytes.
    put("allocator.allocated", bytes(f.used));
    put("allocator.active", bytes(f.rss));
    put("allocator.resident", bytes(f.rss));
    put("allocator.muzzy", Bytes(0));
    put("allocator-fragmentation.ratio", Ratio(1.0));
    put("allocator-fragmentation.bytes", Bytes(0));
    put("allocator-rss.ratio", Ratio(1.0));
    put("allocator-rss.bytes", Bytes(0));
    put("rss-overhead.ratio", Ratio(1.0));
    put("rss-overhead.bytes", Bytes(0));
    put("fragmentation", Ratio(f.fragmentation()));
    put("fragmentation.bytes", Bytes(f.fragmentation_bytes()));
    reply.map(all.len());
    for (name, figure) in all {
        reply.bulk(name);
        match figure {
            Bytes(n) => reply.int(n),
            Ratio(r) => reply.double(r),
            Tables(bytes) => {
                reply.map(2);
                reply.bulk("overhead.hashtable.main");
                reply.int(bytes as i64);
                // Deadlines live in the entries.
                reply.bulk("overhead.hashtable.expires");
                reply.int(0);
            }
        }
    }
    Ok(())
}
