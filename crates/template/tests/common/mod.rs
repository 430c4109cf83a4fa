//! The same template with minijinja and with this crate.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value as Json;
use template::{Arguments, Engine, Escape, Host, Limits, Meter, Part, PartKind, Result, Value};

/// The data of all templates.
pub(crate) const DATA: &str = r#"{
  "name": "World", "html": "<a href=\"/x\">'&'</a>", "n": 42, "zero": 0, "neg": -7, "f": 2.5, "big": 1e20,
  "t": true, "no": null, "empty": "", "list": [3, 1, 2], "words": ["b", "A", "c", "a"], "none_list": [],
  "nested": [[1, 2], [3], []], "map": {"a": 1, "b": {"c": [10, 20]}, "z": "last"}, "uni": "grün ÄÖ ß €",
  "users": [
    {"name": "Kim", "age": 30, "tags": ["x", "y"], "active": true, "address": {"city": "Rome"}},
    {"name": "ann", "age": 25, "tags": [], "active": false, "address": {"city": "Bern"}},
    {"name": "Bob", "age": 30, "tags": ["z"], "active": true, "address": {"city": "Rome"}}
  ],
  "tree": [{"v": 1, "kids": [{"v": 2, "kids": [{"v": 3, "kids": []}]}, {"v": 4, "kids": []}]}],
  "lines": "one\ntwo\n\nthree\n", "text": "the quick  brown fox", "mixed": [1, "a", null, true, 2.0, [1], {"k": 1}]
}"#;

pub(crate) fn escape_of(name: &str) -> Escape {
    match name.rsplit('.').next() {
        Some("html") => Escape::Html,
        Some("json") => Escape::Json,
        _ => Escape::None,
    }
}

/// The host of a page: it keeps all parts, for the page that is made behind it.
#[derive(Default)]
pub(crate) struct Data {
    json: Json,
    kept: HashMap<(bool, Vec<u8>), String>,
    /// The parts that have begun: their keys, and where their texts begin.
    begun: Vec<(PartKind, Vec<u8>, usize)>,
    /// How many parts were kept, loops apart.
    pub(crate) loops: usize,
    pub(crate) turns: usize,
}

impl Data {
    pub(crate) fn new() -> Self {
        Self { json: serde_json::from_str(DATA).expect("JSON"), ..Self::default() }
    }
}

impl<'t> Host<'t> for Data {
    fn global(&mut self, name: &str) -> Option<Value<'t>> {
        self.json.get(name).map(|value| template::of_json(value.clone()).expect("data"))
    }

    // A loop is kept although it asks: the data are always the same.
    fn is_asked(&self, _name: &str) -> bool {
        false
    }

    fn part(&mut self, kind: PartKind, key: &[u8], out: &mut String, _: &Meter) -> Result<Part> {
        if let Some(text) = self.kept.get(&(kind == PartKind::Loop, key.to_vec())) {
            out.push_str(text);
            *(if kind == PartKind::Loop { &mut self.loops } else { &mut self.turns }) += 1;
            return Ok(Part::Kept);
        }
        let is_turn = self.begun.last().is_some_and(|(kind, ..)| *kind == PartKind::Turn);
        assert!(!is_turn, "a part begins in a turn");
        assert!(self.begun.is_empty() || kind == PartKind::Turn, "a loop begins in a part");
        self.begun.push((kind, key.to_vec(), out.len()));
        Ok(Part::Begun)
    }

    fn end_part(&mut self, kind: PartKind, out: &str) {
        let (begun, key, start) = self.begun.pop().expect("a part has begun");
        assert_eq!(begun, kind);
        self.kept.insert((kind == PartKind::Loop, key), out[start..].to_owned());
    }

    fn call(&mut self, name: &str, args: &Arguments<'_, 't>, _: &Meter) -> Result<Value<'t>> {
        assert_eq!(name, "host");
        let mut all: Vec<Value<'t>> = args.positional().to_vec();
        for (name, value) in args.named() {
            all.extend([Value::from(name), value.clone()]);
        }
        Value::list(all)
    }
}

fn theirs_json(json: &Json) -> minijinja::Value {
    use minijinja::Value;
    match json {
        Json::Null => Value::from(()),
        Json::Bool(b) => Value::from(*b),
        Json::Number(n) => match n.as_i64() {
            Some(n) => Value::from(n),
            None => Value::from(n.as_f64().expect("a number")),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(all) => Value::from(all.iter().map(theirs_json).collect::<Vec<_>>()),
        Json::Object(all) => {
            Value::from_pairs(all.iter().map(|(k, v)| (k.as_str(), theirs_json(v))))
        }
    }
}

/// What minijinja makes of the first template. None: it has panicked.
pub(crate) fn theirs(templates: &[(&str, &str)]) -> Option<std::result::Result<String, String>> {
    let work = || {
        let mut env = minijinja::Environment::new();
        env.set_fuel(Some(200_000));
        env.set_auto_escape_callback(|name| match escape_of(name) {
            Escape::Html => minijinja::AutoEscape::Html,
            Escape::Json => minijinja::AutoEscape::Json,
            Escape::None => minijinja::AutoEscape::None,
        });
        env.set_recursion_limit(200);
        env.add_function(
            "host",
            |args: minijinja::value::Rest<minijinja::Value>, named: minijinja::value::Kwargs| {
                let mut all = args.0;
                let mut names: Vec<&str> = named.args().collect();
                names.sort_unstable();
                for name in names {
                    all.push(minijinja::Value::from(name));
                    all.push(named.get::<minijinja::Value>(name)?);
                }
                Ok::<_, minijinja::Error>(minijinja::Value::from(all))
            },
        );
        for (name, text) in templates {
            env.add_template_owned((*name).to_owned(), (*text).to_owned())
                .map_err(|e| format!("{e:#}"))?;
        }
        let data = theirs_json(&serde_json::from_str(DATA).expect("JSON"));
        let first = env.get_template(templates[0].0).map_err(|e| format!("{e:#}"))?;
        first.render(data).map_err(|e| format!("{e:#}"))
    };
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// What this crate makes of it.
pub(crate) fn ours(templates: &[(&str, &str)]) -> std::result::Result<String, String> {
    let mut engine = Engine::new(&["host"], escape_of);
    for (name, text) in templates {
        engine.add(name, text).map_err(|e| e.to_string())?;
    }
    let mut host = Data::new();
    let mut render = || {
        host.begun.clear();
        engine.render(templates[0].0, &mut host, Limits::default()).map_err(|e| e.to_string())
    };
    let page = render();
    // A page that fails has parts that have not ended.
    if page.is_ok() {
        assert_eq!(render(), page, "made of its parts: {templates:#?}");
    }
    page
}

/// How the two differ, if they do.
pub(crate) fn difference(templates: &[(&str, &str)]) -> Option<String> {
    let theirs = theirs(templates)?;
    match (theirs, ours(templates)) {
        (Ok(theirs), Ok(ours)) if theirs == ours => None,
        (Err(_), Err(_)) => None,
        (theirs, ours) => {
            Some(format!("{templates:#?}\n  minijinja: {theirs:?}\n       ours: {ours:?}\n"))
        }
    }
}
