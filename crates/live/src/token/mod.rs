//! Tokens of connections and subscriptions: signed claims (JWT, RFC 7519), verified as Centrifugo does it.
//!
//! ```text
//!  token ─► jws.rs: header, claims, signature ─► claims.rs: what they say, by type
//!                   │                                 │
//!                   │  keys of the configuration      ├─ patterns of issuer and audience (their groups choose
//!                   └─►  or jwks.rs, by `kid` ─► key.rs: the signature holds    the JWKS document)
//!                                                     └─ issuer, audience, nbf, exp
//! ```
//!
//! A key has its algorithms, and a token may only name one of these: `none`, an HMAC with a public key as its
//! secret, or a curve of another key are refused before anything is computed.

mod claims;
pub mod jwks;
mod jws;
pub mod key;
mod safety;
mod verify;

pub(crate) use claims::differs;
pub use jwks::{Jwks, Lookup};
pub use verify::{Config, Verifier};

use crate::code::{Disconnect, Error, Refusal};
use crate::subscription::Override;
use std::fmt;

/// Most bytes of a token.
pub const TOKEN_MAX: usize = 64 * 1024;

/// What a token of a connection says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectToken {
    /// The user; empty: nobody.
    pub user: String,
    /// When the connection expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the connection, in presence and in its publications; empty: none.
    pub info: Vec<u8>,
    /// JSON for proxies, never sent to clients.
    pub meta: Option<Vec<u8>>,
    /// Channels that the server subscribes to, from `subs` or else `channels`.
    pub subs: Vec<(String, TokenSubscription)>,
}

/// What a token says of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSubscription {
    /// Bytes about the subscriber; empty: none.
    pub info: Vec<u8>,
    /// Bytes for the client; empty: none.
    pub data: Vec<u8>,
    /// Options that differ from the namespace's.
    pub differs: Override,
}

/// What a token of a subscription says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscribeToken {
    /// The user; must be the connection's.
    pub user: String,
    /// The channel; must be the command's.
    pub channel: String,
    /// The client; if not empty it must be the connection's. From before version 4.
    pub client: String,
    /// When the subscription expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Info, data and options.
    pub subscription: TokenSubscription,
}

/// Why a token does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It expired, or does not begin yet.
    Expired,
    /// It is not valid, and why, for logs.
    Invalid(String),
    /// Its key is being fetched: verify again when [`Jwks`] has it.
    Wait(jwks::KeyName),
    /// Its key could not be fetched, and why, for logs.
    Unavailable(String),
}

impl TokenError {
    /// What a client that connects or refreshes its connection is told.
    ///
    /// # Panics
    /// On [`Self::Wait`], which is no answer.
    #[must_use]
    pub fn of_connection(&self) -> Refusal {
        match self {
            Self::Expired => Error::TOKEN_EXPIRED.into(),
            Self::Invalid(_) => Disconnect::INVALID_TOKEN.into(),
            Self::Unavailable(_) => Error::INTERNAL.into(),
            Self::Wait(_) => unreachable!("the key is still being fetched"),
        }
    }

    /// What a client that subscribes is told.
    ///
    /// # Panics
    /// On [`Self::Wait`], which is no answer.
    #[must_use]
    pub fn of_subscription(&self) -> Refusal {
        match self {
            Self::Invalid(_) => Error::PERMISSION_DENIED.into(),
            other => other.of_connection(),
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("the token expired"),
            Self::Invalid(why) => write!(f, "the token is not valid: {why}"),
            Self::Wait(key) => write!(f, "the key {:?} is being fetched from {}", key.kid, key.url),
            Self::Unavailable(why) => write!(f, "the token's key is not available: {why}"),
        }
    }
}
