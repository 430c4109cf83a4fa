//! Rendering: templates with a function for every command that only reads.
//!
//! Bounds of one page: 1,000,000 steps, 64 MiB that are made and 16 MiB of output, 40 templates within
//! templates, and 2 seconds. A command takes 20 steps, and its reply one for each 16 bytes.
//! What it was asked is there by name: the parameters of the path by their own names, `query`, `headers`,
//! `cookies`, `signed_cookies`, and `request` with `method`, `path`, `host`, `scheme` and `remote_addr`. A page that looks at headers or cookies, at the
//! time or at chance, is made for one request and not kept.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use template::{
    Arguments, Engine, Error, Escape, Host, Kind, Limits, Map, Meter, Part, PartKind,
    Result as Made, Value,
};

use stdx::hash::hash64;

use crate::fragments::{Dependency, Fragment, Fragments, What};
use crate::live::{Blocks, insert_script};
use crate::parts::{Earlier, Making, Parts};
use crate::value::{Words, of_reply};
use crate::{Found, Route, Store};

/// Steps of a command, and bytes of its reply for which it takes one more.
const COMMAND_STEPS: u64 = 20;
const REPLY_STEP: u64 = 16;
/// Steps of a live block.
const LIVE_STEPS: u64 = 50;
/// Bytes of a command whose reply is kept, and of such a reply.
const COMMAND_MAX: usize = 256;
const REPLY_MAX: usize = 4096;
/// Fragments of a page. What would be more of them is rendered with the page.
const DEPENDENCIES_MAX: usize = 256;
/// How long a page may take, with its commands.
const TIME_MAX: Duration = Duration::from_secs(2);

/// Functions that are no commands.
const TOKENS: [&str; 2] = ["csrf_token", "csrf_field"];
/// The name of the field of a form that carries its token.
pub const TOKEN_FIELD: &str = "csrf_token";

/// What a page is asked.
pub struct Asked<'a> {
    /// The method's name.
    pub method: &'static str,
    /// The decoded path.
    pub path: &'a str,
    /// The host that the client has asked.
    pub host: &'a str,
    /// `http` or `https`, as the client has it.
    pub scheme: &'static str,
    /// The client's address.
    pub remote_addr: IpAddr,
    /// The query, encoded.
    pub query: &'a str,
    /// All fields, by their names in lower case: few pages look at them.
    pub headers: &'a dyn Fn() -> Vec<(String, String)>,
    /// Names and values of the parameters in the path.
    pub params: &'a [(String, String)],
    /// Further names for the template.
    pub data: Option<&'a serde_json::Value>,
    /// The page has an address at which it can be asked for again: its live blocks are shown as such.
    pub live: bool,
    /// Since when it has been worked on.
    pub started: Instant,
    /// The page that was here before.
    pub earlier: Option<Earlier<'a>>,
    /// What it may have in common with other pages.
    pub common: Option<Common<'a>>,
}

/// Where fragments of pages are kept.
#[derive(Debug, Clone, Copy)]
pub struct Common<'a> {
    /// All of them.
    pub fragments: &'a Fragments,
    /// Pages with the same numbers have fragments in common: those of the site, and of the user's rules.
    pub made_by: (u64, u64),
    /// Bytes that all fragments may take.
    pub max: usize,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            method: "GET",
            path: "/",
            host: "",
            scheme: "http",
            remote_addr: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            query: "",
            headers: &Vec::new,
            params: &[],
            data: None,
            live: false,
            started: Instant::now(),
            earlier: None,
            common: None,
        }
    }
}

/// A rendered page.
#[derive(Debug)]
pub struct Rendered {
    /// Its bytes.
    pub body: Vec<u8>,
    /// It depends on more than the keys that it has read and its address.
    pub varies: bool,
    /// Its live blocks.
    pub blocks: Arc<Blocks>,
    /// It contains a token that is of one browser.
    pub has_token: bool,
    /// Its parts, from which the next page can be made.
    pub parts: Parts,
    /// How many texts are from the page before, or from fragments.
    pub parts_kept: u64,
    /// Its fragments: the page is valid as long as they are.
    pub depends: Vec<Dependency>,
}

/// The engine of a site, with its functions and without templates.
pub(crate) fn engine(commands: &[&'static str]) -> Engine {
    let functions = [commands, &TOKENS, &["live"]].concat();
    Engine::new(&functions, |name| {
        // A feed and a drawing are XML, too.
        let end = name.strip_suffix(".j2").unwrap_or(name).rsplit('.').next();
        match end {
            Some("txt" | "md" | "csv" | "css") => Escape::None,
            Some("json" | "js") => Escape::Json,
            _ => Escape::Html,
        }
    })
}

/// What a template finds: names of the request, and commands.
struct Page<'a, 's> {
    asked: &'a Asked<'a>,
    store: &'s mut dyn Store,
    parts: Making,
    /// The loop that has begun as a fragment.
    within: Option<Box<Within>>,
    depends: Vec<Dependency>,
    /// Texts that were kept.
    kept: u64,
    /// The key of the last fragment.
    key: Vec<u8>,
    varies: bool,
    blocks: Blocks,
    has_token: bool,
}

/// A loop that has begun as a fragment.
struct Within {
    hash: u64,
    key: Box<[u8]>,
    /// Where its text begins.
    start: usize,
    /// The first of its fragments, which is itself.
    depends: usize,
    /// What it was when it was rendered last.
    earlier: Option<Arc<Fragment>>,
    parts: Making,
}

fn earlier_of(fragment: &Fragment) -> Option<Earlier<'_>> {
    match &fragment.what {
        What::Loop(text, parts) => Some(Earlier { parts, body: text.as_bytes() }),
        What::Reply(_) => None,
    }
}

/// Names of what was asked that are not the page's own.
const ASKED: [&str; 5] = ["query", "headers", "cookies", "signed_cookies", "request"];

fn strings<'t>(pairs: &[(String, String)]) -> Option<Value<'t>> {
    let value = |(name, value): &(String, String)| {
        (Value::from(name.as_str()), Value::from(value.as_str()))
    };
    Map::new(pairs.iter().map(value).collect()).ok().map(Value::Map)
}

impl Page<'_, '_> {
    /// The token for forms, or a field that carries it.
    fn token<'t>(&mut self, as_field: bool, args: &Arguments<'_, 't>) -> Made<Value<'t>> {
        if !args.positional().is_empty() || args.named().next().is_some() {
            return Err(Error::new(Kind::Host, "tokens take no arguments"));
        }
        self.varies = true;
        self.has_token = true;
        // Hexadecimal digits: nothing in it is to be escaped.
        let token = self.store.token().map_err(|why| Error::new(Kind::Host, why))?;
        Ok(if as_field {
            let field = format!("<input type=\"hidden\" name=\"{TOKEN_FIELD}\" value=\"{token}\">");
            Value::safe(field)
        } else {
            Value::from(token)
        })
    }

    /// Runs a command, whose time counts as the page's.
    fn run(&mut self, words: Vec<Vec<u8>>) -> Made<Vec<u8>> {
        let reply = self.store.read(words).map_err(|why| Error::new(Kind::Host, why))?;
        if self.overdue() {
            return Err(Error::new(Kind::Limit, "the page takes too long"));
        }
        Ok(reply)
    }

    /// The reply of a command, or what it was when it was called last.
    fn read(&mut self, words: Vec<Vec<u8>>) -> Made<Vec<u8>> {
        let long = words.iter().map(|word| word.len() + 4).sum::<usize>() > COMMAND_MAX;
        let making = self.within.as_ref().map_or(&self.parts, |within| &within.parts);
        let Some(common) = self.asked.common.filter(|_| !long && !self.varies) else {
            return self.run(words);
        };
        // What a part reads is noted for it.
        if making.is_within() || self.depends.len() >= DEPENDENCIES_MAX {
            return self.run(words);
        }
        self.begin_key(common, b'r');
        for word in &words {
            self.key.extend((word.len() as u32).to_le_bytes());
            self.key.extend_from_slice(word);
        }
        let key = std::mem::take(&mut self.key);
        let reply = self.common_reply(common, &key, words);
        self.key = key;
        reply
    }

    fn common_reply(
        &mut self,
        common: Common<'_>,
        key: &[u8],
        words: Vec<Vec<u8>>,
    ) -> Made<Vec<u8>> {
        let hash = hash64(key);
        if let Some(found) = common.fragments.get(hash, key)
            && let What::Reply(reply) = &found.what
            && self.store.has_fragment(&found.depends, found.deadline_ms)
        {
            self.depends.extend_from_slice(&found.depends);
            return Ok(reply.clone());
        }
        let Some(own) = self.store.begin_fragment(hash) else { return self.run(words) };
        self.depends.push(own);
        let reply = self.run(words);
        let deadline_ms = self.store.end_fragment();
        if let (Ok(reply), Some(deadline_ms)) = (&reply, deadline_ms)
            && reply.len() <= REPLY_MAX
            // An error is not kept.
            && !reply.starts_with(b"-")
        {
            let what = What::Reply(reply.as_slice().to_vec());
            let fragment = Fragment { key: key.into(), what, depends: [own].into(), deadline_ms };
            common.fragments.put(hash, fragment, common.max);
        }
        reply
    }

    /// Begins the key of a fragment of some kind.
    fn begin_key(&mut self, common: Common<'_>, kind: u8) {
        self.key.clear();
        self.key.push(kind);
        self.key.extend(common.made_by.0.to_le_bytes());
        self.key.extend(common.made_by.1.to_le_bytes());
    }

    /// The cookies of the request.
    fn cookies(&self) -> http1::form::Pairs {
        let fields = (self.asked.headers)().into_iter().filter(|(name, _)| name == "cookie");
        fields.flat_map(|(_, value)| http1::form::cookies(value.as_bytes())).collect()
    }
}

impl<'t> Host<'t> for Page<'_, '_> {
    fn global(&mut self, name: &str) -> Option<Value<'t>> {
        let asked = self.asked;
        if let Some((_, value)) = asked.params.iter().find(|(n, _)| n == name) {
            return Some(Value::from(value.as_str()));
        }
        if let Some(value) = asked.data.and_then(|data| data.get(name)) {
            return template::of_json(value.clone()).ok();
        }
        match name {
            "query" => strings(&http1::form::urlencoded(asked.query.as_bytes())),
            "headers" => {
                self.varies = true;
                strings(&(asked.headers)())
            }
            "cookies" => {
                self.varies = true;
                strings(&self.cookies())
            }
            "signed_cookies" => {
                self.varies = true;
                let cookies = self.cookies();
                let good = |(name, text): (String, String)| {
                    self.store.verified(&name, &text).map(|value| (name, value))
                };
                strings(&cookies.into_iter().filter_map(good).collect::<Vec<_>>())
            }
            "request" => {
                self.varies = true;
                let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
                strings(&[
                    pair("method", asked.method),
                    pair("path", asked.path),
                    pair("host", asked.host),
                    pair("scheme", asked.scheme),
                    pair("remote_addr", &asked.remote_addr.to_string()),
                ])
            }
            _ => None,
        }
    }

    /// Calls a command. Options by name stand behind the other arguments: `withscores=true` is WITHSCORES, and
    /// `match="a*"` is MATCH a*.
    fn call(&mut self, name: &str, args: &Arguments<'_, 't>, meter: &Meter) -> Made<Value<'t>> {
        meter.steps(COMMAND_STEPS)?;
        if TOKENS.contains(&name) {
            return self.token(name == "csrf_field", args);
        }
        let mut words = Words::of(name);
        for value in args.positional() {
            words.add(value, meter)?;
        }
        for (name, value) in args.named() {
            match value {
                Value::Bool(false) => continue,
                _ => words.word(name.to_uppercase().into_bytes())?,
            }
            if !matches!(value, Value::Bool(true)) {
                words.add(value, meter)?;
            }
        }
        let reply = self.read(words.take())?;
        meter.steps(reply.len() as u64 / REPLY_STEP)?;
        meter.bytes(reply.len())?;
        of_reply(reply, meter)
    }

    fn live(&mut self, name: &str, content: &str, meter: &Meter) -> Made<bool> {
        if !self.asked.live {
            return Ok(false);
        }
        meter.bytes(name.len() + content.len())?;
        // The names so far are looked through.
        meter.steps(LIVE_STEPS)?;
        let added = self.blocks.add(name, content);
        added.map(|()| true).map_err(|why| Error::new(Kind::Host, why))
    }

    fn is_asked(&self, name: &str) -> bool {
        ASKED.contains(&name)
            || self.asked.params.iter().any(|(n, _)| n == name)
            || self.asked.data.is_some_and(|data| data.get(name).is_some())
    }

    fn part(&mut self, kind: PartKind, key: &[u8], out: &mut String, meter: &Meter) -> Made<Part> {
        // What varies is not kept.
        if self.varies {
            return Ok(Part::Other);
        }
        match kind {
            PartKind::Loop => self.whole_loop(key, out, meter),
            PartKind::Turn => self.turn(key, out, meter),
        }
    }

    fn end_part(&mut self, kind: PartKind, out: &str) {
        match kind {
            PartKind::Loop => self.end_loop(out),
            PartKind::Turn => {
                let Self { parts, store, varies, within, .. } = self;
                let valid = |slots: &mut Vec<u32>| store.end_part(slots).filter(|_| !*varies);
                match within {
                    Some(within) => within.parts.end(out.len().saturating_sub(within.start), valid),
                    None => parts.end(out.len(), valid),
                }
            }
        }
    }

    fn overdue(&mut self) -> bool {
        self.asked.started.elapsed() > TIME_MAX
    }
}

impl Page<'_, '_> {
    fn turn(&mut self, key: &[u8], out: &mut String, meter: &Meter) -> Made<Part> {
        let (parts, earlier, start) = match self.within.as_deref_mut() {
            Some(Within { parts, earlier, start, .. }) => {
                (parts, earlier.as_deref().and_then(earlier_of), *start)
            }
            None => (&mut self.parts, self.asked.earlier, 0),
        };
        if !parts.may_begin() {
            return Ok(Part::Other);
        }
        let hash = hash64(key);
        if let Some(found) = parts.find(earlier, hash, key)
            && self.store.has_part(found.slots, found.version, found.deadline_ms)
            && let Ok(text) = std::str::from_utf8(found.text)
        {
            pay(meter, text)?;
            parts.keep(&found, out.len().saturating_sub(start));
            self.kept += 1;
            out.push_str(text);
            return Ok(Part::Kept);
        }
        if !self.store.begin_part() {
            return Ok(Part::Other);
        }
        parts.begin(hash, key, out.len().saturating_sub(start));
        Ok(Part::Begun)
    }

    fn whole_loop(&mut self, key: &[u8], out: &mut String, meter: &Meter) -> Made<Part> {
        let Some(common) = self.asked.common else { return Ok(Part::Other) };
        if self.parts.is_within() || self.within.is_some() {
            return Ok(Part::Other);
        }
        self.begin_key(common, b'l');
        self.key.extend_from_slice(key);
        let hash = hash64(&self.key);
        let found = common.fragments.get(hash, &self.key);
        let room = DEPENDENCIES_MAX.saturating_sub(self.depends.len());
        if let Some(fragment) = found.as_deref()
            && let What::Loop(text, parts) = &fragment.what
            && fragment.depends.len() <= room
            && self.store.has_fragment(&fragment.depends, fragment.deadline_ms)
        {
            pay(meter, text)?;
            self.depends.extend_from_slice(&fragment.depends);
            self.kept += parts.len() as u64;
            out.push_str(text);
            return Ok(Part::Kept);
        }
        if room == 0 {
            return Ok(Part::Other);
        }
        let Some(own) = self.store.begin_fragment(hash) else { return Ok(Part::Other) };
        let (depends, start) = (self.depends.len(), out.len());
        self.depends.push(own);
        let parts = Making::new(found.as_deref().and_then(earlier_of));
        let key = self.key.as_slice().into();
        let within = Within { hash, key, start, depends, earlier: found, parts };
        self.within = Some(Box::new(within));
        Ok(Part::Begun)
    }

    fn end_loop(&mut self, out: &str) {
        let Some(within) = self.within.take() else { return };
        let Within { hash, key, start, depends, parts, .. } = *within;
        let deadline_ms = self.store.end_fragment();
        if let (Some(deadline_ms), Some(common)) = (deadline_ms, self.asked.common)
            && let Some(text) = out.get(start..)
            && let Some(depends) = self.depends.get(depends..)
            && !self.varies
        {
            let what = What::Loop(text.to_owned(), parts.finish());
            let fragment = Fragment { key, what, depends: depends.into(), deadline_ms };
            common.fragments.put(hash, fragment, common.max);
        }
    }
}

/// What a text of the earlier page costs.
fn pay(meter: &Meter, text: &str) -> Made<()> {
    meter.steps(COMMAND_STEPS)?;
    meter.bytes(text.len())
}

/// Renders the template with this name.
///
/// # Errors
/// A text for the log, with file, line and column.
pub(crate) fn render(
    engine: &Engine,
    name: &str,
    asked: &Asked<'_>,
    store: &mut dyn Store,
) -> Result<Rendered, String> {
    let (varies, has_token, blocks) = (false, false, Blocks::default());
    let parts = Making::new(asked.earlier);
    let (within, kept) = (None, 0);
    let (depends, key) = (Vec::with_capacity(16), Vec::with_capacity(128));
    let mut page =
        Page { asked, store, parts, within, depends, kept, key, varies, has_token, blocks };
    let made = engine.render(name, &mut page, Limits::default());
    let mut body = made.map_err(|e| e.to_string())?.into_bytes();
    let mut parts = page.parts.finish();
    if !page.blocks.is_empty() {
        // The script moves what is behind it.
        parts = Parts::default();
        insert_script(&mut body, page.blocks.version());
    }
    let (varies, has_token, blocks) = (page.varies, page.has_token, Arc::new(page.blocks));
    let (parts_kept, depends) = (page.kept, page.depends);
    Ok(Rendered { body, varies, blocks, has_token, parts, parts_kept, depends })
}

/// The parameters of a route with their values.
#[must_use]
pub fn params(route: &Route, values: Vec<String>) -> Vec<(String, String)> {
    route.names.iter().cloned().zip(values).collect()
}

/// Whether something answers.
#[must_use]
pub fn is_found(found: &Found) -> bool {
    matches!(found, Found::Route(..))
}
