//! One request and its answer: a kept page, a page that is rendered, a function that is called, a file.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Instant;

use engine::tracking::Pages;
use engine::{Session, Thread, log};
use http1::conditional::date;
use http1::response::{begin, end, field, length};
use http1::{Bad, Head, Method};
use pages::routes::template_type;
use pages::template::params;
use pages::{Action, Dependency, Found, Page, Route, Site};
use resp::Out;

use super::access::Line;
use super::counts::{Answered, FILES, NONE, REFUSED, Rows, SAMPLE};
use super::guard::Guard;
use super::live::Live;
use super::origin::{Origin, Peer};
use super::parts::{Fresh, Sent, Way};
use super::render::How;
use super::streaming::Streaming;
use super::{call, keys};
use crate::Shared;
use crate::live::Hub;
use crate::net::Outlets;

/// What a thread needs to answer requests.
pub(crate) struct Responder {
    pub(super) site: Arc<Site>,
    pub(super) session: Session,
    /// The date of answers, and its second.
    pub(crate) date: String,
    second: u64,
    /// Where bodies of failed renderings are not logged again at once.
    failed_ms: i64,
    /// Who sends the requests of this turn.
    pub(crate) peer: Peer,
    /// What became of the request.
    pub(super) sent: Sent,
    /// When the request was taken up, if it is timed.
    pub(super) started: Option<Instant>,
    /// Requests until one is timed.
    untimed: u32,
    rows: Rows,
    /// The connections of this thread that have become streams.
    pub(crate) outlets: Outlets,
    /// The pages that they watch.
    pub(super) live: Live,
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
    /// An answer that is still to come: it goes to the outlets by [`Outlets::answer`], and the next request follows,
    /// or by [`Outlets::end`].
    Waits(Box<dyn Streaming>),
}

impl Responder {
    pub(crate) fn new(shared: &Shared, thread: &Thread) -> Box<Self> {
        let engine = &shared.engine;
        let user = Arc::clone(engine.acl.reader());
        let site = Arc::clone(&shared.web.site.read());
        Box::new(Self {
            rows: Rows::new(&shared.web.counts, &site),
            site,
            session: Session::of_page(engine, thread.index, user),
            date: date(0),
            second: 0,
            failed_ms: 0,
            peer: Peer::NONE,
            sent: Sent::default(),
            started: None,
            untimed: 0,
            outlets: Outlets::default(),
            live: Live::default(),
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
        let logs = shared.web.access.is_on();
        self.sent = Sent::default();
        self.untimed = self.untimed.wrapping_add(1);
        let timed = logs || self.untimed.is_multiple_of(SAMPLE);
        self.started = timed.then(Instant::now);
        self.refresh(shared, thread);
        let after = match self.stream(shared, thread, head, body, out) {
            Some(after) => after,
            None if self.answer(shared, thread, head, body, out) => After::Keeps,
            None => After::Ends,
        };
        self.note(shared, Some(head), logs);
        after
    }

    /// Whether a page was rendered for the last request.
    pub(crate) fn has_rendered(&self) -> bool {
        self.sent.renderings > 0
    }

    /// Counts an answer, and logs it.
    fn note(&self, shared: &Shared, head: Option<&Head<'_>>, logs: bool) {
        let sent = self.sent;
        let Some((route, row)) = self.rows.rows.get(sent.row) else { return };
        let nanos = self.started.map(|at| at.elapsed().as_nanos() as u64);
        let quick = sent.hit || sent.row == FILES;
        let times = if quick && !logs { u64::from(SAMPLE) } else { 1 };
        row.count(&Answered {
            status: sent.status,
            bytes: sent.body,
            hit: sent.hit,
            renderings: sent.renderings,
            time: nanos.map(|nanos| (nanos, times)),
        });
        if logs {
            let config = &shared.engine.config;
            let origin = match head {
                Some(head) => shared.web.origin(config, self.peer, head),
                None => Origin::of_peer(self.peer, ""),
            };
            let (date, micros) = (&*self.date, nanos.unwrap_or(0) / 1000);
            let line = Line { head, origin: &origin, sent, micros, date, route };
            shared.web.access.note(config, &line);
        }
    }

    /// Times what is not answered at once.
    fn time(&mut self) {
        self.started.get_or_insert_with(Instant::now);
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
        let kept = if reads { shared.web.cache.get(head.target.raw) } else { None };
        if let Some(page) = &kept
            && is_valid(shared, thread.cx.now, head.target.raw, page, made_by)
        {
            shared.web.cache.counts.hits.fetch_add(1, Relaxed);
            // No command has said so.
            thread.note_shows_data();
            (self.sent.hit, self.sent.row) = (true, self.rows.place(page.route));
            self.send_page(shared, head, &way, page, true, out);
            return keeps;
        }
        if !Arc::ptr_eq(&self.session.user, &user) {
            self.session.set_user(user);
        }
        let site = Arc::clone(&self.site);
        match site.routes().find(head.method, &head.target.path) {
            Found::Route(route, values) => {
                self.sent.row = self.rows.place(route.id);
                self.time();
                let params = params(&route, values);
                match &route.action {
                    Action::Template(name) => {
                        // The page that is no longer valid: parts of it may be.
                        let earlier = kept.filter(|page| page.made_by == made_by);
                        let of = (&*route, &**name, &*params, rules);
                        self.page(shared, thread, head, &way, (of, earlier.as_deref()), out);
                    }
                    Action::Call { .. } => {
                        self.function(shared, thread, head, body, &way, (&route, &params), out);
                    }
                }
            }
            Found::Methods(methods) if site.file(&head.target.path).is_none() => {
                self.sent.row = NONE;
                self.time();
                self.other_method(shared, thread, head, &way, &methods, out);
            }
            Found::Methods(_) | Found::Nothing => self.file(shared, thread, head, &way, out),
        }
        keeps
    }

    /// Answers what is no request.
    pub(crate) fn refuse(&mut self, shared: &Shared, bad: Bad, out: &mut Vec<u8>) {
        self.sent = Sent { status: bad.status, row: REFUSED, ..Sent::default() };
        self.started = None;
        self.note(shared, None, shared.web.access.is_on());
        begin(out, bad.status, &self.date);
        field(out, "Content-Type", "text/plain; charset=utf-8");
        length(out, bad.why.len() + 1);
        end(out, false, 1);
        out.extend_from_slice(bad.why.as_bytes());
        out.push(b'\n');
    }

    pub(super) fn refresh(&mut self, shared: &Shared, thread: &mut Thread) {
        let second = thread.cx.now as u64 / 1000;
        if second != self.second {
            self.second = second;
            self.date = date(second);
        }
        keys::follow(shared, thread, &mut self.session);
        if shared.web.number.load(SeqCst) != self.site.number {
            self.site = Arc::clone(&shared.web.site.read());
            self.rows.follow(&self.site);
        }
    }

    /// Logs why a page failed, once a second at most.
    pub(super) fn complain(&mut self, shared: &Shared, now: i64, why: &str) {
        shared.web.cache.counts.failures.fetch_add(1, Relaxed);
        if now.saturating_sub(self.failed_ms) >= 1000 {
            self.failed_ms = now;
            log!(shared.engine.log, Warning, "site: {}", why);
        }
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
        let Action::Call { function, keys, user, csrf } = &route.action else { return };
        let origin = shared.web.origin(&engine.config, self.peer, head);
        if call::is_foreign(head, &origin.host) {
            return self.error(shared, thread, head, way, 403, out);
        }
        let Some(form) = call::Form::of(head, body) else {
            return self.error(shared, thread, head, way, 400, out);
        };
        let secret = || shared.web.secret.keys(engine);
        let guard = Guard::new(&secret, head, &origin, thread.cx.now);
        if *csrf && !head.method.is_safe() && !guard.has_token(head, &form.fields) {
            return self.error(shared, thread, head, way, 403, out);
        }
        if let Err(status) = self.act_as(shared, thread, route, user) {
            return self.error(shared, thread, head, way, status, out);
        }
        self.session.page = 0;
        let asked = call::Asked { head, origin: &origin, form: &form, body, guard: &guard };
        let mut words = call::words(&asked, (function, keys), params);
        let reply = thread.call_for_page(engine, &mut self.session, &mut words);
        let mut answer = call::answer(engine, route, &guard, &reply);
        if let Some((name, data)) = answer.template {
            if let Some((user, _)) = shared.web.actor(engine) {
                self.session.set_user(user);
            }
            let of = (&*name, params, Some(&data));
            match self.render(shared, thread, head, of, How::default()) {
                Err(status) => self.error(shared, thread, head, way, status, out),
                Ok(made) => {
                    let body = made.rendered.body;
                    let (status, content_type) = (answer.status, template_type(&name));
                    answer.headers.extend(made.headers);
                    let (headers, secret) = (&answer.headers, made.rendered.has_token);
                    self.send(
                        shared,
                        head,
                        way,
                        Fresh { status, content_type, headers, body, secret },
                        out,
                    );
                }
            }
            return;
        }
        if answer.status >= 400 && answer.body.is_empty() {
            return self.error(shared, thread, head, way, answer.status, out);
        }
        let (status, body) = (answer.status, answer.body);
        let (content_type, headers) = (&*answer.content_type, &*answer.headers);
        let fresh = Fresh { status, content_type, headers, body, secret: false };
        self.send(shared, head, way, fresh, out);
    }

    /// Has the function of a route called as the user that the route names, if it names one. Returns the status of
    /// what is in the way.
    fn act_as(
        &mut self,
        shared: &Shared,
        thread: &Thread,
        route: &Route,
        user: &str,
    ) -> Result<(), u16> {
        if user.is_empty() {
            return Ok(());
        }
        if self.site.has_routes_in_key() && !shared.web.in_key.may_act_as(user) {
            let why = format!("route {}: web-key-users lacks '{user}'", route.pattern);
            self.complain(shared, thread.cx.now, &why);
            return Err(403);
        }
        let Some(user) = shared.engine.acl.user(user.as_bytes()) else {
            let why = format!("route {}: there is no user '{user}'", route.pattern);
            self.complain(shared, thread.cx.now, &why);
            return Err(500);
        };
        self.session.set_user(user);
        Ok(())
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
        self.sent.row = NONE;
        let Some(file) = site.file(path) else {
            self.time();
            if site.is_directory(path) && matches!(head.method, Method::Get | Method::Head) {
                let to = [("Location".to_owned(), format!("{}/", plain_path(head)))];
                let body = Vec::new();
                let (status, content_type) = (308, "text/plain; charset=utf-8");
                let fresh = Fresh { status, content_type, headers: &to, body, secret: false };
                return self.send(shared, head, way, fresh, out);
            }
            return self.error(shared, thread, head, way, 404, out);
        };
        if !matches!(head.method, Method::Get | Method::Head) {
            return self.other_method(shared, thread, head, way, &[Method::Get], out);
        }
        self.sent.row = FILES;
        self.send_file(shared, head, way, file, out);
    }
}

/// Whether the kept page with this address is what a rendering would make now.
pub(super) fn is_valid(
    shared: &Shared,
    now: i64,
    address: &str,
    page: &Page,
    made_by: (u64, u64),
) -> bool {
    let id = Pages::reader(stdx::hash::hash64(address.as_bytes()));
    page.made_by == made_by
        && now < page.deadline_ms
        && shared.engine.tracking.pages.version(id) == page.version
        && page.depends.iter().all(|of| is_current(&shared.engine.tracking.pages, of))
}

/// Whether no key has changed that a fragment has read.
pub(super) fn is_current(table: &Pages, of: &Dependency) -> bool {
    table.version(of.reader) == of.version
}

/// The path as it was sent. The query is left out: a directory has none.
fn plain_path(head: &Head<'_>) -> String {
    let path = head.target.raw.split('?').next().unwrap_or("/");
    // A path that begins with two slashes would be taken for a host.
    format!("/{}", path.trim_start_matches('/'))
}
