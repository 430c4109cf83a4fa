//! The broker's guarantees, over an object store's server, which `MINIO` or `AZURITE` is the binary of, or
//! `GCS` stands for. Not part of `cargo test` by itself, since it must not pass without one; `cargo xtask
//! test` has them installed.
#![cfg(feature = "cloud")]

mod common;
#[macro_use]
mod suite;
mod server;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{Backend, TempDir};
use log::storage::object::Bucket;
use server::Server;

/// A place of its own in the bucket of a server that all tests here share.
fn place() -> Backend {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let url = Server::shared().url(&format!("p{}", NUMBER.fetch_add(1, Relaxed)));
    let bucket = Bucket::connect(&url, Server::shared().environment()).expect("a bucket");
    Backend::Objects(bucket, TempDir::new())
}

contract!(bucket, crate::place());
