//! The network: listeners, an acceptor, and one event loop per worker thread.
//!
//! A connection is accepted by the acceptor thread, handed to the worker with the fewest
//! connections, and stays there. Epoll through `mio`, edge-triggered; docs/design/requests.md says why not a
//! runtime and not io_uring.

mod accepting;
mod acceptor;
mod answer;
mod buffers;
mod conn;
mod count;
mod dial;
mod feeding;
mod gathered;
mod inbox;
mod limits;
mod listen;
mod outlets;
mod outq;
mod receive;
mod stream;
mod streaming;
mod stuck;
mod tcp_listener;
mod tls;
mod unacknowledged;
mod web;
mod wire;
mod worker;

pub(crate) use accepting::{Accepting, warn_if_open};
pub(crate) use acceptor::{Acceptor, Doors};
pub(crate) use dial::dial;
pub(crate) use inbox::Inbox;
pub(crate) use listen::{Bound, Door, bind_tcp, bind_unix, rebind};
pub(crate) use outlets::Outlets;
pub(crate) use stream::Stream;
pub(crate) use wire::Wire;
pub(crate) use worker::Worker;
