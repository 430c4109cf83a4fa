//! `/debug/profile`: where the processor's time goes, for some seconds.

use std::sync::Arc;

use hyper::StatusCode;

use super::answer::{self, Deadline, Response};
use crate::Shared;

/// The longest profile, in seconds.
#[cfg(all(feature = "profiling", target_os = "linux"))]
const SECONDS_MAX: u64 = 300;

#[cfg(not(all(feature = "profiling", target_os = "linux")))]
pub(super) async fn answer(_: &str, _: &Arc<Shared>, _: &Deadline) -> Response {
    let why = match cfg!(target_os = "linux") {
        true => "This server was built without CPU profiles (the feature `profiling`).\n",
        false => "CPU profiles are taken on Linux only.\n",
    };
    answer::text(StatusCode::NOT_IMPLEMENTED, why)
}

#[cfg(all(feature = "profiling", target_os = "linux"))]
pub(super) async fn answer(query: &str, shared: &Arc<Shared>, deadline: &Deadline) -> Response {
    use std::time::Duration;

    use hyper::header::{CONTENT_DISPOSITION, HeaderValue};

    use super::sampler::{Refused, Sampler};
    use super::{pprof, symbols};

    let seconds = match answer::number(query, "seconds", 10, SECONDS_MAX) {
        Ok(n) => n,
        Err(why) => return answer::bad(why),
    };
    let svg = match answer::parameter(query, "format").unwrap_or("pprof") {
        "pprof" => false,
        "svg" => true,
        _ => return answer::bad("format must be pprof or svg\n"),
    };
    let mut sampler = match Sampler::start(seconds) {
        Ok(s) => s,
        Err(Refused::Busy) => {
            return answer::text(StatusCode::CONFLICT, "Another profile is being taken.\n");
        }
        Err(Refused::System(e)) => {
            return answer::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("cannot profile: {e}\n"),
            );
        }
    };
    deadline.extend(Duration::from_secs(seconds));
    engine::log!(shared.engine.log, Notice, "Taking a CPU profile for {} seconds", seconds);
    // When the client leaves, this is dropped with the sampler, which stops it.
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Threads that were born meanwhile.
        sampler.add_threads();
    }
    let samples = sampler.finish();
    // Reading the debug information takes a second of a processor: not of this thread.
    let written = tokio::task::spawn_blocking(move || {
        let write = || {
            let profile = symbols::resolve(&samples);
            if svg { pprof::flame_graph(&profile, seconds) } else { pprof::gzipped(&profile) }
        };
        // The debug information takes tens of megabytes for that second.
        stdx::mem::uncounted(write, |bytes| bytes.as_ref().ok().cloned())
    });
    match written.await {
        Ok(Some(bytes)) if svg => answer::body(StatusCode::OK, "image/svg+xml", bytes),
        Ok(Some(bytes)) => {
            let mut r = answer::body(StatusCode::OK, "application/octet-stream", bytes);
            let name = HeaderValue::from_static("attachment; filename=\"profile.pb.gz\"");
            r.headers_mut().insert(CONTENT_DISPOSITION, name);
            r
        }
        _ => answer::text(StatusCode::INTERNAL_SERVER_ERROR, "the profile could not be written\n"),
    }
}
