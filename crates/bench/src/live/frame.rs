//! Frames of WebSockets as a client that measures has them: a payload is read where it arrived, without a copy, and
//! what is sent is masked with zeros, so that it costs nothing. The checks are those that keep a report true; what a
//! strict client would refuse is for the tests of the crate `websocket`.

pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// A whole frame at the beginning of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame<'i> {
    pub(super) opcode: u8,
    pub(super) payload: &'i [u8],
    /// Bytes of the input that it takes.
    pub(super) len: usize,
}

/// The next frame, if it is whole.
///
/// # Errors
/// A fragment, or a payload that this machine cannot count: servers of channels send neither.
pub(super) fn read(input: &[u8]) -> Result<Option<Frame<'_>>, String> {
    let [first, second, rest @ ..] = input else { return Ok(None) };
    if first & 0xf0 != 0x80 || second & 0x80 != 0 {
        return Err(format!("a frame that begins with {first:#04x} {second:#04x}"));
    }
    let (len, from) = match second {
        126 => match rest.first_chunk::<2>() {
            Some(len) => (u64::from(u16::from_be_bytes(*len)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(len) => (u64::from_be_bytes(*len), 10),
            None => return Ok(None),
        },
        n => (u64::from(*n), 2),
    };
    let to = usize::try_from(len).ok().and_then(|len| len.checked_add(from));
    let to = to.ok_or_else(|| format!("a frame of {len} bytes"))?;
    let payload = input.get(from..to);
    Ok(payload.map(|payload| Frame { opcode: first & 15, payload, len: to }))
}

/// Appends a frame of a client.
pub(super) fn write(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    out.push(0x80 | opcode);
    match payload.len() {
        n @ ..=125 => out.push(0x80 | n as u8),
        n @ ..=0xffff => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
}

/// Appends a message of text.
pub(super) fn text(out: &mut Vec<u8>, payload: &str) {
    write(out, 1, payload.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_when_they_are_whole() {
        for len in [0usize, 1, 125, 126, 65_535, 65_536] {
            let mut out = Vec::new();
            write(&mut out, 2, &vec![7; len]);
            // A server's frame is a client's without the mask.
            let head = out.len() - len;
            out[1] &= 0x7f;
            out.drain(head - 4..head);
            assert_eq!(read(&out[..out.len() - 1]), Ok(None), "{len}");
            let frame = read(&out).expect("good").expect("whole");
            assert_eq!((frame.opcode, frame.payload.len(), frame.len), (2, len, out.len()));
        }
        assert!(read(&[0x01, 0]).is_err() && read(&[0x81, 0x80]).is_err());
        assert!(read(&[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]).is_err());
    }
}
