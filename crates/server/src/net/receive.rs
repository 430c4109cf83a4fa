//! Receiving behind the bytes that a vector already holds, without filling the room with zeros first:
//! a request of a megabyte arrives in many pieces, and each would cost a pass over the room for the
//! largest.

#![expect(unsafe_code, reason = "what the kernel has written becomes part of a vector")]

use std::io::{self, Read as _};

use socket2::SockRef;

use super::Stream;

/// Receives at most `max` bytes, and no more than there is room for behind `to`. Returns how many.
pub(super) fn receive(stream: &Stream, to: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    if stream.is_tls() {
        return receive_content(stream, to, max);
    }
    let spare = to.spare_capacity_mut();
    let room = spare.len().min(max);
    let n = SockRef::from(stream).recv(&mut spare[..room])?;
    assert!(n <= room, "more bytes than were asked for");
    let len = to.len() + n;
    // SAFETY: `n` bytes of the spare capacity were written just now.
    unsafe { to.set_len(len) };
    Ok(n)
}

/// The same where bytes are deciphered on their way: zeros first cost little beside that.
#[cold]
fn receive_content(mut stream: &Stream, to: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    let len = to.len();
    let room = (to.capacity() - len).min(max);
    to.resize(len + room, 0);
    let received = stream.read(&mut to[len..]);
    to.truncate(len + received.as_ref().map_or(0, |n| *n));
    received
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn behind_what_is_there_and_no_further_than_asked() {
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().expect("sockets");
        theirs.set_nonblocking(true).expect("nonblocking");
        let theirs = Stream::Unix(mio::net::UnixStream::from_std(theirs));
        ours.write_all(b"abcdef").expect("sent");
        let mut to = Vec::with_capacity(7);
        to.extend_from_slice(b"12");
        assert_eq!(receive(&theirs, &mut to, 4).expect("bytes"), 4);
        assert_eq!(to, b"12abcd");
        // The present room, not the requested one.
        let room = to.capacity() - to.len();
        assert_eq!(receive(&theirs, &mut to, 100).expect("bytes"), room.min(2));
        to.reserve(10);
        let rest = receive(&theirs, &mut to, 100);
        assert!(rest.is_ok_and(|n| n > 0) || to == b"12abcdef");
        let more = receive(&theirs, &mut to, 100).expect_err("nothing has come");
        assert_eq!(more.kind(), io::ErrorKind::WouldBlock);
        drop(ours);
        assert_eq!(receive(&theirs, &mut to, 100).expect("the end"), 0);
    }
}
