//! The messages of client-side caching.

use std::sync::atomic::Ordering::Relaxed;

use resp::{Out, Proto, Reply};

use crate::Receiver;

/// The channel on which RESP2 connections receive the invalidations of others.
const CHANNEL: &str = "__redis__:invalidate";

/// The message to a connection.
#[derive(Debug)]
pub(crate) enum Notice {
    /// These keys have changed: an array of bulk strings, as it is sent.
    Keys { array: Vec<u8>, redirected: bool },
    /// Everything has changed.
    All { redirected: bool },
    /// The connection with this number, which was to receive the invalidations, is gone.
    Broken(u64),
}

impl Notice {
    pub(crate) fn keys<'k>(
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
        redirected: bool,
    ) -> Self {
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, Proto::V3);
        reply.array(keys.len());
        keys.for_each(|key| reply.bulk(key));
        Self::Keys { array: out.buf, redirected }
    }

    /// About how many bytes it is when it is sent.
    pub(crate) fn len(&self) -> usize {
        let keys = match self {
            Self::Keys { array, .. } => array.len(),
            Self::All { .. } | Self::Broken(_) => 0,
        };
        keys + 48
    }

    /// Writes it in the form that suits the connection, if any does: RESP2 has no push messages, but a
    /// client that subscribes to the channel for it receives the invalidations redirected to it.
    pub(crate) fn write(&self, out: &mut Out, receiver: &Receiver) -> usize {
        let before = out.len();
        let three = receiver.proto.load(Relaxed) == 3;
        let redirected = match self {
            Self::Keys { redirected, .. } | Self::All { redirected } => *redirected,
            Self::Broken(_) => false,
        };
        if !(three || redirected && receiver.subscribed.load(Relaxed)) {
            return 0;
        }
        let mut reply = Reply::new(out, if three { Proto::V3 } else { Proto::V2 });
        match self {
            Self::Broken(id) => {
                reply.push(2);
                reply.bulk("tracking-redir-broken");
                reply.int(*id as i64);
            }
            Self::Keys { .. } | Self::All { .. } if three => {
                reply.push(2);
                reply.bulk("invalidate");
            }
            Self::Keys { .. } | Self::All { .. } => {
                reply.push(3);
                reply.bulk("message");
                reply.bulk(CHANNEL);
            }
        }
        match self {
            Self::Keys { array, .. } => reply.out().buf.extend_from_slice(array),
            Self::All { .. } => reply.null(),
            Self::Broken(_) => {}
        }
        out.len() - before
    }
}
