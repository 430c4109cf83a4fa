//! The group: the batches that are written together, laid out as the bytes that storage takes.
//!
//! Small inputs without producer numbers are merged into one batch; a large one stays a batch of its
//! own, whose body is copied once, from the receive buffer to the write buffer.

use std::sync::Arc;

use bytes::Bytes;
use stdx::crc32c::crc32c;

use crate::batch::{Batch, Compression, HEADER, Header, RECORDS_MAX, UNSYNCED};
use crate::buf::{ALIGN, Buf, Pool};
use crate::input::Input;
use crate::meter::Permit;

/// Inputs up to this many bytes are merged with their neighbours …
const MERGED_EACH: usize = 64 << 10;
/// … into batches of up to this many.
const MERGED_MAX: usize = 1 << 20;

/// The fields that the log adds to the batches of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Unix microseconds.
    pub now_us: u64,
    /// The process that stores it.
    pub writer: u64,
    /// Compression of batches that come uncompressed.
    pub compression: Compression,
    /// Whether everything before the group has been synced.
    pub synced: bool,
}

/// Batches as they are written.
#[derive(Debug)]
pub struct Group {
    buf: Buf,
    lead: usize,
    end: usize,
    /// Each batch and where it begins in the buffer.
    batches: Vec<(usize, Header)>,
}

/// A group's buffer, as long as a reader uses it.
struct Kept {
    buf: Buf,
    _permit: Option<Permit>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        self.buf.as_ref()
    }
}

/// A batch that is to be.
struct PlannedBatch<'a> {
    inputs: &'a [&'a Input],
    header: Header,
    packed: Option<Vec<u8>>,
}

impl Group {
    /// Lays out `inputs`, of which there is at least one, behind `lead` bytes that the storage asked
    /// for.
    pub fn build(pool: &Arc<Pool>, lead: usize, inputs: &[&Input], stamp: Stamp) -> Self {
        let mut parts = Vec::new();
        let mut offset = stamp.first_offset;
        let mut rest = inputs;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(merged(rest));
            rest = later;
            let part = PlannedBatch::new(now, offset, stamp);
            offset = part.header.next_offset();
            parts.push(part);
        }
        let total: usize = parts.iter().map(|p| p.header.len()).sum();
        // Room to fill the last block of a disk.
        let mut buf = pool.get((lead + total).next_multiple_of(ALIGN));
        let mut at = lead;
        let mut batches = Vec::with_capacity(parts.len());
        for mut part in parts {
            let end = at + part.header.len();
            part.write(&mut buf.bytes_mut()[at..end]);
            batches.push((at, part.header));
            at = end;
        }
        Self { buf, lead, end: at, batches }
    }

    /// The bytes to write, without the lead.
    pub fn bytes(&self) -> &[u8] {
        &self.buf.as_ref()[self.lead..self.end]
    }

    /// The buffer, and where in it the group begins and ends. It goes on at least to the next
    /// multiple of [`ALIGN`].
    pub fn raw(&mut self) -> (&mut [u8], usize, usize) {
        (self.buf.bytes_mut(), self.lead, self.end)
    }

    /// The headers of its batches, and at which byte of the group each begins.
    pub fn headers(&self) -> impl Iterator<Item = (usize, &Header)> {
        self.batches.iter().map(|(at, h)| (at - self.lead, h))
    }

    /// Offset of its first record.
    pub fn first_offset(&self) -> u64 {
        self.batches.first().map_or(0, |(_, h)| h.first_offset)
    }

    /// Offset after its last record.
    pub fn next_offset(&self) -> u64 {
        self.batches.last().map_or(0, |(_, h)| h.next_offset())
    }

    /// The memory that it takes.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// Its batches, for readers. The room is given back when the last of them is done with.
    pub fn into_batches(self, permit: Option<Permit>) -> Vec<Batch> {
        let whole = Bytes::from_owner(Kept { buf: self.buf, _permit: permit });
        let batches = self
            .batches
            .into_iter()
            .map(|(at, header)| Batch { bytes: whole.slice(at..at + header.len()), header });
        batches.collect()
    }
}

/// How many inputs at the front become one batch.
fn merged(inputs: &[&Input]) -> usize {
    let (mut bytes, mut records) = (0, 0);
    let fits = |i: &&&Input| {
        bytes += i.body.len();
        records += i.records();
        i.producer == 0
            && i.compression == Compression::None
            && i.body.len() <= MERGED_EACH
            && bytes <= MERGED_MAX
            && records <= RECORDS_MAX
    };
    inputs.iter().take_while(fits).count().max(1)
}

impl<'a> PlannedBatch<'a> {
    fn new(inputs: &'a [&'a Input], first_offset: u64, stamp: Stamp) -> Self {
        let sum = |f: fn(&Input) -> usize| inputs.iter().map(|i| f(i)).sum::<usize>() as u32;
        let only = inputs.first();
        let mut header = Header {
            compression: only.map_or(Compression::None, |i| i.compression),
            first_offset,
            records: sum(Input::records),
            behind: match (first_offset - stamp.first_offset).try_into() {
                Ok(behind) if stamp.synced => behind,
                _ => UNSYNCED,
            },
            body_len: sum(|i| i.body.len()),
            raw_len: sum(|i| i.raw_len as usize),
            body_crc: 0,
            appended_us: stamp.now_us,
            created_us: inputs.iter().map(|i| i.created_us).min().unwrap_or(0),
            producer: only.map_or(0, |i| i.producer),
            sequence: only.map_or(0, |i| i.sequence),
            writer: stamp.writer,
        };
        let mut packed = None;
        if header.compression == Compression::None && stamp.compression != Compression::None {
            let mut raw = vec![0; header.raw_len as usize];
            copy_bodies(inputs, &mut raw);
            packed = stamp.compression.pack(&raw);
            if let Some(p) = &packed {
                header.compression = stamp.compression;
                header.body_len = p.len() as u32;
            }
        }
        Self { inputs, header, packed }
    }

    fn write(&mut self, to: &mut [u8]) {
        let (head, body) = to.split_at_mut(HEADER);
        let known = match (&self.packed, self.inputs) {
            (Some(packed), _) => {
                body.copy_from_slice(packed);
                None
            }
            (None, [only]) => match only.body_crc {
                None => Some(only.body.copy_to_checked(body)),
                known => {
                    only.body.copy_to(body);
                    known
                }
            },
            (None, several) => {
                copy_bodies(several, body);
                None
            }
        };
        self.header.body_crc = known.unwrap_or_else(|| crc32c(0, body));
        head.copy_from_slice(&self.header.encode());
    }
}

/// All sizes, then all blocks.
fn copy_bodies(inputs: &[&Input], to: &mut [u8]) {
    let (mut size_at, mut block_at) = (0, 4 * inputs.iter().map(|i| i.records()).sum::<usize>());
    for i in inputs {
        let mut block = i.body.to_chunks();
        let sizes = block.take(4 * i.records());
        sizes.copy_to(&mut to[size_at..]);
        block.copy_to(&mut to[block_at..]);
        size_at += sizes.len();
        block_at += block.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(records: &[&[u8]]) -> Input {
        Input::from_records(records.iter().copied()).expect("fits")
    }

    fn build(inputs: &[Input], compression: Compression) -> (Vec<Batch>, Vec<Vec<Bytes>>) {
        let stamp = Stamp { first_offset: 100, now_us: 5, writer: 6, compression, synced: true };
        let inputs: Vec<&Input> = inputs.iter().collect();
        let mut group = Group::build(&Arc::new(Pool::default()), 33, &inputs, stamp);
        let bytes = Bytes::copy_from_slice(group.bytes());
        assert_eq!(group.first_offset(), 100);
        let (raw, begin, end) = group.raw();
        assert!(begin == 33 && raw.len() >= end.next_multiple_of(ALIGN));
        let starts: Vec<usize> = group.headers().map(|(at, _)| at).collect();
        let next = group.next_offset();
        let batches = group.into_batches(None);
        let mut expected = 100;
        for (b, at) in batches.iter().zip(starts) {
            // As a reader of the stored bytes would see it.
            let read = Batch::check(&bytes.slice(at..)).expect("sound");
            assert_eq!((read.header, &read.bytes), (b.header, &b.bytes));
            assert_eq!(b.header.first_offset, expected);
            assert_eq!(b.header.synced_before(), Some(100));
            expected = b.header.next_offset();
        }
        assert_eq!(next, expected);
        let records =
            batches.iter().map(|b| b.records().expect("sound").iter().collect()).collect();
        (batches, records)
    }

    #[test]
    fn small_ones_are_merged() {
        let inputs = [input(&[b"a", b"bb"]), input(&[b""]), input(&[b"ccc"])];
        for compression in Compression::ALL {
            let (batches, records) = build(&inputs, compression);
            assert_eq!(batches.len(), 1);
            assert_eq!(records[0], [&b"a"[..], b"bb", b"", b"ccc"]);
        }
    }

    #[test]
    fn large_and_numbered_ones_are_not() {
        let large = vec![b'l'; 70 << 10];
        let packed = input(&[&[b'p'; 999]]).compressed(Compression::Lz4);
        let inputs = [
            input(&[b"a"]),
            input(&[&large]),
            input(&[b"b"]).by(7, 1),
            input(&[b"c"]).by(7, 2),
            packed,
            input(&[b"d"]),
            input(&[b"e"]),
        ];
        let (batches, records) = build(&inputs, Compression::None);
        assert_eq!(batches.len(), 6);
        assert_eq!(records[1], std::slice::from_ref(&large));
        assert_eq!((batches[2].header.producer, batches[2].header.sequence), (7, 1));
        assert_eq!(batches[4].header.compression, Compression::Lz4);
        assert_eq!(records[5], [&b"d"[..], b"e"]);
        let (batches, _) = build(&inputs, Compression::Zstd);
        assert_eq!(batches[1].header.compression, Compression::Zstd);
        assert!(batches[1].bytes.len() < 1000);
    }

    #[test]
    fn merging_ends_at_its_limits() {
        let one = input(&[&[0; 40 << 10]]);
        let (batches, _) = build(&vec![one; 60], Compression::None);
        assert!(batches.len() == 3 && batches.iter().all(|b| b.bytes.len() <= MERGED_MAX + HEADER));
        let many = Input::from_records(std::iter::repeat_n(&b""[..], 16_000)).expect("fits");
        let (batches, _) = build(&vec![many; 3], Compression::None);
        assert_eq!(batches.iter().map(|b| b.header.records).collect::<Vec<_>>(), [32_000, 16_000]);
    }
}
