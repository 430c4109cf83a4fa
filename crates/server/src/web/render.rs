//! Pages of templates: rendered at one moment of their keys, and kept.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use config::Id;
use engine::Thread;
use engine::tracking::Pages;
use http1::Head;
use http1::response::field;
use pages::cache::fragments_max;
use pages::template::{Asked, Common, params};
use pages::{Action, Blocks, Content, Dependency, Found, Page, Rendered, Route};
use resp::Out;

use super::answer::{Responder, is_current, is_valid};
use super::guard::Guard;
use super::parts::{Fresh, Way};
use super::store::EngineStore;
use crate::Shared;

/// A page whose keys change while it is rendered is rendered so often before all keys are held.
const TRIES: usize = 3;

/// A rendered page.
pub(super) struct Made {
    pub(super) rendered: Rendered,
    /// The version that its slot had before.
    version: u64,
    /// Its first deadline, in Unix milliseconds.
    deadline_ms: i64,
    /// It depends on its address and its keys only.
    keeps: bool,
    /// Fields that go with it, which is not kept then.
    pub(super) headers: Vec<(String, String)>,
}

/// A page as its streams know it.
pub(super) struct Shown {
    pub(super) blocks: Arc<Blocks>,
    /// The version that its slot had before it was rendered.
    pub(super) version: u64,
    /// The number of its site, and of the user's rules.
    pub(super) made_by: (u64, u64),
    /// Until when it is valid, in Unix milliseconds.
    pub(super) deadline_ms: i64,
}

/// How a page is rendered.
#[derive(Clone, Copy, Default)]
pub(super) struct How<'a> {
    /// Its live blocks are shown as such.
    pub(super) live: bool,
    /// What has not changed since this page is taken from there.
    pub(super) earlier: Option<&'a Page>,
    /// It has fragments in common with pages of these rules; none: it has none.
    pub(super) rules: Option<u64>,
    /// When its request was taken up; none: now.
    pub(super) started: Option<Instant>,
}

/// The page of a route: its template, its parameters, and the number of the user's rules.
type Of<'a> = (&'a Route, &'a str, &'a [(String, String)], u64);

impl Responder {
    /// Renders the template of a route, and keeps the page if it may be kept. `earlier` is the page before it.
    pub(super) fn page(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        ((route, name, params, rules), earlier): (Of<'_>, Option<&Page>),
        out: &mut Out,
    ) {
        // Streams watch pages with live blocks: they have no fragments.
        let is_watched = earlier.is_some_and(|page| !page.blocks.is_empty());
        let has_fragments = route.caches && !is_watched;
        let rules_of = has_fragments.then_some(rules);
        let how = How { live: true, earlier, rules: rules_of, started: self.started };
        match self.render(shared, thread, head, (name, params, None), how) {
            Ok(made) if made.keeps => {
                let page = self.keep(shared, head, (route, rules), made);
                self.send_page(shared, head, way, &page, false, out);
            }
            Ok(Made { rendered, headers, .. }) => {
                let (status, body, secret) = (route.status, rendered.body, rendered.has_token);
                let content_type = &route.content_type;
                let fresh = Fresh { status, content_type, headers: &headers, body, secret };
                self.send(shared, head, way, fresh, out);
            }
            Err(status) => self.error(shared, thread, head, way, status, out),
        }
    }

    /// Makes a page that depends on its address and its keys only, and keeps it unless its route says no.
    fn keep(
        &self,
        shared: &Shared,
        head: &Head<'_>,
        (route, rules): (&Route, u64),
        made: Made,
    ) -> Arc<Page> {
        let content_type = &route.content_type;
        let Made { rendered, version, deadline_ms, .. } = made;
        let (status, body) = (route.status, rendered.body);
        let mut common = Vec::with_capacity(224);
        field(&mut common, "Content-Type", content_type);
        // A page is fresh: a browser that keeps a copy asks whether it still is.
        common.extend_from_slice(b"X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n");
        let etag = if status == 200 { pages::site::tag(&body) } else { String::new() };
        let content = Arc::new(Content::new(content_type, etag, common, Arc::new(body)));
        let page = Arc::new(Page {
            status,
            content,
            blocks: rendered.blocks,
            parts: rendered.parts,
            depends: rendered.depends.into(),
            version,
            made_by: (self.site.number, rules),
            deadline_ms,
            route: route.id,
        });
        if route.caches {
            let max = shared.engine.config.bytes(Id::WebCacheSize) as usize;
            shared.web.cache.put(head.target.raw, Arc::clone(&page), max);
        }
        page
    }

    /// The live blocks of the page that a request would be answered with: a kept one, or a new one. Returns also
    /// whether it depends on more than its address; or the status of what went wrong.
    pub(super) fn live_page(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
    ) -> Result<(Shown, bool), u16> {
        let (user, rules) = shared.web.actor(&shared.engine).ok_or(500_u16)?;
        let made_by = (self.site.number, rules);
        let address = head.target.raw;
        if let Some(page) = shared.web.cache.get(address)
            && is_valid(shared, thread.cx.now, address, &page, made_by)
        {
            let (version, deadline_ms) = (page.version, page.deadline_ms);
            let blocks = Arc::clone(&page.blocks);
            return Ok((Shown { blocks, version, made_by, deadline_ms }, false));
        }
        self.session.set_user(user);
        let site = Arc::clone(&self.site);
        let Found::Route(route, values) = site.routes().find(head.method, &head.target.path) else {
            return Err(404);
        };
        let Action::Template(name) = &route.action else { return Err(404) };
        let params = params(&route, values);
        let of = (name.as_str(), &*params, None);
        // Who watches is told of the page's own keys: it has no fragments.
        let how = How { live: true, ..How::default() };
        let made = self.render(shared, thread, head, of, how)?;
        let (version, deadline_ms) = (made.version, made.deadline_ms);
        let (blocks, varies) = (Arc::clone(&made.rendered.blocks), made.rendered.varies);
        if made.keeps && route.caches {
            self.keep(shared, head, (&route, rules), made);
        }
        Ok((Shown { blocks, version, made_by, deadline_ms }, varies))
    }

    /// Renders a template at one moment of its keys, with parameters and perhaps further names.
    /// Returns the status of what went wrong.
    pub(super) fn render(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        (name, params, data): (&str, &[(String, String)], Option<&serde_json::Value>),
        How { live, earlier, rules, started }: How<'_>,
    ) -> Result<Made, u16> {
        let (engine, table) = (&shared.engine, &shared.engine.tracking.pages);
        let id = Pages::reader(stdx::hash::hash64(head.target.raw.as_bytes()));
        self.begin_rendering(shared, id);
        let origin = shared.web.origin(&engine.config, self.peer, head);
        let mut asked = Asked {
            method: head.method.name(),
            path: &head.target.path,
            host: &origin.host,
            scheme: origin.scheme,
            remote_addr: origin.ip,
            query: head.target.query,
            headers: &|| fields(head),
            params,
            data,
            live,
            earlier: earlier.map(Page::as_earlier),
            started: started.unwrap_or_else(Instant::now),
            common: rules.map(|rules| common(shared, (self.site.number, rules))),
        };
        let now = thread.cx.now;
        let secret = || shared.web.secret.keys(engine);
        let make_guard = || Guard::new(&secret, head, &origin, now);
        let mut guard = None;
        for tries in 1.. {
            let version = table.version(id);
            table.begin(thread.cx.now, || engine.keyspace.take_interest());
            let held = tries > TRIES;
            if held {
                thread.hold_for_page(engine);
            }
            let mut store = EngineStore::new(engine, thread, &mut self.session, &make_guard);
            store.guard = guard;
            // Parts look at deadlines, which takes a shard of its own.
            store.notes = live && !held;
            let rendered = self.site.render(name, &asked, &mut store);
            let EngineStore { keys, lasts, waits, guard: used, deadline_ms: of_parts, .. } = store;
            guard = used;
            if held {
                thread.release_for_page(engine);
            }
            thread.collect();
            let rendered = rendered.map_err(|why| self.failure(shared, thread, waits, &why))?;
            let own = Dependency { reader: id, version };
            if !held && !rendered.depends.iter().chain([&own]).all(|of| is_current(table, of)) {
                continue;
            }
            note(shared, thread, &rendered);
            let keeps = lasts && !rendered.varies && data.is_none();
            if keeps && !rendered.blocks.is_empty() && !rendered.depends.is_empty() {
                asked.common = None; // Who watches is told of the page's own keys only.
                continue;
            }
            let has_end = keeps || !rendered.blocks.is_empty();
            let of_keys = has_end.then(|| thread.first_deadline(engine, 0, &keys)).flatten();
            let deadline_ms = of_keys.unwrap_or(i64::MAX).min(of_parts);
            let set_cookie = guard.as_mut().and_then(|guard| guard.set_cookie.take());
            let headers = set_cookie.into_iter().map(|text| ("Set-Cookie".to_owned(), text));
            return Ok(Made { rendered, version, deadline_ms, keeps, headers: headers.collect() });
        }
        Err(500)
    }

    /// From here on reads are noted for the page with this number.
    fn begin_rendering(&mut self, shared: &Shared, id: u64) {
        self.session.page = id;
        shared.web.cache.counts.renderings.fetch_add(1, Relaxed);
        self.sent.renderings += 1;
    }

    /// The status of a page that was not rendered: a command of it has to wait, or something is wrong with it.
    fn failure(&mut self, shared: &Shared, thread: &Thread, waits: bool, why: &str) -> u16 {
        if waits {
            return 503;
        }
        self.complain(shared, thread.cx.now, why);
        500
    }
}

/// What pages of a site and of a user's rules have in common.
fn common(shared: &Shared, made_by: (u64, u64)) -> Common<'_> {
    let max = fragments_max(shared.engine.config.bytes(Id::WebCacheSize) as usize);
    Common { fragments: &shared.web.cache.fragments, made_by, max }
}

/// Notes what a page was made of.
fn note(shared: &Shared, thread: &mut Thread, rendered: &Rendered) {
    if rendered.parts_kept > 0 {
        shared.web.cache.counts.parts_kept.fetch_add(rendered.parts_kept, Relaxed);
    }
    if !rendered.depends.is_empty() {
        // Perhaps no command was run.
        thread.note_shows_data();
    }
}

/// The fields of a request, by their names in lower case.
fn fields(head: &Head<'_>) -> Vec<(String, String)> {
    let text = |(name, value): (&str, &[u8])| {
        (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned())
    };
    head.fields().map(text).collect()
}
