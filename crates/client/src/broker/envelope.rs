//! What is around a publication on its way: its position in the history, and with differences the one before it.
//!
//! `__p1:OFFSET:EPOCH__DATA`, `__d1:OFFSET:EPOCH:LENGTH:PREVIOUS:LENGTH:DATA`, `__j__CLIENT`, `__l__CLIENT`, or a
//! publication alone.

use crate::broker::event::{BrokerEvent, Position};
use crate::broker::protocol::{ClientInfo, Publication, wrong};
use crate::error::Result;

/// What a message of a channel says.
pub(super) fn open(channel: String, message: &[u8]) -> Result<BrokerEvent> {
    let Some(content) = message.strip_prefix(b"__") else {
        let (publication, with_delta) = Publication::decode(message)?;
        let position = Position::default();
        return Ok(BrokerEvent::Publication {
            channel,
            publication,
            position,
            with_delta,
            previous: None,
        });
    };
    match content.first() {
        Some(b'j') => {
            let info = ClientInfo::decode(behind_header(content)?.1)?;
            Ok(BrokerEvent::Join { channel, info })
        }
        Some(b'l') => {
            let info = ClientInfo::decode(behind_header(content)?.1)?;
            Ok(BrokerEvent::Leave { channel, info })
        }
        Some(b'p') => {
            let (position, data) = positioned(content)?;
            let (publication, with_delta) = Publication::decode(data)?;
            let publication = at(publication, &position);
            Ok(BrokerEvent::Publication {
                channel,
                publication,
                position,
                with_delta,
                previous: None,
            })
        }
        Some(b'd') => with_previous(channel, content),
        _ => Err(wrong("an unknown kind")),
    }
}

/// An entry of a list: a publication with its position.
pub(super) fn entry_of_list(message: &[u8]) -> Result<Publication> {
    let content = message.strip_prefix(b"__").ok_or_else(|| wrong("no position"))?;
    let (position, data) = positioned(content)?;
    let (publication, _) = Publication::decode(data)?;
    Ok(Publication { offset: position.offset, ..publication })
}

fn at(publication: Publication, position: &Position) -> Publication {
    match publication.offset {
        0 => Publication { offset: position.offset, ..publication },
        _ => publication,
    }
}

/// The header, and what is behind the two underscores that end it.
fn behind_header(content: &[u8]) -> Result<(&[u8], &[u8])> {
    let end = content.windows(2).position(|two| two == b"__");
    let end = end.filter(|&end| end > 0).ok_or_else(|| wrong("a header without an end"))?;
    Ok((&content[..end], &content[end + 2..]))
}

/// Up to the next colon.
fn word<'b>(rest: &mut &'b [u8]) -> Result<&'b str> {
    let end = memchr::memchr(b':', rest).ok_or_else(|| wrong("a header that is cut off"))?;
    let word = std::str::from_utf8(&rest[..end]).map_err(|_| wrong("a header that is not text"))?;
    *rest = &rest[end + 1..];
    Ok(word)
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| wrong("a number that is none"))
}

fn positioned(content: &[u8]) -> Result<(Position, &[u8])> {
    let (header, data) = behind_header(content)?;
    let mut rest = header.strip_prefix(b"p1:").ok_or_else(|| wrong("an unknown version"))?;
    let offset = number(word(&mut rest)?)?;
    let epoch = std::str::from_utf8(rest).map_err(|_| wrong("an epoch that is not text"))?;
    Ok((Position { offset, epoch: epoch.to_owned() }, data))
}

fn with_previous(channel: String, content: &[u8]) -> Result<BrokerEvent> {
    let mut rest = content.strip_prefix(b"d1:").ok_or_else(|| wrong("an unknown version"))?;
    let offset = number(word(&mut rest)?)?;
    let position = Position { offset, epoch: word(&mut rest)?.to_owned() };
    let previous = counted(&mut rest)?;
    rest = rest.strip_prefix(b":").ok_or_else(|| wrong("a wrong length"))?;
    let data = counted(&mut rest)?;
    let (publication, _) = Publication::decode(data)?;
    // In a list, the previous publication has an envelope.
    let previous = match previous {
        [] => None,
        [b'_', b'_', b'p', ..] => Some(entry_of_list(previous)?),
        _ => Some(Publication::decode(previous)?.0),
    };
    let publication = at(publication, &position);
    Ok(BrokerEvent::Publication { channel, publication, position, with_delta: true, previous })
}

/// A length, and as many bytes.
fn counted<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8]> {
    let length = usize::try_from(number(word(rest)?)?).map_err(|_| wrong("a wrong length"))?;
    let (bytes, behind) = rest.split_at_checked(length).ok_or_else(|| wrong("a wrong length"))?;
    *rest = behind;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{BrokerEvent, open};
    use crate::broker::protocol::Publication;

    #[test]
    fn every_kind_of_message() {
        let data = |text: &'static str| Publication { data: text.into(), ..Publication::default() };
        let plain = data("x").encode(false);
        let mut p1 = b"__p1:7:1700__".to_vec();
        p1.extend_from_slice(&plain);
        let BrokerEvent::Publication { publication, position, with_delta, .. } =
            open("c".into(), &p1).expect("a publication")
        else {
            panic!("something else")
        };
        assert_eq!((&*publication.data, publication.offset), (&b"x"[..], 7));
        assert_eq!((position.offset, position.epoch.as_str(), with_delta), (7, "1700", false));
        let before = data("__:x:").encode(false);
        let mut d1 = format!("__d1:8:1700:{}:", before.len()).into_bytes();
        d1.extend_from_slice(&before);
        d1.extend_from_slice(format!(":{}:", plain.len()).as_bytes());
        d1.extend_from_slice(&plain);
        let BrokerEvent::Publication { publication, with_delta, previous, .. } =
            open("c".into(), &d1).expect("a publication")
        else {
            panic!("something else")
        };
        assert_eq!((publication.offset, with_delta), (8, true));
        assert_eq!(previous.expect("the one before").data, "__:x:");
        // Nothing that is cut or changed panics.
        for message in [&p1, &d1] {
            for end in 0..message.len() {
                let _ = open("c".into(), &message[..end]);
            }
            for i in 0..message.len() {
                let mut other = message.clone();
                other[i] ^= 0x15;
                let _ = open("c".into(), &other);
            }
        }
        for wrong in [
            "__",
            "__x",
            "__p1:7__x",
            "__p1:x:1__",
            "__d1:8:1:99999999999999999999:",
            "__d1:8:1:3:a",
            "__j",
        ] {
            assert!(open("c".into(), wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
