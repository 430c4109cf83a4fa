//! LATENCY; the monitor itself is [`observe::latency`].

mod cmd;
mod doctor;
mod graph;

pub(crate) use cmd::{LATENCY, merged};
