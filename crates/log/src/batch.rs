//! The batch: the one form that records have on the wire, in memory, on disk and in objects.
//!
//! ```text
//!  0        4    5     6      8              16        20       24         28        32         36
//!  | magic  | v  | cmp | zero | first offset | records | behind | body len | raw len | body crc |
//!  36           40          48         56         64         72       80
//!  | header crc | appended  | created  | producer | sequence | writer | body …
//!
//!  body, after decompression:  | size u32 × records | all records, one after the other |
//! ```
//!
//! All numbers are little-endian. `body crc` is over the body as stored, so that it is checked
//! without decompressing and stays the same from the producer to the disk; `header crc` is over the
//! other 76 bytes of the header. docs/topics-format.md has every field.
//!
//! Nothing here panics on any input: the bytes may come from any client, or from a bad disk.

use bytes::Bytes;
use stdx::crc32c::crc32c;

use crate::error::{Error, Result};

/// Bytes of a header.
pub const HEADER: usize = 80;
/// How a batch begins.
pub const MAGIC: [u8; 4] = *b"ApLB";
/// The version that is written. Others are refused.
pub const VERSION: u8 = 1;
/// Records of one batch at most.
pub const RECORDS_MAX: usize = 32_768;
/// Bytes of all records of one batch at most.
pub const BYTES_MAX: usize = 30 << 20;
/// Bytes of a body before compression at most.
pub const RAW_MAX: usize = BYTES_MAX + 4 * RECORDS_MAX;
/// [`Header::behind`] of batches that were not synced to disk.
pub const UNSYNCED: u32 = u32::MAX;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// One LZ4 block.
    Lz4,
    /// One Zstandard frame.
    Zstd,
}

impl Compression {
    /// All of them, by their numbers in the format.
    pub const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// By name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// `raw` compressed. Bodies that do not become smaller are kept as they are.
    pub(crate) fn pack(self, raw: &[u8]) -> Option<Vec<u8>> {
        /// Fast, and with most of the savings of higher levels.
        const LEVEL: i32 = 1;
        let packed = match self {
            Self::None => return None,
            Self::Lz4 => lz4_flex::block::compress(raw),
            Self::Zstd => zstd::bulk::compress(raw, LEVEL).ok()?,
        };
        (packed.len() < raw.len()).then_some(packed)
    }

    /// The body that was compressed, which must have `raw_len` bytes.
    fn unpack(self, body: &Bytes, raw_len: usize) -> Result<Bytes> {
        let bad = |why: String| Error::Bad(format!("body does not decompress: {why}"));
        let raw = match self {
            Self::None => body.clone(),
            // Both take the bound from the header, which has been checked against RAW_MAX.
            Self::Lz4 => {
                lz4_flex::block::decompress(body, raw_len).map_err(|e| bad(e.to_string()))?.into()
            }
            Self::Zstd => {
                zstd::bulk::decompress(body, raw_len).map_err(|e| bad(e.to_string()))?.into()
            }
        };
        if raw.len() != raw_len {
            return Err(bad(format!("{} bytes and not {raw_len}", raw.len())));
        }
        Ok(raw)
    }
}

/// The content of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// How the body is compressed.
    pub compression: Compression,
    /// Offset of the first record; a producer leaves it 0.
    pub first_offset: u64,
    /// Number of records, at least 1.
    pub records: u32,
    /// How many offsets before this batch its group began: everything before the group had been
    /// synced when this batch was written. This distinguishes a torn end from damage. [`UNSYNCED`]
    /// if nothing is known.
    pub behind: u32,
    /// Bytes of the body as stored.
    pub body_len: u32,
    /// Bytes of the body before compression.
    pub raw_len: u32,
    /// CRC32C of the body as stored.
    pub body_crc: u32,
    /// When the log took it, in Unix microseconds; never decreases within a topic.
    pub appended_us: u64,
    /// When its producer says it made it, in Unix microseconds; 0 if it did not say.
    pub created_us: u64,
    /// The number of its producer; 0 for producers that do not want their retries recognised.
    pub producer: u64,
    /// The producer's number of this batch, one more than that of the batch before.
    pub sequence: u64,
    /// The process that stored it: a random number.
    pub writer: u64,
}

fn u32_at(b: &[u8; HEADER], at: usize) -> u32 {
    let mut n = [0; 4];
    n.copy_from_slice(&b[at..at + 4]);
    u32::from_le_bytes(n)
}

fn u64_at(b: &[u8; HEADER], at: usize) -> u64 {
    let mut n = [0; 8];
    n.copy_from_slice(&b[at..at + 8]);
    u64::from_le_bytes(n)
}

fn header_crc(b: &[u8; HEADER]) -> u32 {
    crc32c(crc32c(0, &b[..36]), &b[40..])
}

impl Header {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; HEADER] {
        let mut b = [0; HEADER];
        b[..4].copy_from_slice(&MAGIC);
        b[4] = VERSION;
        b[5] = Compression::ALL.iter().position(|c| *c == self.compression).unwrap_or(0) as u8;
        b[8..16].copy_from_slice(&self.first_offset.to_le_bytes());
        b[16..20].copy_from_slice(&self.records.to_le_bytes());
        b[20..24].copy_from_slice(&self.behind.to_le_bytes());
        b[24..28].copy_from_slice(&self.body_len.to_le_bytes());
        b[28..32].copy_from_slice(&self.raw_len.to_le_bytes());
        b[32..36].copy_from_slice(&self.body_crc.to_le_bytes());
        b[40..48].copy_from_slice(&self.appended_us.to_le_bytes());
        b[48..56].copy_from_slice(&self.created_us.to_le_bytes());
        b[56..64].copy_from_slice(&self.producer.to_le_bytes());
        b[64..72].copy_from_slice(&self.sequence.to_le_bytes());
        b[72..80].copy_from_slice(&self.writer.to_le_bytes());
        let crc = header_crc(&b);
        b[36..40].copy_from_slice(&crc.to_le_bytes());
        b
    }

    /// The header at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error::Bad`] with what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |why: &str| Err(Error::Bad(why.to_owned()));
        let Some(b) = bytes.first_chunk::<HEADER>() else {
            return bad("a batch begins with a header of 80 bytes");
        };
        if b[..4] != MAGIC {
            return bad("not a batch: it does not begin with ApLB");
        }
        if u32_at(b, 36) != header_crc(b) {
            return bad("the header's checksum is wrong");
        }
        if b[4] != VERSION {
            return Err(Error::Bad(format!("version {} of the batch format is unknown", b[4])));
        }
        let Some(&compression) = Compression::ALL.get(usize::from(b[5])) else {
            return Err(Error::Bad(format!("compression {} is unknown", b[5])));
        };
        let header = Self {
            compression,
            first_offset: u64_at(b, 8),
            records: u32_at(b, 16),
            behind: u32_at(b, 20),
            body_len: u32_at(b, 24),
            raw_len: u32_at(b, 28),
            body_crc: u32_at(b, 32),
            appended_us: u64_at(b, 40),
            created_us: u64_at(b, 48),
            producer: u64_at(b, 56),
            sequence: u64_at(b, 64),
            writer: u64_at(b, 72),
        };
        let records = header.records as usize;
        if records == 0 {
            return bad("a batch has at least one record");
        }
        if records > RECORDS_MAX {
            return Err(Error::TooLarge(format!("{records} records, at most {RECORDS_MAX}")));
        }
        let (raw, body) = (header.raw_len as usize, header.body_len as usize);
        if raw < records * 4 || compression == Compression::None && raw != body || body > raw {
            return bad("the header's lengths contradict each other");
        }
        if raw - records * 4 > BYTES_MAX {
            let bytes = raw - records * 4;
            return Err(Error::TooLarge(format!("{bytes} bytes of records, at most {BYTES_MAX}")));
        }
        if header.first_offset.checked_add(u64::from(header.records)).is_none() {
            return bad("the first offset is too high");
        }
        Ok(header)
    }

    /// Bytes of the whole batch as stored.
    pub fn len(&self) -> usize {
        HEADER + self.body_len as usize
    }

    /// Never: a batch has records.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The offset after its last record.
    pub fn next_offset(&self) -> u64 {
        // Checked when decoded.
        self.first_offset.saturating_add(u64::from(self.records))
    }

    /// Everything before this offset was synced when the batch was written.
    pub fn synced_before(&self) -> Option<u64> {
        match self.behind {
            UNSYNCED => None,
            behind => self.first_offset.checked_sub(u64::from(behind)),
        }
    }
}

/// A batch whose header and checksum have been checked.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its header.
    pub header: Header,
    /// All of it, as stored: header and body.
    pub bytes: Bytes,
}

impl Batch {
    /// The batch at the start of `bytes`, of which it takes its length.
    ///
    /// # Errors
    /// [`Error::Bad`] with what is wrong.
    pub fn check(bytes: &Bytes) -> Result<Self> {
        let header = Header::decode(bytes)?;
        if bytes.len() < header.len() {
            return Err(Error::Bad(format!(
                "it is cut off: {} of {} bytes",
                bytes.len(),
                header.len()
            )));
        }
        let batch = Self { header, bytes: bytes.slice(..header.len()) };
        if crc32c(0, &batch.bytes[HEADER..]) != header.body_crc {
            return Err(Error::Bad("the body's checksum is wrong".to_owned()));
        }
        Ok(batch)
    }

    /// Its records.
    ///
    /// # Errors
    /// [`Error::Bad`] if sizes and bytes disagree, which a right checksum does not exclude.
    pub fn records(&self) -> Result<Records> {
        let h = &self.header;
        let body = self.bytes.slice(HEADER..);
        Records::new(h.compression.unpack(&body, h.raw_len as usize)?, h.records as usize)
    }
}

/// The records of a batch: their sizes and one block of bytes.
#[derive(Clone, Debug)]
pub struct Records {
    sizes: Bytes,
    block: Bytes,
}

impl Records {
    /// Cuts an uncompressed body.
    ///
    /// # Errors
    /// [`Error::Bad`] if sizes and bytes disagree.
    pub fn new(body: Bytes, records: usize) -> Result<Self> {
        let split = records.checked_mul(4).filter(|n| *n <= body.len());
        let Some(split) = split else {
            return Err(Error::Bad(format!("no room for {records} sizes")));
        };
        let it = Self { sizes: body.slice(..split), block: body.slice(split..) };
        let sum: u64 = it.sizes().map(u64::from).sum();
        if sum != it.block.len() as u64 {
            return Err(Error::Bad(format!(
                "sizes says the payload should be {sum} bytes, got {}",
                it.block.len()
            )));
        }
        Ok(it)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.sizes.len() / 4
    }

    /// Their sizes.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        sizes(&self.sizes)
    }

    /// All records, one after the other.
    pub fn block(&self) -> &Bytes {
        &self.block
    }

    /// Some of them: without the first `skip`, and then as many as fit `count` and `bytes_max`, one
    /// at least if `one`.
    pub fn some(&self, skip: usize, count: usize, bytes_max: usize, one: bool) -> Self {
        let (mut begin, mut end, mut taken) = (0, 0, 0);
        for (i, size) in self.sizes().map(|s| s as usize).enumerate() {
            if i < skip {
                begin += size;
                end = begin;
            } else {
                let first = one && taken == 0;
                if taken == count || !first && end - begin + size > bytes_max {
                    break;
                }
                end += size;
                taken += 1;
            }
        }
        // The sum of all sizes is the block's length.
        let skip = skip.min(self.count());
        Self {
            sizes: self.sizes.slice(4 * skip..4 * (skip + taken)),
            block: self.block.slice(begin..end),
        }
    }

    /// Every record.
    pub fn iter(&self) -> impl Iterator<Item = Bytes> + '_ {
        let mut at = 0;
        self.sizes().map(move |size| {
            let begin = at;
            at += size as usize;
            self.block.slice(begin..at)
        })
    }
}

/// Little-endian sizes.
pub(crate) fn sizes(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|n| u32::from_le_bytes(*n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(records: &[&[u8]]) -> Vec<u8> {
        let mut b = Vec::new();
        for r in records {
            b.extend_from_slice(&(r.len() as u32).to_le_bytes());
        }
        records.iter().for_each(|r| b.extend_from_slice(r));
        b
    }

    fn batch(records: &[&[u8]], compression: Compression) -> Vec<u8> {
        let raw = body(records);
        let packed = compression.pack(&raw);
        let stored = packed.as_ref().unwrap_or(&raw);
        let header = Header {
            compression: if packed.is_some() { compression } else { Compression::None },
            first_offset: 7,
            records: records.len() as u32,
            body_len: stored.len() as u32,
            raw_len: raw.len() as u32,
            body_crc: crc32c(0, stored),
            appended_us: 1,
            created_us: 2,
            producer: 3,
            sequence: 4,
            writer: 5,
            behind: 6,
        };
        [&header.encode()[..], stored].concat()
    }

    #[test]
    fn the_format_does_not_change() {
        let bytes = batch(&[b"a", b"", b"bcd"], Compression::None);
        assert_eq!(bytes.len(), HEADER + 12 + 4);
        assert_eq!(&bytes[..6], b"ApLB\x01\x00");
        assert_eq!(bytes[8..16], 7u64.to_le_bytes());
        assert_eq!(bytes[16..20], 3u32.to_le_bytes());
        assert_eq!(bytes[20..24], 6u32.to_le_bytes());
        assert_eq!(bytes[24..28], 16u32.to_le_bytes());
        assert_eq!(bytes[28..32], 16u32.to_le_bytes());
        assert_eq!(bytes[32..36], 0xb197_518b_u32.to_le_bytes());
        assert_eq!(bytes[36..40], 0x5b5d_d854_u32.to_le_bytes());
        for (i, at) in (40..80).step_by(8).enumerate() {
            assert_eq!(bytes[at..at + 8], (i as u64 + 1).to_le_bytes());
        }
    }

    #[test]
    fn records_come_back() {
        let long = b"compressible ".repeat(100);
        for compression in Compression::ALL {
            let records: [&[u8]; 3] = [&long, b"", b"x"];
            let bytes = Bytes::from(batch(&records, compression));
            let b = Batch::check(&bytes).expect("sound");
            assert_eq!(b.header.compression, compression);
            assert_eq!((b.header.next_offset(), b.header.synced_before()), (10, Some(1)));
            let got: Vec<Bytes> = b.records().expect("sound").iter().collect();
            assert_eq!(got, records);
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let sound = batch(&[b"some", b"records"], Compression::None);
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Batch::check(&bytes.into()).is_err(), "bit {bit}");
        }
        for len in 0..sound.len() {
            assert!(Batch::check(&Bytes::copy_from_slice(&sound[..len])).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn lying_headers_are_refused() {
        let raw = body(&[b"ab"]);
        let sound = Header {
            records: 1,
            body_len: 6,
            raw_len: 6,
            body_crc: crc32c(0, &raw),
            ..Header::default()
        };
        let check = |h: Header| {
            Batch::check(&Bytes::from([&h.encode()[..], &raw].concat()))
                .and_then(|b| b.records())
                .err()
        };
        assert_eq!(check(sound), None);
        for lying in [
            Header { records: 0, ..sound },
            Header { records: 2, ..sound },
            Header { records: u32::MAX, ..sound },
            Header { raw_len: 7, ..sound },
            Header { raw_len: 3, ..sound },
            Header { raw_len: u32::MAX, body_len: u32::MAX, ..sound },
            Header { compression: Compression::Lz4, raw_len: 1 << 20, ..sound },
            Header { compression: Compression::Zstd, raw_len: 1 << 20, ..sound },
            Header { first_offset: u64::MAX, ..sound },
        ] {
            assert!(check(lying).is_some(), "{lying:?}");
        }
    }

    #[test]
    fn some_of_the_records() {
        let all = Records::new(body(&[b"aaaa", b"bb", b"", b"cccccc"]).into(), 4).expect("sound");
        let some = |skip, count, bytes, one| -> Vec<Bytes> {
            all.some(skip, count, bytes, one).iter().collect()
        };
        assert_eq!(some(0, 9, usize::MAX, false), [&b"aaaa"[..], b"bb", b"", b"cccccc"]);
        assert_eq!(some(1, 2, usize::MAX, false), [&b"bb"[..], b""]);
        assert_eq!(some(0, 9, 7, false), [&b"aaaa"[..], b"bb", b""]);
        assert_eq!(some(3, 9, 5, true), [&b"cccccc"[..]]);
        assert!(some(3, 9, 5, false).is_empty());
        assert!(some(9, 9, 5, true).is_empty());
    }
}
