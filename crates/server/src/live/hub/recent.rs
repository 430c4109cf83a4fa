//! What clients of a channel have missed that recover one after the other, as when a network comes back: each reads the
//! history, and while that says the same as for the client before, the publications are neither taken apart nor encoded
//! again.

use live_protocol::Publications;

use crate::live::store;

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
    used_at: i64,
}

impl Recent {
    /// The publications of a reply ([`store::publications`]), at a time in Unix milliseconds.
    pub(super) fn publications(
        &mut self,
        reply: Vec<u8>,
        now: i64,
    ) -> Result<Publications, String> {
        if reply.is_empty() || reply != self.reply {
            let publications: Publications = store::publications(&reply)?.into();
            if publications.is_empty() || reply.len() > BYTES_MAX {
                return Ok(publications);
            }
            (self.reply, self.publications) = (reply, publications);
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

    fn offsets(all: &Publications) -> Vec<u64> {
        all.iter().map(|p| p.offset).collect()
    }

    #[test]
    fn the_same_reply_is_taken_apart_once_and_another_one_again() {
        let mut recent = Recent::default();
        let mut of =
            |entries: &[(&str, &str)]| recent.publications(reply(entries), 5).expect("good");
        let first = of(&[("3-0", "1"), ("4-0", "2")]);
        let again = of(&[("3-0", "1"), ("4-0", "2")]);
        assert_eq!(offsets(&first), [3, 4]);
        assert!(std::ptr::eq(&*first, &*again), "they are shared");
        let longer = of(&[("3-0", "1"), ("4-0", "2"), ("5-0", "3")]);
        assert_eq!(offsets(&longer), [3, 4, 5]);
        let other = of(&[("3-0", "9"), ("4-0", "2")]);
        assert_eq!(other[0].data, b"9", "the offsets are the same, the data are not");
        assert!(of(&[]).is_empty());
        assert!(recent.publications(Vec::new(), 5).expect("nothing was read").is_empty());
        assert!(recent.publications(b"-ERR no\r\n".to_vec(), 5).is_err());
    }

    #[test]
    fn what_is_not_used_is_let_go() {
        let mut recent = Recent::default();
        let first = recent.publications(reply(&[("1-0", "1")]), 1000).expect("good");
        recent.forget(1000 + KEPT_MS);
        let again = recent.publications(reply(&[("1-0", "1")]), 1000 + KEPT_MS).expect("good");
        assert!(std::ptr::eq(&*first, &*again));
        recent.forget(1001 + 2 * KEPT_MS);
        assert!(recent.reply.is_empty() && recent.publications.is_empty());
    }
}
