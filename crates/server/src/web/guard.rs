//! The secret of the site, and what a request needs of it: signed cookies, and tokens against forged requests.
//!
//! The secret is `web-secret`, or one that the server makes when it first needs one and keeps in the file
//! `web-secret` in `dir`, for its owner only. It is in no key: who may read keys must not be able to sign.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Config, Id};
use engine::{Engine, log};
use http1::Head;
use http1::form::{self, Pairs};
use http1::response::is_name;
use pages::sign::Keys;
use pages::template::TOKEN_FIELD;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::origin::Origin;

/// The file with the secret that the server has made.
const FILE: &str = "web-secret";
/// Bytes of that file, at most.
const FILE_MAX: u64 = 4096;
/// The field that carries a token where there is no form.
const TOKEN_HEADER: &str = "x-csrf-token";

/// The secret, when it is known.
#[derive(Default)]
pub(super) struct Secret(Mutex<Option<Arc<Keys>>>);

impl Secret {
    /// Forgets it: the option has changed.
    pub(super) fn forget(&self) {
        *self.0.lock() = None;
    }

    /// The secret; none: there is none and none can be made, which the log says.
    pub(super) fn keys(&self, engine: &Engine) -> Option<Arc<Keys>> {
        let mut known = self.0.lock();
        if known.is_none() {
            *known = match read(&engine.config) {
                Ok(keys) => Some(Arc::new(keys)),
                Err(e) => {
                    log!(engine.log, Warning, "web-secret: {}", e);
                    None
                }
            };
        }
        known.clone()
    }
}

fn read(config: &Config) -> io::Result<Keys> {
    let own = config.string(Id::WebSecret);
    if !own.trim().is_empty() {
        return Keys::new(own.as_bytes()).ok_or_else(|| io::Error::other("it is too short"));
    }
    let path = PathBuf::from(config.string(Id::Dir)).join(FILE);
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    if !path.exists() {
        make(&path).map_err(named)?;
    }
    let mut text = Vec::new();
    File::open(&path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut text)).map_err(named)?;
    Keys::new(&text).ok_or_else(|| named(io::Error::other("it has no secret of 32 characters")))
}

/// Makes the file at once as a whole, and does not replace one that another process has made meanwhile.
fn make(path: &Path) -> io::Result<()> {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    let _ = std::fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let written = random::<32>()
        .and_then(|text| file.write_all(format!("{text}\n").as_bytes()))
        .and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match std::fs::hard_link(&unfinished, path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    let _ = std::fs::remove_file(&unfinished);
    linked
}

/// So many random bytes in hexadecimal digits.
fn random<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    stdx::rng::fill_from_os(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where the secret comes from when it is needed.
pub(super) type Source<'a> = &'a dyn Fn() -> Option<Arc<Keys>>;

/// What one request needs of the secret.
pub(super) struct Guard<'a> {
    keys: Source<'a>,
    /// The cookies of the request.
    pub(super) cookies: Pairs,
    secure: bool,
    now_s: u64,
    /// The browser's number, when it was asked for.
    id: Option<String>,
    /// A field for the answer.
    pub(super) set_cookie: Option<String>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(keys: Source<'a>, head: &Head<'_>, origin: &Origin<'_>, now_ms: i64) -> Self {
        let fields = head.fields().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let cookies = fields.flat_map(|(_, value)| form::cookies(value)).collect();
        let (secure, now_s) = (origin.scheme == "https", now_ms as u64 / 1000);
        Self { keys, cookies, secure, now_s, id: None, set_cookie: None }
    }

    /// The name of the cookie with the browser's number. With the prefix, no other host can set it.
    fn id_cookie(&self) -> &'static str {
        if self.secure { "__Host-apus-csrf" } else { "apus-csrf" }
    }

    /// The number that the browser has shown.
    fn shown_id(&self) -> Option<String> {
        let (_, text) = self.cookies.iter().find(|(name, _)| name == self.id_cookie())?;
        self.verified(self.id_cookie(), text)
    }

    /// The token of the browser, which gets a number if it has none.
    pub(super) fn token(&mut self) -> Result<String, String> {
        let keys = (self.keys)().ok_or("there is no web-secret")?;
        if self.id.is_none() {
            self.id = self.shown_id();
        }
        let id = match self.id.take() {
            Some(id) => id,
            None => {
                let id = random::<16>().map_err(|e| e.to_string())?;
                let (name, value) = (self.id_cookie(), keys.cookie(self.id_cookie(), &id, None));
                let secure = if self.secure { "; Secure" } else { "" };
                let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}");
                self.set_cookie = Some(cookie);
                id
            }
        };
        let token = keys.token(&id);
        self.id = Some(id);
        Ok(token)
    }

    /// Whether a request carries the token of its browser, in a field of its form or its head.
    pub(super) fn has_token(&self, head: &Head<'_>, fields: &Pairs) -> bool {
        let (Some(keys), Some(id)) = ((self.keys)(), self.shown_id()) else { return false };
        let in_form = fields.iter().find(|(name, _)| name == TOKEN_FIELD);
        let token = head.text(TOKEN_HEADER).or(in_form.map(|(_, value)| value.as_str()));
        token.is_some_and(|token| keys.is_token(&id, token))
    }

    /// The value of a signed cookie.
    pub(super) fn verified(&self, name: &str, text: &str) -> Option<String> {
        // What has not the form of one needs no secret.
        text.contains('.').then(|| (self.keys)()?.verified(name, text, self.now_s)).flatten()
    }

    /// The signed cookies of the request, with their values.
    pub(super) fn signed_cookies(&self) -> Pairs {
        let good = |(name, text): &(String, String)| {
            self.verified(name, text).map(|value| (name.clone(), value))
        };
        self.cookies.iter().filter_map(good).collect()
    }

    /// The field Set-Cookie for a cookie that a function sets: a text, an object (`value`, `max_age`, `path`,
    /// `domain`, `same_site`, `http_only`, `secure`, `signed`), or null, which removes it.
    ///
    /// # Errors
    /// A text: it cannot be set.
    pub(super) fn set(&self, name: &str, cookie: &Value) -> Result<String, String> {
        let none = Map::new();
        let (value, options) = match cookie {
            Value::Null => (None, &none),
            Value::Object(options) => (options.get("value").filter(|v| !v.is_null()), options),
            other => (Some(other), &none),
        };
        if !is_name(name) {
            return Err(format!("'{name}' is no name of a cookie"));
        }
        let bad = |option: &str| format!("cookie {name}: bad {option}");
        let flag = |option: &str, default| match options.get(option) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| bad(option)),
        };
        let max_age = match (value, options.get("max_age")) {
            (None, _) => Some(0),
            (_, None) => None,
            (_, Some(age)) => Some(age.as_u64().ok_or_else(|| bad("max_age"))?),
        };
        let value = match value {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(_) | Value::Array(_)) => return Err(bad("value")),
            Some(other) => other.to_string(),
        };
        let value = if max_age == Some(0) {
            String::new()
        } else if flag("signed", true)? {
            let keys = (self.keys)().ok_or("there is no web-secret")?;
            keys.cookie(name, &value, max_age.map(|age| self.now_s.saturating_add(age)))
        } else if value.bytes().all(|b| b.is_ascii_graphic() && !b"\",;\\".contains(&b)) {
            value
        } else {
            return Err(bad("value"));
        };
        let attribute = |option: &str, default: &str| match options.get(option) {
            None => Ok(default.to_owned()),
            Some(Value::String(text))
                if text.bytes().all(|b| matches!(b, b' '..=b'~') && b != b';') =>
            {
                Ok(text.clone())
            }
            Some(_) => Err(bad(option)),
        };
        let (path, domain) = (attribute("path", "/")?, attribute("domain", "")?);
        let same_site = attribute("same_site", "Lax")?;
        if !["Lax", "Strict", "None"].contains(&same_site.as_str()) {
            return Err(bad("same_site"));
        }
        let mut text = format!("{name}={value}; Path={path}; SameSite={same_site}");
        if !domain.is_empty() {
            text.push_str(&format!("; Domain={domain}"));
        }
        if let Some(age) = max_age {
            text.push_str(&format!("; Max-Age={age}"));
        }
        // A browser refuses one for all sites that is not secure.
        if flag("secure", self.secure || same_site == "None")? {
            text.push_str("; Secure");
        }
        if flag("http_only", true)? {
            text.push_str("; HttpOnly");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn guard(cookies: &[(&str, &str)]) -> Guard<'static> {
        let keys: Source<'static> = &|| Keys::new(&[b'k'; 32]).map(Arc::new);
        let cookies = cookies.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Guard { keys, cookies, secure: false, now_s: 100, id: None, set_cookie: None }
    }

    #[test]
    fn a_browser_keeps_its_number() {
        let mut first = guard(&[]);
        let token = first.token().expect("a token");
        assert_eq!(first.token().expect("a token"), token);
        let field = first.set_cookie.take().expect("a cookie");
        let (cookie, attributes) = field.split_once("; ").expect("attributes");
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");
        let (name, value) = cookie.split_once('=').expect("a value");
        let mut again = guard(&[("x", "y"), (name, value)]);
        assert_eq!((again.token().expect("a token"), again.set_cookie), (token, None));
        let mut invented = guard(&[(name, "00112233445566778899aabbccddeeff")]);
        assert!(invented.token().is_ok() && invented.set_cookie.is_some());
        let mut secure = guard(&[(name, value)]);
        secure.secure = true;
        assert!(secure.token().is_ok());
        let field = secure.set_cookie.expect("a cookie of its own");
        assert!(field.starts_with("__Host-apus-csrf=") && field.ends_with("; Secure"), "{field}");
    }

    #[test]
    fn cookies_are_set_as_functions_say() {
        let guard = guard(&[]);
        let set = |cookie: Value| guard.set("user", &cookie);
        let field = set(json!({"value": "7", "max_age": 60})).expect("a field");
        assert!(field.ends_with("; Path=/; SameSite=Lax; Max-Age=60; HttpOnly"), "{field}");
        let value = field.split([';', '=']).nth(1).expect("a value");
        assert_eq!(guard.verified("user", value).as_deref(), Some("7"));
        assert!(value.contains(".a0."), "{value}: it ends in second 160");
        let plain = json!({"value": "a=b", "signed": false, "http_only": false, "same_site": "None", "path": "/x"});
        assert_eq!(set(plain).expect("a field"), "user=a=b; Path=/x; SameSite=None; Secure");
        assert_eq!(
            set(json!(null)).expect("a field"),
            "user=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly"
        );
        assert!(set(json!(7)).expect("a field").starts_with("user=7.0."));
        for bad in [
            json!({"value": "a b", "signed": false}),
            json!({"value": "a;b", "signed": false}),
            json!({"value": "a\r\nX: y", "signed": false}),
            json!({"value": "a", "path": "/;x"}),
            json!({"value": "a", "path": "/\r\nX: y"}),
            json!({"value": "a", "domain": 7}),
            json!({"value": "a", "same_site": "lax; x"}),
            json!({"value": "a", "max_age": -1}),
            json!({"value": "a", "secure": "yes"}),
            json!({"value": ["a"]}),
        ] {
            assert!(set(bad.clone()).is_err(), "{bad}");
        }
        assert!(guard.set("a b", &json!("x")).is_err() && guard.set("", &json!("x")).is_err());
    }

    #[test]
    fn the_secret_is_made_once() {
        let dir = std::env::temp_dir().join(format!("apus-secret-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let path = dir.join(FILE);
        make(&path).expect("made");
        let text = std::fs::read(&path).expect("there");
        assert_eq!(text.len(), 65);
        make(&path).expect("left alone");
        assert_eq!(std::fs::read(&path).expect("there"), text);
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&dir).expect("there").count(), 1);
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
