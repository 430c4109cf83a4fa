//! ACL LOG: the latest refusals, and counts of all.

use std::collections::VecDeque;

use config::Id;
use parking_lot::Mutex;

use super::check::Reason;
use crate::engine::Engine;
use crate::session::Session;

/// Refusals that are alike are one entry while they are at most this far apart.
const TOGETHER_MS: i64 = 60_000;
/// Among this many of the newest entries one that is alike is looked for.
const LOOKED_AT: usize = 10;

/// Where a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// As a command of its own.
    TopLevel,
    /// Within a transaction, when it was queued or when it was to run.
    Multi,
    /// Within a script or a function.
    Script,
}

impl Context {
    /// As ACL LOG calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TopLevel => "toplevel",
            Self::Multi => "multi",
            Self::Script => "lua",
        }
    }

    /// That of a session's commands.
    pub fn of(session: &Session) -> Self {
        if session.multi.is_some() { Self::Multi } else { Self::TopLevel }
    }
}

/// Refusals that are alike.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: u64,
    pub count: u64,
    pub reason: Reason,
    pub context: Context,
    /// The command, key or channel.
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    /// The last client's line of CLIENT LIST.
    pub client: String,
    /// Unix milliseconds of the first and the last of them.
    pub created: i64,
    pub updated: i64,
}

/// How many were refused, by reason.
#[derive(Clone, Copy, Debug, Default)]
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
    /// Counts a refusal and remembers it, with at most `most` others.
    pub(super) fn add(&self, mut new: Entry, most: usize) {
        let mut inner = self.0.lock();
        let counts = &mut inner.counts;
        *match new.reason {
            Reason::Auth => &mut counts.auth,
            Reason::Command => &mut counts.command,
            Reason::Key => &mut counts.key,
            Reason::Channel => &mut counts.channel,
        } += 1;
        let alike = |e: &Entry| {
            e.reason == new.reason
                && e.context == new.context
                && e.object == new.object
                && e.user == new.user
                && (new.updated - e.updated).abs() <= TOGETHER_MS
        };
        let at = inner.entries.iter().take(LOOKED_AT).position(alike);
        match at.and_then(|at| inner.entries.remove(at)) {
            Some(mut old) => {
                old.count += 1;
                old.client = new.client;
                old.updated = new.updated;
                inner.entries.push_front(old);
            }
            None if most > 0 => {
                new.id = inner.next;
                inner.next += 1;
                inner.entries.push_front(new);
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

    pub(super) fn counts(&self) -> Counts {
        self.0.lock().counts
    }

    /// CONFIG RESETSTAT.
    pub(super) fn reset_counts(&self) {
        self.0.lock().counts = Counts::default();
    }
}

/// A connection, as CLIENT LIST shows it.
pub(super) fn line_of(engine: &Engine, client: &crate::clients::Client) -> String {
    let now = engine.clock.wall_ms() as i64;
    let mut line = String::new();
    crate::client_line::push_client_line(&mut line, engine, now, client);
    line.truncate(line.trim_end().len());
    line
}

/// Remembers a refusal: `object` is the command's name, or the key or channel; `user` is the
/// refused user; `client` the connection, as CLIENT LIST shows it ([`line_of`]).
pub(super) fn add(
    engine: &Engine,
    (reason, context): (Reason, Context),
    object: &[u8],
    user: &[u8],
    client: String,
) {
    let now = engine.clock.wall_ms() as i64;
    let entry = Entry {
        id: 0,
        count: 1,
        reason,
        context,
        object: object.to_vec(),
        user: user.to_vec(),
        client,
        created: now,
        updated: now,
    };
    let most = usize::try_from(engine.config.int(Id::AcllogMaxLen)).unwrap_or(usize::MAX);
    engine.acl.log.add(entry, most);
}
