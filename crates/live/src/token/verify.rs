//! Verification of a token, in Centrifugo's order: what the claims are, patterns of issuer and audience, the
//! signature, issuer and audience, times.

use super::claims::{self, Registered};
use super::jwks::{KeyName, Lookup};
use super::key::{Algorithm, Key};
use super::{ConnectToken, SubscribeToken, TokenError, jws, safety};
use crate::json::Object;
use crate::pattern::Pattern;

/// What a configuration says of tokens: the options of `client.token` and `client.subscription_token`.
#[derive(Clone, Default)]
#[expect(missing_docs, reason = "their names are those of the options")]
pub struct Config {
    pub hmac_secret_key: String,
    pub hmac_previous_secret_key: String,
    /// Seconds of the Unix clock; 0: for ever.
    pub hmac_previous_secret_key_valid_until: i64,
    pub rsa_public_key: String,
    pub ecdsa_public_key: String,
    pub jwks_public_endpoint: String,
    pub audience: String,
    pub audience_regex: String,
    pub issuer: String,
    pub issuer_regex: String,
    pub user_id_claim: String,
    pub insecure_skip_jwks_endpoint_safety_check: bool,
}

/// Verifies tokens. Made once of a configuration, and never changed.
#[derive(Debug, Default)]
pub struct Verifier {
    hmac: Option<Key>,
    hmac_previous: Option<Key>,
    /// Seconds of the Unix clock; 0: for ever.
    hmac_previous_until: i64,
    rsa: Option<Key>,
    ecdsa: Option<Key>,
    /// The URL of the document with the keys, with names in double braces; empty: keys are configured.
    jwks: String,
    audience: String,
    audience_regex: Option<Pattern>,
    issuer: String,
    issuer_regex: Option<Pattern>,
    user_claim: String,
}

impl Verifier {
    /// Makes a verifier.
    ///
    /// # Errors
    /// A text: which option is wrong, and why.
    pub fn new(config: &Config) -> Result<Self, String> {
        if !config.audience.is_empty() && !config.audience_regex.is_empty() {
            return Err("`audience` and `audience_regex` exclude each other".into());
        }
        if !config.issuer.is_empty() && !config.issuer_regex.is_empty() {
            return Err("`issuer` and `issuer_regex` exclude each other".into());
        }
        if !config.user_id_claim.chars().all(|char| char.is_ascii_alphabetic() || char == '_') {
            return Err("`user_id_claim` may only have letters and underscores".into());
        }
        check_endpoint(config)?;
        let pattern = |option: &str, source: &str| {
            let compile = || Pattern::new(source).map_err(|why| format!("`{option}`: {why}"));
            (!source.is_empty()).then(compile).transpose()
        };
        let public = |option: &str, text: &str, kinds: &[&str]| {
            let read = || {
                let key = Key::from_pem(text).map_err(|why| format!("`{option}`: {why}"))?;
                if kinds.contains(&key.kind()) {
                    Ok(key)
                } else {
                    Err(format!("`{option}` is a key of the kind {}", key.kind()))
                }
            };
            (!text.is_empty()).then(read).transpose()
        };
        let hmac = |secret: &str| (!secret.is_empty()).then(|| Key::hmac(secret.as_bytes()));
        Ok(Self {
            hmac: hmac(&config.hmac_secret_key),
            hmac_previous: hmac(&config.hmac_previous_secret_key),
            hmac_previous_until: config.hmac_previous_secret_key_valid_until,
            rsa: public("rsa_public_key", &config.rsa_public_key, &["RSA"])?,
            ecdsa: public(
                "ecdsa_public_key",
                &config.ecdsa_public_key,
                &["P-256", "P-384", "P-521"],
            )?,
            jwks: config.jwks_public_endpoint.clone(),
            audience: config.audience.clone(),
            audience_regex: pattern("audience_regex", &config.audience_regex)?,
            issuer: config.issuer.clone(),
            issuer_regex: pattern("issuer_regex", &config.issuer_regex)?,
            user_claim: config.user_id_claim.clone(),
        })
    }

    /// Whether any token can be verified.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !self.jwks.is_empty() || self.hmac.is_some() || self.rsa.is_some() || self.ecdsa.is_some()
    }

    /// Whether keys are those of documents that are fetched.
    #[must_use]
    pub fn fetches(&self) -> bool {
        !self.jwks.is_empty()
    }

    /// Verifies the token of a connection. `now_ms` is the Unix clock in milliseconds; `lookup` finds keys of JWKS
    /// documents; `skip_signature` is for tests alone.
    ///
    /// # Errors
    /// Why the token does not count.
    pub fn connection(
        &self,
        token: &str,
        now_ms: i64,
        skip_signature: bool,
        lookup: &mut dyn FnMut(&KeyName) -> Lookup,
    ) -> Result<ConnectToken, TokenError> {
        self.verify(token, now_ms, skip_signature, lookup, claims::connection)
    }

    /// Verifies the token of a subscription; see [`Self::connection`].
    ///
    /// # Errors
    /// Why the token does not count.
    pub fn subscription(
        &self,
        token: &str,
        now_ms: i64,
        skip_signature: bool,
        lookup: &mut dyn FnMut(&KeyName) -> Lookup,
    ) -> Result<SubscribeToken, TokenError> {
        self.verify(token, now_ms, skip_signature, lookup, claims::subscribe)
    }

    fn verify<T>(
        &self,
        token: &str,
        now_ms: i64,
        skip_signature: bool,
        lookup: &mut dyn FnMut(&KeyName) -> Lookup,
        read: impl Fn(&Object<'_>, &Registered, &str) -> Result<T, String>,
    ) -> Result<T, TokenError> {
        let token = jws::parse(token).map_err(TokenError::Invalid)?;
        let claims = Object::parse(&token.claims).map_err(TokenError::Invalid)?;
        let registered = claims::registered(&claims).map_err(TokenError::Invalid)?;
        let values = self.values(&registered).map_err(TokenError::Invalid)?;
        if !skip_signature {
            self.check_signature(&token, &values, now_ms, lookup)?;
        }
        if !self.audience.is_empty() && !registered.audience.contains(&self.audience) {
            return Err(TokenError::Invalid("it is for another audience".into()));
        }
        if !self.issuer.is_empty() && registered.issuer != self.issuer {
            return Err(TokenError::Invalid("it is of another issuer".into()));
        }
        // Claims are read before times are looked at: what is not valid does not become so with another `exp`.
        let read = read(&claims, &registered, &self.user_claim).map_err(TokenError::Invalid)?;
        let is_over = registered.expires_at_ms.is_some_and(|at| at <= now_ms);
        let is_early = registered.not_before_ms.is_some_and(|at| at >= now_ms);
        if is_over || is_early { Err(TokenError::Expired) } else { Ok(read) }
    }

    /// The values of the groups with names in the patterns of issuer and audience.
    fn values(&self, registered: &Registered) -> Result<Vec<(String, String)>, String> {
        let mut values = Vec::new();
        if let Some(pattern) = &self.issuer_regex {
            values.extend(pattern.groups(&registered.issuer).ok_or("it is of another issuer")?);
        }
        if let Some(pattern) = &self.audience_regex {
            let found = registered.audience.iter().find_map(|audience| pattern.groups(audience));
            values.extend(found.ok_or("it is for another audience")?);
        }
        Ok(values)
    }

    fn check_signature(
        &self,
        token: &jws::Token<'_>,
        values: &[(String, String)],
        now_ms: i64,
        lookup: &mut dyn FnMut(&KeyName) -> Lookup,
    ) -> Result<(), TokenError> {
        let invalid = |why: &str| TokenError::Invalid(why.into());
        let algorithm = token.algorithm.clone().map_err(|name| {
            TokenError::Invalid(format!("the algorithm {name:?} is not supported"))
        })?;
        let holds = |key: &Key| key.verifies(algorithm, token.message, &token.signature);
        if !self.jwks.is_empty() {
            let key = self.find(token, algorithm, values, lookup)?;
            return if holds(&key) { Ok(()) } else { Err(invalid("its signature does not hold")) };
        }
        let key = match algorithm {
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => &self.hmac,
            Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 => &self.rsa,
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 => &self.ecdsa,
            // Centrifugo verifies EdDSA by keys of JWKS documents alone.
            Algorithm::EdDsa => &None,
        };
        let is_previous_valid =
            self.hmac_previous_until == 0 || now_ms / 1000 <= self.hmac_previous_until;
        let previous =
            self.hmac_previous.as_ref().filter(|key| is_previous_valid && key.may(algorithm));
        if key.as_ref().is_some_and(&holds) || previous.is_some_and(holds) {
            return Ok(());
        }
        Err(match key {
            Some(key) if key.may(algorithm) => invalid("its signature does not hold"),
            _ => invalid("there is no key for its algorithm"),
        })
    }

    /// The key of a JWKS document that a token names.
    fn find(
        &self,
        token: &jws::Token<'_>,
        algorithm: Algorithm,
        values: &[(String, String)],
        lookup: &mut dyn FnMut(&KeyName) -> Lookup,
    ) -> Result<Key, TokenError> {
        if token.kid.is_empty() {
            return Err(TokenError::Invalid("it names no key".into()));
        }
        let url = safety::fill(&self.jwks, values);
        if has_traversal(&url) {
            return Err(TokenError::Invalid("its issuer or audience makes no URL of keys".into()));
        }
        let name = KeyName { url, kid: token.kid.clone() };
        match lookup(&name) {
            Lookup::Found(found) if found.algorithm.is_some_and(|only| only != algorithm) => {
                Err(TokenError::Invalid("its key is for another algorithm".into()))
            }
            Lookup::Found(found) if !found.key.may(algorithm) => {
                Err(TokenError::Invalid(format!("its key is of the kind {}", found.key.kind())))
            }
            Lookup::Found(found) => Ok(found.key.clone()),
            Lookup::Unknown => {
                Err(TokenError::Invalid(format!("its key {:?} is not known", name.kid)))
            }
            Lookup::Wait => Err(TokenError::Wait(name)),
            Lookup::Unavailable(why) => Err(TokenError::Unavailable(why)),
        }
    }
}

/// Checks the URL of the document with the keys.
fn check_endpoint(config: &Config) -> Result<(), String> {
    let url = &config.jwks_public_endpoint;
    if url.is_empty() {
        return Ok(());
    }
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("`jwks_public_endpoint` must begin with http:// or https://".into());
    }
    if config.insecure_skip_jwks_endpoint_safety_check {
        return Ok(());
    }
    let patterns =
        [("issuer_regex", &config.issuer_regex), ("audience_regex", &config.audience_regex)];
    patterns
        .iter()
        .filter(|(_, pattern)| !pattern.is_empty())
        .try_for_each(|(option, pattern)| safety::check(url, option, pattern))
}

/// Whether the path of a URL leads out of itself, or is not in its shortest form.
fn has_traversal(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return true };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let Some((_, path)) = rest[..end].split_once('/') else { return false };
    let path = path.strip_suffix('/').unwrap_or(path);
    let lower = path.to_ascii_lowercase();
    if lower.contains("%2e") || lower.contains("%2f") {
        return true;
    }
    path.split('/')
        .any(|piece| matches!(piece, "." | "..") || (piece.is_empty() && !path.is_empty()))
}
