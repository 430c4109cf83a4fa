//! The input of a producer: records in the shape of a batch's body, in the pieces in which they
//! arrived.

use bytes::Bytes;

use crate::batch::{self, BYTES_MAX, Batch, Compression, HEADER, Header, RECORDS_MAX, Records};
use crate::chunks::{Body, Chunks};
use crate::error::{Error, Result};

/// Records that are to be appended together.
#[derive(Clone, Debug)]
pub struct Input {
    pub(crate) records: u32,
    pub(crate) compression: Compression,
    pub(crate) raw_len: u32,
    pub(crate) body: Body,
    /// If it has been checked on the way in.
    pub(crate) body_crc: Option<u32>,
    pub(crate) created_us: u64,
    pub(crate) producer: u64,
    pub(crate) sequence: u64,
}

fn too_many(records: usize) -> Error {
    Error::TooLarge(format!("{records} records, at most {RECORDS_MAX}"))
}

fn too_long(bytes: u64) -> Error {
    Error::TooLarge(format!("{bytes} bytes of records, at most {BYTES_MAX}"))
}

/// The sum of sizes that are within the limits.
fn sum_of(sizes: &[u32]) -> Result<u64> {
    let sum: u64 = sizes.iter().map(|s| u64::from(*s)).sum();
    if sizes.is_empty() {
        return Err(Error::Bad("there must be at least one record".to_owned()));
    }
    if sizes.len() > RECORDS_MAX {
        return Err(too_many(sizes.len()));
    }
    if sum > BYTES_MAX as u64 {
        return Err(too_long(sum));
    }
    Ok(sum)
}

/// Sizes as they are stored.
fn encoded(sizes: &[u32]) -> Bytes {
    let mut bytes = Vec::with_capacity(4 * sizes.len());
    sizes.iter().for_each(|s| bytes.extend_from_slice(&s.to_le_bytes()));
    bytes.into()
}

impl Input {
    /// Records by their sizes and one block.
    ///
    /// # Errors
    /// [`Error::Bad`] if there are none or they disagree, [`Error::TooLarge`].
    pub fn from_parts(sizes: &[u32], block: Chunks) -> Result<Self> {
        let sum = sum_of(sizes)?;
        if sum != block.len() as u64 {
            return Err(Error::Bad(format!(
                "sizes says the payload should be {sum} bytes, got {}",
                block.len()
            )));
        }
        let mut body = Chunks::from(encoded(sizes));
        block.iter().for_each(|p| body.push(p.clone()));
        Ok(Self::new(sizes.len(), Body::Pieces(body)))
    }

    fn new(records: usize, body: Body) -> Self {
        Self {
            records: records as u32,
            compression: Compression::None,
            raw_len: body.len() as u32,
            body,
            body_crc: None,
            created_us: 0,
            producer: 0,
            sequence: 0,
        }
    }

    /// Records that lie in `buffer` where `at` says: where each begins, and its size. They are copied
    /// once, to where they are written from.
    ///
    /// # Errors
    /// [`Error::Bad`] if there are none or they lie outside of it, [`Error::TooLarge`].
    pub fn from_buffer(buffer: Bytes, at: Vec<(u32, u32)>) -> Result<Self> {
        let sizes: Vec<u32> = at.iter().map(|(_, size)| *size).collect();
        let sum = sum_of(&sizes)?;
        let end = |(at, size): &(u32, u32)| u64::from(*at) + u64::from(*size);
        if at.iter().any(|a| end(a) > buffer.len() as u64) {
            return Err(Error::Bad("a record lies outside of its buffer".to_owned()));
        }
        let (records, sizes) = (sizes.len(), encoded(&sizes));
        let len = sizes.len() + sum as usize;
        Ok(Self::new(records, Body::Spread { sizes, buffer, at: at.into(), len }))
    }

    /// One record.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn from_record(record: Chunks) -> Result<Self> {
        // A length that does not fit 32 bits is too long anyway.
        let size = u32::try_from(record.len()).map_err(|_| too_long(record.len() as u64))?;
        Self::from_parts(&[size], record)
    }

    /// Several records.
    ///
    /// # Errors
    /// [`Error::Bad`] if there are none, [`Error::TooLarge`].
    pub fn from_records<'a>(records: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Self> {
        let mut sum = 0;
        let mut sizes = Vec::new();
        for r in records.clone() {
            sum += r.len() as u64;
            if sizes.len() == RECORDS_MAX {
                return Err(too_many(records.count()));
            }
            sizes.push(u32::try_from(r.len()).unwrap_or(u32::MAX));
        }
        if sum > BYTES_MAX as u64 {
            return Err(too_long(sum));
        }
        let mut block = Vec::with_capacity(sum as usize);
        records.for_each(|r| block.extend_from_slice(r));
        Self::from_parts(&sizes, Bytes::from(block).into())
    }

    /// A whole batch as it is stored, whose first offset and times will be set.
    ///
    /// # Errors
    /// [`Error::Bad`] if header, checksums or sizes are wrong or something follows,
    /// [`Error::TooLarge`].
    pub fn from_batch(mut bytes: Chunks) -> Result<Self> {
        let header = Header::decode(bytes.peek(HEADER))?;
        if bytes.len() != header.len() {
            let (is, says) = (bytes.len(), header.len());
            return Err(Error::Bad(format!("the batch has {is} bytes, its header says {says}")));
        }
        if header.compression == Compression::None {
            bytes.skip(HEADER);
            if bytes.crc32c() != header.body_crc {
                return Err(Error::Bad("the body's checksum is wrong".to_owned()));
            }
            // Only the sizes are looked at, and the block stays in its pieces.
            let sizes = 4 * header.records as usize;
            let sum: u64 = batch::sizes(bytes.peek(sizes)).map(u64::from).sum();
            let rest = (bytes.len() - sizes) as u64;
            if sum != rest {
                return Err(Error::Bad(format!(
                    "sizes says the payload should be {sum} bytes, got {rest}"
                )));
            }
        } else {
            let whole = bytes.join();
            // A body that cannot be decompressed later must be refused.
            let _: Records = Batch::check(&whole)?.records()?;
            bytes = whole.slice(HEADER..).into();
        }
        Ok(Self {
            records: header.records,
            compression: header.compression,
            raw_len: header.raw_len,
            body: Body::Pieces(bytes),
            body_crc: Some(header.body_crc),
            created_us: header.created_us,
            producer: header.producer,
            sequence: header.sequence,
        })
    }

    /// From this producer, as its batch of this number: a retry will not be stored twice.
    pub fn by(mut self, producer: u64, sequence: u64) -> Self {
        self.producer = producer;
        self.sequence = sequence;
        self
    }

    /// Made at this time, in Unix microseconds.
    pub fn created(mut self, us: u64) -> Self {
        self.created_us = us;
        self
    }

    /// Number of records.
    pub fn records(&self) -> usize {
        self.records as usize
    }

    /// The memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        HEADER + self.body.len()
    }

    /// The batch as a producer sends it.
    pub fn encode(&self) -> Bytes {
        let header = Header {
            compression: self.compression,
            records: self.records,
            body_len: self.body.len() as u32,
            raw_len: self.raw_len,
            body_crc: self.body_crc.unwrap_or_else(|| self.body.crc32c()),
            created_us: self.created_us,
            producer: self.producer,
            sequence: self.sequence,
            ..Header::default()
        };
        let mut whole = Chunks::from(Bytes::copy_from_slice(&header.encode()));
        self.body.to_chunks().iter().for_each(|p| whole.push(p.clone()));
        whole.join()
    }

    /// The same, compressed, if that makes it smaller.
    pub fn compressed(mut self, compression: Compression) -> Self {
        if self.compression == Compression::None {
            let raw = self.body.to_chunks().join();
            if let Some(packed) = compression.pack(&raw) {
                self.compression = compression;
                self.body_crc = None;
                self.body = Body::Pieces(Bytes::from(packed).into());
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_in_again() {
        let records: [&[u8]; 3] = [&[b'x'; 1000], b"", b"yy"];
        for compression in Compression::ALL {
            let sent = Input::from_records(records.into_iter())
                .expect("fits")
                .by(9, 4)
                .created(77)
                .compressed(compression)
                .encode();
            assert_eq!(sent.len() < 500, compression != Compression::None);
            // In pieces of any size.
            for size in [1, 7, 80, 81, 4096] {
                let mut pieces = Chunks::default();
                let mut rest = sent.clone();
                while !rest.is_empty() {
                    pieces.push(rest.split_to(size.min(rest.len())));
                }
                let got = Input::from_batch(pieces).expect("sound");
                assert_eq!((got.producer, got.sequence, got.created_us), (9, 4, 77));
                assert_eq!(got.encode(), sent);
            }
            let mut longer = Chunks::from(sent.clone());
            longer.push(Bytes::from_static(b"!"));
            assert!(matches!(Input::from_batch(longer), Err(Error::Bad(_))));
            let mut wrong = sent.to_vec();
            wrong[90] ^= 1;
            assert!(matches!(Input::from_batch(Bytes::from(wrong).into()), Err(Error::Bad(_))));
        }
    }

    #[test]
    fn records_stay_in_the_buffer_they_came_in() {
        let buffer = Bytes::from_static(b"$1 a, $0 , $3 bcd!");
        let input =
            Input::from_buffer(buffer.clone(), vec![(3, 1), (8, 0), (14, 3)]).expect("in it");
        let records: [&[u8]; 3] = [b"a", b"", b"bcd"];
        let same = Input::from_records(records.into_iter()).expect("fits");
        assert_eq!((input.records(), input.bytes()), (3, same.bytes()));
        assert_eq!(input.encode(), same.encode());
        let (mut a, mut b) = (vec![0; input.body.len()], vec![0; input.body.len()]);
        input.body.copy_to(&mut a);
        assert_eq!(input.body.copy_to_checked(&mut b), same.body.crc32c());
        assert_eq!((&a, &a), (&b, &same.body.to_chunks().join().to_vec()));
        for wrong in [(15, 4), (19, 0), (u32::MAX, u32::MAX)] {
            let wrong = Input::from_buffer(buffer.clone(), vec![(0, 1), wrong]);
            assert!(matches!(wrong, Err(Error::Bad(_) | Error::TooLarge(_))));
        }
        assert!(Input::from_buffer(buffer, Vec::new()).is_err());
    }

    #[test]
    fn limits() {
        let none: [&[u8]; 0] = [];
        assert!(matches!(Input::from_records(none.into_iter()), Err(Error::Bad(_))));
        let many = std::iter::repeat_n(&b"x"[..], RECORDS_MAX);
        assert_eq!(Input::from_records(many.clone()).expect("fits").records(), RECORDS_MAX);
        let more = many.chain([&b"x"[..]]);
        assert!(matches!(Input::from_records(more), Err(Error::TooLarge(_))));
        let long = vec![0; BYTES_MAX + 1];
        assert!(Input::from_record(Bytes::from(long.clone()).slice(1..).into()).is_ok());
        assert!(matches!(Input::from_record(Bytes::from(long).into()), Err(Error::TooLarge(_))));
        assert!(matches!(
            Input::from_parts(&[3, 4], Bytes::from_static(b"123456").into()),
            Err(Error::Bad(_))
        ));
        assert!(matches!(
            Input::from_parts(&[u32::MAX; 9], Chunks::default()),
            Err(Error::TooLarge(_))
        ));
    }
}
