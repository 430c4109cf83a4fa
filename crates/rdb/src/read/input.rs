//! Where bytes come from: a slice, or anything that implements `Read`.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};

use stdx::crc::crc64;

use crate::error::{Error, Result};
use crate::format::string;
use crate::lzf;

/// Bytes that are read ahead.
const BUFFER: usize = 64 * 1024;
/// What is read at once of a long item whose length is claimed and not yet proved.
const STEP: usize = 1 << 20;

/// A source of bytes.
pub(crate) trait Input {
    /// Bytes taken so far.
    fn offset(&self) -> u64;

    /// The next `n` bytes.
    fn take(&mut self, n: usize) -> Result<&[u8]>;

    /// The next `n` bytes as a vector of their own.
    fn take_vec(&mut self, n: usize) -> Result<Vec<u8>> {
        Ok(self.take(n)?.to_vec())
    }

    /// The next byte.
    fn byte(&mut self) -> Result<u8>;

    /// The next `N` bytes.
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let offset = self.offset();
        self.take(N)?.first_chunk().copied().ok_or(Error::Short { offset })
    }

    /// The error that something is wrong with what was just read.
    #[cold]
    fn bad(&self, what: impl Into<Cow<'static, str>>) -> Error {
        Error::Bad { offset: self.offset(), what: what.into() }
    }
}

/// A length, or what stands in its place in front of a string of special form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Len {
    Plain(u64),
    Special(u8),
}

/// The length or special form that comes next.
#[inline]
pub(crate) fn len_or_special(input: &mut impl Input) -> Result<Len> {
    let first = input.byte()?;
    Ok(match (first >> 6, first) {
        (0, _) => Len::Plain(first.into()),
        (1, _) => Len::Plain(u64::from(first & 0x3f) << 8 | u64::from(input.byte()?)),
        (2, 0x80) => Len::Plain(u32::from_be_bytes(input.array()?).into()),
        (2, 0x81) => Len::Plain(u64::from_be_bytes(input.array()?)),
        (2, _) => {
            return Err(input.bad(format!("Unknown length encoding {first} in rdbLoadLen()")));
        }
        _ => Len::Special(first),
    })
}

/// The length that comes next.
#[inline]
pub(crate) fn len(input: &mut impl Input) -> Result<u64> {
    match len_or_special(input)? {
        Len::Plain(n) => Ok(n),
        // Redis takes the six bits that tell the form for a length, which no version writes.
        Len::Special(_) => Err(input.bad("A string's encoding where a length should be")),
    }
}

/// A length of something in memory.
pub(crate) fn size(input: &mut impl Input, n: u64) -> Result<usize> {
    // No file has so many bytes.
    usize::try_from(n).ok().filter(|n| *n <= isize::MAX as usize).ok_or_else(|| input.bad("Length"))
}

/// An integer of a special form.
#[inline]
pub(crate) fn special_int(input: &mut impl Input, form: u8) -> Result<i64> {
    Ok(match form {
        string::INT8 => i8::from_le_bytes(input.array()?).into(),
        string::INT16 => i16::from_le_bytes(input.array()?).into(),
        string::INT32 => i32::from_le_bytes(input.array()?).into(),
        _ => {
            let form = form & 0x3f;
            return Err(input.bad(format!("Unknown RDB string encoding type {form}")));
        }
    })
}

/// The rest of a compressed string, appended to `out`.
pub(crate) fn compressed(input: &mut impl Input, out: &mut Vec<u8>) -> Result<()> {
    let packed = len(input)?;
    let plain = len(input)?;
    let (packed, plain) = (size(input, packed)?, size(input, plain)?);
    if plain > packed.saturating_mul(lzf::RATIO_MAX) {
        return Err(input.bad("Invalid LZF compressed string"));
    }
    let bytes = input.take(packed)?;
    if !lzf::decompress(bytes, plain, out) {
        return Err(input.bad("Invalid LZF compressed string"));
    }
    Ok(())
}

/// A string as it was saved.
pub(crate) enum Text<'a> {
    Int(i64),
    Bytes(&'a [u8]),
}

/// The string that comes next; `scratch` is where it is put if it must be decompressed.
#[inline]
pub(crate) fn text<'a>(input: &'a mut impl Input, scratch: &'a mut Vec<u8>) -> Result<Text<'a>> {
    match len_or_special(input)? {
        Len::Plain(n) => {
            let n = size(input, n)?;
            Ok(Text::Bytes(input.take(n)?))
        }
        Len::Special(string::LZF) => {
            scratch.clear();
            compressed(input, scratch)?;
            Ok(Text::Bytes(scratch))
        }
        Len::Special(form) => special_int(input, form).map(Text::Int),
    }
}

/// The string that comes next, in place of what `out` holds.
#[inline]
pub(crate) fn text_into(input: &mut impl Input, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    match len_or_special(input)? {
        Len::Plain(n) => {
            let n = size(input, n)?;
            out.extend_from_slice(input.take(n)?);
        }
        Len::Special(string::LZF) => compressed(input, out)?,
        Len::Special(form) => {
            let mut buf = [0; stdx::num::I64_LEN_MAX];
            out.extend_from_slice(stdx::num::fmt_i64(&mut buf, special_int(input, form)?));
        }
    }
    Ok(())
}

/// The bytes that come next as a string, which is not the text of an integer but a structure of
/// its own.
pub(crate) fn blob<'a>(input: &'a mut impl Input, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    let offset = input.offset();
    match text(input, scratch)? {
        Text::Bytes(b) => Ok(b),
        Text::Int(_) => {
            Err(Error::Bad { offset, what: "An integer where a structure should be".into() })
        }
    }
}

/// Passes over a string of any length.
pub(crate) fn skip_text(input: &mut impl Input, scratch: &mut Vec<u8>) -> Result<()> {
    text(input, scratch).map(drop)
}

/// Bytes that are all there.
pub(crate) struct Slice<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the slice begins within a file.
    base: u64,
}

impl<'a> Slice<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, at: 0, base }
    }
}

impl Slice<'_> {
    /// Whether all bytes have been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }
}

impl Input for Slice<'_> {
    #[inline]
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[inline]
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        let end = self.at.checked_add(n);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += n;
                Ok(bytes)
            }
            None => Err(Error::Short { offset: self.base + self.bytes.len() as u64 }),
        }
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.at);
        self.at += usize::from(byte.is_some());
        byte.copied().ok_or(Error::Short { offset: self.base + self.at as u64 })
    }
}

/// Bytes that are read as they are needed, with the checksum of those that were taken.
pub(crate) struct Stream<R> {
    source: R,
    /// Bytes from `at` to `end` are read and not taken.
    buf: Vec<u8>,
    at: usize,
    end: usize,
    /// Bytes from here on are kept although they were taken.
    mark: Option<usize>,
    /// Where `buf` begins within the file.
    base: u64,
    /// The checksum up to `summed` in `buf`; none is computed if the caller does not ask for it.
    crc: Option<u64>,
    summed: usize,
}

impl<R: Read> Stream<R> {
    pub(crate) fn new(source: R, checksum: bool) -> Self {
        let crc = checksum.then_some(0);
        Self { source, buf: vec![0; BUFFER], at: 0, end: 0, mark: None, base: 0, crc, summed: 0 }
    }

    /// Keeps what is taken from here on.
    pub(crate) fn mark(&mut self) {
        self.mark = Some(self.at);
    }

    /// How much was taken since the mark.
    pub(crate) fn marked_len(&self) -> usize {
        self.at - self.mark.unwrap_or(self.at)
    }

    /// Ends the mark. The first `n` bytes from there on are taken, and returned.
    pub(crate) fn cut(&mut self, n: usize) -> &[u8] {
        let from = self.mark.take().unwrap_or(self.at);
        self.at = from + n;
        &self.buf[from..self.at]
    }

    /// The checksum of all bytes that were taken, 0 if none is computed.
    pub(crate) fn crc(&mut self) -> u64 {
        self.sum_up_to(self.at);
        self.crc.unwrap_or(0)
    }

    fn sum_up_to(&mut self, at: usize) {
        if let Some(crc) = &mut self.crc {
            *crc = crc64(*crc, &self.buf[self.summed..at]);
            self.summed = at;
        }
    }

    /// What was read and not taken, and the source behind it.
    pub(crate) fn into_rest(self) -> (Vec<u8>, R) {
        (self.buf[self.at..self.end].to_vec(), self.source)
    }

    fn short(&self) -> Error {
        Error::Short { offset: self.base + self.end as u64 }
    }

    /// Moves what is still needed to the front.
    fn compact(&mut self) {
        let from = self.mark.unwrap_or(self.at);
        self.sum_up_to(from);
        self.buf.copy_within(from..self.end, 0);
        self.base += from as u64;
        self.at -= from;
        self.end -= from;
        self.summed = 0;
        self.mark = self.mark.map(|_| 0);
    }

    /// Reads until `n` bytes are there to be taken.
    #[cold]
    fn fill(&mut self, n: usize) -> Result<()> {
        self.compact();
        let needed = self.at.checked_add(n).ok_or_else(|| self.short())?;
        if self.buf.len() > BUFFER && needed <= BUFFER && self.end <= BUFFER {
            // A long item needed more room than the next will.
            self.buf.truncate(BUFFER);
            self.buf.shrink_to_fit();
        }
        while self.end < needed {
            if self.end == self.buf.len() {
                // No more room than there is proof that it is needed.
                let more = (needed - self.end).min(self.end.max(STEP)).max(BUFFER);
                self.buf.reserve_exact(more);
                self.buf.resize(self.end + more, 0);
            }
            match self.source.read(&mut self.buf[self.end..]) {
                Ok(0) => return Err(self.short()),
                Ok(n) => self.end += n.min(self.buf.len() - self.end),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

impl<R: Read> Input for Stream<R> {
    #[inline]
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[inline]
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        if self.end - self.at < n {
            self.fill(n)?;
        }
        self.at += n;
        Ok(&self.buf[self.at - n..self.at])
    }

    fn take_vec(&mut self, n: usize) -> Result<Vec<u8>> {
        if n <= BUFFER || self.mark.is_some() {
            return Ok(self.take(n)?.to_vec());
        }
        let have = (self.end - self.at).min(n);
        let mut bytes = Vec::with_capacity(n.min(STEP));
        bytes.extend_from_slice(&self.buf[self.at..self.at + have]);
        self.at += have;
        self.compact();
        while bytes.len() < n {
            let from = bytes.len();
            let more = (n - from).min(from.max(STEP));
            bytes.reserve_exact(more);
            let got = self.source.by_ref().take(more as u64).read_to_end(&mut bytes)?;
            self.base += got as u64;
            if let Some(crc) = &mut self.crc {
                *crc = crc64(*crc, &bytes[from..]);
            }
            if got < more {
                return Err(self.short());
            }
        }
        Ok(bytes)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        if self.at == self.end {
            self.fill(1)?;
        }
        self.at += 1;
        Ok(self.buf[self.at - 1])
    }
}
