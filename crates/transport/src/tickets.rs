//! The server's memory of sessions, for clients that resume them: bounded in number and in age.
//!
//! Sessions are kept here and not in tickets that clients bring: so `tls-session-cache-size` and
//! `tls-session-cache-timeout` mean what they say, and a TLS 1.3 ticket serves once.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::server::StoresServerSessions;

/// See the module's text.
pub(crate) struct Memory {
    /// Sessions at most; 0 for no bound.
    max: usize,
    timeout: Duration,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    sessions: HashMap<Vec<u8>, (Instant, Vec<u8>)>,
    /// In the order of their arrival. Sessions that were taken out since are still here.
    order: VecDeque<(Instant, Vec<u8>)>,
}

impl Memory {
    pub(crate) fn new(max: usize, timeout: Duration) -> Self {
        Self { max, timeout, kept: Mutex::default() }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Kept) -> R) -> R {
        f(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put_at(&self, now: Instant, key: Vec<u8>, value: Vec<u8>) {
        self.with(|kept| {
            kept.order.push_back((now, key.clone()));
            kept.sessions.insert(key, (now, value));
            let max = if self.max == 0 { usize::MAX } else { self.max };
            while let Some((at, key)) = kept.order.front()
                && (kept.order.len() > max || now.saturating_duration_since(*at) > self.timeout)
            {
                if kept.sessions.get(key).is_some_and(|(kept_at, _)| kept_at == at) {
                    kept.sessions.remove(key);
                }
                kept.order.pop_front();
            }
        });
    }

    fn is_young(&self, now: Instant, at: Instant) -> bool {
        now.saturating_duration_since(at) <= self.timeout
    }

    fn get_at(&self, now: Instant, key: &[u8]) -> Option<Vec<u8>> {
        self.with(|kept| {
            let (at, value) = kept.sessions.get(key)?;
            self.is_young(now, *at).then(|| value.clone())
        })
    }

    fn take_at(&self, now: Instant, key: &[u8]) -> Option<Vec<u8>> {
        self.with(|kept| {
            let (at, value) = kept.sessions.remove(key)?;
            self.is_young(now, at).then_some(value)
        })
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the sessions: they are secret.
        f.debug_struct("Memory").field("max", &self.max).finish_non_exhaustive()
    }
}

impl StoresServerSessions for Memory {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.put_at(Instant::now(), key, value);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get_at(Instant::now(), key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.take_at(Instant::now(), key)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_in_number_and_age() {
        let memory = Memory::new(2, Duration::from_secs(10));
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        for (second, name) in [(0, "a"), (1, "b"), (2, "c")] {
            memory.put_at(at(second), name.into(), name.into());
        }
        assert_eq!(memory.get_at(at(3), b"a"), None, "there were too many");
        assert_eq!(memory.get_at(at(11), b"b"), Some(b"b".to_vec()));
        assert_eq!(memory.get_at(at(12), b"b"), None, "too old");
        assert_eq!(memory.take_at(at(12), b"c"), Some(b"c".to_vec()));
        assert_eq!(memory.take_at(at(12), b"c"), None, "it serves once");
        memory.put_at(at(30), b"d".to_vec(), b"d".to_vec());
        memory.with(|kept| assert_eq!((kept.sessions.len(), kept.order.len()), (1, 1)));
    }

    #[test]
    fn a_session_that_was_stored_again_outlives_its_first_time() {
        let memory = Memory::new(0, Duration::from_secs(10));
        let start = Instant::now();
        memory.put_at(start, b"a".to_vec(), b"1".to_vec());
        memory.put_at(start + Duration::from_secs(9), b"a".to_vec(), b"2".to_vec());
        memory.put_at(start + Duration::from_secs(15), b"b".to_vec(), b"3".to_vec());
        let kept = memory.get_at(start + Duration::from_secs(15), b"a");
        assert_eq!(kept, Some(b"2".to_vec()));
    }
}
