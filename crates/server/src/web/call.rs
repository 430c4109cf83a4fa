//! Routes that call a function: the request becomes its argument, its reply the answer.
//!
//! The function is called by FCALL with the keys of the route and one argument, which is JSON: `method`,
//! `path`, `params`, `query`, `form`, `cookies`, `body`, `host`, `scheme`, `remote_addr`. It answers with text, or with JSON: an object that
//! has one of `status`, `headers`, `body`, `redirect`, `template` (with `data`), `json`. Nothing is 204.

use engine::Engine;
use http1::{Head, form};
use pages::Route;
use serde_json::{Map, Value, json};

use super::origin::Origin;

/// What a function has answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) content_type: String,
    /// A template to be rendered with these names.
    pub(super) template: Option<(String, Value)>,
}

impl Answer {
    fn of(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            content_type: "text/plain; charset=utf-8".into(),
            template: None,
        }
    }
}

fn object(pairs: impl IntoIterator<Item = (String, String)>) -> Value {
    Value::Object(pairs.into_iter().map(|(n, v)| (n, Value::String(v))).collect::<Map<_, _>>())
}

/// The command that calls the function of a route.
pub(super) fn words(
    head: &Head<'_>,
    origin: &Origin<'_>,
    body: &[u8],
    (function, keys): (&str, &[String]),
    params: &[(String, String)],
) -> Vec<Vec<u8>> {
    let content_type = head.text("content-type").unwrap_or("");
    let kind = content_type.split(';').next().unwrap_or("").trim();
    let fields = if kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        form::urlencoded(body)
    } else if kind.eq_ignore_ascii_case("multipart/form-data") {
        form::multipart(content_type, body).unwrap_or_default()
    } else {
        Vec::new()
    };
    let argument = json!({
        "method": head.method.name(),
        "path": head.target.path,
        "params": object(params.to_vec()),
        "query": object(form::urlencoded(head.target.query.as_bytes())),
        "form": object(fields),
        "cookies": object(head.get("cookie").map(form::cookies).unwrap_or_default()),
        "body": String::from_utf8_lossy(body),
        "host": origin.host,
        "scheme": origin.scheme,
        "remote_addr": origin.ip.to_string(),
    });
    let mut words = vec![b"fcall".to_vec(), function.into(), keys.len().to_string().into_bytes()];
    words.extend(keys.iter().map(|key| filled(key, params).into_bytes()));
    words.push(argument.to_string().into_bytes());
    words
}

/// A key with the values of its parameters.
fn filled(key: &str, params: &[(String, String)]) -> String {
    let mut text = String::new();
    let mut rest = key;
    // One pass: a value that looks like a parameter stays what it is.
    while let Some((before, tail)) = rest.split_once('{') {
        text.push_str(before);
        let name = tail.split_once('}');
        let value = name.and_then(|(name, _)| params.iter().find(|(n, _)| n == name));
        match (name, value) {
            (Some((_, after)), Some((_, value))) => {
                text.push_str(value);
                rest = after;
            }
            _ => {
                text.push('{');
                rest = tail;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Why a function cannot be called for this request: a page of another site may have sent it
/// (cross-site request forgery). Browsers say where a request comes from.
pub(super) fn is_foreign(head: &Head<'_>, host: &str) -> bool {
    !head.method.is_safe() && is_from_elsewhere(head, host)
}

/// Whether a page of another site has sent the request.
pub(super) fn is_from_elsewhere(head: &Head<'_>, host: &str) -> bool {
    if let Some(site) = head.text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = head.text("origin") else { return false };
    origin.split_once("://").is_none_or(|(_, from)| !from.eq_ignore_ascii_case(host))
}

/// Reads the reply, which is in RESP3. An error is told of in the log.
pub(super) fn answer(engine: &Engine, route: &Route, reply: &[u8]) -> Answer {
    let Some((kind, rest)) = reply.split_first() else {
        let mut wait = Answer::of(503);
        wait.headers.push(("Retry-After".into(), "1".into()));
        return wait;
    };
    let end = memchr::memmem::find(rest, b"\r\n").unwrap_or(rest.len());
    let line = String::from_utf8_lossy(&rest[..end]);
    match kind {
        b'-' => {
            engine::log!(engine.log, Warning, "site: route {}: {}", route.pattern, line);
            Answer::of(match line.split(' ').next() {
                Some("NOPERM") => 403,
                Some("OOM" | "BUSY" | "LOADING" | "READONLY" | "MASTERDOWN" | "NOREPLICAS") => 503,
                _ => 500,
            })
        }
        b'$' if !line.starts_with('-') => {
            let n: usize = line.parse().unwrap_or(0);
            let text = rest.get(end + 2..end + 2 + n).unwrap_or_default();
            text_answer(engine, route, text)
        }
        b'$' | b'_' => Answer::of(204),
        b'+' | b':' | b',' => Answer { body: line.into_owned().into_bytes(), ..Answer::of(200) },
        _ => {
            let why = "the function has answered neither text nor a number nor JSON";
            engine::log!(engine.log, Warning, "site: route {}: {}", route.pattern, why);
            Answer::of(500)
        }
    }
}

fn text_answer(engine: &Engine, route: &Route, text: &[u8]) -> Answer {
    let json = text.first().filter(|b| **b == b'{').and_then(|_| serde_json::from_slice(text).ok());
    let Some(Value::Object(mut json)) = json else {
        return Answer { body: text.to_vec(), ..Answer::of(200) };
    };
    const KNOWN: [&str; 6] = ["status", "headers", "body", "redirect", "template", "json"];
    if !KNOWN.iter().any(|name| json.contains_key(*name)) {
        let content_type = "application/json".into();
        return Answer { body: text.to_vec(), content_type, ..Answer::of(200) };
    }
    let mut answer = Answer::of(200);
    if let Some(Value::Object(headers)) = json.remove("headers") {
        for (name, value) in headers {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if name.eq_ignore_ascii_case("content-type") {
                answer.content_type = value;
            } else if !is_framing(&name) {
                answer.headers.push((name, value));
            }
        }
    }
    match (json.remove("body"), json.remove("json"), json.remove("template")) {
        (_, Some(value), _) => {
            answer.body = value.to_string().into_bytes();
            answer.content_type = "application/json".into();
        }
        (_, _, Some(Value::String(name))) => {
            answer.template = Some((name, json.remove("data").unwrap_or_default()));
        }
        (Some(Value::String(body)), ..) => answer.body = body.into_bytes(),
        _ => {}
    }
    if let Some(Value::String(to)) = json.remove("redirect") {
        answer.headers.push(("Location".into(), to));
        answer.status = 303;
    }
    if let Some(status) = json.get("status") {
        match status.as_u64().filter(|s| (200..600).contains(s)) {
            Some(status) => answer.status = status as u16,
            None => {
                let text = "the function's status is none";
                engine::log!(engine.log, Warning, "site: route {}: {}", route.pattern, text);
                return Answer::of(500);
            }
        }
    }
    answer
}

/// Whether a field says where an answer ends, which is not a function's to say.
fn is_framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection", "date", "upgrade", "trailer"]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own))
}
