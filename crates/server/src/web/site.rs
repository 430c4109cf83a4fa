//! The directory of the site, which a thread of its own looks at: it is read again when a file has changed.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use config::Id;
use engine::log;
use pages::site::{fingerprint, read_dir};

use super::functions;
use crate::Shared;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// Reads the site that `web-root` names, and follows its changes. Does nothing without one.
///
/// # Errors
/// The directory cannot be read, or no thread started.
pub(crate) fn watch(shared: &Arc<Shared>) -> io::Result<()> {
    let root = shared.engine.config.string(Id::WebRoot);
    if root.is_empty() {
        return Ok(());
    }
    // CONFIG SET dir may change where relative paths begin.
    let root = std::path::absolute(root)?;
    // Before it is read: a change in between is then seen as one.
    let mut seen = fingerprint(&root)
        .map_err(|e| io::Error::new(e.kind(), format!("web-root {}: {e}", root.display())))?;
    read(shared, &root).map_err(|e| io::Error::new(e.kind(), format!("web-root: {e}")))?;
    let weak = Arc::downgrade(shared);
    crate::start_thread("apus-web-root".to_owned(), move || {
        while let Some(shared) = after_pause(&weak) {
            functions::follow(&shared);
            let Ok(now) = fingerprint(&root) else { continue };
            if now == seen {
                continue;
            }
            seen = now;
            if let Err(e) = read(&shared, &root) {
                log!(shared.engine.log, Warning, "web-root: {}; the site stays as it was", e);
            }
        }
    })?;
    Ok(())
}

fn after_pause(weak: &Weak<Shared>) -> Option<Arc<Shared>> {
    std::thread::sleep(PAUSE);
    weak.upgrade().filter(|shared| !shared.stopping())
}

fn read(shared: &Arc<Shared>, root: &Path) -> io::Result<()> {
    let sources = read_dir(root)?;
    let web = &shared.web;
    web.functions.take(&sources);
    functions::follow(shared);
    let mut parts = web.parts.lock();
    parts.dir = sources;
    web.rebuild(&shared.engine, &parts, &root.display().to_string());
    Ok(())
}
