//! Pages of templates: rendered at one moment of their keys, and kept.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::Thread;
use engine::tracking::Pages;
use http1::Head;
use http1::response::field;
use pages::template::Asked;
use pages::{Content, Page, Rendered, Route};
use resp::Out;

use super::answer::Responder;
use super::guard::Guard;
use super::origin::Origin;
use super::parts::{Fresh, Way, type_of};
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

impl Responder {
    /// Renders the template of a route, and keeps the page if it may be kept.
    pub(super) fn page(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        (route, name, params, rules): (&Route, &str, Vec<(String, String)>, u64),
        out: &mut Out,
    ) {
        let made = match self.render(shared, thread, head, name, params, None) {
            Ok(made) => made,
            Err(status) => return self.error(shared, thread, head, way, status, out),
        };
        let content_type = match route.content_type.as_str() {
            "" => type_of(name),
            own => own,
        };
        let Made { rendered, version, deadline_ms, keeps, headers } = made;
        let (status, body) = (route.status, rendered.body);
        if !keeps {
            let secret = rendered.has_token;
            let fresh = Fresh { status, content_type, headers: &headers, body, secret };
            return self.send(shared, head, way, fresh, out);
        }
        let mut common = Vec::with_capacity(160);
        field(&mut common, "Content-Type", content_type);
        field(&mut common, "X-Content-Type-Options", "nosniff");
        // A page is fresh: whoever keeps a copy asks whether it still is.
        field(&mut common, "Cache-Control", "no-cache");
        let etag = if status == 200 { pages::site::tag(&body) } else { String::new() };
        let content = Arc::new(Content::new(content_type, &etag, common, Arc::new(body)));
        let page = Arc::new(Page {
            status,
            content,
            version,
            made_by: (self.site.number, rules),
            deadline_ms,
            route: route.id,
        });
        if route.caches {
            let max = shared.engine.config.bytes(Id::WebCacheSize) as usize;
            shared.web.cache.put(head.target.raw, Arc::clone(&page), max);
        }
        self.send_page(shared, head, way, &page, false, out);
    }

    /// Renders a template at one moment of its keys. Returns the status of what went wrong.
    pub(super) fn render(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        name: &str,
        params: Vec<(String, String)>,
        data: Option<serde_json::Value>,
    ) -> Result<Made, u16> {
        let engine = &shared.engine;
        let table = &engine.tracking.pages;
        let id = Pages::reader(stdx::hash::hash64(head.target.raw.as_bytes()));
        self.session.page = id;
        shared.web.cache.counts.renderings.fetch_add(1, Relaxed);
        self.sent.renderings += 1;
        let origin = shared.web.origin(&engine.config, self.peer, head);
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
            let asked = asked(head, &origin, params.clone(), data.clone());
            let session = &mut self.session;
            let (keys, lasts, waits) = (Vec::new(), true, false);
            let make_guard = &make_guard;
            let mut store =
                EngineStore { engine, thread, session, keys, lasts, waits, guard, make_guard };
            let rendered = self.site.render(name, asked, &mut store);
            let EngineStore { keys, lasts, waits, guard: used, .. } = store;
            guard = used;
            if held {
                thread.release_for_page(engine);
            }
            thread.collect();
            let rendered = match rendered {
                Ok(rendered) => rendered,
                Err(_) if waits => return Err(503),
                Err(why) => {
                    self.complain(shared, thread.cx.now, &why);
                    return Err(500);
                }
            };
            if !held && table.version(id) != version {
                continue;
            }
            let keeps = lasts && !rendered.varies && data.is_none();
            let deadline = if keeps { thread.first_deadline(engine, 0, &keys) } else { None };
            let deadline_ms = deadline.unwrap_or(i64::MAX);
            let set_cookie = guard.as_mut().and_then(|guard| guard.set_cookie.take());
            let headers = set_cookie.into_iter().map(|text| ("Set-Cookie".to_owned(), text));
            return Ok(Made { rendered, version, deadline_ms, keeps, headers: headers.collect() });
        }
        Err(500)
    }
}

fn asked(
    head: &Head<'_>,
    origin: &Origin<'_>,
    params: Vec<(String, String)>,
    data: Option<serde_json::Value>,
) -> Asked {
    let text = |(name, value): (&str, &[u8])| {
        (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned())
    };
    Asked {
        method: head.method.name(),
        path: head.target.path.clone().into_owned(),
        host: origin.host.to_string(),
        scheme: origin.scheme,
        remote_addr: origin.ip.to_string(),
        query: head.target.query.to_owned(),
        headers: head.fields().map(text).collect(),
        params,
        data,
    }
}
