//! Producers that number their batches, so that a retry after a lost answer writes once.
//!
//! A producer sends a batch again until it is answered, and only then the next. The log remembers the
//! last few batches of each: one that it knows is answered with the offsets that it got; the next one
//! is stored; any other is refused, since storing it would lose or reorder the missing batches.

use std::collections::{HashMap, VecDeque};

use stdx::crc32c::crc32c;
use stdx::mem::Apart;

use crate::batch::Header;

/// Batches of a producer that are remembered.
const REMEMBERED: usize = 8;
/// Producers that are remembered per topic; of more, those that were silent longest are forgotten.
const PRODUCERS: usize = 10_000;
/// First byte of the written form.
const VERSION: u8 = 1;

/// A batch that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) sequence: u64,
    pub(crate) first_offset: u64,
    pub(crate) records: u32,
    pub(crate) appended_us: u64,
}

/// The decision on a numbered batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Store it.
    New,
    /// It has been stored.
    Known(Stored),
    /// It is not the one that must come next.
    Wrong {
        /// That one.
        expected: u64,
    },
}

/// The producers of one topic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Producers {
    known: HashMap<u64, VecDeque<Stored>>,
    apart: Apart,
}

/// Bytes that a producer takes, about.
const EACH: usize = REMEMBERED * size_of::<Stored>() + 48;

impl Producers {
    /// Judges a batch, `unstored` being the numbers of the same producer's batches that are about to
    /// be stored before it.
    pub(crate) fn judge(&self, producer: u64, sequence: u64, unstored: Option<u64>) -> Verdict {
        let known = self.known.get(&producer);
        if let Some(stored) = known.and_then(|k| k.iter().find(|s| s.sequence == sequence)) {
            return Verdict::Known(*stored);
        }
        let last = unstored.or_else(|| known.and_then(|k| k.back()).map(|s| s.sequence));
        match last.map(|l| l.wrapping_add(1)) {
            Some(expected) if expected != sequence => Verdict::Wrong { expected },
            // A new producer begins with any number.
            _ => Verdict::New,
        }
    }

    /// Remembers a batch that has been stored.
    pub(crate) fn note(&mut self, h: &Header) {
        if h.producer == 0 {
            return;
        }
        let known = self.known.entry(h.producer).or_default();
        if known.back().is_some_and(|last| last.first_offset >= h.first_offset) {
            return; // Seen twice, at opening.
        }
        if known.len() == REMEMBERED {
            known.pop_front();
        }
        known.push_back(Stored {
            sequence: h.sequence,
            first_offset: h.first_offset,
            records: h.records,
            appended_us: h.appended_us,
        });
        if self.known.len() > 2 * PRODUCERS {
            let newest = |k: &VecDeque<Stored>| k.back().map_or(0, |s| s.first_offset);
            let mut ages: Vec<u64> = self.known.values().map(newest).collect();
            let cut = ages.len() - PRODUCERS;
            let (_, cut, _) = ages.select_nth_unstable(cut);
            let cut = *cut;
            self.known.retain(|_, k| newest(k) >= cut);
        }
        self.apart.set(self.known.len() * EACH);
    }

    /// The written form; empty if there is no producer to remember.
    pub(crate) fn encode(&self) -> Vec<u8> {
        if self.known.is_empty() {
            return Vec::new();
        }
        let mut bytes = vec![VERSION];
        for (producer, known) in &self.known {
            for s in known {
                for n in
                    [*producer, s.sequence, s.first_offset, u64::from(s.records), s.appended_us]
                {
                    bytes.extend_from_slice(&n.to_le_bytes());
                }
            }
        }
        let crc = crc32c(0, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// From the written form; none if it is not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut it = Self::default();
        if bytes.is_empty() {
            return Some(it);
        }
        let (body, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c(0, body) != u32::from_le_bytes(*crc) {
            return None;
        }
        let (version, rows) = body.split_first()?;
        let (rows, rest) = rows.as_chunks::<40>();
        if *version != VERSION || !rest.is_empty() {
            return None;
        }
        for row in rows {
            let (numbers, _) = row.as_chunks::<8>();
            let mut n = numbers.iter().map(|n| u64::from_le_bytes(*n));
            let mut next = || n.next().unwrap_or(0);
            let header = Header {
                producer: next(),
                sequence: next(),
                first_offset: next(),
                records: next() as u32,
                appended_us: next(),
                ..Header::default()
            };
            it.note(&header);
        }
        Some(it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(producer: u64, sequence: u64, first_offset: u64) -> Header {
        Header { producer, sequence, first_offset, records: 2, ..Header::default() }
    }

    #[test]
    fn retries_are_known_and_gaps_refused() {
        let mut p = Producers::default();
        assert_eq!(p.judge(1, 17, None), Verdict::New);
        for i in 0..20 {
            p.note(&header(1, 17 + i, 2 * i));
        }
        assert_eq!(p.judge(1, 37, None), Verdict::New);
        assert_eq!(p.judge(1, 38, None), Verdict::Wrong { expected: 37 });
        assert_eq!(p.judge(1, 38, Some(37)), Verdict::New);
        let Verdict::Known(stored) = p.judge(1, 36, None) else { panic!("not known") };
        assert_eq!((stored.first_offset, stored.records), (38, 2));
        // Too long ago.
        assert_eq!(p.judge(1, 20, None), Verdict::Wrong { expected: 37 });
        assert_eq!(p.judge(2, 20, None), Verdict::New);
    }

    #[test]
    fn written_and_read() {
        let mut p = Producers::default();
        assert_eq!(p.encode(), b"");
        for i in 0..100 {
            p.note(&header(i % 7 + 1, i / 7, i));
        }
        let bytes = p.encode();
        let read = Producers::decode(&bytes).expect("sound");
        for producer in 1..=7 {
            for sequence in 0..20 {
                assert_eq!(read.judge(producer, sequence, None), p.judge(producer, sequence, None));
            }
        }
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert!(Producers::decode(&wrong).is_none());
            assert!(at == 0 || Producers::decode(&bytes[..at]).is_none());
        }
    }

    #[test]
    fn the_silent_are_forgotten() {
        let mut p = Producers::default();
        for i in 0..=2 * PRODUCERS as u64 {
            p.note(&header(i + 1, 1, i));
        }
        assert_eq!(p.known.len(), PRODUCERS);
        assert!(p.known.contains_key(&(2 * PRODUCERS as u64 + 1)));
        assert!(!p.known.contains_key(&1));
    }
}
