//! Asking a worker thread: only those may look at the keyspace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use engine::{Engine, Job, Message, Thread};
use tokio::sync::oneshot;

/// A worker that does not answer for so long is executing something slow; the tools that ask give
/// up after ten seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs `job` on a worker thread, each time on another one. `None` when it does not come to it in
/// time.
pub(super) async fn worker<T: Send + 'static>(
    engine: &Arc<Engine>,
    job: impl FnOnce(&Engine, &mut Thread) -> T + Send + 'static,
) -> Option<T> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let (answer, answered) = oneshot::channel();
    let job = Job::new(move |engine, thread| {
        if !answer.is_closed() {
            // The asking thread may have left meanwhile.
            let _ = answer.send(job(engine, thread));
        }
    });
    let workers = engine.workers().len().max(1);
    engine.post(NEXT.fetch_add(1, Relaxed) % workers, Message::Run(job));
    tokio::time::timeout(PATIENCE, answered).await.ok()?.ok()
}
