//! Rendering: templates with a function for every command that only reads.
//!
//! Bounds of one page: 1,000,000 steps, 64 MiB that are made and 16 MiB of output, 40 templates within
//! templates, and 2 seconds. A command takes 20 steps, and its reply one for each 16 bytes.
//! What it was asked is there by name: the parameters of the path by their own names, `query`, `headers`,
//! `cookies`, and `request` with `method`, `path`, `host`, `scheme` and `remote_addr`. A page that looks at headers or cookies, at the
//! time or at chance, is made for one request and not kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use template::{
    Arguments, Engine, Error, Escape, Host, Kind, Limits, Map, Meter, Result as Made, Value,
};

use crate::live::{Blocks, insert_script};
use crate::value::{Words, of_reply};
use crate::{Found, Route, Store};

/// Steps of a command, and bytes of its reply for which it takes one more.
const COMMAND_STEPS: u64 = 20;
const REPLY_STEP: u64 = 16;
/// Steps of a live block.
const LIVE_STEPS: u64 = 50;
/// How long a page may take, with its commands.
const TIME_MAX: Duration = Duration::from_secs(2);

/// What a page is asked.
#[derive(Debug, Default)]
pub struct Asked {
    /// The method's name.
    pub method: &'static str,
    /// The decoded path.
    pub path: String,
    /// The host that the client has asked.
    pub host: String,
    /// `http` or `https`, as the client has it.
    pub scheme: &'static str,
    /// The client's address.
    pub remote_addr: String,
    /// The query, encoded.
    pub query: String,
    /// All fields, by their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Names and values of the parameters in the path.
    pub params: Vec<(String, String)>,
    /// Further names for the template.
    pub data: Option<serde_json::Value>,
    /// The page has an address at which it can be asked for again: its live blocks are shown as such.
    pub live: bool,
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
}

/// The engine of a site, with its functions and without templates.
pub(crate) fn engine(commands: &[&'static str]) -> Engine {
    let functions: Vec<&str> = commands.iter().copied().chain(["live"]).collect();
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
struct Page<'a> {
    asked: Asked,
    store: &'a mut dyn Store,
    varies: bool,
    blocks: Blocks,
    started: Instant,
}

fn strings<'t>(pairs: &[(String, String)]) -> Option<Value<'t>> {
    let value = |(name, value): &(String, String)| {
        (Value::from(name.as_str()), Value::from(value.as_str()))
    };
    Map::new(pairs.iter().map(value).collect()).ok().map(Value::Map)
}

impl<'t> Host<'t> for Page<'_> {
    fn global(&mut self, name: &str) -> Option<Value<'t>> {
        let asked = &self.asked;
        if let Some((_, value)) = asked.params.iter().find(|(n, _)| n == name) {
            return Some(Value::from(value.as_str()));
        }
        if let Some(value) = asked.data.as_ref().and_then(|data| data.get(name)) {
            return template::of_json(value.clone()).ok();
        }
        match name {
            "query" => strings(&http1::form::urlencoded(asked.query.as_bytes())),
            "headers" => {
                self.varies = true;
                strings(&asked.headers)
            }
            "cookies" => {
                self.varies = true;
                let cookies = asked.headers.iter().filter(|(name, _)| name == "cookie");
                let pairs = cookies.flat_map(|(_, value)| http1::form::cookies(value.as_bytes()));
                strings(&pairs.collect::<Vec<_>>())
            }
            "request" => {
                self.varies = true;
                let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
                strings(&[
                    pair("method", asked.method),
                    pair("path", &asked.path),
                    pair("host", &asked.host),
                    pair("scheme", asked.scheme),
                    pair("remote_addr", &asked.remote_addr),
                ])
            }
            _ => None,
        }
    }

    /// Calls a command. Options by name stand behind the other arguments: `withscores=true` is WITHSCORES, and
    /// `match="a*"` is MATCH a*.
    fn call(&mut self, name: &str, args: &Arguments<'_, 't>, meter: &Meter) -> Made<Value<'t>> {
        meter.steps(COMMAND_STEPS)?;
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
        let reply = self.store.read(words.take()).map_err(|why| Error::new(Kind::Host, why))?;
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

    fn overdue(&mut self) -> bool {
        self.started.elapsed() > TIME_MAX
    }
}

/// Renders the template with this name.
///
/// # Errors
/// A text for the log, with file, line and column.
pub(crate) fn render(
    engine: &Engine,
    name: &str,
    asked: Asked,
    store: &mut dyn Store,
) -> Result<Rendered, String> {
    let blocks = Blocks::default();
    let mut page = Page { asked, store, varies: false, blocks, started: Instant::now() };
    let made = engine.render(name, &mut page, Limits::default());
    let mut body = made.map_err(|e| e.to_string())?.into_bytes();
    if !page.blocks.is_empty() {
        insert_script(&mut body, page.blocks.version());
    }
    Ok(Rendered { body, varies: page.varies, blocks: Arc::new(page.blocks) })
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
