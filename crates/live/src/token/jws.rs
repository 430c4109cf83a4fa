//! Tokens in their compact form (RFC 7515, 7.1): three pieces of base64url, parted by dots.

use super::TOKEN_MAX;
use super::key::Algorithm;
use crate::json::Object;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A token, taken apart; nothing is verified.
#[derive(Debug)]
pub(super) struct Token<'a> {
    /// The algorithm that it names, or the name if it is not supported.
    pub(super) algorithm: Result<Algorithm, String>,
    /// The key that it names; empty: none.
    pub(super) kid: String,
    /// What the signature is of.
    pub(super) message: &'a [u8],
    /// The claims, JSON.
    pub(super) claims: Vec<u8>,
    /// The signature.
    pub(super) signature: Vec<u8>,
}

/// Takes a token apart.
pub(super) fn parse(token: &str) -> Result<Token<'_>, String> {
    if token.len() > TOKEN_MAX {
        return Err(format!("it has more than {TOKEN_MAX} bytes"));
    }
    let mut pieces = token.split('.');
    let (Some(header), Some(claims), Some(signature), None) =
        (pieces.next(), pieces.next(), pieces.next(), pieces.next())
    else {
        return Err("it does not have three pieces".into());
    };
    let message = &token.as_bytes()[..header.len() + 1 + claims.len()];
    let decode = |piece: &str, what: &str| {
        URL_SAFE_NO_PAD.decode(piece).map_err(|_| format!("its {what} is not base64url"))
    };
    let header = decode(header, "header")?;
    let header = Object::parse(&header).map_err(|why| format!("its header is wrong: {why}"))?;
    if header.has("crit") {
        return Err("its header has extensions that must be understood".into());
    }
    let name = header.string("alg")?;
    Ok(Token {
        algorithm: Algorithm::of(&name).ok_or(name),
        kid: header.string("kid")?,
        message,
        claims: decode(claims, "second piece")?,
        signature: decode(signature, "signature")?,
    })
}
