//! Segments: their header, and how one is read.
//!
//! A segment is a header of [`HEADER`] bytes and records, one behind the other. Under
//! `appendfsync always` zeros are written ahead of the records, so that a sync need not make a new
//! length durable: records end where zeros begin.
//!
//! **A torn end, or damage?** When the machine stops, any part of the bytes that were not synced may be
//! on the disk, the end without the beginning. No client was told that those records were durable, and
//! they are cut off. But a record that was durable and cannot be read any more is a loss that only the
//! operator may decide upon. Marks distinguish the two: whenever the writer begins a group of records,
//! it notes up to which record all was durable by then; when no group follows a sync, the mark stands
//! alone. A mark *behind* an unreadable place that says that this place was durable makes it damage. So
//! does a segment behind this one, because a segment is synced before the next one begins.

use memchr::memmem;
use stdx::crc32c::crc32c;

use stream::record::{self as unit, Commands, Malformed, UNIT};

use super::record::{self, MARK, MARK_BYTES, Record, SALT, Salt};

/// Bytes of a segment's header.
pub const HEADER: usize = 64;
const MAGIC: &[u8; 8] = b"APUSJRNL";
const VERSION: u32 = 1;

/// How a segment begins: magic, version, salt, the first sequence number, checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) salt: Salt,
    pub(crate) first: u64,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER] {
        let mut b = [0; HEADER];
        b[..8].copy_from_slice(MAGIC);
        b[8..12].copy_from_slice(&VERSION.to_le_bytes());
        b[16..32].copy_from_slice(&self.salt);
        b[32..40].copy_from_slice(&self.first.to_le_bytes());
        let sum = crc32c(0, &b[..60]);
        b[60..].copy_from_slice(&sum.to_le_bytes());
        b
    }

    /// The header that a file begins with, or an error.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let b: &[u8; HEADER] = bytes.first_chunk().ok_or("it is shorter than a header")?;
        if !b.starts_with(MAGIC) {
            return Err("it does not begin as a journal segment");
        }
        let word = |at: usize| b[at..].first_chunk().map_or(0, |w| u32::from_le_bytes(*w));
        if word(60) != crc32c(0, &b[..60]) {
            return Err("the checksum of its header is wrong");
        }
        if word(8) != VERSION {
            return Err("it is of another version");
        }
        let salt = b[16..].first_chunk::<SALT>().copied().unwrap_or_default();
        let first = b[32..].first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
        Ok(Self { salt, first })
    }

    /// The initial value of its records' checksums.
    pub(crate) fn seed(&self) -> u32 {
        crc32c(0, &self.salt)
    }
}

/// Whether a file begins as a segment.
pub fn is_segment(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// How the records of a segment end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Cleanly: nothing but zeros follows.
    Clean,
    /// The rest was never durable: it may be cut off.
    Torn,
    /// The unreadable bytes were durable once.
    Damaged,
}

/// Reads a segment, record by record.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    seed: u32,
    salt: Salt,
    /// Offset behind the last record.
    at: usize,
    /// Sequence number that the next record must have.
    next: u64,
    /// What the marks so far have said.
    marked: u64,
}

/// One record with changes.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Its sequence number.
    pub sequence: u64,
    /// Its offset in the file.
    pub at: usize,
    /// Its commands: see [`Commands`].
    pub payload: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of a whole file.
    ///
    /// # Errors
    /// The header is invalid; the text says why.
    pub fn new(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let header = Header::parse(bytes)?;
        let (next, marked) = (header.first, header.first.saturating_sub(1));
        Ok(Self { bytes, seed: header.seed(), salt: header.salt, at: HEADER, next, marked })
    }

    /// Sequence number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Up to which record all was durable, as far as the marks read so far tell.
    pub(crate) fn marked(&self) -> u64 {
        self.marked
    }

    /// Offset behind the last record that was read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The next record, or how they end.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it says how they end")]
    pub fn next(&mut self) -> Result<Change<'a>, End> {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(Record { kind, sequence, payload }) = record::read(rest, self.seed) else {
                return Err(self.end());
            };
            if sequence != self.next {
                return Err(self.end());
            }
            let at = self.at;
            self.at += unit::HEADER + payload.len();
            if kind == MARK {
                self.marked = self.marked.max(record::marked(payload).unwrap_or(0));
                continue;
            }
            self.next = sequence.wrapping_add(1);
            return Ok(Change { sequence, at, payload });
        }
    }

    #[cold]
    fn end(&self) -> End {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.iter().all(|b| *b == 0) {
            return End::Clean;
        }
        let mut from = 0;
        while let Some(found) = memmem::find(&rest[from..], &self.salt) {
            let salt_at = from + found;
            let start = salt_at.checked_sub(unit::HEADER + MARK_BYTES - SALT);
            // A mark ends with the salt: a longer record would have to be read whole for each salt in it.
            if let Some(frame) = start.and_then(|s| rest.get(s..salt_at + SALT))
                && let Some(Record { kind: MARK, payload, .. }) = record::read(frame, self.seed)
                && record::marked(payload).is_some_and(|durable| durable >= self.next)
            {
                return End::Damaged;
            }
            from = salt_at + 1;
        }
        End::Torn
    }
}

/// The result of reading a whole segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Sequence number of the first record, whether there is one or not.
    pub first: u64,
    /// Sequence number of the last record; one less than `first` if there is none.
    pub last: u64,
    /// Records with changes.
    pub records: u64,
    /// Commands in them.
    pub commands: u64,
    /// Offset behind the last record that can be read.
    pub end: usize,
    /// How they end.
    pub how: End,
}

/// Reads a whole segment.
///
/// # Errors
/// The header is invalid; the text says why.
pub fn survey(bytes: &[u8]) -> Result<Survey, &'static str> {
    let mut reader = Reader::new(bytes)?;
    let first = reader.next_sequence();
    let (mut records, mut commands) = (0, 0);
    let how = loop {
        match reader.next() {
            Err(end) => break end,
            Ok(change) => {
                let before = change.at;
                let mut all = Commands::new(change.payload);
                loop {
                    match all.as_mut().map_or(Err(Malformed), |all| all.next(|_, _| ())) {
                        Ok(Some(_)) => commands += 1,
                        Ok(None) => break,
                        Err(_) => {
                            return Ok(Survey {
                                first,
                                last: change.sequence.wrapping_sub(1),
                                records,
                                commands,
                                end: before,
                                how: End::Damaged,
                            });
                        }
                    }
                }
                records += 1;
            }
        }
    };
    let last = reader.next_sequence().wrapping_sub(1);
    Ok(Survey { first, last, records, commands, end: reader.offset(), how })
}

const _: () = assert!(UNIT != 0 && MARK != 0);

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the salts seems to end a mark that goes on for the rest of the file.
    #[test]
    fn a_file_full_of_salts_is_read_in_one_go() {
        let header = Header { first: 1, salt: [7; SALT] };
        let mut bytes = header.to_bytes().to_vec();
        let mut frame = vec![1; unit::HEADER + MARK_BYTES];
        let (len, seed) = (8 << 20, header.seed());
        while bytes.len() < len {
            let left = (len - bytes.len()) as u64;
            frame[4..12].copy_from_slice(&(left | u64::from(MARK) << 56).to_le_bytes());
            frame[unit::HEADER + 8..].copy_from_slice(&header.salt);
            bytes.extend_from_slice(&frame);
        }
        bytes.resize(2 * len, 1);
        assert_eq!(Reader::new(&bytes).expect("a header").next().unwrap_err(), End::Torn);
        // A mark among them is found.
        record::mark(&mut bytes, 2, 1, &header.salt, seed);
        assert_eq!(Reader::new(&bytes).expect("a header").next().unwrap_err(), End::Damaged);
    }
}
