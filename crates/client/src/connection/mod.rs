//! One connection to one server, which any number of callers share.

mod delay;
mod driver;
mod handle;
mod handshake;
mod queue;
mod reply;
mod settings;
pub(crate) mod stream;

pub(crate) use handle::{Connection, Reconnect};
pub(crate) use queue::Stats;
pub(crate) use reply::{Batch, Reply};
pub(crate) use settings::{Resolve, Settings};
