//! Signed cookies, and tokens against forged requests (CSRF): HMAC-SHA256 under the secret of the site.
//!
//! A signed cookie is `VALUE.EXPIRES.MAC`: the value with everything but letters, digits, `-` and `_` as `%hh`, the
//! second of Unix time at which it ends in hexadecimal digits (0: never), and the code over a word for its use, the
//! cookie's name, the end and the value. So a value cannot be moved to another name nor live longer. It can be read
//! by everyone who has it.
//!
//! A token is the code of a random number that the browser has in a signed cookie of its own: a page of another
//! site can make a browser send the cookie and cannot know the token.
//!
//! Codes are compared in constant time. The first secret signs, all are believed.

use hmac::{Hmac, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::Sha256;

/// Bytes of a secret, at least.
pub const SECRET_MIN: usize = 32;
/// Bytes of a signed cookie, at most: browsers keep 4 KiB.
const COOKIE_MAX: usize = 4096;
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// The secrets of a site, ready for use.
#[derive(Clone)]
pub struct Keys(Vec<Hmac<Sha256>>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Keys").field(&self.0.len()).finish()
    }
}

impl Keys {
    /// Secrets with blanks between them; none: there is none, or one is too short.
    #[must_use]
    pub fn new(secrets: &[u8]) -> Option<Self> {
        let words = secrets.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let of = |word: &[u8]| {
            (word.len() >= SECRET_MIN).then(|| Hmac::new_from_slice(word).ok()).flatten()
        };
        let keys: Vec<_> = words.map(of).collect::<Option<_>>()?;
        (!keys.is_empty()).then_some(Self(keys))
    }

    fn mac(key: &Hmac<Sha256>, parts: [&str; 4]) -> Hmac<Sha256> {
        let mut mac = key.clone();
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }

    fn sign(&self, parts: [&str; 4]) -> String {
        let code = Self::mac(&self.0[0], parts).finalize().into_bytes();
        code.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn is_signed(&self, parts: [&str; 4], code: &str) -> bool {
        let Some(code) = unhex(code) else { return false };
        self.0.iter().any(|key| Self::mac(key, parts).verify_slice(&code).is_ok())
    }

    /// The signed form of a cookie's value. `expires_s`: until when it is good, in Unix time.
    #[must_use]
    pub fn cookie(&self, name: &str, value: &str, expires_s: Option<u64>) -> String {
        let value = utf8_percent_encode(value, KEPT).to_string();
        let expires = format!("{:x}", expires_s.unwrap_or(0));
        let code = self.sign(["cookie", name, &expires, &value]);
        format!("{value}.{expires}.{code}")
    }

    /// The value of a signed cookie; none: it is not good, or no longer.
    #[must_use]
    pub fn verified(&self, name: &str, text: &str, now_s: u64) -> Option<String> {
        if text.len() > COOKIE_MAX {
            return None;
        }
        let (rest, code) = text.rsplit_once('.')?;
        let (value, expires) = rest.rsplit_once('.')?;
        if !self.is_signed(["cookie", name, expires, value], code) {
            return None;
        }
        let until = u64::from_str_radix(expires, 16).ok()?;
        if until != 0 && until <= now_s {
            return None;
        }
        Some(percent_decode_str(value).decode_utf8().ok()?.into_owned())
    }

    /// The token that belongs to a browser's number.
    #[must_use]
    pub fn token(&self, id: &str) -> String {
        self.sign(["csrf", "", "", id])
    }

    /// Whether this is the token of a browser's number.
    #[must_use]
    pub fn is_token(&self, id: &str, token: &str) -> bool {
        self.is_signed(["csrf", "", "", id], token)
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let text: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
    const OTHER: &[u8] = b"another-secret-another-secret-another";

    fn keys(secret: &[u8]) -> Keys {
        Keys::new(secret).expect("a good secret")
    }

    #[test]
    fn only_what_was_signed_is_believed() {
        let keys = keys(SECRET);
        for value in ["", "7", "a.b.c", "\u{e4}; Path=/, \"\\ %", &"x".repeat(500)] {
            let text = keys.cookie("user", value, None);
            assert!(
                text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_%".contains(&b)),
                "{text}"
            );
            assert_eq!(keys.verified("user", &text, 5).as_deref(), Some(value));
            assert_eq!(keys.verified("admin", &text, 5), None, "another name");
            // Any change of any byte.
            for at in 0..text.len() {
                let mut bad = text.clone().into_bytes();
                bad[at] = if bad[at] == b'0' { b'1' } else { b'0' };
                let bad = String::from_utf8(bad).expect("ASCII");
                assert_eq!(keys.verified("user", &bad, 5), None, "{bad}");
                assert_eq!(keys.verified("user", &text[..at], 5), None);
            }
        }
        for bad in ["", ".", "..", "a.0.", &".".repeat(5000)] {
            assert_eq!(keys.verified("user", bad, 5), None);
        }
    }

    #[test]
    fn a_cookie_ends() {
        let keys = keys(SECRET);
        let text = keys.cookie("user", "7", Some(100));
        assert_eq!(keys.verified("user", &text, 99).as_deref(), Some("7"));
        assert_eq!(keys.verified("user", &text, 100), None);
        let longer = text.replace(".64.", ".0.");
        assert_ne!(longer, text);
        assert_eq!(keys.verified("user", &longer, 99), None);
    }

    #[test]
    fn secrets_are_changed_one_by_one() {
        let old = keys(OTHER).cookie("user", "7", None);
        let both = [SECRET, b" ", OTHER].concat();
        let both = keys(&both);
        assert!(both.verified("user", &old, 1).is_some());
        assert_eq!(both.cookie("user", "7", None), keys(SECRET).cookie("user", "7", None));
        assert!(keys(SECRET).verified("user", &old, 1).is_none());
        // A word of less than 32 bytes is none.
        assert!(
            Keys::new(&[OTHER, b" x"].concat()).is_none()
                && Keys::new(b"").is_none()
                && Keys::new(b"x").is_none()
        );
    }

    #[test]
    fn a_token_is_of_one_browser() {
        let keys = keys(SECRET);
        let token = keys.token("a");
        assert!(keys.is_token("a", &token) && !keys.is_token("b", &token));
        assert!(!keys.is_token("a", "") && !keys.is_token("a", &token[..63]));
        // As Python's hmac makes it.
        let code = "e9f7921ca267d9e352bceef23a25b228c00e7010b5204717e2825a9597a061d3";
        assert_eq!(keys.cookie("a", "b", None), format!("b.0.{code}"));
    }
}
