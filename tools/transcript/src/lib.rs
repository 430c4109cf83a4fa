//! Transcripts: examples of commands and replies, written as `redis-cli` shows them
//! in a terminal, that are documentation and test at once.
//!
//! ```text
//! # Comments start with a hash.
//! > SET k "v\x00"
//! OK
//! > GET nope
//! (nil)
//! > RANDOMKEY
//! ~ "*"
//! ```
//!
//! - [`parse`] turns the text into [`Step`]s. Its module describes the format.
//! - [`decode`] reads RESP2 and RESP3, [`format`](format()) writes a [`Reply`] the way
//!   `redis-cli` does, [`check`] compares a reply with what a step expects.
//! - [`Client`] sends steps over TCP, for the comparison with a real server.
//!
//! The decoder here shares nothing with the server's own protocol code, on purpose: a
//! mistake made twice in one code base would cancel itself out. It favours being
//! obvious over being fast, and depends on nothing but `std`.

mod check;
mod client;
mod format;
mod glob;
mod parse;
mod reply;

pub use check::{Mismatch, check};
pub use client::{Client, ClientError};
pub use format::{format, quote};
pub use glob::glob;
pub use parse::{Only, ParseError, Step, Target, Version, parse, split_args};
pub use reply::{DecodeError, Reply, decode};
