//! What the server observes of itself.
//!
//! | module | for | one per |
//! |---|---|---|
//! | [`stats`] | INFO: counters, and what each command took | thread |
//! | [`rates`] | INFO: counts per second | server |
//! | [`errors`] | INFO errorstats: error replies by their first word | server |
//! | [`costs`] | what parsing, waiting, executing and writing cost per family of commands | thread |
//! | [`topkeys`] | APUS.TOPKEYS and HOTKEYS: the keys that make the work | thread, one session per server |
//! | [`calls`] | the times of commands that scripts call | thread |
//! | [`slowlog`] | SLOWLOG: the last commands that took long | server |
//! | [`latency`] | LATENCY: spikes by event | server |
//!
//! A thread counts for itself; a reader sums over the threads. Nothing here knows threads, sessions or the
//! configuration: the time, the limits and the other threads' counters come in as arguments.

pub mod calls;
pub mod costs;
pub mod errors;
pub mod latency;
pub mod rates;
pub mod slowlog;
pub mod stats;
pub mod topkeys;
