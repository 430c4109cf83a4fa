//! Messages in the form in which they are sent.
//!
//! RESP2's array and RESP3's push differ in their first byte only, so one encoding serves both.
//! A large message is not copied per subscriber: its bytes are referred to.

use std::sync::Arc;

use resp::{Out, Proto, Reply};

use crate::ChannelKind;

/// Messages of at least this many bytes are shared and not copied.
const SHARE_MIN: usize = 16 * 1024;

/// A message's bytes as the publisher has them.
#[derive(Debug)]
pub enum Payload<'a> {
    /// Copied when the message is encoded.
    Bytes(&'a [u8]),
    /// Referred to.
    Shared(Arc<Vec<u8>>),
}

impl<'a> Payload<'a> {
    /// The payload for `bytes`: large ones are copied once, here.
    pub fn of(bytes: &'a [u8]) -> Self {
        if bytes.len() < SHARE_MIN {
            Self::Bytes(bytes)
        } else {
            Self::Shared(Arc::new(bytes.to_vec()))
        }
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Encoded {
    out: Out,
    /// Its first byte depends on the protocol.
    push: bool,
    /// The length of the message within `out`, before its last line end; none: it is shared.
    payload: Option<usize>,
}

impl Encoded {
    /// A message of a channel or shard channel.
    pub(crate) fn message(kind: ChannelKind, channel: &[u8], payload: &Payload<'_>) -> Self {
        let word: &str = if kind == ChannelKind::Shard { "smessage" } else { "message" };
        Self::push(3, channel.len() + 80, payload, |reply| {
            reply.bulk(word);
            reply.bulk(channel);
        })
    }

    /// A message of a channel that matches a pattern.
    pub(crate) fn matched(pattern: &[u8], channel: &[u8], payload: &Payload<'_>) -> Self {
        Self::push(4, pattern.len() + channel.len() + 96, payload, |reply| {
            reply.bulk("pmessage");
            reply.bulk(pattern);
            reply.bulk(channel);
        })
    }

    fn push(
        n: usize,
        room: usize,
        payload: &Payload<'_>,
        head: impl FnOnce(&mut Reply<'_>),
    ) -> Self {
        let mut out = Out::default();
        let bytes = if let Payload::Bytes(b) = payload { b.len() } else { 0 };
        out.buf.reserve(room + bytes);
        let mut reply = Reply::new(&mut out, Proto::V3);
        reply.push(n);
        head(&mut reply);
        match payload {
            Payload::Bytes(b) => reply.bulk(b),
            Payload::Shared(b) => reply.bulk_shared(b),
        }
        let payload = if let Payload::Bytes(b) = payload { Some(b.len()) } else { None };
        Self { out, push: true, payload }
    }

    /// The message as it was published.
    pub(crate) fn payload(&self) -> &[u8] {
        match self.payload {
            Some(len) => {
                let end = self.out.buf.len() - 2;
                &self.out.buf[end - len..end]
            }
            None => self.out.shared.first().map_or(&[], |(_, bytes)| bytes.as_slice()),
        }
    }

    /// Its length.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Appends the message in the form of a protocol. Returns its length.
    #[inline]
    pub(crate) fn append(&self, out: &mut Out, proto: Proto) -> usize {
        let at = out.buf.len();
        out.buf.extend_from_slice(&self.out.buf);
        if self.push
            && proto == Proto::V2
            && let Some(first) = out.buf.get_mut(at)
        {
            *first = b'*';
        }
        let mut n = self.out.buf.len();
        for (place, bytes) in &self.out.shared {
            out.shared.push((at + place, Arc::clone(bytes)));
            n += bytes.len();
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(e: &Encoded, proto: Proto) -> String {
        let mut out = Out::default();
        // Something before it: offsets are relative.
        out.buf.extend_from_slice(b"x");
        let n = e.append(&mut out, proto);
        assert_eq!(out.len(), n + 1);
        let mut bytes = out.buf.clone();
        for (at, shared) in out.shared.iter().rev() {
            bytes.splice(at..at, shared.iter().copied());
        }
        String::from_utf8(bytes[1..].to_vec()).unwrap()
    }

    #[test]
    fn one_encoding_serves_both_protocols() {
        let e = Encoded::message(ChannelKind::Channel, b"ch", &Payload::Bytes(b"hello"));
        let rest = "3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n";
        assert_eq!(sent(&e, Proto::V2), format!("*{rest}"));
        assert_eq!(sent(&e, Proto::V3), format!(">{rest}"));
        let e = Encoded::matched(b"c*", b"ch", &Payload::Bytes(b""));
        let rest = "4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$0\r\n\r\n";
        assert_eq!(sent(&e, Proto::V2), format!("*{rest}"));
    }

    #[test]
    fn large_messages_are_shared() {
        let big = vec![b'b'; SHARE_MIN];
        let e = Encoded::message(ChannelKind::Shard, b"ch", &Payload::of(&big));
        assert!(e.out.buf.len() < 100);
        let text = String::from_utf8(big).unwrap();
        let rest = format!("3\r\n$8\r\nsmessage\r\n$2\r\nch\r\n$16384\r\n{text}\r\n");
        assert_eq!(sent(&e, Proto::V3), format!(">{rest}"));
    }
}
