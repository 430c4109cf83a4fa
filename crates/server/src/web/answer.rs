//! One request and its answer: a kept page, a page that is rendered, a function that is called, a file.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use config::Id;
use engine::tracking::Pages;
use engine::{Session, Thread, log};
use http1::conditional::{Part, date, is_unchanged, part};
use http1::response::{begin, end, field, length, reason};
use http1::{Bad, Head, Method};
use pages::template::{Asked, params};
use pages::{Action, File, Found, Page, Route, Site};
use resp::Out;

use super::store::EngineStore;
use super::{call, keys};
use crate::Shared;
use crate::live::Hub;
use crate::net::{Outlets, Streaming};

/// A page whose keys change while it is rendered is rendered so often before all keys are held.
const TRIES: usize = 3;
/// Bodies of at least this size are sent from where they are, not copied.
const SHARE_MIN: usize = 16 * 1024;

/// What a thread needs to answer requests.
pub(crate) struct Responder {
    site: Arc<Site>,
    session: Session,
    /// The date of answers, and its second.
    pub(crate) date: String,
    second: u64,
    /// Where bodies of failed renderings are not logged again at once.
    failed_ms: i64,
    /// The connections of this thread that have become streams.
    pub(crate) outlets: Outlets,
    /// The live channels of this thread, if there are any.
    pub(super) hub: Option<Box<Hub>>,
}

/// What follows an answer.
pub(crate) enum After {
    /// The next request.
    Keeps,
    /// The end of the connection.
    Ends,
    /// A stream, for which at most so many bytes wait.
    Streams(Box<dyn Streaming>, usize),
}

/// An answer that is not kept.
struct Fresh<'a> {
    status: u16,
    content_type: &'a str,
    headers: &'a [(String, String)],
    body: Vec<u8>,
}

/// What every answer depends on besides its content.
struct Way {
    keeps: bool,
    minor: u8,
    /// It is HEAD: the body is not sent.
    bare: bool,
}

impl Responder {
    pub(crate) fn new(shared: &Shared, thread: &Thread) -> Box<Self> {
        let engine = &shared.engine;
        let user = Arc::clone(engine.acl.reader());
        Box::new(Self {
            site: Arc::clone(&shared.web.site.read()),
            session: Session::of_page(engine, thread.index, user),
            date: date(0),
            second: 0,
            failed_ms: 0,
            outlets: Outlets::default(),
            hub: None,
        })
    }

    /// Answers a request.
    pub(crate) fn respond(
        &mut self,
        shared: &Arc<Shared>,
        thread: &mut Thread,
        head: &Head<'_>,
        body: &[u8],
        out: &mut Out,
    ) -> After {
        self.refresh(shared, thread);
        if let Some(after) = self.stream(shared, thread, head, body, out) {
            return after;
        }
        if self.answer(shared, thread, head, body, out) { After::Keeps } else { After::Ends }
    }

    /// Answers a request for a page, a function or a file. Returns whether the connection stays open.
    fn answer(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        body: &[u8],
        out: &mut Out,
    ) -> bool {
        let keeps = head.keep_alive && !shared.stopping();
        let way = Way { keeps, minor: head.minor, bare: head.method == Method::Head };
        let reads = matches!(head.method, Method::Get | Method::Head);
        let Some((user, rules)) = shared.web.actor(&shared.engine) else {
            self.complain(shared, thread.cx.now, "web-user names no user");
            self.error(shared, thread, head, &way, 500, out);
            return keeps;
        };
        let made_by = (self.site.number, rules);
        if reads && let Some(page) = valid(shared, thread.cx.now, head.target.raw, made_by) {
            shared.web.cache.counts.hits.fetch_add(1, Relaxed);
            self.send_page(head, &way, &page, out);
            return keeps;
        }
        self.session.set_user(user);
        let site = Arc::clone(&self.site);
        match site.routes().find(head.method, &head.target.path) {
            Found::Route(route, values) => {
                let params = params(&route, values);
                match &route.action {
                    Action::Template(name) => {
                        self.page(shared, thread, head, &way, (&route, name, params, rules), out);
                    }
                    Action::Call { .. } => {
                        self.function(shared, thread, head, body, &way, (&route, &params), out);
                    }
                }
            }
            Found::Methods(methods) if site.file(&head.target.path).is_none() => {
                self.other_method(shared, thread, head, &way, &methods, out);
            }
            Found::Methods(_) | Found::Nothing => self.file(shared, thread, head, &way, out),
        }
        keeps
    }

    /// Answers what is no request.
    pub(crate) fn refuse(&self, bad: Bad, out: &mut Vec<u8>) {
        begin(out, bad.status, &self.date);
        field(out, "Content-Type", "text/plain; charset=utf-8");
        length(out, bad.why.len() + 1);
        end(out, false, 1);
        out.extend_from_slice(bad.why.as_bytes());
        out.push(b'\n');
    }

    fn refresh(&mut self, shared: &Shared, thread: &mut Thread) {
        let second = thread.cx.now as u64 / 1000;
        if second != self.second {
            self.second = second;
            self.date = date(second);
        }
        keys::follow(shared, thread, &mut self.session);
        if shared.web.number.load(SeqCst) != self.site.number {
            self.site = Arc::clone(&shared.web.site.read());
        }
    }

    /// Logs why a page failed, once a second at most.
    fn complain(&mut self, shared: &Shared, now: i64, why: &str) {
        shared.web.cache.counts.failures.fetch_add(1, Relaxed);
        if now.saturating_sub(self.failed_ms) >= 1000 {
            self.failed_ms = now;
            log!(shared.engine.log, Warning, "site: {}", why);
        }
    }

    /// Renders the template of a route, and keeps the page if it may be kept.
    fn page(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        (route, name, params, rules): (&Route, &str, Vec<(String, String)>, u64),
        out: &mut Out,
    ) {
        let made = self.render(shared, thread, head, name, params, None);
        let (page, keeps) = match made {
            Ok(made) => made,
            Err(status) => return self.error(shared, thread, head, way, status, out),
        };
        let content_type = match route.content_type.as_str() {
            "" => type_of(name),
            own => own,
        };
        let mut fields = Vec::with_capacity(160);
        field(&mut fields, "Content-Type", content_type);
        field(&mut fields, "X-Content-Type-Options", "nosniff");
        // A page is fresh: whoever keeps a copy asks whether it still is.
        field(&mut fields, "Cache-Control", if keeps { "no-cache" } else { "no-store" });
        let etag = pages::site::tag(&page.body);
        if keeps && route.status == 200 {
            field(&mut fields, "ETag", &etag);
        }
        length(&mut fields, page.body.len());
        let page =
            Page { status: route.status, fields, etag, made_by: (self.site.number, rules), ..page };
        let page = Arc::new(page);
        if keeps && route.caches {
            let max = shared.engine.config.bytes(Id::WebCacheSize) as usize;
            shared.web.cache.put(head.target.raw, Arc::clone(&page), max);
        }
        self.send_page(head, way, &page, out);
    }

    /// Renders a template at one moment of its keys. Returns the page, without fields, and whether it may be
    /// kept; or the status of what went wrong.
    fn render(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        name: &str,
        params: Vec<(String, String)>,
        data: Option<serde_json::Value>,
    ) -> Result<(Page, bool), u16> {
        let engine = &shared.engine;
        let table = &engine.tracking.pages;
        let id = Pages::reader(stdx::hash::hash64(head.target.raw.as_bytes()));
        self.session.page = id;
        shared.web.cache.counts.renderings.fetch_add(1, Relaxed);
        for tries in 1.. {
            let version = table.version(id);
            table.begin(thread.cx.now, || engine.keyspace.take_interest());
            let held = tries > TRIES;
            if held {
                thread.hold_for_page(engine);
            }
            let asked = asked(head, params.clone(), data.clone());
            let session = &mut self.session;
            let keys = Vec::new();
            let mut store =
                EngineStore { engine, thread, session, keys, lasts: true, waits: false };
            let rendered = self.site.render(name, asked, &mut store);
            let EngineStore { keys, lasts, waits, .. } = store;
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
            let page = Page {
                status: 200,
                fields: Vec::new(),
                body: Arc::new(rendered.body),
                etag: String::new(),
                version,
                made_by: (0, 0),
                deadline_ms: deadline.unwrap_or(i64::MAX),
            };
            return Ok((page, keeps));
        }
        Err(500)
    }

    /// Calls the function of a route.
    #[expect(clippy::too_many_arguments, reason = "all of a request")]
    fn function(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        body: &[u8],
        way: &Way,
        (route, params): (&Route, &[(String, String)]),
        out: &mut Out,
    ) {
        let engine = &shared.engine;
        let Action::Call { function, keys, user } = &route.action else { return };
        if call::is_foreign(head) {
            return self.error(shared, thread, head, way, 403, out);
        }
        if !user.is_empty() {
            if self.site.has_routes_in_key() && !shared.web.in_key.may_act_as(user) {
                let why = format!("route {}: web-key-users lacks '{user}'", route.pattern);
                self.complain(shared, thread.cx.now, &why);
                return self.error(shared, thread, head, way, 403, out);
            }
            let Some(user) = engine.acl.user(user.as_bytes()) else {
                let why = format!("route {}: there is no user '{user}'", route.pattern);
                self.complain(shared, thread.cx.now, &why);
                return self.error(shared, thread, head, way, 500, out);
            };
            self.session.set_user(user);
        }
        self.session.page = 0;
        let mut words = call::words(head, body, (function, keys), params);
        let reply = thread.call_for_page(engine, &mut self.session, &mut words);
        let answer = call::answer(engine, route, &reply);
        if let Some((name, data)) = answer.template {
            if let Some((user, _)) = shared.web.actor(engine) {
                self.session.set_user(user);
            }
            match self.render(shared, thread, head, &name, params.to_vec(), Some(data)) {
                Err(status) => self.error(shared, thread, head, way, status, out),
                Ok((page, _)) => {
                    let body = page.body.to_vec();
                    let (status, content_type) = (answer.status, type_of(&name));
                    let headers = &answer.headers;
                    self.send(way, Fresh { status, content_type, headers, body }, out);
                }
            }
            return;
        }
        if answer.status >= 400 && answer.body.is_empty() {
            return self.error(shared, thread, head, way, answer.status, out);
        }
        let (status, body) = (answer.status, answer.body);
        let (content_type, headers) = (&*answer.content_type, &*answer.headers);
        self.send(way, Fresh { status, content_type, headers, body }, out);
    }

    /// Answers a request for a file.
    fn file(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        out: &mut Out,
    ) {
        let site = Arc::clone(&self.site);
        let path = &*head.target.path;
        if path == "*" {
            return self.other_method(shared, thread, head, way, &[Method::Get], out);
        }
        let Some(file) = site.file(path) else {
            if site.is_directory(path) && matches!(head.method, Method::Get | Method::Head) {
                let to = [("Location".to_owned(), format!("{}/", plain_path(head)))];
                let body = Vec::new();
                let (status, content_type) = (308, "text/plain; charset=utf-8");
                return self.send(way, Fresh { status, content_type, headers: &to, body }, out);
            }
            return self.error(shared, thread, head, way, 404, out);
        };
        if !matches!(head.method, Method::Get | Method::Head) {
            return self.other_method(shared, thread, head, way, &[Method::Get], out);
        }
        self.send_file(head, way, file, out);
    }

    fn send_file(&self, head: &Head<'_>, way: &Way, file: &File, out: &mut Out) {
        let unchanged = is_unchanged(head, &file.etag, file.modified);
        let part = match head.method {
            Method::Get if !unchanged => part(head, file.bytes.len(), &file.etag, file.modified),
            _ => Part::Whole,
        };
        let status = match part {
            _ if unchanged => 304,
            Part::Whole => 200,
            Part::Bytes(_) => 206,
            Part::Beyond => 416,
        };
        let buf = &mut out.buf;
        begin(buf, status, &self.date);
        field(buf, "ETag", &file.etag);
        field(buf, "Last-Modified", &date(file.modified));
        field(buf, "X-Content-Type-Options", "nosniff");
        field(buf, "Cache-Control", "no-cache");
        field(buf, "Accept-Ranges", "bytes");
        if status < 300 {
            field(buf, "Content-Type", file.content_type);
        }
        let all = file.bytes.len();
        match part {
            _ if unchanged => end(buf, way.keeps, way.minor),
            Part::Whole => {
                length(buf, all);
                end(buf, way.keeps, way.minor);
                if !way.bare {
                    append(out, &file.bytes);
                }
            }
            Part::Bytes(range) => {
                let text = format!("bytes {}-{}/{all}", range.start, range.end - 1);
                field(buf, "Content-Range", &text);
                length(buf, range.len());
                end(buf, way.keeps, way.minor);
                buf.extend_from_slice(&file.bytes[range]);
            }
            Part::Beyond => {
                field(buf, "Content-Range", &format!("bytes */{all}"));
                length(buf, 0);
                end(buf, way.keeps, way.minor);
            }
        }
    }

    fn send_page(&self, head: &Head<'_>, way: &Way, page: &Page, out: &mut Out) {
        let buf = &mut out.buf;
        if page.status == 200 && is_unchanged(head, &page.etag, 0) {
            begin(buf, 304, &self.date);
            field(buf, "ETag", &page.etag);
            field(buf, "Cache-Control", "no-cache");
            return end(buf, way.keeps, way.minor);
        }
        begin(buf, page.status, &self.date);
        buf.extend_from_slice(&page.fields);
        end(buf, way.keeps, way.minor);
        if !way.bare {
            append(out, &page.body);
        }
    }

    fn send(&self, way: &Way, fresh: Fresh<'_>, out: &mut Out) {
        let Fresh { status, content_type, headers, body } = fresh;
        let buf = &mut out.buf;
        begin(buf, status, &self.date);
        let has_body = status != 204 && status != 304;
        if has_body {
            field(buf, "Content-Type", content_type);
            length(buf, body.len());
        }
        field(buf, "X-Content-Type-Options", "nosniff");
        field(buf, "Cache-Control", "no-store");
        headers.iter().for_each(|(name, value)| field(buf, name, value));
        end(buf, way.keeps, way.minor);
        if has_body && !way.bare {
            buf.extend_from_slice(&body);
        }
    }

    /// OPTIONS, or a method for which there is nothing.
    fn other_method(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        methods: &[Method],
        out: &mut Out,
    ) {
        let mut names: Vec<&str> = methods.iter().map(|m| m.name()).collect();
        if names.contains(&"GET") {
            names.push("HEAD");
        }
        names.push("OPTIONS");
        names.sort_unstable();
        names.dedup();
        let allow = [("Allow".to_owned(), names.join(", "))];
        if head.method == Method::Options {
            let (status, content_type, body) = (204, "", Vec::new());
            return self.send(way, Fresh { status, content_type, headers: &allow, body }, out);
        }
        self.error_with(shared, thread, head, way, (405, &allow), out);
    }

    fn error(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        status: u16,
        out: &mut Out,
    ) {
        self.error_with(shared, thread, head, way, (status, &[]), out);
    }

    /// An error page: the site's template or file of that name (`404.html`), or a line of text.
    fn error_with(
        &mut self,
        shared: &Shared,
        thread: &mut Thread,
        head: &Head<'_>,
        way: &Way,
        (status, headers): (u16, &[(String, String)]),
        out: &mut Out,
    ) {
        let site = Arc::clone(&self.site);
        let name = format!("{status}.html");
        let made = if site.has_template(&name) {
            self.render(shared, thread, head, &name, Vec::new(), None).ok()
        } else {
            None
        };
        let file = site.file(&format!("/{name}"));
        let (content_type, body) = match (made, file) {
            (Some((page, _)), _) => (type_of(&name), page.body.to_vec()),
            (None, Some(file)) => (file.content_type, file.bytes.to_vec()),
            (None, None) => {
                let text = format!("{status} {}\n", reason(status)).into_bytes();
                ("text/plain; charset=utf-8", text)
            }
        };
        self.send(way, Fresh { status, content_type, headers, body }, out);
    }
}

/// The kept page with this address, if it is what a rendering would make now.
fn valid(shared: &Shared, now: i64, address: &str, made_by: (u64, u64)) -> Option<Arc<Page>> {
    let page = shared.web.cache.get(address)?;
    let id = Pages::reader(stdx::hash::hash64(address.as_bytes()));
    let valid = page.made_by == made_by
        && now < page.deadline_ms
        && shared.engine.tracking.pages.version(id) == page.version;
    valid.then_some(page)
}

fn asked(head: &Head<'_>, params: Vec<(String, String)>, data: Option<serde_json::Value>) -> Asked {
    let text = |(name, value): (&str, &[u8])| {
        (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned())
    };
    Asked {
        method: head.method.name(),
        path: head.target.path.clone().into_owned(),
        host: head.host.to_owned(),
        query: head.target.query.to_owned(),
        headers: head.fields().map(text).collect(),
        params,
        data,
    }
}

/// The type of what a template makes.
fn type_of(name: &str) -> &'static str {
    http1::mime::of(name.strip_suffix(".j2").unwrap_or(name))
}

/// The path as it was sent. The query is left out: a directory has none.
fn plain_path(head: &Head<'_>) -> String {
    let path = head.target.raw.split('?').next().unwrap_or("/");
    // A path that begins with two slashes would be taken for a host.
    format!("/{}", path.trim_start_matches('/'))
}

fn append(out: &mut Out, body: &Arc<Vec<u8>>) {
    if body.len() >= SHARE_MIN {
        out.shared.push((out.buf.len(), Arc::clone(body)));
    } else {
        out.buf.extend_from_slice(body);
    }
}
