//! What clients of a channel have missed that recover one after the other, as when a network comes back. While the history
//! is as it was for the client before, it is not read again; and while the reply of the command that reads it is the same,
//! the publications are neither taken apart nor encoded again.

use live_protocol::Publications;

use crate::live::store::{self, Known, Place, Read, Span};

/// Bytes of a reply that are kept.
const BYTES_MAX: usize = 1 << 20;
/// Milliseconds after which it is let go.
const KEPT_MS: i64 = 1000;

/// See the module's text.
#[derive(Default)]
pub(super) struct Recent {
    /// The reply of the command that has read the history last; empty: none is kept.
    reply: Vec<u8>,
    publications: Publications,
    /// Of what it was, and how that was then.
    channel: String,
    span: Option<Span>,
    known: Known,
    used_at: i64,
}

impl Recent {
    /// How the history of a channel was when this was read of it; none: that was not the last that was read, or it is as
    /// fast to read it.
    pub(super) fn known(&self, channel: &str, span: Span) -> Option<&Known> {
        let same = self.span == Some(span) && self.channel == channel;
        (same && !span.reverse && !self.reply.is_empty()).then_some(&self.known)
    }

    /// The publications of what was read, at a time in Unix milliseconds.
    pub(super) fn publications(
        &mut self,
        (channel, span, place): (&str, Span, &Place),
        read: Read,
        now: i64,
    ) -> Result<Publications, String> {
        if let Read::Reply(reply, extent) = read {
            if reply.is_empty() || reply != self.reply {
                let publications: Publications = store::publications(&reply)?.into();
                if publications.is_empty() || reply.len() > BYTES_MAX {
                    return Ok(publications);
                }
                (self.reply, self.publications) = (reply, publications);
            }
            if self.channel != channel {
                channel.clone_into(&mut self.channel);
            }
            self.span = Some(span);
            self.known = Known { place: place.clone(), extent };
        }
        self.used_at = now;
        Ok(self.publications.clone())
    }

    /// Lets go what was not used for a while.
    pub(super) fn forget(&mut self, now: i64) {
        if !self.reply.is_empty() && now - self.used_at > KEPT_MS {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut text = format!("*{}\r\n", entries.len());
        for (id, data) in entries {
            let publication =
                live_protocol::Publication { data: data.as_bytes().to_vec(), ..Default::default() };
            let bytes = publication.to_protobuf();
            let bytes = String::from_utf8(bytes).expect("short text");
            text += &format!("*2\r\n${}\r\n{id}\r\n*2\r\n$1\r\nd\r\n", id.len());
            text += &format!("${}\r\n{bytes}\r\n", bytes.len());
        }
        text.into_bytes()
    }

    const SPAN: Span = Span { since: Some(2), limit: -1, reverse: false };

    /// Takes in what was read of a channel.
    fn take(recent: &mut Recent, read: Read, now: i64) -> Result<Publications, String> {
        recent.publications(("a", SPAN, &Place::default()), read, now)
    }

    fn read(entries: &[(&str, &str)]) -> Read {
        Read::Reply(reply(entries), b"extent".to_vec())
    }

    fn offsets(all: &Publications) -> Vec<u64> {
        all.iter().map(|p| p.offset).collect()
    }

    #[test]
    fn the_same_reply_is_taken_apart_once_and_another_one_again() {
        let mut recent = Recent::default();
        let mut of = |entries: &[(&str, &str)]| take(&mut recent, read(entries), 5).expect("good");
        let first = of(&[("3-0", "1"), ("4-0", "2")]);
        let again = of(&[("3-0", "1"), ("4-0", "2")]);
        assert_eq!(offsets(&first), [3, 4]);
        assert!(std::ptr::eq(&*first, &*again), "they are shared");
        let longer = of(&[("3-0", "1"), ("4-0", "2"), ("5-0", "3")]);
        assert_eq!(offsets(&longer), [3, 4, 5]);
        let other = of(&[("3-0", "9"), ("4-0", "2")]);
        assert_eq!(other[0].data, b"9", "the offsets are the same, the data are not");
        assert!(of(&[]).is_empty());
        let nothing = Read::Reply(Vec::new(), Vec::new());
        assert!(take(&mut recent, nothing, 5).expect("nothing was read").is_empty());
        assert!(take(&mut recent, Read::Reply(b"-ERR no\r\n".to_vec(), Vec::new()), 5).is_err());
    }

    #[test]
    fn what_is_known_is_of_the_same_part_of_the_same_channel() {
        let mut recent = Recent::default();
        assert!(recent.known("a", SPAN).is_none(), "nothing was read");
        let first = take(&mut recent, read(&[("3-0", "1")]), 5).expect("good");
        assert_eq!(recent.known("a", SPAN).expect("it is kept").extent, b"extent");
        assert!(recent.known("b", SPAN).is_none());
        assert!(recent.known("a", Span { since: Some(1), ..SPAN }).is_none());
        let same = take(&mut recent, Read::Same, 5).expect("good");
        assert!(std::ptr::eq(&*first, &*same), "they are shared");
    }

    #[test]
    fn what_is_not_used_is_let_go() {
        let mut recent = Recent::default();
        let first = take(&mut recent, read(&[("1-0", "1")]), 1000).expect("good");
        recent.forget(1000 + KEPT_MS);
        let again = take(&mut recent, read(&[("1-0", "1")]), 1000 + KEPT_MS).expect("good");
        assert!(std::ptr::eq(&*first, &*again));
        recent.forget(1001 + 2 * KEPT_MS);
        assert!(recent.reply.is_empty() && recent.publications.is_empty());
    }
}
