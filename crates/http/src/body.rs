//! The body of a request, by length or in chunks. RFC 9112, sections 6 and 7.

use crate::{Bad, Framing, Limits};

/// Bytes of one line about a chunk, and of all trailers.
const LINE_MAX: usize = 256;
const TRAILERS_MAX: usize = 4096;

const BAD_CHUNK: Bad = Bad::request("The chunks of the body cannot be read.");
const TOO_LARGE: Bad = Bad { status: 413, why: "The body is too large." };

/// What is known of a body after some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More input is needed.
    More,
    /// It is whole.
    Whole,
}

/// A body that arrives.
#[derive(Debug)]
pub struct Body {
    /// The bytes so far, without what is around them.
    pub bytes: Vec<u8>,
    max: usize,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// So many bytes are missing.
    Length(usize),
    /// In the line with a chunk's size: the size, digits and bytes so far.
    Size {
        size: u64,
        digits: u8,
        seen: usize,
        part: Part,
    },
    /// So many bytes of a chunk are missing.
    Chunk(usize),
    /// Behind a chunk's bytes; whether the carriage return was there.
    ChunkEnd(bool),
    /// Among the trailers: bytes of this line, of all of them, whether a carriage return was last.
    Trailers {
        line: usize,
        all: usize,
        cr: bool,
    },
    Whole,
}

/// Where in the line with a chunk's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Digits,
    Extension,
    Cr,
}

impl Body {
    /// The body that a head announces.
    ///
    /// # Errors
    /// It is too large.
    pub fn new(framing: Framing, limits: &Limits) -> Result<Self, Bad> {
        let state = match framing {
            Framing::Length(n) => match usize::try_from(n) {
                Ok(0) => State::Whole,
                Ok(n) if n <= limits.body_max => State::Length(n),
                _ => return Err(TOO_LARGE),
            },
            Framing::Chunked => SIZE,
        };
        Ok(Self { bytes: Vec::new(), max: limits.body_max, state })
    }

    /// Takes input. Returns how many bytes of it belong to the body.
    ///
    /// # Errors
    /// The body cannot be read, or is too large.
    pub fn take(&mut self, input: &[u8]) -> Result<(usize, Progress), Bad> {
        let mut at = 0;
        loop {
            match self.state {
                State::Whole => return Ok((at, Progress::Whole)),
                State::Length(left) | State::Chunk(left) => {
                    let n = left.min(input.len() - at);
                    self.bytes.extend_from_slice(&input[at..at + n]);
                    at += n;
                    self.state = match self.state {
                        State::Length(_) if n == left => State::Whole,
                        State::Length(_) => State::Length(left - n),
                        _ if n == left => State::ChunkEnd(false),
                        _ => State::Chunk(left - n),
                    };
                    if n < left {
                        return Ok((at, Progress::More));
                    }
                }
                _ => {
                    let Some(&b) = input.get(at) else { return Ok((at, Progress::More)) };
                    at += 1;
                    self.state = self.step(b)?;
                }
            }
        }
    }

    /// One byte of what stands around the chunks.
    fn step(&self, b: u8) -> Result<State, Bad> {
        match self.state {
            State::Size { size, digits, seen, part } => self.size_line(b, size, digits, seen, part),
            State::ChunkEnd(false) if b == b'\r' => Ok(State::ChunkEnd(true)),
            State::ChunkEnd(true) if b == b'\n' => Ok(SIZE),
            State::ChunkEnd(_) => Err(BAD_CHUNK),
            State::Trailers { all: TRAILERS_MAX.., .. } => {
                Err(Bad { status: 431, why: "The trailers are too long." })
            }
            State::Trailers { line: 0, cr: true, .. } if b == b'\n' => Ok(State::Whole),
            State::Trailers { all, cr: true, .. } if b == b'\n' => {
                Ok(State::Trailers { line: 0, all: all + 1, cr: false })
            }
            State::Trailers { cr: true, .. } => Err(BAD_CHUNK),
            State::Trailers { line, all, .. } if b == b'\r' => {
                Ok(State::Trailers { line, all: all + 1, cr: true })
            }
            State::Trailers { line, all, .. } if b == b'\t' || b >= b' ' && b != 0x7f => {
                // A folded line, or one without a name.
                if line == 0 && (b == b' ' || b == b'\t' || b == b':') {
                    return Err(BAD_CHUNK);
                }
                Ok(State::Trailers { line: line + 1, all: all + 1, cr: false })
            }
            State::Trailers { .. } => Err(BAD_CHUNK),
            state @ (State::Length(_) | State::Chunk(_) | State::Whole) => Ok(state),
        }
    }

    fn size_line(
        &self,
        b: u8,
        size: u64,
        digits: u8,
        seen: usize,
        part: Part,
    ) -> Result<State, Bad> {
        let seen = seen + 1;
        if seen > LINE_MAX {
            return Err(BAD_CHUNK);
        }
        let digit = char::from(b).to_digit(16).filter(|_| part == Part::Digits);
        if let Some(d) = digit {
            if digits == 8 {
                return Err(if size > 0 { TOO_LARGE } else { BAD_CHUNK });
            }
            let size = size * 16 + u64::from(d);
            return Ok(State::Size { size, digits: digits + 1, seen, part });
        }
        match (part, b) {
            (Part::Digits | Part::Extension, b'\r') if digits > 0 => {
                Ok(State::Size { size, digits, seen, part: Part::Cr })
            }
            (Part::Digits, b';') if digits > 0 => {
                Ok(State::Size { size, digits, seen, part: Part::Extension })
            }
            (Part::Extension, b'\t' | b' '..=b'~' | 0x80..) => {
                Ok(State::Size { size, digits, seen, part })
            }
            (Part::Cr, b'\n') if size == 0 => Ok(State::Trailers { line: 0, all: 0, cr: false }),
            (Part::Cr, b'\n') => match usize::try_from(size) {
                Ok(n) if n <= self.max.saturating_sub(self.bytes.len()) => Ok(State::Chunk(n)),
                _ => Err(TOO_LARGE),
            },
            _ => Err(BAD_CHUNK),
        }
    }
}

/// In front of a chunk's size.
const SIZE: State = State::Size { size: 0, digits: 0, seen: 0, part: Part::Digits };
