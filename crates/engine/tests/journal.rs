//! The journal under the engine: what is replayed is what was there, on a disk that fails too.

mod common;
mod support;

use std::path::PathBuf;
use std::sync::Arc;

use persist::disk::sim::{Faults, SimDisk};
use persist::journal::Place;
use resp::Proto;
use stdx::rng::Rng;
use support::Server;

fn place(segment_bytes: u64) -> Place {
    let dir = PathBuf::from("/data/aof");
    Place { dir, stem: "a.aof".into(), segment_bytes, ahead_bytes: 8192 }
}

/// A server whose journal is on `disk`.
fn open(disk: &SimDisk, fsync: &str, segment_bytes: u64) -> Result<Server, String> {
    let lines = format!(
        "threads 1\nappendonly yes\nappendfsync {fsync}\nenable-debug-command yes\n\
         set-max-intset-entries 8\nhash-max-listpack-entries 8\nlist-max-listpack-size 8\n"
    );
    let server = Server::before_threads(&lines);
    server.engine().open_journal_at(Arc::new(disk.clone()), place(segment_bytes))?;
    Ok(server.with_thread())
}
