//! The turn of the live pages: those that have changed are rendered again, and their streams told.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::Thread;
use http1::{Limits, head};
use pages::Blocks;

use super::{Counts, Live, Show};
use crate::Shared;
use crate::net::Outlets;
use crate::web::At;
use crate::web::Responder;

/// Renderings in one turn of the event loop; with more, connections have their turns in between.
const TURN_MAX: usize = 32;
/// Milliseconds between two looks at all shows, for what no key tells: rights, the site's key.
const LOOK_MS: i64 = 1000;

impl Show {
    /// Whether the keys of its page are as they were.
    fn is_present(&self, shared: &Shared, now: i64) -> bool {
        let version = shared.engine.tracking.pages.version(self.reader);
        !self.is_due && now < self.page.deadline_ms && version == self.page.version
    }

    /// Tells the streams of the page, unless they have it.
    fn tell(&mut self, before: Option<&Blocks>, outlets: &mut Outlets, counts: &Counts) {
        let blocks = &self.page.blocks;
        let version = blocks.version();
        // Each of both is made once for all.
        let (mut change, mut all) = (None, None);
        let mut events = 0;
        for stream in &mut self.streams {
            if stream.has == Some(version) {
                continue;
            }
            let follows = before.filter(|before| stream.has == Some(before.version()));
            let event = match follows {
                Some(_) => change.get_or_insert_with(|| blocks.event(follows)),
                None => all.get_or_insert_with(|| blocks.event(None)),
            };
            stream.has = Some(version);
            // A stream that takes no more is ended by the outlets.
            events += u64::from(outlets.append(stream.id, event));
        }
        counts.events.fetch_add(events, Relaxed);
    }
}

impl Live {
    /// Tells the streams of a show what they lack, unless the show is due.
    pub(super) fn catch_up(&mut self, at: &mut At<'_>, id: u64) {
        let Some(show) = self.shows.get_mut(&id) else { return };
        // A client may have seen a change that this thread has not been told of yet.
        if show.is_present(at.shared, at.thread.cx.now) {
            show.tell(None, &mut at.web.outlets, &at.shared.web.live);
        } else {
            self.mark(id);
        }
    }

    fn mark(&mut self, id: u64) {
        if let Some(show) = self.shows.get_mut(&id)
            && !show.is_due
        {
            show.is_due = true;
            self.due.push(id);
        }
    }

    /// Ends the streams of a show. It is due until the last of them has left, and nobody joins it.
    fn give_up(&mut self, id: u64, outlets: &mut Outlets) {
        let Some(show) = self.shows.get_mut(&id) else { return };
        show.streams.iter().for_each(|stream| outlets.end(stream.id, b""));
        if std::mem::take(&mut show.is_shared) {
            self.shared.remove(&show.address);
        }
    }

    /// Marks the shows that are not the present ones.
    fn look(&mut self, shared: &Shared, site: u64, now: i64) {
        let made_by = shared.web.actor(&shared.engine).map(|(_, rules)| (site, rules));
        let is_present =
            |show: &Show| Some(show.page.made_by) == made_by && show.is_present(shared, now);
        let old = self.shows.iter().filter(|(_, show)| !is_present(show)).map(|(id, _)| *id);
        old.collect::<Vec<_>>().into_iter().for_each(|id| self.mark(id));
        let first = self.shows.values().map(|show| show.page.deadline_ms).min();
        self.look_ms = first.unwrap_or(i64::MAX).clamp(now + 1, now + LOOK_MS);
    }
}

impl Responder {
    /// See the module's text.
    pub(in crate::web) fn live_turn(&mut self, shared: &Arc<Shared>, thread: &mut Thread) {
        if self.live.shows.is_empty() {
            return;
        }
        let now = thread.cx.now;
        let changed = self.live.watcher.as_ref().and_then(|watcher| watcher.take());
        if changed.is_some() || now >= self.live.look_ms {
            self.refresh(shared, thread);
            let is_all = changed.as_ref().is_none_or(|changed| changed.all);
            for id in changed.into_iter().flat_map(|changed| changed.ids) {
                for show in self.live.readers.get(&id).cloned().unwrap_or_default() {
                    self.live.mark(show);
                }
            }
            // The site may be another one now.
            if is_all || self.live.site != self.site.number {
                self.live.site = self.site.number;
                self.live.look(shared, self.site.number, now);
            }
        }
        if !self.live.due.is_empty() {
            self.render_due(shared, thread);
            // What was shown belongs to no connection whose turn comes.
            thread.take_shows_data();
        }
    }

    fn render_due(&mut self, shared: &Arc<Shared>, thread: &mut Thread) {
        let now = thread.cx.now;
        let pause = 1000 / shared.engine.config.int(Id::WebLiveRate).max(1);
        let mut left = TURN_MAX;
        for id in std::mem::take(&mut self.live.due) {
            let Some(show) = self.live.shows.get(&id) else { continue };
            // A clock that was set back must not stop it.
            let waits = (1..=LOOK_MS).contains(&(show.next_ms - now));
            if waits || left == 0 {
                if let Some(first) = show.streams.first() {
                    self.outlets.call_at(first.id, show.next_ms.max(now + 1));
                }
                self.live.due.push(id);
                continue;
            }
            left -= 1;
            if let Some(show) = self.live.shows.get_mut(&id) {
                show.next_ms = now + pause;
            }
            self.render_show(shared, thread, id);
        }
    }

    /// Renders the page of a show, and tells its streams.
    fn render_show(&mut self, shared: &Arc<Shared>, thread: &mut Thread, id: u64) {
        let Some(show) = self.live.shows.get(&id) else { return };
        let asked = Arc::clone(&show.asked);
        let is_shared = show.is_shared;
        // It was read before.
        let Ok(Some(head)) = head::parse(&asked, &Limits::default()) else { return };
        self.peer = show.peer;
        let made = self.live_page(shared, thread, &head);
        let Some(show) = self.live.shows.get_mut(&id) else { return };
        match made {
            // The streams are opened again, and then it is seen what becomes of them.
            Ok((_, true)) if is_shared => self.live.give_up(id, &mut self.outlets),
            Err(404) => self.live.give_up(id, &mut self.outlets),
            Ok((page, _)) => {
                show.is_due = false;
                let before = std::mem::replace(&mut show.page, page);
                show.tell(Some(&before.blocks), &mut self.outlets, &shared.web.live);
                self.live.look_ms = self.live.look_ms.min(show.page.deadline_ms);
            }
            // Commands have to wait; or the page has an error, which the log tells. Streams have the last
            // state until it can be rendered again.
            Err(_) => {
                show.next_ms = thread.cx.now + LOOK_MS;
                self.live.due.push(id);
            }
        }
    }
}
