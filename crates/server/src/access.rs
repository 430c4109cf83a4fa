//! Authentication of requests over HTTP, for the port of topics and the admin port.
//!
//! 1. *Protected mode*, as on the data port: while the default user needs no password (and there is no key),
//!    clients on other machines are refused.
//! 2. *Pages in browsers*, which send requests without the user's knowledge: a page of another site is refused
//!    unless `http-allowed-origins` names it. A page can also make its own name resolve to this machine
//!    (DNS rebinding); that name is still in the Host, which must be an address, `localhost`, or one of
//!    `http-allowed-hosts`. A request that shows a key is asked neither: a browser adds none by itself.
//! 3. *Credentials*: HTTP Basic with a user's name and password, or the key as Bearer. Without any, a request
//!    acts as the default user, if that user needs no password.

use std::net::{IpAddr, SocketAddr};

use config::{Config, Id};
use engine::Engine;
use engine::acl::Caller;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode};

/// A port for HTTP, and one connection to it.
#[derive(Clone, Copy)]
pub(crate) struct HttpPort<'a> {
    /// Its name in ACL LOG.
    pub(crate) name: &'static str,
    pub(crate) engine: &'a Engine,
    /// The key that lets a request in; empty for none.
    pub(crate) key: &'a [u8],
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) here: Option<SocketAddr>,
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) text: &'static str,
}

/// The scheme that a 401 names.
pub(crate) const CHALLENGE: &str = "Basic realm=\"apus\", charset=\"UTF-8\"";

const PROTECTED: &str = "Protected mode: the default user has no password, and this client is on another \
                         machine. Set a password (requirepass), or protected-mode no if only trusted \
                         machines can reach this port.";
const STRANGE_HOST: &str = "The Host of this request is neither an address nor localhost: name it in \
                            http-allowed-hosts.";
const STRANGE_ORIGIN: &str = "A page of another site has sent this request: name its origin in \
                              http-allowed-origins if it may.";
const NO_AUTH: &str = "Authentication required: HTTP Basic with a user's name and password.";
const NO_KEY: &str = "Authentication required: the key as a Bearer token, or HTTP Basic with a user's name \
                      and password.";
const WRONG: &str = "The user name or the password is wrong, or the user is off.";
const WRONG_KEY: &str = "The key is wrong.";
const KEY_OF_NOBODY: &str = "The key acts as the default user, and that user is off.";

fn forbidden(text: &'static str) -> Refusal {
    Refusal { status: StatusCode::FORBIDDEN, text }
}

fn unauthorized(text: &'static str) -> Refusal {
    Refusal { status: StatusCode::UNAUTHORIZED, text }
}

/// The credentials of a request.
#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    Nothing,
    Key(&'a [u8]),
    Password(Vec<u8>, Vec<u8>),
    /// It calls itself Basic and is not.
    Broken,
}

fn shown(headers: &HeaderMap) -> Shown<'_> {
    let Some(value) = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes) else {
        return Shown::Nothing;
    };
    let after = |scheme: &str| {
        let (word, rest) = value.split_at_checked(scheme.len())?;
        word.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
    };
    if let Some(rest) = after("Basic ") {
        let pair = from_base64(rest.trim_ascii());
        let colon = |p: &Vec<u8>| p.iter().position(|b| *b == b':');
        return match pair.and_then(|p| colon(&p).map(|at| (p, at))) {
            Some((pair, at)) => Shown::Password(pair[..at].to_vec(), pair[at + 1..].to_vec()),
            None => Shown::Broken,
        };
    }
    Shown::Key(after("Bearer ").unwrap_or(value))
}

impl HttpPort<'_> {
    /// The user that a request acts as.
    ///
    /// # Errors
    /// The request is refused.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let Self { name, engine, key, peer, here } = *self;
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let (peer, here) = (peer.unwrap_or(any), here.unwrap_or(any));
        if key.is_empty() {
            let open = engine.acl.takes_any_password();
            if open
                && !peer.ip().to_canonical().is_loopback()
                && engine.config.flag(Id::ProtectedMode)
            {
                return Err(forbidden(PROTECTED));
            }
        }
        match shown(headers) {
            Shown::Key(given) if !key.is_empty() => {
                if !same(given, key) {
                    return Err(unauthorized(WRONG_KEY));
                }
                engine.keyed_caller(name, &peer, &here).ok_or(forbidden(KEY_OF_NOBODY))
            }
            Shown::Password(user, password) => {
                // A browser adds a remembered password to every request to a site, also to those of other pages.
                page_may_ask(headers, &engine.config)?;
                // Where there is a key, a user without a password would be a way around it.
                let caller = engine.login(name, (&user, &password), key.is_empty(), &peer, &here);
                caller.ok_or(unauthorized(WRONG))
            }
            Shown::Broken => Err(unauthorized(WRONG)),
            Shown::Nothing if !key.is_empty() => Err(unauthorized(NO_KEY)),
            Shown::Nothing | Shown::Key(_) => {
                page_may_ask(headers, &engine.config)?;
                engine.open_caller(name, &peer, &here).ok_or(unauthorized(NO_AUTH))
            }
        }
    }
}

/// Whether a request may come from where it says, if it says that it comes from a page.
///
/// # Errors
/// It may not.
pub(crate) fn page_may_ask(headers: &HeaderMap, config: &Config) -> Result<(), Refusal> {
    let header = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    let host = header(HOST);
    if let Some(host) = host
        && !is_local(host)
        && !names(config, Id::HttpAllowedHosts, |allowed| {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name)
        })
    {
        return Err(forbidden(STRANGE_HOST));
    }
    let fetch = |name: &'static str| header(HeaderName::from_static(name));
    let known = match header(ORIGIN) {
        Some(origin) => {
            let host_of = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
            host_of.is_some_and(|of| is_local(of) || host == Some(of)) || allows(config, origin)
        }
        // An image or a script of a page names no origin, but newer browsers say that it is from elsewhere.
        // A followed link is no request of a page.
        None => {
            fetch("sec-fetch-site") != Some("cross-site")
                || fetch("sec-fetch-mode") == Some("navigate")
                || allows(config, "")
        }
    };
    if known { Ok(()) } else { Err(forbidden(STRANGE_ORIGIN)) }
}

/// Whether `http-allowed-origins` names this origin.
pub(crate) fn allows(config: &Config, origin: &str) -> bool {
    names(config, Id::HttpAllowedOrigins, |allowed| allowed.eq_ignore_ascii_case(origin))
}

/// Whether one of an option's words is `*` or fits.
fn names(config: &Config, id: Id, fits: impl Fn(&str) -> bool) -> bool {
    config.with_string(id, |text| text.split_ascii_whitespace().any(|w| w == "*" || fits(w)))
}

/// Whether a browser asks if a page may send a request: it is answered without credentials, which it does
/// not have.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(HeaderName::from_static("access-control-request-method"))
}

/// Whether two keys are the same, in a time that does not tell how much of them is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

/// Whether a host is an address or `localhost`, with or without a port, and so no name that another site could
/// make resolve to this machine.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// The bytes of base64, with or without padding.
fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|b| *b != b'=').map_or(0, |at| at + 1);
    if text.len() - end > 2 || end % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(end / 4 * 3 + 2);
    for four in text[..end].chunks(4) {
        let mut n = 0u32;
        for b in four {
            let digit = match b {
                b'A'..=b'Z' => b - b'A',
                b'a'..=b'z' => b - b'a' + 26,
                b'0'..=b'9' => b - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            n = n << 6 | u32::from(digit);
        }
        n <<= 6 * (4 - four.len());
        bytes.extend_from_slice(&n.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_whole() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd") && !same(b"ab", b"abc") && !same(b"", b"a"));
    }

    #[test]
    fn only_local_names_are_local() {
        for host in
            ["localhost", "LOCALHOST:9121", "127.0.0.1:80", "127.0.0.1", "[::1]:80", "[::1]"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example", "evil.example:80", "localhost.evil.example", "", ":80", "[x]"]
        {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn base64_is_read() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zg", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
        ] {
            assert_eq!(from_base64(text.as_bytes()).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for text in ["Z", "Zm9vY", "Z m8", "Zm8==="] {
            assert_eq!(from_base64(text.as_bytes()), None, "{text}");
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn credentials_are_read() {
        let of = |value: &str| {
            let h = headers(&[("authorization", value)]);
            match shown(&h) {
                Shown::Key(key) => format!("key {}", String::from_utf8_lossy(key)),
                Shown::Password(u, p) => {
                    format!("{}/{}", String::from_utf8_lossy(&u), String::from_utf8_lossy(&p))
                }
                other => format!("{other:?}"),
            }
        };
        assert_eq!(shown(&HeaderMap::new()), Shown::Nothing);
        assert_eq!(of("Bearer sesame"), "key sesame");
        assert_eq!(of("bearer sesame"), "key sesame");
        assert_eq!(of("sesame"), "key sesame");
        assert_eq!(of("Basic YTpiOmM="), "a/b:c");
        assert_eq!(of("basic OnA="), "/p");
        assert_eq!(of("Basic YQ=="), "Broken");
        assert_eq!(of("Basic %"), "Broken");
    }

    #[test]
    fn pages_of_other_sites_are_told() {
        let config = Config::new();
        let may = |config: &Config, pairs: &[(&'static str, &str)]| {
            page_may_ask(&headers(pairs), config).is_ok()
        };
        let here = ("host", "localhost:8080");
        for good in [
            &[][..],
            &[here],
            &[here, ("origin", "http://localhost:3000")],
            &[here, ("origin", "http://localhost:8080")],
            &[here, ("sec-fetch-site", "none")],
            &[here, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
        ] {
            assert!(may(&config, good), "{good:?}");
        }
        for bad in [
            &[("host", "evil.example")][..],
            &[("host", "evil.example"), ("origin", "http://evil.example")],
            &[here, ("origin", "http://evil.example")],
            &[here, ("origin", "null")],
            &[here, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        ] {
            assert!(!may(&config, bad), "{bad:?}");
        }
        let set = |name: &str, value: &str| {
            let pair = [(name.as_bytes(), value.as_bytes())];
            config.set(&pair, crate::LOCAL, &mut |_, _| Ok(())).expect("set");
        };
        set("http-allowed-hosts", "apus.example other:80");
        set("http-allowed-origins", "https://app.example");
        for good in [
            &[("host", "apus.example:8080")][..],
            &[("host", "Apus.example")],
            &[("host", "apus.example"), ("origin", "http://apus.example")],
            &[("host", "other:80")],
            &[here, ("origin", "https://app.example")],
        ] {
            assert!(may(&config, good), "{good:?}");
        }
        for bad in [&[("host", "other:81")][..], &[here, ("origin", "http://app.example")]] {
            assert!(!may(&config, bad), "{bad:?}");
        }
        set("http-allowed-origins", "*");
        assert!(may(&config, &[here, ("origin", "null")]));
    }
}
