//! Reading at the start: manifest, base, segments.
//!
//! A torn end is cut off (of the last segment, and only if it was never durable); recovery refuses everything else
//! that cannot be read, with words for the operator.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Location;
use super::manifest::{Base, Manifest};
use super::segment::{Change, End, Header, Reader};
use crate::disk::Disk;

/// Why a journal is not loaded, and what the operator can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Records that are handed over together, so that their entries can be prefetched.
const AT_ONCE: usize = 32;

/// The segment that is continued.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) name: String,
    pub(crate) header: Header,
    /// Behind its last record.
    pub(crate) at: u64,
    /// Its length; zeros from `at` on.
    pub(crate) len: u64,
    /// Its marks say that all was durable up to here.
    pub(crate) marked: u64,
}

/// Where a writer goes on.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    pub(crate) manifest: Manifest,
    pub(crate) tail: Option<Tail>,
    /// The last sequence number.
    pub last: u64,
    /// The part that was cut off: file, offset and bytes.
    pub cut: Option<(String, u64, u64)>,
    /// Records that were replayed.
    pub records: u64,
    /// No manifest may name this journal before it has a base.
    pub(crate) baseless: bool,
    /// Files of another journal, to be removed as soon as this one is valid.
    pub(crate) superseded: Vec<String>,
    /// Segments get higher numbers.
    pub(crate) number: u64,
    /// The manifest has a segment that the one on disk does not name yet.
    pub(crate) adopted: bool,
}

impl Recovered {
    /// A new journal that begins with the number after `last`, in the place of the one with this manifest, if any.
    /// `empty`: the server is empty. Otherwise a base of its data is about to be made, and only after that a
    /// manifest names the new journal.
    pub fn instead_of(old: Option<Manifest>, empty: bool, last: u64) -> Self {
        let old = old.unwrap_or_default();
        // One number is left out: no record of the new journal may look like a continuation of the old one.
        let number = old.highest() + 1;
        let mut superseded: Vec<String> = old.segments.into_iter().map(|(name, _)| name).collect();
        if let Base::Snapshot { name, .. } = old.base {
            superseded.push(name);
        }
        let fresh = Self::fresh(Base::Empty(last));
        Self { number, superseded, baseless: !empty, ..fresh }
    }

    /// Whether a base has yet to be made.
    pub fn baseless(&self) -> bool {
        self.baseless
    }

    /// Number that the next base must be beyond.
    pub fn bases(&self) -> u64 {
        self.manifest.base_number().max(self.number)
    }

    /// A new journal on top of `base`.
    pub fn fresh(base: Base) -> Self {
        let last = base.sequence();
        let manifest = Manifest { base, ..Manifest::default() };
        Self { manifest, last, ..Self::default() }
    }

    /// The same, beside files of a Redis: see [`Manifest::seen`].
    #[must_use]
    pub fn having_seen(mut self, seen: u32) -> Self {
        self.manifest.seen = seen;
        self
    }
}

/// Checks the first number of a segment: the manifest says `first`, the segment before it ends in front of
/// `expected`, and the first segment must join on to the `base`.
fn check_begin(begins: u64, first: u64, expected: Option<u64>, base: u64) -> Result<(), String> {
    if begins != first || expected.is_some_and(|e| e != begins) {
        return Err(format!("it begins with record {begins}"));
    }
    if expected.is_none() && begins > base + 1 {
        return Err(format!("it begins with record {begins}, and the base ends with {base}"));
    }
    Ok(())
}

/// Calls `replay` with the records of a segment behind the `base`, some at a time, and with the offset of the
/// first of them. Returns how the segment ends, and the number of these records.
fn replay_segment<'a>(
    reader: &mut Reader<'a>,
    base: u64,
    mut replay: impl FnMut(&[Change<'a>], u64) -> Result<(), Refusal>,
) -> Result<(End, u64), Refusal> {
    let mut some = Vec::with_capacity(AT_ONCE);
    let mut records = 0;
    loop {
        let next = reader.next();
        match next {
            Ok(change) if change.sequence <= base => continue,
            Ok(change) => some.push(change),
            Err(_) => {}
        }
        if (some.len() == AT_ONCE || next.is_err())
            && let Some(first) = some.first()
        {
            replay(&some, first.at as u64)?;
            records += some.len() as u64;
            some.clear();
        }
        if let Err(end) = next {
            return Ok((end, records));
        }
    }
}

/// A journal that was found.
pub struct Recovery {
    disk: Arc<dyn Disk>,
    place: Location,
    /// Its files.
    pub manifest: Manifest,
}

impl Recovery {
    /// The journal at `place`, if there is one.
    ///
    /// # Errors
    /// A journal exists and cannot be read.
    pub fn open(disk: Arc<dyn Disk>, place: Location) -> Result<Option<Self>, Refusal> {
        let path = place.manifest();
        let text = match disk.read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return match place.left_without_manifest(&*disk) {
                    Ok(None) => Ok(None),
                    Ok(Some(name)) => Err(Refusal(format!(
                        "{} is there, but {}, which says what belongs together, is not. Restore it \
                         from a backup, or move the journal's files away to begin without data.",
                        place.file(&name).display(),
                        path.display()
                    ))),
                    Err(e) => Err(Refusal(format!("reading {}: {e}", place.dir.display()))),
                };
            }
            Err(e) => return Err(Refusal(format!("reading {}: {e}", path.display()))),
        };
        let manifest = Manifest::parse(&text).map_err(|why| {
            Refusal(format!(
                "the manifest {} cannot be used: {why}. Restore it from a backup of the directory.",
                path.display()
            ))
        })?;
        Ok(Some(Self { disk, place, manifest }))
    }

    /// Bytes of all segments, for progress.
    pub fn bytes(&self) -> u64 {
        let len = |name: &str| self.disk.len(&self.place.file(name)).unwrap_or(0);
        self.manifest.segments.iter().map(|(name, _)| len(name)).sum()
    }

    /// Calls `replay` with the records behind the base, in order and some at a time, and with the
    /// offset of the first within all segments. `cut` says whether a torn end may be cut off (`aof-load-truncated`).
    ///
    /// # Errors
    /// Something durable cannot be read, or `replay` says at which record of those it was given, and
    /// why.
    pub fn replay(
        self,
        cut: bool,
        mut replay: impl FnMut(&[Change<'_>], u64) -> Result<(), (usize, String)>,
    ) -> Result<Recovered, Refusal> {
        let base = self.manifest.base.sequence();
        let mut found = Recovered { last: base, ..Recovered::default() };
        let mut expected = None;
        let mut before = 0;
        let mut manifest = self.manifest.clone();
        let mut i = 0;
        while let Some((name, first)) = manifest.segments.get(i).cloned() {
            let path = self.place.file(&name);
            let shown = path.display();
            let bytes = self.read_segment(&path)?;
            let damaged = |at: usize, why: &str| self.damaged(&path, at, why);
            let mut reader = Reader::new(&bytes).map_err(|why| damaged(0, why))?;
            check_begin(reader.next_sequence(), first, expected, base)
                .map_err(|why| damaged(0, &why))?;
            let (end, records) = replay_segment(&mut reader, base, |changes, at| {
                replay(changes, before + at)
                    .map_err(|(i, why)| damaged(changes.get(i).map_or(0, |c| c.at), &why))
            })?;
            found.records += records;
            let at = reader.offset();
            if i + 1 == manifest.segments.len()
                && end == End::Clean
                && let Some(next) = self.follower(&manifest, reader.next_sequence())
            {
                manifest.segments.push((next, reader.next_sequence()));
                found.adopted = true;
            }
            i += 1;
            let last = i == manifest.segments.len();
            expected = Some(reader.next_sequence());
            found.last = found.last.max(reader.next_sequence() - 1);
            before += bytes.len() as u64;
            match end {
                End::Clean => {}
                End::Torn if last && cut => {
                    let lost = (bytes.len() - at) as u64;
                    found.cut = Some((shown.to_string(), at as u64, lost));
                    self.truncate(&name, at as u64)?;
                }
                End::Torn if last => {
                    return Err(Refusal(format!(
                        "{shown} ends in the middle of a record, at offset {at}: the server was \
                         stopped while it wrote, and nobody was told that this was durable. Start \
                         with aof-load-truncated yes, or run `apus check --fix {shown}`."
                    )));
                }
                End::Torn | End::Damaged => {
                    return Err(damaged(at, "a record cannot be read"));
                }
            }
            if last {
                let header = Header::parse(&bytes).map_err(|why| damaged(0, why))?;
                let len = if found.cut.is_some() { at } else { bytes.len() } as u64;
                found.tail =
                    Some(Tail { name, header, at: at as u64, len, marked: reader.marked() });
            }
        }
        found.manifest = manifest;
        // A base that is ahead of all segments: the numbers go on behind it, in a new segment.
        if expected.is_some_and(|e| e != found.last + 1) {
            found.tail = None;
            found.manifest.segments.clear();
        }
        Ok(found)
    }

    fn read_segment(&self, path: &Path) -> Result<Vec<u8>, Refusal> {
        self.disk.read(path).map_err(|e| {
            Refusal(format!(
                "the journal names {}, which cannot be read: {e}. Without it, later \
                 changes cannot be applied; restore it from a backup.",
                path.display()
            ))
        })
    }

    /// The refusal of a segment whose durable records cannot be read from `at` on.
    fn damaged(&self, path: &Path, at: usize, why: &str) -> Refusal {
        Refusal(format!(
            "{} is damaged at offset {at}: {why}. Changes that were durable are \
             lost. Restore the file from a backup, or run `apus check --fix {}`, which \
             gives up everything from there on, and start again.",
            path.display(),
            self.place.manifest().display()
        ))
    }

    /// The segment that was begun with record `first` behind those of the manifest, when the server was
    /// killed before it could name it there.
    fn follower(&self, manifest: &Manifest, first: u64) -> Option<String> {
        let name = self.place.segment(manifest.highest() + 1);
        let bytes = self.disk.read(&self.place.file(&name)).ok()?;
        let begun = Header::parse(&bytes).is_ok_and(|header| header.first == first);
        begun.then_some(name)
    }

    fn truncate(&self, name: &str, at: u64) -> Result<(), Refusal> {
        let path = self.place.file(name);
        let cut = || -> io::Result<()> {
            let file = self.disk.open(&path, false)?;
            file.set_len(at)?;
            file.sync()
        };
        cut().map_err(|e| Refusal(format!("cutting {} at {at}: {e}", path.display())))
    }
}
