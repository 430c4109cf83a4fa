//! ACL LOG: the latest refusals, and counts of all.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::check::Reason;

/// Refusals that are alike are one entry while they are at most this far apart.
const TOGETHER_MS: i64 = 60_000;
/// Among this many of the newest entries one that is alike is looked for.
const LOOKED_AT: usize = 10;

/// Where a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// As a command of its own.
    TopLevel,
    /// Within a transaction, when it was queued or when it was to run.
    Multi,
    /// Within a script or a function.
    Script,
}

impl Origin {
    /// As ACL LOG calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TopLevel => "toplevel",
            Self::Multi => "multi",
            Self::Script => "lua",
        }
    }
}

/// Refusals that are alike.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Counts up from 0.
    pub id: u64,
    /// How many they are.
    pub count: u64,
    /// The missing permission.
    pub reason: Reason,
    /// Where the command was refused.
    pub context: Origin,
    /// The command, key or channel.
    pub object: Vec<u8>,
    /// The user's name.
    pub user: Vec<u8>,
    /// The last client's line of CLIENT LIST.
    pub client: String,
    /// Unix milliseconds of the first and the last of them.
    pub created: i64,
    /// See `created`.
    pub updated: i64,
}

/// One refusal.
#[derive(Clone, Debug)]
pub struct Refusal<'a> {
    /// The missing permission.
    pub reason: Reason,
    /// Where the command was refused.
    pub context: Origin,
    /// The command, key or channel.
    pub object: &'a [u8],
    /// The user's name.
    pub user: &'a [u8],
    /// The connection, as CLIENT LIST shows it.
    pub client: String,
}

/// How many were refused, by reason.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the reasons")]
pub struct Counts {
    pub auth: u64,
    pub command: u64,
    pub key: u64,
    pub channel: u64,
}

#[derive(Default)]
struct Inner {
    /// The newest first.
    entries: VecDeque<Entry>,
    next: u64,
    counts: Counts,
}

/// See the module's text.
#[derive(Default)]
pub struct Log(Mutex<Inner>);

impl Log {
    /// Counts a refusal at `now` (Unix milliseconds) and remembers it, with others at most `most`.
    pub fn add(&self, refusal: Refusal<'_>, now: i64, most: usize) {
        let Refusal { reason, context, object, user, client } = refusal;
        let mut inner = self.0.lock();
        let counts = &mut inner.counts;
        *match reason {
            Reason::Auth => &mut counts.auth,
            Reason::Command => &mut counts.command,
            Reason::Key => &mut counts.key,
            Reason::Channel => &mut counts.channel,
        } += 1;
        let alike = |e: &Entry| {
            e.reason == reason
                && e.context == context
                && e.object == object
                && e.user == user
                && (now - e.updated).abs() <= TOGETHER_MS
        };
        let at = inner.entries.iter().take(LOOKED_AT).position(alike);
        match at.and_then(|at| inner.entries.remove(at)) {
            Some(mut old) => {
                old.count += 1;
                old.client = client;
                old.updated = now;
                inner.entries.push_front(old);
            }
            None if most > 0 => {
                let id = inner.next;
                inner.next += 1;
                inner.entries.push_front(Entry {
                    id,
                    count: 1,
                    reason,
                    context,
                    object: object.to_vec(),
                    user: user.to_vec(),
                    client,
                    created: now,
                    updated: now,
                });
            }
            None => {}
        }
        inner.entries.truncate(most);
    }

    /// The newest `n`.
    pub fn newest(&self, n: usize) -> Vec<Entry> {
        self.0.lock().entries.iter().take(n).cloned().collect()
    }

    /// ACL LOG RESET.
    pub fn clear(&self) {
        self.0.lock().entries.clear();
    }

    /// Refusals by reason.
    pub fn counts(&self) -> Counts {
        self.0.lock().counts
    }

    /// CONFIG RESETSTAT.
    pub fn reset_counts(&self) {
        self.0.lock().counts = Counts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse(log: &Log, object: &str, now: i64, most: usize) {
        let refusal = Refusal {
            reason: Reason::Key,
            context: Origin::Multi,
            object: object.as_bytes(),
            user: b"u",
            client: format!("at {now}"),
        };
        log.add(refusal, now, most);
    }

    #[test]
    fn refusals_that_are_alike_are_one_entry_for_a_minute() {
        let log = Log::default();
        refuse(&log, "a", 0, 9);
        refuse(&log, "b", 10, 9);
        refuse(&log, "a", 60_000, 9);
        let seen = |n| -> Vec<(u64, u64, i64, i64)> {
            log.newest(n).iter().map(|e| (e.id, e.count, e.created, e.updated)).collect()
        };
        assert_eq!(seen(9), [(0, 2, 0, 60_000), (1, 1, 10, 10)]);
        assert_eq!(log.newest(1)[0].client, "at 60000");
        refuse(&log, "a", 120_001, 9);
        assert_eq!(seen(1), [(2, 1, 120_001, 120_001)]);
        assert_eq!(log.counts().key, 4);
        log.clear();
        log.reset_counts();
        assert_eq!((log.newest(9).len(), log.counts().key), (0, 0));
    }

    #[test]
    fn the_oldest_go_and_are_counted() {
        let log = Log::default();
        (0..20).for_each(|i| refuse(&log, &i.to_string(), i, 3));
        assert_eq!(log.newest(9).iter().map(|e| e.id).collect::<Vec<_>>(), [19, 18, 17]);
        refuse(&log, "x", 30, 0);
        assert_eq!((log.newest(9).len(), log.counts().key), (0, 21));
    }
}
