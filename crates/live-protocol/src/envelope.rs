//! The messages of a channel, as Centrifugo's Redis engine publishes them.
//!
//! | message | what it is |
//! |---|---|
//! | Protobuf | a publication outside of the history |
//! | `__p1:OFFSET:EPOCH__` Protobuf | a publication of the history |
//! | `__d1:OFFSET:EPOCH:LEN:PREVIOUS:LEN:` Protobuf | the same, with the publication before it, for deltas |
//! | `__j__` Protobuf, `__l__` Protobuf | who joined, who left |

/// A message, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub enum Envelope<'a> {
    /// A publication.
    Publication {
        /// The offset; 0: it is not part of the history.
        offset: u64,
        /// The epoch that the offset belongs to.
        epoch: &'a str,
        /// The publication before it, if it may be sent as a delta.
        previous: Option<&'a [u8]>,
        /// The publication, in Protobuf.
        publication: &'a [u8],
    },
    /// Who joined, in Protobuf.
    Join(&'a [u8]),
    /// Who left, in Protobuf.
    Leave(&'a [u8]),
}

impl<'a> Envelope<'a> {
    /// Takes a message apart. None: it is malformed.
    #[must_use]
    pub fn of(message: &'a [u8]) -> Option<Self> {
        let Some(rest) = message.strip_prefix(b"__") else {
            return Some(Self::Publication {
                offset: 0,
                epoch: "",
                previous: None,
                publication: message,
            });
        };
        if let Some(info) = rest.strip_prefix(b"j__") {
            return Some(Self::Join(info));
        }
        if let Some(info) = rest.strip_prefix(b"l__") {
            return Some(Self::Leave(info));
        }
        if let Some(rest) = rest.strip_prefix(b"p1:") {
            let at = memchr::memmem::find(rest, b"__")?;
            let (offset, epoch) = position(&rest[..at])?;
            return Some(Self::Publication {
                offset,
                epoch,
                previous: None,
                publication: &rest[at + 2..],
            });
        }
        let rest = rest.strip_prefix(b"d1:")?;
        let (offset, rest) = number(rest)?;
        let at = memchr::memchr(b':', rest)?;
        let epoch = std::str::from_utf8(&rest[..at]).ok()?;
        let (previous, rest) = sized(&rest[at + 1..])?;
        let (publication, _) = sized(rest.strip_prefix(b":")?)?;
        Some(Self::Publication { offset, epoch, previous: Some(previous), publication })
    }

    /// A publication of the history.
    #[must_use]
    pub fn publication(
        (offset, epoch): (u64, &str),
        previous: Option<&[u8]>,
        publication: &[u8],
    ) -> Vec<u8> {
        let mut out = match previous {
            None => format!("__p1:{offset}:{epoch}__").into_bytes(),
            Some(previous) => {
                let mut out = format!("__d1:{offset}:{epoch}:{}:", previous.len()).into_bytes();
                out.extend_from_slice(previous);
                out.extend_from_slice(format!(":{}:", publication.len()).as_bytes());
                out
            }
        };
        out.extend_from_slice(publication);
        out
    }

    /// A client joins, or leaves.
    #[must_use]
    pub fn presence(joins: bool, info: &[u8]) -> Vec<u8> {
        [if joins { b"__j__" } else { b"__l__" }, info].concat()
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let at = memchr::memchr(b':', bytes)?;
    let n = std::str::from_utf8(&bytes[..at]).ok()?.parse().ok()?;
    Some((n, &bytes[at + 1..]))
}

fn position(bytes: &[u8]) -> Option<(u64, &str)> {
    let (offset, epoch) = number(bytes)?;
    Some((offset, std::str::from_utf8(epoch).ok()?))
}

fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (n, rest) = number(bytes)?;
    rest.split_at_checked(usize::try_from(n).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart_as_they_were_put_together() {
        let p = Envelope::publication((7, "ab"), None, b"x__y");
        assert_eq!(p, b"__p1:7:ab__x__y");
        let of = Envelope::of(&p).expect("good");
        assert_eq!(
            of,
            Envelope::Publication { offset: 7, epoch: "ab", previous: None, publication: b"x__y" }
        );
        let d = Envelope::publication((8, "ab"), Some(b"p:q"), b"xyz");
        assert_eq!(d, b"__d1:8:ab:3:p:q:3:xyz");
        let Some(Envelope::Publication { previous, publication, .. }) = Envelope::of(&d) else {
            panic!("a publication")
        };
        assert_eq!((previous, publication), (Some(&b"p:q"[..]), &b"xyz"[..]));
        assert_eq!(Envelope::of(&Envelope::presence(true, b"i")), Some(Envelope::Join(b"i")));
        assert_eq!(Envelope::of(&Envelope::presence(false, b"i")), Some(Envelope::Leave(b"i")));
        for bad in [
            "__p1:x:e__",
            "__p1:1",
            "__d1:1:e:9:short:1:x",
            "__q__",
            "__d1:1:e:99999999999999999999:",
        ] {
            assert_eq!(Envelope::of(bad.as_bytes()), None, "{bad}");
        }
    }
}
