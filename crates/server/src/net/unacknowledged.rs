//! What becomes of replies whose changes were not acknowledged in time: each is replaced by an error.
//!
//! The commands have run. Whether their changes survive a failover is not known, and the error says so.

use resp::Out;

/// Instead of the replies of a connection that has changed something.
pub(super) const UNCERTAIN: &str = "UNCERTAIN Too few replicas have acknowledged in time, or the server is no \
     primary any more. The command has run; its changes may be lost or may stay.";
/// Instead of the replies of one that has only read.
pub(super) const UNSEEN: &str = "NOREPLICAS What was read is not acknowledged by enough replicas, or too few \
     Sentinels see this server.";

/// Replaces every reply in `out` by the error, and keeps push messages. Returns false, with nothing changed, when
/// that cannot be done.
pub(super) fn replace_replies(out: &mut Out, error: &str) -> bool {
    let bytes = flat(out);
    let mut replaced = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let Some(len) = value(rest, 0) else { return false };
        if rest[0] == b'>' {
            replaced.extend_from_slice(&rest[..len]);
        } else {
            replaced.push(b'-');
            replaced.extend_from_slice(error.as_bytes());
            replaced.extend_from_slice(b"\r\n");
        }
        rest = &rest[len..];
    }
    *out = Out { buf: replaced, limit: out.limit, ..Out::default() };
    true
}

fn flat(out: &Out) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(out.len());
    let mut from = 0;
    for (at, piece) in &out.shared {
        bytes.extend_from_slice(&out.buf[from..*at]);
        bytes.extend_from_slice(piece.as_slice());
        from = *at;
    }
    bytes.extend_from_slice(&out.buf[from..]);
    bytes
}

/// Replies within replies that are looked into.
const DEPTH_MAX: usize = 128;

/// The length of the value at the start of `bytes`, in bytes.
fn value(bytes: &[u8], depth: usize) -> Option<usize> {
    let end = memchr::memchr(b'\n', bytes)? + 1;
    let number = || stdx::num::parse_i64(bytes.get(1..end.checked_sub(2)?)?);
    let parts = match bytes.first()? {
        b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => 0,
        b'$' | b'=' | b'!' => {
            let whole = match usize::try_from(number()?) {
                Ok(n) => end.checked_add(n)?.checked_add(2)?,
                Err(_) => end,
            };
            return (whole <= bytes.len()).then_some(whole);
        }
        b'*' | b'~' | b'>' => usize::try_from(number()?).unwrap_or(0),
        b'%' => usize::try_from(number()?).ok()?.checked_mul(2)?,
        b'|' => usize::try_from(number()?).ok()?.checked_mul(2)?.checked_add(1)?,
        _ => return None,
    };
    let mut at = end;
    for _ in 0..parts {
        if depth == DEPTH_MAX {
            return None;
        }
        at += value(bytes.get(at..)?, depth + 1)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> Option<String> {
        let mut out = Out { buf: text.as_bytes().to_vec(), ..Out::default() };
        replace_replies(&mut out, "E x").then(|| String::from_utf8(out.buf).expect("text"))
    }

    #[test]
    fn every_reply_becomes_one_error_and_messages_stay() {
        let push = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n";
        for reply in [
            "+OK\r\n",
            "$-1\r\n",
            "$4\r\na\r\nb\r\n",
            "*-1\r\n",
            "*2\r\n*1\r\n:1\r\n$1\r\nx\r\n",
            "%1\r\n+a\r\n,1.5\r\n",
            "|1\r\n+a\r\n+b\r\n:7\r\n",
        ] {
            let text = format!("{reply}{push}{reply}");
            assert_eq!(replaced(&text), Some(format!("-E x\r\n{push}-E x\r\n")), "{reply}");
            for cut in 1..reply.len() {
                assert_eq!(replaced(&reply[..cut]), None, "{reply} {cut}");
            }
        }
        assert_eq!(replaced("$99999999999999999999\r\n"), None);
        assert_eq!(replaced(&"*1\r\n".repeat(1000)), None);
    }
}
