//! What a connection of the web port does once it has become a stream: live page blocks, Server-Sent Events, HTTP
//! streams and WebSockets are each a [`Streaming`], which is given what the client sends, its own times, and the end.
//! It appends to the thread's [`Outlets`](crate::net::Outlets); the event loop sends.

use std::sync::Arc;

use engine::Thread;

use super::answer::Responder;
use crate::Shared;

/// Where a handler is called.
pub(crate) struct At<'a> {
    /// The client number of its connection.
    pub(crate) id: u64,
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) thread: &'a mut Thread,
    /// The thread's state of the web port: the outlets, and the producers.
    pub(crate) web: &'a mut Responder,
}

/// The protocol of a stream. All calls come on the thread of its connection.
pub(crate) trait Streaming: Send {
    /// The head of the answer has been written, and bytes may be appended.
    fn begin(&mut self, at: &mut At<'_>);

    /// Input has come. Returns how much of it is dealt with: the rest comes again with what follows.
    /// A stream in one direction ignores what its client sends.
    fn input(&mut self, _at: &mut At<'_>, bytes: &[u8]) -> usize {
        bytes.len()
    }

    /// The time has come that was asked for with [`Outlets::call_at`](crate::net::Outlets::call_at).
    fn due(&mut self, _at: &mut At<'_>) {}

    /// The client does not take what it is sent, and something was left out. The connection ends behind what this
    /// appends with [`Outlets::end`](crate::net::Outlets::end), and without that at once.
    fn slow(&mut self, _at: &mut At<'_>) {}

    /// The server stops; as [`slow`](Self::slow).
    fn stop(&mut self, _at: &mut At<'_>) {}

    /// The connection is gone. Nothing is sent any more.
    fn ended(&mut self, at: &mut At<'_>);
}
