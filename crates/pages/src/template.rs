//! Rendering: minijinja with a function for every command that only reads.
//!
//! Bounds of one page: 1,000,000 instructions, 16 MiB, and 40 templates within templates.
//! What it was asked is there by name: the parameters of the path by their own names, `query`, `headers`,
//! `cookies`, and `request` with `method`, `path` and `host`. A page that looks at headers or cookies, at the
//! time or at chance, is made for one request and not kept.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;

use minijinja::value::{Kwargs, Object, Rest, Value};
use minijinja::{Environment, Error, ErrorKind};

use crate::current;
use crate::value::{add_argument, failed, map, of_json, of_reply};
use crate::{Found, Route, Store};

/// Instructions of a template engine that a page may take: some tens of milliseconds.
const FUEL: u64 = 1_000_000;
/// Bytes that a page may have.
const OUTPUT_MAX: usize = 16 << 20;
/// Templates, macros and blocks within one another.
const DEPTH_MAX: usize = 40;

thread_local! {
    /// The page that is rendered depends on more than keys and its address.
    static VARIES: Cell<bool> = const { Cell::new(false) };
}

/// What a page is asked: owned, since values of templates are.
#[derive(Debug, Default)]
pub struct Asked {
    /// The method's name.
    pub method: &'static str,
    /// The decoded path.
    pub path: String,
    /// The field Host.
    pub host: String,
    /// The query, encoded.
    pub query: String,
    /// All fields, by their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Names and values of the parameters in the path.
    pub params: Vec<(String, String)>,
    /// Further names for the template.
    pub data: Option<serde_json::Value>,
}

/// A rendered page.
#[derive(Debug)]
pub struct Rendered {
    /// Its bytes.
    pub body: Vec<u8>,
    /// It depends on more than the keys that it has read and its address.
    pub varies: bool,
}

/// The environment of a site, with functions and filters and without templates.
pub(crate) fn environment(commands: &[&'static str]) -> Environment<'static> {
    let mut env = Environment::new();
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(DEPTH_MAX);
    env.set_debug(true);
    env.set_auto_escape_callback(|name| {
        // A feed and a drawing are XML, too.
        let end = name.strip_suffix(".j2").unwrap_or(name).rsplit('.').next();
        match end {
            Some("txt" | "md" | "csv" | "css") => minijinja::AutoEscape::None,
            Some("json" | "js") => minijinja::AutoEscape::Json,
            _ => minijinja::AutoEscape::Html,
        }
    });
    for &name in commands {
        env.add_function(name, move |args: Rest<Value>, options: Kwargs| {
            call(name, &args, &options)
        });
    }
    env.add_filter("from_json", |text: &str| {
        let json = serde_json::from_str(text).map_err(|e| failed(format!("no JSON: {e}")))?;
        Ok::<_, Error>(of_json(json))
    });
    env
}

/// Calls a command. Options by name stand behind the other arguments: `withscores=true` is WITHSCORES, and
/// `match="a*"` is MATCH a*.
fn call(name: &str, args: &[Value], options: &Kwargs) -> Result<Value, Error> {
    let mut words = vec![name.as_bytes().to_vec()];
    for value in args {
        add_argument(&mut words, value)?;
    }
    for name in options.args() {
        let value: Value = options.get(name)?;
        if value.kind() == minijinja::value::ValueKind::Bool {
            if value.is_true() {
                words.push(name.to_uppercase().into_bytes());
            }
            continue;
        }
        words.push(name.to_uppercase().into_bytes());
        add_argument(&mut words, &value)?;
    }
    let reply = current::with(|store| store.read(words))
        .ok_or_else(|| failed("commands can be called while a page is rendered"))?
        .map_err(failed)?;
    of_reply(&reply)
}

/// The names that a template finds.
#[derive(Debug)]
struct Root(Asked);

fn strings(pairs: &[(String, String)]) -> Value {
    let value = |(name, value): &(String, String)| {
        (Value::from(name.as_str()), Value::from(value.as_str()))
    };
    map(pairs.iter().map(value).collect())
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let asked = &self.0;
        let name = key.as_str()?;
        if let Some((_, value)) = asked.params.iter().find(|(n, _)| n == name) {
            return Some(Value::from(value.as_str()));
        }
        if let Some(value) = asked.data.as_ref().and_then(|data| data.get(name)) {
            return Some(of_json(value.clone()));
        }
        match name {
            "query" => Some(strings(&http1::form::urlencoded(asked.query.as_bytes()))),
            "headers" => {
                VARIES.set(true);
                Some(strings(&asked.headers))
            }
            "cookies" => {
                VARIES.set(true);
                let cookies = asked.headers.iter().filter(|(name, _)| name == "cookie");
                let pairs = cookies.flat_map(|(_, value)| http1::form::cookies(value.as_bytes()));
                Some(strings(&pairs.collect::<Vec<_>>()))
            }
            "request" => Some(map(vec![
                ("method".into(), asked.method.into()),
                ("path".into(), asked.path.as_str().into()),
                ("host".into(), {
                    VARIES.set(true);
                    asked.host.as_str().into()
                }),
            ])),
            _ => None,
        }
    }
}

/// A buffer that takes no more than a page may have.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_MAX {
            return Err(io::Error::other(format!("the page has more than {OUTPUT_MAX} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Renders the template with this name.
///
/// # Errors
/// A text for the log, with file, line and column.
pub(crate) fn render(
    env: &Environment<'static>,
    name: &str,
    asked: Asked,
    store: &mut dyn Store,
) -> Result<Rendered, String> {
    let template = env.get_template(name).map_err(|e| describe(&e, ""))?;
    VARIES.set(false);
    let mut out = Bounded(Vec::with_capacity(4096));
    let root = Value::from_object(Root(asked));
    let done = current::enter(store, || template.render_captured_to(root, &mut out).map(drop));
    match done {
        Ok(()) => Ok(Rendered { body: out.0, varies: VARIES.get() }),
        Err(e) => Err(describe(&e, "")),
    }
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

/// An error with all that is known of where it is: `name:line:column: text`. `source` is the template's text
/// if the error does not know it.
#[must_use]
pub(crate) fn describe(e: &Error, source: &str) -> String {
    let mut text = String::new();
    if let Some(line) = e.line() {
        let source = e.template_source().unwrap_or(source);
        let start = e.range().map_or(0, |range| range.start).min(source.len());
        let before = source.as_bytes().get(..start).unwrap_or_default();
        let column = start - before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) + 1;
        text = format!("{}:{line}:{column}: ", e.name().unwrap_or("?"));
    }
    text.push_str(&e.kind().to_string());
    if let Some(detail) = e.detail() {
        text.push_str(": ");
        text.push_str(detail);
    }
    let mut cause = std::error::Error::source(e);
    while let Some(inner) = cause {
        text.push_str(" (");
        match inner.downcast_ref::<Error>() {
            Some(inner) => text.push_str(&describe(inner, "")),
            None => text.push_str(&inner.to_string()),
        }
        text.push(')');
        // `describe` goes on itself where the cause is of its kind.
        cause = if inner.is::<Error>() { None } else { inner.source() };
    }
    if e.kind() == ErrorKind::OutOfFuel {
        text.push_str(" (a page may take so many steps; does it loop for ever?)");
    }
    text
}
