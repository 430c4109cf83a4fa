//! The writer's long work with files. It needs no state of the writer, so that other threads can write
//! meanwhile.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::Location;
use super::super::manifest::Manifest;
use super::super::record::Salt;
use super::super::segment::{HEADER, Header};
use super::{Done, Segment, Turn};
use crate::disk::{Disk, File};

/// The next step of the writer's thread.
pub(super) enum Step {
    Turn(Turn),
    /// This work, and then it goes on.
    Work(Work),
}

/// See the module's text.
pub(super) enum Work {
    /// Sync a segment (its file and name), which has everything up to this number.
    Sync(Arc<dyn File>, String, u64),
    /// Make the file of the segment with this number, with so many zeros ahead.
    Make(u64, u64),
    Name(Naming),
    Rebase(Rebase, Done),
}

/// A segment has begun: the end of the one before it is to become durable, then the records of the new
/// one, then the manifest that names it.
#[derive(Clone)]
pub(super) struct Naming {
    pub(super) old: Option<(Arc<dyn File>, String, u64)>,
    pub(super) new: Arc<dyn File>,
    pub(super) manifest: Manifest,
    /// The manifest is one to be stored.
    pub(super) stored: bool,
}

/// A manifest with a new base, and the files that are of no use then.
pub(super) struct Rebase {
    pub(super) manifest: Manifest,
    pub(super) remove: Vec<String>,
    /// The files that could not be removed, and why.
    pub(super) left: Vec<String>,
}

/// The result.
pub(super) enum Finished {
    Synced(u64, Duration, io::Result<()>),
    Made(io::Result<Segment>),
    Named(io::Result<Manifest>, Option<u64>),
    Rebased(io::Result<Rebase>, Done),
}

impl Work {
    pub(super) fn run(self, disk: &dyn Disk, place: &Location) -> Finished {
        match self {
            Self::Sync(file, name, upto) => {
                let started = Instant::now();
                let synced = file.sync().map_err(|e| named("syncing", &name, &e));
                Finished::Synced(upto, started.elapsed(), synced)
            }
            Self::Make(number, ahead) => Finished::Made(make(disk, place, number, ahead)),
            Self::Name(naming) => {
                if let Err(e) = naming.sync() {
                    return Finished::Synced(0, Duration::ZERO, Err(e));
                }
                let upto = naming.old.as_ref().map(|(_, _, upto)| *upto);
                Finished::Named(naming.store(disk, place), upto)
            }
            Self::Rebase(mut rebase, done) => {
                // After an error the manifest on disk may name the new base or the old one: neither
                // may be removed.
                if let Err(e) = rebase.manifest.store(disk, &place.manifest()) {
                    return Finished::Rebased(Err(e), done);
                }
                rebase.left = remove(disk, place, &rebase.remove);
                Finished::Rebased(Ok(rebase), done)
            }
        }
    }
}

impl Naming {
    fn sync(&self) -> io::Result<()> {
        if let Some((file, name, _)) = &self.old {
            file.sync().map_err(|e| named("syncing", name, &e))?;
        }
        self.new.sync().map_err(|e| named("syncing", "the new segment", &e))
    }

    fn store(self, disk: &dyn Disk, place: &Location) -> io::Result<Manifest> {
        if self.stored {
            // It may be in its place all the same: an uncertain step is repeated.
            let stored = self.manifest.store(disk, &place.manifest());
            stored.map_err(|e| named("writing", "the manifest", &e))?;
        }
        Ok(self.manifest)
    }
}

/// Files of a journal that the manifest does not name: left by an interrupted rewrite or an interrupted
/// new segment.
pub(super) fn strays(
    disk: &dyn Disk,
    place: &Location,
    manifest: &Manifest,
) -> io::Result<Vec<String>> {
    let mut names = disk.list(&place.dir)?;
    names.retain(|name| place.is_own(name) && !manifest.names(name));
    Ok(names)
}

/// Removes files; says which could not be removed.
pub(super) fn remove(disk: &dyn Disk, place: &Location, names: &[String]) -> Vec<String> {
    let remove = |name: &String| match disk.remove(&place.file(name)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Some(format!("{name} is of no use any more, but stays: {e}"))
        }
        _ => None,
    };
    names.iter().filter_map(remove).collect()
}

/// Makes the file of a segment that [`begin`] begins later.
pub(super) fn make(
    disk: &dyn Disk,
    place: &Location,
    number: u64,
    ahead: u64,
) -> io::Result<Segment> {
    let name = place.segment(number);
    let path = place.file(&name);
    let made = || -> io::Result<Segment> {
        // A failed attempt may have left a file.
        if crate::disk::exists(disk, &path)? {
            disk.remove(&path)?;
        }
        let mut salt = Salt::default();
        stdx::rng::fill_from_os(&mut salt).map_err(|_| io::Error::other("no randomness"))?;
        let zeros = vec![0; HEADER.max(ahead as usize)];
        let file: Arc<dyn File> = disk.open(&path, true)?.into();
        file.write_at(&zeros, 0)?;
        file.sync()?;
        disk.sync_dir(&place.dir)?;
        let (at, zeroed, seed) = (HEADER as u64, zeros.len() as u64, 0);
        Ok(Segment { file, name: name.clone(), salt, seed, at, zeroed, marked: 0 })
    };
    made().map_err(|e| {
        // The error matters; the next attempt removes it, too.
        let _ = disk.remove(&path);
        named("making", &name, &e)
    })
}

/// Writes the header: the segment's first record is number `first`.
pub(super) fn begin(segment: &mut Segment, first: u64) -> io::Result<()> {
    let header = Header { salt: segment.salt, first };
    let written = segment.file.write_at(&header.to_bytes(), 0);
    written.map_err(|e| named("writing", &segment.name, &e))?;
    segment.seed = header.seed();
    segment.marked = first.saturating_sub(1);
    Ok(())
}

/// An error that names the file; its source is the system's.
pub(super) fn named(doing: &str, name: &str, e: &io::Error) -> io::Error {
    let inner = Named { text: format!("{doing} {name}: {e}"), reason: e.to_string() };
    io::Error::new(e.kind(), inner)
}

#[derive(Debug)]
struct Named {
    text: String,
    reason: String,
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Named {}

/// The system's words, without its number.
pub(super) fn reason(e: &io::Error) -> String {
    let inner = e.get_ref().and_then(|inner| inner.downcast_ref::<Named>());
    let text = inner.map_or_else(|| e.to_string(), |named| named.reason.clone());
    match text.find(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
