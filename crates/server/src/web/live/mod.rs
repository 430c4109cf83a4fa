//! Live pages: the pages of a thread that browsers show, and the streams to those browsers.
//!
//! ```text
//!  open.rs: a request for a stream ─► a page as it is now ─► Live::join
//!  a key of a page changes ─► its slot's version (engine::tracking::Pages) ─► Watcher of this thread ─► turn.rs:
//!      the page again, at most so often a second ─► one event for all its streams ─► net::Outlets
//! ```
//!
//! A *show* is a page that is watched. It is the whole page that is rendered again, so that blocks see variables,
//! loops and parameters as they do in the page; and the page is then there for the next visitor, too. A page
//! that looks at cookies, headers or the request is a show for each of its streams, rendered with the fields of
//! the request that opened the stream.
//!
//! Invariants: what is sent was rendered behind what was sent before, so that nobody sees an older state behind
//! a newer one. A show whose page is not the present one is *due*; it stays so until the page has been rendered
//! again, so that the last state always arrives. What one visitor sees is never sent to another one: a page that
//! begins to depend on the request ends the streams that share it.

mod open;
mod turn;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use engine::Engine;
use engine::tracking::{Pages, Watcher};

use super::origin::Peer;
use super::render::Shown;
use crate::web::{At, Streaming};

/// Milliseconds between two signs of life on a stream without events.
const BEAT_MS: i64 = 25_000;

/// What happened so far on all threads.
#[derive(Default, Debug)]
pub(crate) struct Counts {
    /// Streams that are open.
    pub(crate) streams: AtomicU64,
    /// Events that were sent, to one stream each.
    pub(crate) events: AtomicU64,
    /// Streams whose clients did not take what they were sent.
    pub(crate) slow: AtomicU64,
}

/// A stream, and the version of its blocks that its client has.
struct Stream {
    /// The client number of its connection.
    id: u64,
    has: Option<u64>,
}

/// A page that is watched.
struct Show {
    /// What is asked for: path and query.
    address: Box<str>,
    /// The request, as text.
    asked: Arc<[u8]>,
    /// Who has sent it.
    peer: Peer,
    /// Its number as a reader of keys.
    reader: u64,
    /// Several streams may share it.
    is_shared: bool,
    streams: Vec<Stream>,
    page: Shown,
    /// The page is not the present one.
    is_due: bool,
    /// Before this it is not rendered again, in Unix milliseconds.
    next_ms: i64,
}

/// The shows of a thread.
#[derive(Default)]
pub(crate) struct Live {
    watcher: Option<Arc<Watcher>>,
    shows: HashMap<u64, Show>,
    /// Those that several streams may share, by address.
    shared: HashMap<Box<str>, u64>,
    /// Shows by their readers' numbers.
    readers: HashMap<u64, Vec<u64>>,
    /// Shows that are due, each once.
    due: Vec<u64>,
    last: u64,
    /// The number of the site at the last look.
    site: u64,
    /// When all shows are looked at again, in Unix milliseconds.
    look_ms: i64,
}

/// What a stream begins with.
struct Opening {
    address: Box<str>,
    /// A page that is not watched yet; none: it is.
    new: Option<New>,
    /// The version that the client has.
    has: Option<u64>,
}

/// A page that is to be watched.
struct New {
    asked: Arc<[u8]>,
    peer: Peer,
    page: Shown,
    is_shared: bool,
}

impl Live {
    fn watcher(&mut self, engine: &Engine, wake: impl FnOnce() -> Arc<engine::Worker>) -> &Watcher {
        self.watcher.get_or_insert_with(|| {
            let worker = wake();
            engine.tracking.pages.add_watcher(move || worker.mailbox.wake())
        })
    }

    /// Whether there is a show at an address that several streams share.
    fn is_shared(&self, address: &str) -> bool {
        self.shared.contains_key(address)
    }

    /// Adds a stream. Returns its show.
    fn join(&mut self, at: &mut At<'_>, opening: Opening) -> u64 {
        let Opening { address, new, has } = opening;
        let stream = Stream { id: at.id, has };
        let Some(New { asked, peer, page, is_shared }) = new else {
            // It was there a moment ago, on this thread.
            let id = self.shared.get(&address).copied().unwrap_or_default();
            if let Some(show) = self.shows.get_mut(&id) {
                show.streams.push(stream);
            }
            return id;
        };
        let engine = &at.shared.engine;
        let table = &engine.tracking.pages;
        let reader = Pages::reader(stdx::hash::hash64(address.as_bytes()));
        let is_first = self.shows.is_empty();
        let worker = Arc::clone(at.thread.worker());
        let watcher = self.watcher(engine, || worker);
        if is_first {
            // A site in a key changes without anything else.
            table.watch(watcher, Pages::SITE);
        }
        self.last += 1;
        let id = self.last;
        let same = self.readers.entry(reader).or_default();
        same.push(id);
        if same.len() == 1
            && let Some(watcher) = &self.watcher
        {
            table.watch(watcher, reader);
        }
        if is_shared {
            self.shared.insert(address.clone(), id);
        }
        let next_ms = at.thread.cx.now;
        let streams = vec![stream];
        // It may have changed between its rendering and the watch.
        let is_due = page.version != table.version(reader);
        if is_due {
            self.due.push(id);
        }
        let show = Show { address, asked, peer, reader, is_shared, streams, page, is_due, next_ms };
        self.shows.insert(id, show);
        id
    }

    /// Removes a stream from its show, and the show with the last one.
    fn leave(&mut self, engine: &Engine, show: u64, stream: u64) {
        let Some(of) = self.shows.get_mut(&show) else { return };
        of.streams.retain(|s| s.id != stream);
        if !of.streams.is_empty() {
            return;
        }
        let Some(of) = self.shows.remove(&show) else { return };
        if of.is_shared {
            self.shared.remove(&of.address);
        }
        let (table, watcher) = (&engine.tracking.pages, self.watcher.as_deref());
        if let Some(same) = self.readers.get_mut(&of.reader) {
            same.retain(|id| *id != show);
            if same.is_empty() {
                self.readers.remove(&of.reader);
                watcher.into_iter().for_each(|watcher| table.unwatch(watcher, of.reader));
            }
        }
        if self.shows.is_empty() {
            watcher.into_iter().for_each(|watcher| table.unwatch(watcher, Pages::SITE));
            self.due = Vec::new();
        }
    }
}

/// The protocol of a stream: events that the turns append, and signs of life.
struct LiveStream {
    opening: Option<Opening>,
    show: u64,
    beat_ms: i64,
}

impl LiveStream {
    fn new(opening: Opening) -> Box<Self> {
        Box::new(Self { opening: Some(opening), show: 0, beat_ms: 0 })
    }
}

impl Streaming for LiveStream {
    fn begin(&mut self, at: &mut At<'_>) {
        let Some(opening) = self.opening.take() else { return };
        at.shared.web.live.streams.fetch_add(1, Relaxed);
        let mut live = std::mem::take(&mut at.web.live);
        self.show = live.join(at, opening);
        live.catch_up(at, self.show);
        at.web.live = live;
        self.beat_ms = at.thread.cx.now + BEAT_MS;
        at.web.outlets.call_at(at.id, self.beat_ms);
    }

    fn due(&mut self, at: &mut At<'_>) {
        let now = at.thread.cx.now;
        if now >= self.beat_ms {
            self.beat_ms = now + BEAT_MS;
            at.web.outlets.append(at.id, b":\n\n");
        }
        // The show may have asked for an earlier time, which has come: its turn was before this.
        at.web.outlets.call_at(at.id, self.beat_ms);
    }

    fn slow(&mut self, at: &mut At<'_>) {
        at.shared.web.live.slow.fetch_add(1, Relaxed);
    }

    fn ended(&mut self, at: &mut At<'_>) {
        at.shared.web.live.streams.fetch_sub(1, Relaxed);
        let engine = &at.shared.engine;
        at.web.live.leave(engine, self.show, at.id);
    }
}
