//! What is sent again and again: a body with the fields of its head, as it is and compressed.
//!
//! The compressed forms are made later, by the first call of [`Content::compress`] for each, and live as long as
//! the content. Each form has an entity tag of its own. What they take is counted in the [`Memory`] that the
//! first of them was given.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use http1::response::{field, length};
use http1::{Accepts, Coding, Head, mime};

/// Bytes of a body from which on it is compressed: a smaller one is one packet anyway.
pub const COMPRESS_MIN: usize = 1024;
/// Bytes of a body up to which it is compressed.
pub const COMPRESS_MAX: usize = 8 << 20;
/// Level of gzip for what is kept, and for what is sent once.
const GZIP_KEPT: u32 = 6;
const GZIP_ONCE: u32 = 1;
/// Quality and window of brotli: behind 5 it takes several times as long for a few percent.
const BROTLI_QUALITY: u32 = 5;
const BROTLI_WINDOW: u32 = 20;

/// Bytes of compressed forms.
pub type Memory = Arc<AtomicUsize>;

/// One form of some content.
#[derive(Debug)]
pub struct Form {
    /// The fields of the head, each with its line end: everything but date and connection.
    pub fields: Vec<u8>,
    /// Its tag, with quotes; empty: it has none.
    pub etag: String,
    /// The body.
    pub body: Arc<Vec<u8>>,
}

impl Form {
    fn bytes(&self) -> usize {
        self.fields.capacity() + self.etag.len() + self.body.len()
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct Content {
    plain: Form,
    /// Bytes of the fields of all forms, with which those of the plain one begin.
    common: usize,
    gzip: Later,
    brotli: Later,
    /// It may be compressed.
    varies: bool,
    memory: OnceLock<Memory>,
}

/// A form that is made later.
#[derive(Debug, Default)]
struct Later {
    asked: AtomicBool,
    /// None inside: compressing does not make it smaller.
    form: OnceLock<Option<Form>>,
}

impl Content {
    /// Content of this type. `etag` with its quotes, or empty; `common` are fields with their line ends.
    #[must_use]
    pub fn new(content_type: &str, etag: String, mut common: Vec<u8>, body: Arc<Vec<u8>>) -> Self {
        let size = COMPRESS_MIN..=COMPRESS_MAX;
        let varies =
            !etag.is_empty() && size.contains(&body.len()) && mime::is_compressible(content_type);
        if varies {
            field(&mut common, "Vary", "Accept-Encoding");
        }
        let len = common.len();
        let plain = form(common, etag, Coding::Identity, body);
        let (gzip, brotli, common) = (Later::default(), Later::default(), len);
        Self { plain, common, gzip, brotli, varies, memory: OnceLock::new() }
    }

    /// As it is.
    #[must_use]
    pub fn plain(&self) -> &Form {
        &self.plain
    }

    /// The fields of all its forms: all but tag, coding and length.
    #[must_use]
    pub fn common(&self) -> &[u8] {
        self.plain.fields.get(..self.common).unwrap_or_default()
    }

    /// Its forms depend on what the client accepts.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// The best form that there is for a client, and a coding that would be better and has not been asked for.
    #[must_use]
    pub fn choose(&self, accepts: Accepts) -> (&Form, Option<Coding>) {
        if !self.varies {
            return (&self.plain, None);
        }
        let mut first_missing = None;
        for coding in accepts.best().into_iter().flatten() {
            match self.later(coding).and_then(|later| later.form.get()) {
                Some(Some(form)) => {
                    return (form, first_missing.and_then(|coding| self.ask(coding)));
                }
                Some(None) => {}
                None => drop(first_missing.get_or_insert(coding)),
            }
        }
        (&self.plain, first_missing.and_then(|coding| self.ask(coding)))
    }

    /// The tag of a form that the client has and may use; none: it has none of them.
    #[must_use]
    pub fn unchanged(&self, head: &Head<'_>, accepts: Accepts) -> Option<&str> {
        let tags = head.if_none_match?;
        let has =
            |form: &Form| !form.etag.is_empty() && http1::conditional::names(tags, &form.etag);
        if has(&self.plain) {
            return Some(&self.plain.etag);
        }
        let coded = [Coding::Brotli, Coding::Gzip].into_iter().filter(|c| accepts.allows(*c));
        let forms = coded.filter_map(|coding| self.later(coding)?.form.get()?.as_ref());
        forms.map(|form| (form, has(form))).find(|(_, has)| *has).map(|(form, _)| &*form.etag)
    }

    fn later(&self, coding: Coding) -> Option<&Later> {
        match coding {
            Coding::Identity => None,
            Coding::Gzip => Some(&self.gzip),
            Coding::Brotli => Some(&self.brotli),
        }
    }

    /// The coding, if nobody has asked for it.
    fn ask(&self, coding: Coding) -> Option<Coding> {
        let asked = &self.later(coding)?.asked;
        (!asked.load(Relaxed) && !asked.swap(true, Relaxed)).then_some(coding)
    }

    /// Nobody will make it: it may be asked for again.
    pub fn forget(&self, coding: Coding) {
        if let Some(later) = self.later(coding) {
            later.asked.store(false, Relaxed);
        }
    }

    /// Makes a form, if it is smaller and all forms in `memory` have room in `max` bytes.
    pub fn compress(&self, coding: Coding, memory: &Memory, max: usize) {
        let Some(later) = self.later(coding) else { return };
        later.form.get_or_init(|| {
            let body = compressed(coding, &self.plain.body)?;
            if body.len() >= self.plain.body.len() {
                return None;
            }
            let etag = self.plain.etag.strip_suffix('"')?;
            let etag = format!("{etag}-{}\"", coding.name());
            let common = self.common().to_vec();
            let form = form(common, etag, coding, Arc::new(body));
            if memory.fetch_add(form.bytes(), Relaxed) + form.bytes() > max {
                memory.fetch_sub(form.bytes(), Relaxed);
                return None;
            }
            // One that was counted elsewhere would be given back there.
            if !Arc::ptr_eq(self.memory.get_or_init(|| Arc::clone(memory)), memory) {
                memory.fetch_sub(form.bytes(), Relaxed);
                return None;
            }
            Some(form)
        });
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.get() {
            let forms = [&self.gzip, &self.brotli].into_iter();
            let forms = forms.filter_map(|later| later.form.get()?.as_ref());
            memory.fetch_sub(forms.map(Form::bytes).sum(), Relaxed);
        }
    }
}

fn form(mut fields: Vec<u8>, etag: String, coding: Coding, body: Arc<Vec<u8>>) -> Form {
    if !etag.is_empty() {
        field(&mut fields, "ETag", &etag);
    }
    if coding != Coding::Identity {
        field(&mut fields, "Content-Encoding", coding.name());
    }
    length(&mut fields, body.len());
    Form { fields, etag, body }
}

/// Compresses what is kept.
fn compressed(coding: Coding, bytes: &[u8]) -> Option<Vec<u8>> {
    match coding {
        Coding::Identity => None,
        Coding::Gzip => gzip(bytes, GZIP_KEPT),
        Coding::Brotli => {
            let mut out = Vec::with_capacity(bytes.len() / 3);
            let mut writer =
                brotli::CompressorWriter::new(&mut out, 4096, BROTLI_QUALITY, BROTLI_WINDOW);
            writer.write_all(bytes).ok()?;
            writer.flush().ok()?;
            drop(writer);
            out.shrink_to_fit();
            Some(out)
        }
    }
}

/// Compresses what is sent once, quickly; none: it is too small, too large, of a type that does not get
/// smaller, or it does not get smaller.
#[must_use]
pub fn gzip_once(content_type: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    /// The thread does nothing else meanwhile: about 2 ms.
    const ONCE_MAX: usize = 256 << 10;
    let fits = (COMPRESS_MIN..=ONCE_MAX).contains(&bytes.len());
    if !fits || !mime::is_compressible(content_type) {
        return None;
    }
    gzip(bytes, GZIP_ONCE).filter(|coded| coded.len() < bytes.len())
}

fn gzip(bytes: &[u8], level: u32) -> Option<Vec<u8>> {
    let out = Vec::with_capacity(bytes.len() / 3);
    let mut writer = flate2::write::GzEncoder::new(out, flate2::Compression::new(level));
    writer.write_all(bytes).ok()?;
    let mut out = writer.finish().ok()?;
    out.shrink_to_fit();
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn text() -> Arc<Vec<u8>> {
        Arc::new((0..2000).flat_map(|i| format!("<li>{i}</li>\n").into_bytes()).collect())
    }

    fn accepts(field: &str) -> Accepts {
        Accepts::of(Some(field.as_bytes()))
    }

    #[test]
    fn forms_are_made_once_and_counted() {
        let memory = Memory::default();
        let content = Content::new("text/html", "\"a\"".into(), Vec::new(), text());
        let (form, missing) = content.choose(accepts("br, gzip"));
        assert_eq!((form.etag.as_str(), missing), ("\"a\"", Some(Coding::Brotli)));
        let (_, missing) = content.choose(accepts("br"));
        assert_eq!(missing, None, "it was asked for already");
        for coding in [Coding::Brotli, Coding::Gzip] {
            content.compress(coding, &memory, 1 << 20);
        }
        let (form, _) = content.choose(accepts("gzip"));
        assert_eq!(form.etag, "\"a-gzip\"");
        let fields = String::from_utf8(form.fields.clone()).expect("text");
        assert!(fields.contains("Content-Encoding: gzip\r\n"), "{fields}");
        assert!(fields.contains("Vary: Accept-Encoding\r\n"), "{fields}");
        assert!(fields.contains(&format!("Content-Length: {}\r\n", form.body.len())), "{fields}");
        let mut back = Vec::new();
        let mut reader = flate2::read::GzDecoder::new(&form.body[..]);
        reader.read_to_end(&mut back).expect("gzip");
        assert!(back == **text());
        let (form, _) = content.choose(accepts("br"));
        let mut back = Vec::new();
        brotli::Decompressor::new(&form.body[..], 4096).read_to_end(&mut back).expect("brotli");
        assert!(back == **text());
        let both =
            content.choose(accepts("br")).0.bytes() + content.choose(accepts("gzip")).0.bytes();
        assert_eq!(memory.load(Relaxed), both);
        drop(content);
        assert_eq!(memory.load(Relaxed), 0);
    }

    #[test]
    fn what_does_not_pay_stays_as_it_is() {
        let memory = Memory::default();
        let small =
            Content::new("text/html", "\"a\"".into(), Vec::new(), Arc::new(vec![b'a'; 1000]));
        let picture = Content::new("image/png", "\"a\"".into(), Vec::new(), text());
        let tagless = Content::new("text/html", String::new(), Vec::new(), text());
        for content in [&small, &picture, &tagless] {
            assert!(!content.varies());
            assert_eq!(content.choose(accepts("br")).1, None);
        }
        let content = Content::new("text/html", "\"a\"".into(), Vec::new(), text());
        content.compress(Coding::Gzip, &memory, 100);
        assert_eq!(memory.load(Relaxed), 0, "there is no room");
        assert_eq!(content.choose(accepts("gzip")).0.etag, "\"a\"");
        let mut noise = stdx::rng::Rng::from_seed(1);
        let noise: Vec<u8> = (0..4096).map(|_| noise.next_u64() as u8).collect();
        assert!(gzip_once("text/plain", &noise).is_none());
        assert!(gzip_once("text/plain", &text()).is_some());
        let content = Content::new("text/html", "\"a\"".into(), Vec::new(), Arc::new(noise));
        content.compress(Coding::Brotli, &memory, 1 << 20);
        assert_eq!(content.choose(accepts("br")), (content.choose(Accepts::PLAIN).0, None));
    }

    impl PartialEq for Form {
        fn eq(&self, other: &Self) -> bool {
            std::ptr::eq(self, other)
        }
    }
}
