//! Answers become bytes: pages, files and what functions say, as they are or compressed, whole or in part; error
//! pages.

use std::sync::Arc;

use config::{Id, WebCompression};
use engine::Thread;
use http1::conditional::{Part, is_unchanged, part};
use http1::response::{begin, end, field, length, reason};
use http1::{Accepts, Coding, Head, Method};
use pages::content::gzip_once;
use pages::routes::template_type;
use pages::{Content, File, Page};
use resp::Out;

use super::answer::Responder;
use super::parts::{Fresh, Way};
use super::render::How;
use crate::Shared;

/// Bodies of at least this size are sent from where they are, not copied.
const SHARE_MIN: usize = 16 * 1024;

impl Responder {
    /// Begins a head, and remembers its status.
    fn begin(&mut self, status: u16, out: &mut Out) {
        self.sent.status = status;
        begin(&mut out.buf, status, &self.date);
    }

    /// Ends a head, and appends the body unless it is left out.
    fn finish(&mut self, way: &Way, body: Option<&Arc<Vec<u8>>>, out: &mut Out) {
        end(&mut out.buf, way.keeps, way.minor);
        let Some(body) = body.filter(|_| !way.bare) else { return };
        self.sent.body = body.len();
        if body.len() >= SHARE_MIN {
            out.shared.push((out.buf.len(), Arc::clone(body)));
        } else {
            out.buf.extend_from_slice(body);
        }
    }

    /// 304 for the form with this tag.
    fn send_unchanged(
        &mut self,
        way: &Way,
        (etag, varies, modified): (&str, bool, Option<&str>),
        out: &mut Out,
    ) {
        self.begin(304, out);
        field(&mut out.buf, "ETag", etag);
        field(&mut out.buf, "Cache-Control", "no-cache");
        if varies {
            field(&mut out.buf, "Vary", "Accept-Encoding");
        }
        if let Some(modified) = modified {
            field(&mut out.buf, "Last-Modified", modified);
        }
        self.finish(way, None, out);
    }

    /// Sends the form of some content that fits the client best. `again`: it was sent before, so that it is worth
    /// compressing.
    fn send_content(
        &mut self,
        shared: &Shared,
        head: &Head<'_>,
        way: &Way,
        (status, content, again): (u16, &Arc<Content>, bool),
        out: &mut Out,
    ) {
        let compresses = content.varies() && compression(shared) != WebCompression::No;
        let form = if compresses {
            let (form, missing) = content.choose(Accepts::of(head.accept_encoding));
            match missing {
                Some(coding) if again => shared.web.compressor.add(shared, content, coding),
                Some(coding) => content.forget(coding),
                None => {}
            }
            form
        } else {
            content.plain()
        };
        self.begin(status, out);
        out.buf.extend_from_slice(&form.fields);
        self.finish(way, Some(&form.body), out);
    }

    pub(super) fn send_file(
        &mut self,
        shared: &Shared,
        head: &Head<'_>,
        way: &Way,
        file: &File,
        out: &mut Out,
    ) {
        let (content, plain) = (&file.content, file.content.plain());
        let has = match head.if_none_match {
            Some(_) => content.unchanged(head, Accepts::of(head.accept_encoding)),
            None => is_unchanged(head, &plain.etag, file.modified).then_some(&*plain.etag),
        };
        if let Some(etag) = has {
            let modified = http1::conditional::date(file.modified);
            return self.send_unchanged(way, (etag, content.varies(), Some(&modified)), out);
        }
        let all = plain.body.len();
        let part = match head.method {
            Method::Get => part(head, all, &plain.etag, file.modified),
            _ => Part::Whole,
        };
        let (status, range) = match part {
            Part::Whole => {
                return self.send_content(shared, head, way, (200, content, true), out);
            }
            Part::Bytes(range) => (206, range),
            Part::Beyond => (416, 0..0),
        };
        self.begin(status, out);
        let buf = &mut out.buf;
        if status == 206 {
            buf.extend_from_slice(content.common());
            let text = format!("bytes {}-{}/{all}", range.start, range.end - 1);
            field(buf, "Content-Range", &text);
        } else {
            field(buf, "Content-Range", &format!("bytes */{all}"));
        }
        field(buf, "ETag", &plain.etag);
        length(buf, range.len());
        end(buf, way.keeps, way.minor);
        self.sent.body = range.len();
        if range.len() >= SHARE_MIN {
            // Ranges of videos are large: they are copied once, and not into the buffer of small answers.
            out.shared.push((out.buf.len(), Arc::new(plain.body[range].to_vec())));
        } else {
            out.buf.extend_from_slice(&plain.body[range]);
        }
    }

    pub(super) fn send_page(
        &mut self,
        shared: &Shared,
        head: &Head<'_>,
        way: &Way,
        page: &Page,
        again: bool,
        out: &mut Out,
    ) {
        let content = &page.content;
        if head.if_none_match.is_some()
            && page.status == 200
            && let Some(etag) = content.unchanged(head, Accepts::of(head.accept_encoding))
        {
            return self.send_unchanged(way, (etag, content.varies(), None), out);
        }
        self.send_content(shared, head, way, (page.status, content, again), out);
    }

    pub(super) fn send(
        &mut self,
        shared: &Shared,
        head: &Head<'_>,
        way: &Way,
        fresh: Fresh<'_>,
        out: &mut Out,
    ) {
        let Fresh { status, content_type, headers, mut body, secret } = fresh;
        self.begin(status, out);
        let buf = &mut out.buf;
        let has_body = status != 204 && status != 304;
        if has_body {
            field(buf, "Content-Type", content_type);
            if !secret && compression(shared) == WebCompression::All {
                // A cache that keeps it in spite of no-store must know.
                field(buf, "Vary", "Accept-Encoding");
                let likes = Accepts::of(head.accept_encoding).best().contains(&Some(Coding::Gzip));
                if let Some(coded) = likes.then(|| gzip_once(content_type, &body)).flatten() {
                    field(buf, "Content-Encoding", "gzip");
                    body = coded;
                }
            }
            length(buf, body.len());
        }
        field(buf, "X-Content-Type-Options", "nosniff");
        field(buf, "Cache-Control", "no-store");
        headers.iter().for_each(|(name, value)| field(buf, name, value));
        self.finish(way, has_body.then(|| Arc::new(body)).as_ref(), out);
    }

    /// OPTIONS, or a method for which there is nothing.
    pub(super) fn other_method(
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
            let fresh = Fresh { status, content_type, headers: &allow, body, secret: false };
            return self.send(shared, head, way, fresh, out);
        }
        self.error_with(shared, thread, head, way, (405, &allow), out);
    }

    pub(super) fn error(
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
            self.render(shared, thread, head, (&*name, &[], None), How::default()).ok()
        } else {
            None
        };
        let file = site.file(&format!("/{name}"));
        let mut headers = headers.to_vec();
        let mut secret = false;
        let (content_type, body) = match (made, file) {
            (Some(made), _) => {
                headers.extend(made.headers);
                secret = made.rendered.has_token;
                (template_type(&name), made.rendered.body)
            }
            (None, Some(file)) => (file.content_type, file.body().to_vec()),
            (None, None) => {
                let text = format!("{status} {}\n", reason(status)).into_bytes();
                ("text/plain; charset=utf-8", text)
            }
        };
        let fresh = Fresh { status, content_type, headers: &headers, body, secret };
        self.send(shared, head, way, fresh, out);
    }
}

fn compression(shared: &Shared) -> WebCompression {
    shared.engine.config.chosen(Id::WebCompression)
}
