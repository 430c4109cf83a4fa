//! Walking over the batches of a segment file.
//!
//! A segment is batches without a gap, then zeros up to a multiple of 4,096. Anything else is damage,
//! or the end of a write that a crash has cut off; [`content`] decides which.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::files;
use crate::batch::{Batch, HEADER, Header, MAGIC};
use crate::buf::Pool;
use crate::error::{Error, Result};

/// Bytes between two entries of an index.
const INDEX_EVERY: u64 = 64 << 10;
/// Bytes that are read at once when all of a segment is looked at.
pub(in crate::storage) const WINDOW: usize = 4 << 20;

/// What lies at an offset of the file.
#[derive(Debug)]
pub(in crate::storage) enum Found {
    /// A sound batch.
    Batch { at: u64, batch: Batch },
    /// Something else, which costs the records from `offset` to before `resumes`.
    Damage(Gap),
    /// Nothing more.
    End,
}

/// An offset whose bytes cannot be read.
#[derive(Clone, Debug)]
pub(in crate::storage) struct Gap {
    pub(in crate::storage) at: u64,
    pub(in crate::storage) offset: u64,
    pub(in crate::storage) resumes: Option<u64>,
    pub(in crate::storage) why: String,
}

/// Goes from batch to batch.
pub(in crate::storage) struct Scanner<'a> {
    /// None if all is in the window.
    file: Option<(&'a File, &'a Path, &'a Arc<Pool>)>,
    at: u64,
    end: u64,
    /// Offset of the batch at `at`.
    expected: u64,
    window: Bytes,
    window_at: u64,
    hint: usize,
    /// Bytes of a batch that may be read.
    most: usize,
}

impl<'a> Scanner<'a> {
    /// From byte `at`, where the batch with offset `expected` begins, to byte `end`, reading about
    /// `hint` bytes at once.
    pub(in crate::storage) fn new(
        file: (&'a File, &'a Path, &'a Arc<Pool>),
        (at, expected): (u64, u64),
        end: u64,
        hint: usize,
    ) -> Self {
        let (window, window_at) = (Bytes::new(), 0);
        Self { file: Some(file), at, end, expected, window, window_at, hint, most: usize::MAX }
    }

    /// The same, but larger batches than this are not read: they are [`Error::Larger`].
    pub(in crate::storage) fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Over bytes in memory, from byte `at` of them, where the batch with offset `expected` begins.
    #[cfg(feature = "objects")]
    pub(in crate::storage) fn over(bytes: Bytes, (at, expected): (u64, u64)) -> Self {
        let (end, hint) = (bytes.len() as u64, bytes.len());
        let most = usize::MAX;
        Self { file: None, at, end, expected, window: bytes, window_at: 0, hint, most }
    }

    /// Offset of the batch that comes next, if there is one.
    #[cfg(feature = "objects")]
    pub(in crate::storage) fn expected(&self) -> u64 {
        self.expected
    }

    /// Bytes from `at` on: `len` or up to the end.
    fn bytes(&mut self, at: u64, len: usize) -> Result<Bytes> {
        let left = self.end.saturating_sub(at);
        let len = (len as u64).min(left) as usize;
        let inside = at.checked_sub(self.window_at).map_or(usize::MAX, |n| n as usize);
        if let Some((file, path, pool)) = self.file
            && inside.saturating_add(len) > self.window.len()
        {
            let ahead = (self.hint.max(len) as u64).min(left) as usize;
            // The last one goes back to the pool first, if no reader keeps it.
            self.window = Bytes::new();
            let mut window = pool.get(ahead);
            let to = &mut window.bytes_mut()[..ahead];
            file.read_exact_at(to, at).map_err(files::at(path))?;
            self.window = Bytes::from_owner(window).slice(..ahead);
            self.window_at = at;
            return Ok(self.window.slice(..len));
        }
        Ok(self.window.slice(inside..inside + len))
    }

    fn rest_is_zero(&mut self) -> Result<bool> {
        let mut at = self.at;
        while at < self.end {
            let bytes = self.bytes(at, self.hint.max(HEADER))?;
            if bytes.iter().any(|b| *b != 0) {
                return Ok(false);
            }
            at += bytes.len() as u64;
        }
        Ok(true)
    }

    /// What comes next.
    pub(in crate::storage) fn next(&mut self) -> Result<Found> {
        if self.at >= self.end {
            return Ok(Found::End);
        }
        let head = self.bytes(self.at, HEADER)?;
        if head.iter().all(|b| *b == 0) && self.rest_is_zero()? {
            self.at = self.end;
            return Ok(Found::End);
        }
        let header = match Header::decode(&head) {
            Ok(h) => h,
            Err(_) if head.len() < HEADER => return self.resume("it is cut off".to_owned()),
            Err(e) => return self.resume(e.to_string()),
        };
        if header.first_offset != self.expected {
            let (is, expected) = (header.first_offset, self.expected);
            let why = format!("offset {is} where {expected} was expected");
            if is < expected {
                return self.resume(why);
            }
            self.expected = is;
            return Ok(Found::Damage(Gap {
                at: self.at,
                offset: expected,
                resumes: Some(is),
                why,
            }));
        }
        if header.len() > self.most {
            return Err(Error::Larger { bytes: header.len() });
        }
        let bytes = self.bytes(self.at, header.len())?;
        let (at, offset) = (self.at, self.expected);
        match Batch::check(&bytes) {
            Ok(batch) => {
                self.at += header.len() as u64;
                self.expected = header.next_offset();
                Ok(Found::Batch { at, batch })
            }
            Err(e) if bytes.len() < header.len() => self.resume(e.to_string()),
            Err(e) => {
                // The header is sound, so it tells where the next one is.
                self.at += header.len() as u64;
                self.expected = header.next_offset();
                let resumes = Some(self.expected);
                Ok(Found::Damage(Gap { at, offset, resumes, why: e.to_string() }))
            }
        }
    }

    /// Looks for the next offset that looks like a batch of later records.
    fn resume(&mut self, why: String) -> Result<Found> {
        let (damaged_at, offset) = (self.at, self.expected);
        let gap = |resumes| Found::Damage(Gap { at: damaged_at, offset, resumes, why });
        let finder = memchr::memmem::Finder::new(&MAGIC);
        let mut from = self.at + 1;
        while from + (HEADER as u64) <= self.end {
            let bytes = self.bytes(from, self.hint.max(HEADER))?;
            let Some(found) = finder.find(&bytes) else {
                // One may begin in the last bytes.
                from += (bytes.len() - (MAGIC.len() - 1)) as u64;
                continue;
            };
            from += found as u64;
            let head = self.bytes(from, HEADER)?;
            if let Ok(h) = Header::decode(&head)
                && h.first_offset >= self.expected
            {
                (self.at, self.expected) = (from, h.first_offset);
                return Ok(gap(Some(h.first_offset)));
            }
            from += 1;
        }
        self.at = self.end;
        Ok(gap(None))
    }
}

/// Where to begin to look for an offset or a time.
#[derive(Clone, Debug, Default)]
pub(in crate::storage) struct Index {
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::storage) struct Entry {
    pub(in crate::storage) offset: u64,
    pub(in crate::storage) at: u64,
    pub(in crate::storage) us: u64,
}

impl Index {
    /// Notes a batch, if the last noted one is far enough away.
    pub(in crate::storage) fn add(&mut self, at: u64, h: &Header) {
        if self.entries.last().is_none_or(|e| at - e.at >= INDEX_EVERY) {
            self.entries.push(Entry { offset: h.first_offset, at, us: h.appended_us });
        }
    }

    /// Entries in it.
    #[cfg(feature = "objects")]
    pub(in crate::storage) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The last entry that is not behind the position that is looked for.
    pub(in crate::storage) fn before(&self, past: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let i = self.entries.partition_point(|e| !past(e));
        i.checked_sub(1).map(|i| self.entries[i])
    }

    fn cut(&mut self, at: u64) {
        self.entries.truncate(self.entries.partition_point(|e| e.at < at));
    }
}

/// The content of a segment.
#[derive(Debug, Default)]
pub(in crate::storage) struct Content {
    /// Bytes of batches.
    pub(in crate::storage) end: u64,
    pub(in crate::storage) next: u64,
    pub(in crate::storage) latest_us: u64,
    pub(in crate::storage) index: Index,
    pub(in crate::storage) gaps: Vec<Gap>,
    /// Headers of batches that their producers numbered.
    pub(in crate::storage) numbered: Vec<Header>,
    /// The part that was cut off, and why.
    pub(in crate::storage) cut: Option<Gap>,
}

/// Reads all of a segment whose first offset is `first`. If it is the `last` of its topic, it may end
/// in a write that a crash has interrupted: then everything from there on is `cut`. It is not such a
/// write if a later batch says that it was written after this offset had been synced, or if the offset is
/// below `stored`, up to which all had been synced; then it is damage, and the bytes behind it stay.
pub(in crate::storage) fn content(
    (file, path, pool): (&File, &Path, &Arc<Pool>),
    first: u64,
    last: bool,
    stored: u64,
) -> Result<Content> {
    let len = file.metadata().map_err(files::at(path))?.len();
    let mut scanner = Scanner::new((file, path, pool), (0, first), len, WINDOW);
    let mut c = Content { next: first, ..Content::default() };
    // The first damage that is not proven yet, and the content read up to there.
    let mut doubt: Option<(Gap, u64, u64, u64, usize, usize)> = None;
    loop {
        match scanner.next()? {
            Found::Batch { at, batch } => {
                let h = &batch.header;
                if let Some((gap, ..)) = &doubt
                    && h.synced_before().is_some_and(|offset| offset > gap.offset)
                {
                    doubt = None;
                }
                c.end = at + batch.bytes.len() as u64;
                c.next = h.next_offset();
                c.latest_us = c.latest_us.max(h.appended_us);
                c.index.add(at, h);
                if h.producer != 0 {
                    c.numbered.push(*h);
                }
            }
            Found::Damage(gap) => {
                if gap.offset < stored {
                    // A sound header tells where its damaged batch ends.
                    if let Some(resumes) = gap.resumes {
                        (c.end, c.next) = (scanner.at, resumes);
                    }
                } else if last && doubt.is_none() {
                    let seen = (c.gaps.len(), c.numbered.len());
                    doubt = Some((gap.clone(), c.end, c.next, c.latest_us, seen.0, seen.1));
                }
                c.gaps.push(gap);
            }
            Found::End => break,
        }
    }
    if let Some((gap, end, next, latest_us, gaps, numbered)) = doubt {
        c.index.cut(gap.at);
        c.gaps.truncate(gaps);
        c.numbered.truncate(numbered);
        (c.end, c.next, c.latest_us, c.cut) = (end, next, latest_us, Some(gap));
    }
    Ok(c)
}
