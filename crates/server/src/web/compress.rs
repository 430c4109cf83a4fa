//! Compressing on a thread of its own: no event loop waits for it.
//!
//! The first request that wants a form starts the thread and is answered with what there is. When more is to be
//! compressed than waits already, the form is asked for again by a later request.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use config::Id;
use engine::log;
use http1::Coding;
use pages::{Cache, Content};

use crate::Shared;

/// Jobs that wait.
const JOBS_MAX: usize = 256;

/// A form to be made.
struct Job {
    content: Arc<Content>,
    coding: Coding,
    /// Bytes that pages and their forms may take.
    max: usize,
}

/// See the module's text.
#[derive(Default)]
pub(super) struct Compressor(OnceLock<Option<SyncSender<Job>>>);

impl Compressor {
    /// Has a form made.
    pub(super) fn add(&self, shared: &Shared, content: &Arc<Content>, coding: Coding) {
        let max = shared.engine.config.bytes(Id::WebCacheSize) as usize;
        let sender = self.0.get_or_init(|| start(shared));
        let job = Job { content: Arc::clone(content), coding, max };
        if sender.as_ref().is_none_or(|sender| sender.try_send(job).is_err()) {
            content.forget(coding);
        }
    }
}

/// The thread ends with the sender.
fn start(shared: &Shared) -> Option<SyncSender<Job>> {
    let (sender, jobs) = sync_channel::<Job>(JOBS_MAX);
    let cache: Arc<Cache> = Arc::clone(&shared.web.cache);
    let started = crate::start_thread("apus-web-coding".to_owned(), move || {
        for Job { content, coding, max } in jobs {
            // A page that was replaced meanwhile is held by the job only.
            if Arc::strong_count(&content) > 1 {
                // Pages keep the other half.
                content.compress(coding, &cache.compressed, max / 2);
                cache.shrink(max);
            }
        }
    });
    match started {
        Ok(_) => Some(sender),
        Err(e) => {
            log!(shared.engine.log, Warning, "web-compression: {}", e);
            None
        }
    }
}
