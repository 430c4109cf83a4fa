//! Periodic work on topics: retention, and the release of what unused topics need not keep.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Inner;
use crate::error::Result;
use crate::schedule::Schedule;
use crate::settings::Settings;
use crate::storage::{Limits, SETTINGS, TopicLog};
use crate::topic::{Phase, Topic};

/// How often there is maintenance.
const TURN: Duration = Duration::from_secs(5);
/// How many turns apart records that are too old or too many are removed.
const RETENTION_TURNS: u64 = 6;
/// How many turns lie between two such runs for unused topics.
const SLEEPERS_TURNS: u64 = 120;
/// The time without use after which a topic releases the resources that it needs for traffic.
const IDLE_AFTER: Duration = Duration::from_secs(30);

impl Inner {
    pub(super) fn trim(&self, t: &Topic, log: &Arc<dyn TopicLog>) -> Result<bool> {
        let settings = t.settings().unwrap_or_default();
        let (ms, bytes) = (settings.retention_ms, settings.retention_bytes);
        if self.options.read_only || ms == 0 && bytes == 0 {
            return Ok(false);
        }
        let us = ms.saturating_mul(1000);
        let before_us = if us == 0 { 0 } else { (self.clock)().saturating_sub(us) };
        let work = t.work.lock();
        let state = || work.as_ref().map_or_else(Vec::new, |w| w.producers.encode());
        log.trim(&Limits { before_us, bytes }, &state)
    }

    /// See [`TopicLog::release_idle`].
    pub(super) fn release_idle(&self, t: &Topic, log: &Arc<dyn TopicLog>) {
        // A thread that is storing is not idle.
        let Some(work) = t.work.try_lock() else { return };
        match work.as_ref() {
            Some(work) if !self.options.read_only => {
                log.release_idle(Some(&|| work.producers.encode()))
            }
            _ => log.release_idle(None),
        }
    }

    fn turn(&self, turn: u64) {
        let topics: Vec<Arc<Topic>> = self.topics.read().values().cloned().collect();
        for t in &topics {
            let Some(log) = t.log() else { continue };
            if turn.is_multiple_of(RETENTION_TURNS)
                && let Err(e) = self.trim(t, &log)
            {
                (self.tell)(&format!("topic '{}': {e}", t.name));
            }
            let state = t.state.lock();
            let busy = state.phase != Phase::Idle || state.writing.is_some();
            let idle = !busy && state.used.elapsed() > IDLE_AFTER;
            drop(state);
            if idle {
                self.release_idle(t, &log);
            }
        }
        if topics.iter().all(|t| t.state.lock().used.elapsed() > IDLE_AFTER) {
            self.pool.clear();
        }
        if turn % SLEEPERS_TURNS == 1 && !self.options.read_only {
            self.trim_sleepers();
        }
    }

    /// Retention of unused topics.
    fn trim_sleepers(&self) {
        let trim = |name: &str| -> Result<()> {
            if self.topics.read().contains_key(name) {
                return Ok(());
            }
            let Some(text) = self.storage.get(name, SETTINGS)? else { return Ok(()) };
            let settings = Settings::default().with_json(&text)?;
            if settings.retention_ms != 0 || settings.retention_bytes != 0 {
                let t = self.entry(name);
                drop(self.open(&t, false)?);
                if let Some(log) = t.log() {
                    self.trim(&t, &log)?;
                }
            }
            Ok(())
        };
        for name in self.storage.topics().unwrap_or_default() {
            if let Err(e) = trim(&name) {
                (self.tell)(&format!("topic '{name}': {e}"));
            }
        }
    }
}

/// Maintains the topics from time to time, as long as the broker lives.
pub(super) fn maintain(inner: Weak<Inner>, schedule: &Arc<Schedule>, turn: u64) {
    let again = Arc::downgrade(schedule);
    schedule.add(
        Instant::now() + TURN,
        Box::new(move || {
            if let Some(i) = inner.upgrade()
                && !i.closed.load(Relaxed)
            {
                i.turn(turn);
                drop(i);
                if let Some(schedule) = again.upgrade() {
                    maintain(inner, &schedule, turn + 1);
                }
            }
        }),
    );
}
