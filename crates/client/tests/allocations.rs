//! A SET allocates nothing once its connection is warm: not in the caller, not in the driver.

#![expect(unsafe_code, reason = "a counting allocator is an allocator")]

mod common;

use apus_client::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_set_allocates_nothing() {
    let kind = common::kinds()[0];
    let server = common::Server::start(kind, &[]);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = Client::connect(&server.url()).await.expect("connected");
        let run = |rounds: usize| {
            let client = client.clone();
            async move {
                let tasks: Vec<_> = (0..64)
                    .map(|_| {
                        let client = client.clone();
                        tokio::spawn(async move {
                            for _ in 0..rounds {
                                client.set("key", "value").ex(100).await.expect("set");
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.expect("no panic");
                }
            }
        };
        run(100).await;
        let before = COUNT.load(Relaxed);
        run(1000).await;
        let per_set = (COUNT.load(Relaxed) - before) as f64 / 64_000.0;
        eprintln!("{per_set} allocations per SET");
        // The tasks themselves are some hundred allocations.
        assert!(per_set < 0.02, "{per_set} allocations per SET");
    });
}
