//! A session over a socket that does not block, used like that socket.
//!
//! All links of a thread share its two buffers. A link keeps only what cannot wait elsewhere: the beginning of a
//! record, content that its reader had no room for, and records that the socket did not take.
//!
//! A write says that it took one byte less than it did while records of it are still to be sent. So its caller keeps
//! a byte, waits until the socket can be written to, and tries again with the same bytes: the usual way of a socket
//! sends the rest.
//!
//! A socket whose last read was short is empty: `read` reads until then or until the caller's room is used up. Only
//! when a peer sends much that has little content does it stop earlier; then [`Link::has_more`] says so.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};

use crate::session::OVERHEAD;
use crate::{Error, Session};

/// Bytes that are read from the socket at once.
const INPUT: usize = 256 * 1024;
/// The longest beginning of a record, or of a handshake message in several records, that is kept.
const REST_MAX: usize = 96 * 1024;
/// Content that is made into records and sent at once: these stay in the processor's cache.
const CONTENT: usize = 64 * 1024;
/// Bytes of the socket's that one `read` takes at most.
const TURN: usize = 4 * INPUT;
/// Pieces up to this size are put together before they become records.
const GATHER: usize = 16 * 1024;

/// What all links of a thread use.
struct Buffers {
    input: Vec<u8>,
    records: Vec<u8>,
    gather: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Option<Box<Buffers>>> = const { RefCell::new(None) };
}

fn with_buffers<R>(f: impl FnOnce(&mut Buffers) -> R) -> R {
    BUFFERS.with_borrow_mut(|b| {
        f(b.get_or_insert_with(|| {
            Box::new(Buffers {
                input: vec![0; INPUT + REST_MAX],
                records: vec![0; CONTENT + (CONTENT / (16 * 1024) + 2) * OVERHEAD],
                gather: Vec::new(),
            })
        }))
    })
}

/// What one read of a socket brought.
struct Received {
    bytes: usize,
    /// It may have more.
    filled: bool,
}

/// See the module's text.
pub struct Link {
    session: Session,
    /// The beginning of a record.
    rest: Vec<u8>,
    /// Content that was not fetched yet, from `fetched` on.
    content: Vec<u8>,
    fetched: usize,
    /// Records that the socket did not take, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// Bytes of the next write that are on their way already.
    ahead: usize,
    /// The socket may have more, though the last read was short.
    more: bool,
    /// The peer sends nothing more.
    ended: bool,
    /// The first message has been made, if it is this side's.
    begun: bool,
    /// Nothing more is sent.
    finished: bool,
}

impl Link {
    /// A link that has exchanged nothing so far.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            rest: Vec::new(),
            content: Vec::new(),
            fetched: 0,
            unsent: Vec::new(),
            sent: 0,
            ahead: 0,
            more: false,
            ended: false,
            begun: false,
            finished: false,
        }
    }

    /// Its session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Whether the handshake is under way.
    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Whether a read would find something that no event of the socket announces.
    pub fn has_more(&self) -> bool {
        self.more || self.fetched < self.content.len()
    }

    /// Bytes that the link keeps.
    pub fn memory(&self) -> usize {
        self.rest.capacity() + self.content.capacity() + self.unsent.capacity()
    }

    /// Goes on with the handshake as far as it goes without waiting, and begins it if the peer waits for that.
    /// Returns whether it is done.
    ///
    /// # Errors
    /// The peer has gone, or is not to be talked to; it has been told so if possible.
    pub fn handshake(&mut self, socket: &mut (impl Read + Write)) -> io::Result<bool> {
        if !std::mem::replace(&mut self.begun, true) {
            self.session.receive(&mut [], |_| {}, &mut self.unsent)?;
        }
        self.flush(socket)?;
        if self.session.is_handshaking() {
            // What follows it may have come with it.
            let (_, received) = self.fill(socket, &mut [])?;
            self.more = received.is_some_and(|r| r.filled);
        }
        if self.ended && self.session.is_handshaking() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(!self.session.is_handshaking())
    }

    /// Reads content, as from a socket: 0 is the end.
    ///
    /// # Errors
    /// `WouldBlock`: there is none at present. Others: the link is at its end.
    pub fn read(&mut self, socket: &mut (impl Read + Write), to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        self.more = false;
        let mut have = self.fetch(to);
        let mut taken = 0;
        while have < to.len() && !self.ended {
            let (n, received) = match self.fill(socket, &mut to[have..]) {
                Ok(done) => done,
                // What came before it counts; the next read sees the rest.
                Err(_) if have > 0 => {
                    self.more = true;
                    break;
                }
                Err(e) => return Err(e),
            };
            have += n;
            let Some(Received { bytes, filled: true }) = received else { break };
            taken += bytes;
            if taken >= TURN && have < to.len() {
                self.more = true;
                break;
            }
        }
        match have {
            0 if self.ended => Ok(0),
            0 if self.more => Err(ErrorKind::Interrupted.into()),
            0 => Err(ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    /// Reads content from a socket that blocks, and waits until there is some. 0 is the end.
    ///
    /// # Errors
    /// The socket's, or the link is at its end.
    pub fn read_some(
        &mut self,
        socket: &mut (impl Read + Write),
        to: &mut [u8],
    ) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        loop {
            let kept = self.fetch(to);
            if kept > 0 || self.ended {
                return Ok(kept);
            }
            let (n, received) = self.fill(socket, to)?;
            if n > 0 {
                return Ok(n);
            }
            // A socket with a limit of time.
            if received.is_none() {
                return Err(ErrorKind::WouldBlock.into());
            }
        }
    }

    /// As [`read`](Self::read), but the content stays: a later read returns it again.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn peek(&mut self, socket: &mut (impl Read + Write), to: &mut [u8]) -> io::Result<usize> {
        if self.content.len() - self.fetched < to.len() {
            self.content.drain(..self.fetched);
            self.fetched = 0;
            // All of it is kept.
            self.fill(socket, &mut [])?;
        }
        let kept = &self.content[self.fetched..];
        let n = kept.len().min(to.len());
        to[..n].copy_from_slice(&kept[..n]);
        match n {
            0 if self.ended => Ok(0),
            0 => Err(ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    /// Moves kept content to `to`.
    fn fetch(&mut self, to: &mut [u8]) -> usize {
        let kept = &self.content[self.fetched..];
        let n = kept.len().min(to.len());
        to[..n].copy_from_slice(&kept[..n]);
        self.fetched += n;
        if self.fetched == self.content.len() && self.content.capacity() > 0 {
            self.content = Vec::new();
            self.fetched = 0;
        }
        n
    }

    /// Reads from the socket once. Returns the content that went to `to` (what had no room there is kept), and the
    /// bytes that came from the socket, none if it has none.
    fn fill(
        &mut self,
        socket: &mut (impl Read + Write),
        to: &mut [u8],
    ) -> io::Result<(usize, Option<Received>)> {
        with_buffers(|b| {
            let left = self.rest.len();
            if left > REST_MAX {
                return Err(Error::from(rustls::Error::PeerMisbehaved(
                    rustls::PeerMisbehaved::TooManyEmptyFragments,
                ))
                .into());
            }
            b.input[..left].copy_from_slice(&self.rest);
            // No more than there is use for: content that has no room is copied twice.
            let room = INPUT.min((to.len() + 4096).next_multiple_of(4096) * 2);
            let received = match socket.read(&mut b.input[left..left + room]) {
                Ok(0) => {
                    // Without a word of the peer's. Commands say how long they are: nothing can be cut off.
                    self.ended = true;
                    return Ok((0, None));
                }
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok((0, None)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {
                    return Ok((0, Some(Received { bytes: 0, filled: true })));
                }
                Err(e) => return Err(e),
            };
            let have = left + received;
            let mut n = 0;
            let kept = &mut self.content;
            let done = self.session.receive(
                &mut b.input[..have],
                |bytes| {
                    let fits = if kept.is_empty() { bytes.len().min(to.len() - n) } else { 0 };
                    to[n..n + fits].copy_from_slice(&bytes[..fits]);
                    n += fits;
                    kept.extend_from_slice(&bytes[fits..]);
                },
                &mut self.unsent,
            );
            let told = self.flush(socket);
            let progress = done?;
            told?;
            self.rest.clear();
            if progress.consumed < have {
                self.rest.extend_from_slice(&b.input[progress.consumed..have]);
            } else if self.rest.capacity() > 0 {
                self.rest = Vec::new();
            }
            self.ended |= progress.closed;
            Ok((n, Some(Received { bytes: received, filled: received == room })))
        })
    }

    /// Sends what the socket did not take. Returns whether that is all gone.
    ///
    /// # Errors
    /// The socket's errors, except that it takes nothing now.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.sent < self.unsent.len() {
            match socket.write(&self.unsent[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.unsent.capacity() > 0 {
            self.unsent = Vec::new();
            self.sent = 0;
        }
        Ok(true)
    }

    /// Writes content, as to a socket: returns how much of it was taken. Who tries again must pass the same bytes.
    ///
    /// # Errors
    /// `WouldBlock`: the socket takes nothing now. Others: the link is at its end.
    pub fn write(&mut self, socket: &mut impl Write, content: &[u8]) -> io::Result<usize> {
        if !self.flush(socket)? || self.session.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let ahead = std::mem::take(&mut self.ahead);
        if ahead > 0 || content.is_empty() {
            return Ok(ahead);
        }
        let content = &content[..content.len().min(CONTENT)];
        let gone = self.put(socket, content)?;
        if gone {
            return Ok(content.len());
        }
        self.ahead = 1;
        match content.len() - 1 {
            0 => Err(ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    /// The same for content in pieces.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_pieces(
        &mut self,
        socket: &mut impl Write,
        pieces: &[io::IoSlice<'_>],
    ) -> io::Result<usize> {
        let first = pieces.iter().find(|p| !p.is_empty()).map_or(&[][..], |p| p);
        if self.ahead > 0 || first.len() >= GATHER || pieces.len() < 2 {
            return self.write(socket, first);
        }
        let mut gather = with_buffers(|b| std::mem::take(&mut b.gather));
        gather.clear();
        for piece in pieces {
            gather.extend_from_slice(&piece[..piece.len().min(GATHER - gather.len())]);
        }
        let n = self.write(socket, &gather);
        with_buffers(|b| b.gather = gather);
        n
    }

    /// Writes all of `content`; what the socket does not take now is kept and goes before the next write.
    ///
    /// # Errors
    /// The link is at its end, or the handshake is not.
    pub fn write_whole(&mut self, socket: &mut impl Write, content: &[u8]) -> io::Result<()> {
        if self.ahead > 0 || self.session.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        for part in content.chunks(CONTENT) {
            self.put(socket, part)?;
        }
        Ok(())
    }

    /// Makes records of at most [`CONTENT`] bytes and sends them behind those that wait. Returns whether all are gone.
    fn put(&mut self, socket: &mut impl Write, content: &[u8]) -> io::Result<bool> {
        with_buffers(|b| {
            let n = self.session.seal(content, &mut self.rest, &mut b.records)?;
            let n = n.ok_or_else(|| io::Error::other("records are longer than expected"))?;
            self.send_records(socket, &b.records[..n])
        })
    }

    fn send_records(&mut self, socket: &mut impl Write, records: &[u8]) -> io::Result<bool> {
        let mut at = 0;
        if self.flush(socket)? {
            while at < records.len() {
                match socket.write(&records[at..]) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(n) => at += n,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
        }
        self.unsent.extend_from_slice(&records[at..]);
        Ok(self.unsent.is_empty())
    }

    /// Tells the peer that nothing more comes, as far as the socket takes it now.
    pub fn finish(&mut self, socket: &mut impl Write) {
        if self.finished || self.session.is_handshaking() {
            return;
        }
        self.finished = true;
        with_buffers(|b| {
            if let Ok(Some(n)) = self.session.finish(&mut self.rest, &mut b.records) {
                // A peer that is gone already needs no telling.
                let _ = self.send_records(socket, &b.records[..n]);
            }
        });
    }
}
