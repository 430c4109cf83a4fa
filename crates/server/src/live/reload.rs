//! New options while the server runs: the file that `live-config` names is read again when it changes, and by CONFIG
//! SET, with the same path or another.
//!
//! A file is checked whole before its options replace those in service; one that cannot be used changes nothing.
//! Connections and subscriptions stay. What was decided when they began (permissions, formats, limits of what waits for
//! a client) stays as it was; everything that is decided later follows the new options. A namespace that is gone is
//! kept by the channels that have subscribers, until these leave.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use ::live::Options;
use ::live::options::FromResp;
use config::{Config, Id};
use engine::{Engine, log};

use super::Live;
use super::hub::{Cx, Hub};
use crate::Shared;

/// Between two looks at the file.
const PAUSE: Duration = Duration::from_millis(250);

/// What tells one state of a file from another.
pub(super) type Stamp = Option<(SystemTime, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len(), meta.ino()))
}

/// The variables of the environment that are for live channels. Those of others stay out.
///
/// # Errors
/// The value of one is no text.
fn environment() -> Result<Vec<(String, String)>, String> {
    let ours = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("CENTRIFUGO_"))?;
        Some((name, value))
    });
    ours.map(|(name, value)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(format!("the variable {name} of the environment is no UTF-8")),
    })
    .collect()
}

/// The file in service.
#[derive(Default)]
pub(super) struct File {
    path: PathBuf,
    stamp: Stamp,
}

impl File {
    /// Reads the options of a file, and of the environment, and tells the log of what does nothing.
    ///
    /// # Errors
    /// A text with the path, and all that is wrong.
    pub(super) fn read(engine: &Engine, path: &str) -> Result<(Self, Arc<Options>), String> {
        // CONFIG SET dir may change where relative paths begin.
        let bad = |why: String| format!("live-config {path}: {why}");
        let path = std::path::absolute(path).map_err(|e| bad(e.to_string()))?;
        // Before it is read: a change in between is then seen as one.
        let stamp = stamp(&path);
        let text = std::fs::read(&path)
            .map_err(|e| format!("live-config {}: {}", path.display(), config::os_text(&e)))?;
        let variables = environment().map_err(&bad)?;
        let loaded = ::live::options::load(&text, &variables).map_err(|e| bad(e.to_string()))?;
        for note in &loaded.notes {
            log!(engine.log, Notice, "live-config: {}", note);
        }
        Ok((Self { path, stamp }, loaded.options))
    }
}

impl Live {
    /// Puts the options of a file into service.
    fn take(&self, engine: &Engine, path: &str) -> Result<(), String> {
        let (file, options) = File::read(engine, path)?;
        if options.prefixes != self.prefixes {
            return Err(format!(
                "live-config {path}: the prefix of keys (`engine.redis.prefix`) changes with a restart"
            ));
        }
        *self.file.lock() = file;
        *self.options.write() = options;
        for thread in 0..engine.workers().len() {
            engine.post(thread, engine::Message::Run(engine::Job::new(|_, _| {})));
        }
        log!(engine.log, Notice, "live-config {}: the options are in service", path);
        Ok(())
    }

    /// Reads the file again if it has changed.
    fn look(&self, engine: &Engine) {
        let path = {
            let mut file = self.file.lock();
            let now = stamp(&file.path);
            // A file that is being replaced comes back.
            if now.is_none() || now == file.stamp {
                return;
            }
            file.stamp = now;
            file.path.display().to_string()
        };
        if let Err(why) = self.take(engine, &path) {
            log!(engine.log, Warning, "{}; the options stay as they were", why);
        }
    }
}

/// CONFIG SET live-config.
///
/// # Errors
/// The file cannot be used; or live channels cannot begin or end while the server runs.
pub(crate) fn reconfigure(shared: &Shared, config: &Config) -> Result<(), String> {
    let path = config.string(Id::LiveConfig);
    match &shared.live {
        None if path.is_empty() => Ok(()),
        None => Err("live channels are off since the start: they begin with a restart".into()),
        Some(_) if path.is_empty() => {
            Err("live channels end with a restart; a file with {} lets nobody in".into())
        }
        Some(live) => live.take(&shared.engine, &path),
    }
}

/// Follows the file with a thread of its own.
///
/// # Errors
/// No thread can be started.
pub(crate) fn watch(shared: &Arc<Shared>) -> std::io::Result<()> {
    if shared.live.is_none() {
        return Ok(());
    }
    let weak = Arc::downgrade(shared);
    crate::start_thread("apus-live-config".to_owned(), move || {
        while let Some(shared) = after_pause(&weak) {
            if let Some(live) = &shared.live {
                live.look(&shared.engine);
            }
        }
    })?;
    Ok(())
}

fn after_pause(weak: &Weak<Shared>) -> Option<Arc<Shared>> {
    std::thread::sleep(PAUSE);
    weak.upgrade().filter(|shared| !shared.stopping())
}

impl Hub {
    /// Follows new options.
    pub(super) fn follow_options(&mut self, cx: &mut Cx<'_>) {
        let options = self.live().options();
        if Arc::ptr_eq(&options, &self.options) {
            return;
        }
        self.options = options;
        let live = self.live();
        for (name, there) in &mut self.channels {
            let Ok(found) = self.options.channel.find(name) else { continue };
            let (before, now) =
                (there.namespace.publish_from_resp, found.namespace.publish_from_resp);
            let engine = &cx.shared.engine;
            there.namespace = Arc::clone(found.namespace);
            if let Some(remote) = &live.remote {
                let now = now != FromResp::Off;
                if now != (before != FromResp::Off) {
                    remote.set_plain(name, cx.thread.index, now);
                }
                continue;
            }
            match (before != FromResp::Off, now != FromResp::Off) {
                (false, true) => cx.thread.tap(engine, name.as_bytes()),
                (true, false) => cx.thread.untap(engine, name.as_bytes()),
                _ => {}
            }
        }
        self.follow_other_topics(cx);
        // Times may have changed, and what was not due may be.
        let ids: Vec<u64> = self.clients.keys().copied().collect();
        ids.into_iter().for_each(|id| self.schedule(cx, id));
    }
}
