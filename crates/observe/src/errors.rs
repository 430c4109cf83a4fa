//! Error replies by their first word, for INFO errorstats.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Kinds of error replies that are counted.
const KINDS_MAX: usize = 128;

/// See the module's text.
#[derive(Debug, Default)]
pub struct Errors(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    counts: BTreeMap<String, u64>,
    /// There were too many kinds, and none is counted until [`reset`](Errors::reset).
    ended: bool,
}

impl Errors {
    /// Counts an error reply. If there are too many kinds with it, no more are counted: then the kinds are
    /// returned, for the log.
    #[cold]
    pub fn count(&self, text: &str) -> Option<Vec<String>> {
        // As Redis: the word up to the first space.
        let word = text.split([' ', '\r', '\n']).next().unwrap_or("ERR");
        let mut inner = self.0.lock();
        if inner.ended {
            return None;
        }
        if let Some(n) = inner.counts.get_mut(word) {
            *n += 1;
        } else if inner.counts.len() < KINDS_MAX {
            inner.counts.insert(word.to_owned(), 1);
        } else {
            // Scripts make words of their own: one that makes ever new ones must not fill memory.
            let known = std::mem::take(&mut inner.counts);
            inner.counts.insert("ERRORSTATS_DISABLED".into(), 1);
            inner.ended = true;
            return Some(known.into_keys().collect());
        }
        None
    }

    /// All kinds, and how often each was sent.
    pub fn all(&self) -> Vec<(String, u64)> {
        self.0.lock().counts.iter().map(|(word, n)| (word.clone(), *n)).collect()
    }

    /// CONFIG RESETSTAT.
    pub fn reset(&self) {
        *self.0.lock() = Inner::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_count_by_word_until_there_are_too_many_kinds() {
        let errors = Errors::default();
        for text in ["ERR one", "ERR two", "WRONGTYPE", "NOAUTH\r\n"] {
            assert_eq!(errors.count(text), None);
        }
        let kind = |word: &str, n| (word.to_owned(), n);
        assert_eq!(errors.all(), [kind("ERR", 2), kind("NOAUTH", 1), kind("WRONGTYPE", 1)]);
        let known = (0..1000).find_map(|i| errors.count(&format!("E{i} x"))).expect("too many");
        assert_eq!(known.len(), KINDS_MAX);
        assert_eq!(errors.count("ERR"), None);
        assert_eq!(errors.all(), [kind("ERRORSTATS_DISABLED", 1)]);
        errors.reset();
        errors.count("ERR");
        assert_eq!(errors.all(), [kind("ERR", 1)]);
    }
}
