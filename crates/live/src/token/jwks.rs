//! Documents of public keys (JWKS, RFC 7517) that are fetched from a URL: when to fetch them, and what is known
//! meanwhile. No sockets and no clock: the caller fetches what [`Jwks::needs_fetch`] names and hands in the result.
//!
//! ```text
//!            lookup(kid)                     needs_fetch()            update(bytes)
//!  unknown ─────────────► wanted: Wait ────────────────────► fetching ─────────────► fresh: Found, Unknown
//!                            ▲                                  │ update(error)        │ FRESH_MS
//!                            │ after a pause that doubles       ▼                      ▼
//!                            └─────────────────────────── failed: Unavailable       stale: Found, and wanted
//!                                                                                      │ STALE_MS
//!                                                                                      ▼
//!                                                                                    Wait
//! ```
//!
//! A key that is gone from its document is gone here with the next fetch, which is an hour away at most. A token
//! that names an unknown key causes a fetch, since keys are rotated; but no more than one in [`REFETCH_MS`], and not
//! again for the same name within [`UNKNOWN_MS`], so that nobody makes the server ask as often as they like.

use super::key::{Algorithm, Key};
use crate::json::Object;
use std::collections::HashMap;
use std::sync::Arc;

/// How long a document counts as current, in milliseconds.
pub const FRESH_MS: i64 = 60 * 60 * 1000;
/// How long its keys still count after that, while it is fetched again.
pub const STALE_MS: i64 = 5 * 60 * 1000;
/// Least time between two fetches of a document because of unknown keys.
pub const REFETCH_MS: i64 = 10 * 1000;
/// How long the name of an unknown key does not cause a fetch.
pub const UNKNOWN_MS: i64 = 60 * 1000;
/// First pause after a fetch that failed; doubled up to [`PAUSE_MAX_MS`].
pub const PAUSE_MS: i64 = 1000;
/// Longest pause after fetches that failed.
pub const PAUSE_MAX_MS: i64 = 30 * 1000;
/// Most bytes of a document.
pub const DOCUMENT_MAX: usize = 1 << 20;
/// Most keys of a document that are kept.
const KEYS_MAX: usize = 1000;
/// Most documents; URLs come from lists in the configuration.
const DOCUMENTS_MAX: usize = 256;
/// Most names of unknown keys that are kept, by document.
const UNKNOWN_MAX: usize = 1000;

/// A key's name: names are only unique within a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyName {
    /// The URL of its document.
    pub url: String,
    /// Its `kid`.
    pub kid: String,
}

/// A key of a document.
#[derive(Clone, Debug)]
pub struct Published {
    /// The key.
    pub key: Key,
    /// The only algorithm that it is for, if the document says so.
    pub algorithm: Option<Algorithm>,
}

/// What is known of a key.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// This is it.
    Found(Arc<Published>),
    /// The document does not have it.
    Unknown,
    /// The document is being fetched, or should be: look up again after [`Jwks::update`].
    Wait,
    /// The document could not be fetched, and why.
    Unavailable(String),
}

/// The documents of a server.
#[derive(Debug, Default)]
pub struct Jwks {
    documents: HashMap<String, Document>,
}

#[derive(Debug, Default)]
struct Document {
    keys: HashMap<String, Arc<Published>>,
    /// When it was fetched; `None`: never.
    fetched_ms: Option<i64>,
    /// Names that it does not have, with the time until when that is believed.
    unknown: HashMap<String, i64>,
    is_wanted: bool,
    is_fetching: bool,
    failures: u32,
    /// Why the last fetch failed, and until when no other is begun.
    failed: Option<(String, i64)>,
}

impl Jwks {
    /// What is known of a key at `now_ms`, milliseconds of any clock that only goes forward.
    pub fn lookup(&mut self, name: &KeyName, now_ms: i64) -> Lookup {
        if !self.documents.contains_key(&name.url) && self.documents.len() >= DOCUMENTS_MAX {
            return Lookup::Unavailable("there are too many documents of keys".into());
        }
        self.documents.entry(name.url.clone()).or_default().lookup(&name.kid, now_ms)
    }

    /// The URL of a document that must be fetched now; from then on it counts as being fetched, until
    /// [`Self::update`]. Call it again until it returns `None`.
    pub fn needs_fetch(&mut self, now_ms: i64) -> Option<String> {
        let ready = |document: &Document| {
            document.is_wanted && !document.is_fetching && !document.is_paused(now_ms)
        };
        let (url, document) = self.documents.iter_mut().find(|(_, document)| ready(document))?;
        document.is_fetching = true;
        Some(url.clone())
    }

    /// When a document that waits for its pause to end must be fetched, in milliseconds.
    #[must_use]
    pub fn next_deadline(&self) -> Option<i64> {
        let waits =
            self.documents.values().filter(|document| document.is_wanted && !document.is_fetching);
        waits.map(|document| document.failed.as_ref().map_or(0, |(_, until)| *until)).min()
    }

    /// Takes the result of a fetch: the document, or why it could not be fetched. Returns why there are no new keys,
    /// for logs.
    pub fn update(
        &mut self,
        url: &str,
        result: Result<&[u8], String>,
        now_ms: i64,
    ) -> Option<String> {
        let document = self.documents.get_mut(url)?;
        document.is_fetching = false;
        match result.and_then(parse) {
            Ok(keys) => {
                let wanted = std::mem::take(&mut document.unknown);
                *document = Document { keys, fetched_ms: Some(now_ms), ..Document::default() };
                // What was asked for and is not there is known not to be there.
                let missing = wanted.into_keys().filter(|kid| !document.keys.contains_key(kid));
                document.unknown = missing.map(|kid| (kid, now_ms + UNKNOWN_MS)).collect();
                None
            }
            Err(why) => {
                document.failures = document.failures.saturating_add(1);
                let pause =
                    PAUSE_MS.saturating_mul(1 << (document.failures - 1).min(10)).min(PAUSE_MAX_MS);
                document.failed = Some((why.clone(), now_ms + pause));
                Some(why)
            }
        }
    }
}

impl Document {
    fn is_paused(&self, now_ms: i64) -> bool {
        self.failed.as_ref().is_some_and(|(_, until)| now_ms < *until)
    }

    /// What cannot be answered: wait for a fetch, unless fetches fail.
    fn want(&mut self, now_ms: i64) -> Lookup {
        self.is_wanted = true;
        match &self.failed {
            Some((why, until)) if now_ms < *until && !self.is_fetching => {
                Lookup::Unavailable(why.clone())
            }
            _ => Lookup::Wait,
        }
    }

    fn lookup(&mut self, kid: &str, now_ms: i64) -> Lookup {
        let Some(fetched_ms) = self.fetched_ms else { return self.want(now_ms) };
        let age_ms = now_ms - fetched_ms;
        if age_ms >= FRESH_MS + STALE_MS {
            return self.want(now_ms);
        }
        if age_ms >= FRESH_MS {
            self.is_wanted = true;
        }
        if let Some(found) = self.keys.get(kid) {
            return Lookup::Found(Arc::clone(found));
        }
        let is_believed = self.unknown.get(kid).is_some_and(|until| now_ms < *until);
        if is_believed || (age_ms < REFETCH_MS && !self.is_fetching) {
            return Lookup::Unknown;
        }
        if self.unknown.len() >= UNKNOWN_MAX {
            self.unknown.retain(|_, until| now_ms < *until);
        }
        if self.unknown.len() < UNKNOWN_MAX {
            // Until the fetch is there, nothing is believed: a time that is over.
            self.unknown.insert(kid.to_owned(), i64::MIN);
        }
        self.want(now_ms)
    }
}

/// The keys of a document that signatures can be checked with, by `kid`. Keys of other kinds are left out.
fn parse(text: &[u8]) -> Result<HashMap<String, Arc<Published>>, String> {
    if text.len() > DOCUMENT_MAX {
        return Err(format!("the document has more than {DOCUMENT_MAX} bytes"));
    }
    let document = Object::parse(text)?;
    let mut keys = HashMap::new();
    for jwk in document.list("keys")?.into_iter().flatten().take(KEYS_MAX) {
        let Some((kid, published)) = read(&jwk) else { continue };
        keys.insert(kid, Arc::new(published));
    }
    if keys.is_empty() { Err("the document has no key for signatures".into()) } else { Ok(keys) }
}

fn read(jwk: &Object<'_>) -> Option<(String, Published)> {
    let kid = jwk.string("kid").ok().filter(|kid| !kid.is_empty())?;
    let purpose = jwk.string("use").ok()?;
    let operations = jwk.strings("key_ops").ok()?;
    let is_for_signatures = matches!(purpose.as_str(), "" | "sig")
        && (operations.is_empty() || operations.iter().any(|op| op == "verify"));
    let algorithm = match jwk.string("alg").ok()?.as_str() {
        "" => None,
        name => Some(Algorithm::of(name)?),
    };
    let key = Key::from_jwk(jwk).ok()?;
    let fits = algorithm.is_none_or(|algorithm| key.may(algorithm));
    (is_for_signatures && fits).then_some((kid, Published { key, algorithm }))
}

#[cfg(test)]
mod tests {
    use super::{FRESH_MS, Jwks, KeyName, Lookup, PAUSE_MS, REFETCH_MS, STALE_MS, UNKNOWN_MS};

    const URL: &str = "https://example.com/jwks.json";

    fn name(kid: &str) -> KeyName {
        KeyName { url: URL.into(), kid: kid.into() }
    }

    fn document(kids: &[&str]) -> String {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let key = |kid: &&str| {
            format!(r#"{{"kty":"OKP","crv":"Ed25519","use":"sig","kid":"{kid}","x":"{x}"}}"#)
        };
        format!(r#"{{"keys":[{}]}}"#, kids.iter().map(key).collect::<Vec<_>>().join(","))
    }

    fn fetched(kids: &[&str], now_ms: i64) -> Jwks {
        let mut jwks = Jwks::default();
        assert!(matches!(jwks.lookup(&name("a"), now_ms), Lookup::Wait));
        assert_eq!(jwks.needs_fetch(now_ms).as_deref(), Some(URL));
        assert_eq!(jwks.needs_fetch(now_ms), None, "it is being fetched");
        jwks.update(URL, Ok(document(kids).as_bytes()), now_ms);
        jwks
    }

    #[test]
    fn a_key_waits_for_its_document_once() {
        let mut jwks = fetched(&["a", "b"], 0);
        assert!(matches!(jwks.lookup(&name("b"), 1), Lookup::Found(_)));
        assert_eq!(jwks.needs_fetch(1), None);
        let other = KeyName { url: "https://other.example/jwks.json".into(), kid: "a".into() };
        assert!(
            matches!(jwks.lookup(&other, 1), Lookup::Wait),
            "a name counts for its document alone"
        );
    }

    #[test]
    fn unknown_keys_cause_few_fetches() {
        let mut jwks = fetched(&["a"], 0);
        assert!(matches!(jwks.lookup(&name("new"), REFETCH_MS - 1), Lookup::Unknown));
        assert!(matches!(jwks.lookup(&name("new"), REFETCH_MS), Lookup::Wait));
        assert!(matches!(jwks.lookup(&name("a"), REFETCH_MS), Lookup::Found(_)));
        assert!(jwks.needs_fetch(REFETCH_MS).is_some());
        jwks.update(URL, Ok(document(&["a"]).as_bytes()), REFETCH_MS);
        for now_ms in [REFETCH_MS, 2 * REFETCH_MS, REFETCH_MS + UNKNOWN_MS - 1] {
            assert!(matches!(jwks.lookup(&name("new"), now_ms), Lookup::Unknown));
            assert_eq!(jwks.needs_fetch(now_ms), None);
        }
        assert!(matches!(jwks.lookup(&name("new"), REFETCH_MS + UNKNOWN_MS), Lookup::Wait));
    }

    #[test]
    fn rotated_keys_come_and_go() {
        let mut jwks = fetched(&["a"], 0);
        assert!(matches!(jwks.lookup(&name("b"), REFETCH_MS), Lookup::Wait));
        assert!(jwks.needs_fetch(REFETCH_MS).is_some());
        jwks.update(URL, Ok(document(&["b"]).as_bytes()), REFETCH_MS);
        assert!(matches!(jwks.lookup(&name("b"), REFETCH_MS), Lookup::Found(_)));
        assert!(
            matches!(jwks.lookup(&name("a"), REFETCH_MS), Lookup::Unknown),
            "it is gone from the document"
        );
    }

    #[test]
    fn stale_keys_count_while_they_are_fetched_again_and_not_for_ever() {
        let mut jwks = fetched(&["a"], 0);
        assert!(matches!(jwks.lookup(&name("a"), FRESH_MS), Lookup::Found(_)));
        assert!(jwks.needs_fetch(FRESH_MS).is_some());
        jwks.update(URL, Err("no route".into()), FRESH_MS);
        assert!(matches!(jwks.lookup(&name("a"), FRESH_MS + STALE_MS - 1), Lookup::Found(_)));
        assert!(matches!(jwks.lookup(&name("a"), FRESH_MS + STALE_MS), Lookup::Wait));
    }

    #[test]
    fn failures_pause_longer_and_longer() {
        let mut jwks = Jwks::default();
        let mut now_ms = 0;
        for pause in [PAUSE_MS, 2 * PAUSE_MS, 4 * PAUSE_MS] {
            assert!(matches!(jwks.lookup(&name("a"), now_ms), Lookup::Wait));
            assert!(jwks.needs_fetch(now_ms).is_some());
            jwks.update(URL, Err("no route".into()), now_ms);
            assert!(
                matches!(jwks.lookup(&name("a"), now_ms + pause - 1), Lookup::Unavailable(why) if why == "no route")
            );
            assert_eq!(jwks.needs_fetch(now_ms + pause - 1), None);
            assert_eq!(jwks.next_deadline(), Some(now_ms + pause));
            now_ms += pause;
        }
    }

    #[test]
    fn documents_that_are_none_are_failures() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"keys":[]}"#,
            r#"{"keys":[{"kid":"a","kty":"oct","k":"c2VjcmV0"}]}"#,
        ] {
            let mut jwks = Jwks::default();
            jwks.lookup(&name("a"), 0);
            jwks.needs_fetch(0);
            jwks.update(URL, Ok(text.as_bytes()), 0);
            assert!(matches!(jwks.lookup(&name("a"), 0), Lookup::Unavailable(_)), "{text}");
        }
    }
}
