//! A differential fuzz test: the same random commands go to Apus and to a real Redis, and what
//! the two say is compared, reply by reply, and at the end by DEBUG DIGEST.
//!
//! - `table` lists the commands, one line each, as patterns that `pattern` expands.
//! - `values` draws what the patterns have placeholders for: few keys, so that types collide,
//!   and values at the edges of encodings.
//! - `compare` says when two replies are the same, for commands whose order or choice is free.
//! - `exceptions` lists where Apus differs on purpose, each with its reason.
//! - `events` listens to what the servers tell of the changes.
//! - `lag` counts again what the reference counts wrong.
//! - `waiting` is a scene of clients that wait for keys, `sharing` one of clients that are told when a key
//!   changes and that watch keys.
//! - `round` makes a sequence of a seed, plays it on two servers, and cuts it down when the two
//!   disagree.
//!
//! `access` compares what users are allowed to do; nothing is random there.
//!
//! A round depends on its seed alone: what fails is played again by `cargo xtask fuzz --seed N
//! --rounds 1`.

pub mod access;
mod compare;
mod events;
mod exceptions;
mod lag;
mod pattern;
mod round;
mod servers;
mod sharing;
mod table;
mod values;
mod waiting;

pub use round::{Failure, Round};
pub use servers::Servers;

/// A command's words.
pub type Args = Vec<Vec<u8>>;
