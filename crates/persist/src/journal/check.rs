//! `apus check`: looks at a segment, or at a whole journal by its manifest, and cuts on demand.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{Base, Manifest};
use super::segment::{self, End, HEADER, Survey};
use crate::disk::{Disk, Lock, exists, free_name};

/// The findings, and whether all is well afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// A text for people.
    pub text: String,
    /// Nothing is wrong, or all is repaired.
    pub sound: bool,
}

/// Looks at the segment at `path`; with `fix` cuts off the unreadable end.
///
/// # Errors
/// The file cannot be read or cut.
pub fn check_segment(disk: &dyn Disk, path: &Path, fix: bool) -> io::Result<Report> {
    let bytes = disk.read(path)?;
    let shown = path.display();
    let survey = match segment::survey(&bytes) {
        Ok(survey) => survey,
        Err(why) => {
            return Ok(Report { text: format!("{shown}: no segment: {why}\n"), sound: false });
        }
    };
    let mut text = describe(&shown.to_string(), &survey, bytes.len());
    let sound = survey.how == End::Clean;
    if !sound && fix {
        cut(disk, path, survey.end as u64)?;
        let _ = writeln!(text, "{shown}: cut at offset {}", survey.end);
    } else if !sound {
        let _ = writeln!(text, "{shown}: --fix cuts it at offset {}", survey.end);
    }
    Ok(Report { text, sound: sound || fix })
}

/// Looks at all files of the journal with the manifest at `path`; with `fix` cuts at the first
/// place that cannot be read, and sets segments behind it aside (`.lost`).
///
/// # Errors
/// A file cannot be read, cut or renamed.
pub fn check_journal(disk: &dyn Disk, path: &Path, fix: bool) -> io::Result<Report> {
    let shown = path.display();
    let mut manifest = match Manifest::parse(&disk.read(path)?) {
        Ok(manifest) => manifest,
        Err(why) => {
            return Ok(Report { text: format!("{shown}: no manifest: {why}\n"), sound: false });
        }
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut text = String::new();
    let sound = check_base(disk, dir, &shown.to_string(), &manifest.base, &mut text)?;
    let Some(bad) = check_segments(disk, dir, &manifest, &mut text) else {
        return Ok(Report { text, sound });
    };
    if !fix {
        text.push_str("--fix gives up everything from there on\n");
        return Ok(Report { text, sound: false });
    }
    let from = match bad.cut_at {
        Some(at) => {
            let name = &manifest.segments[bad.segment].0;
            cut(disk, &dir.join(name), at)?;
            let _ = writeln!(text, "{name}: cut at offset {at}");
            bad.segment + 1
        }
        None => bad.segment,
    };
    let lost: Vec<_> = manifest.segments.drain(from..).collect();
    manifest.store(disk, path)?;
    for (name, _) in lost {
        let file = dir.join(&name);
        if exists(disk, &file)? {
            // Files that an earlier repair has set aside stay.
            let aside = free_name(disk, &file, ".lost")?;
            disk.rename(&file, &aside)?;
            let aside = aside.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let _ = writeln!(text, "{name}: set aside as {aside}");
        }
    }
    disk.sync_dir(dir)?;
    Ok(Report { text, sound })
}

/// Describes the base of the journal `shown`. Returns whether its file is as long as the manifest says.
fn check_base(
    disk: &dyn Disk,
    dir: &Path,
    shown: &str,
    base: &Base,
    text: &mut String,
) -> io::Result<bool> {
    let (name, sequence, bytes) = match base {
        Base::Empty(_) => {
            let _ = writeln!(text, "{shown}: no base");
            return Ok(true);
        }
        Base::Redis { name } => {
            let _ = writeln!(text, "{shown}: base {name}, written by Redis");
            return Ok(true);
        }
        Base::Snapshot { name, sequence, bytes } => (name, sequence, bytes),
    };
    let _ = writeln!(text, "{shown}: base {name}, up to record {sequence}");
    let len = if exists(disk, &dir.join(name))? { disk.len(&dir.join(name))? } else { 0 };
    if len != *bytes {
        let _ = writeln!(text, "{name}: has {len} bytes instead of {bytes}");
    }
    Ok(len == *bytes)
}

/// The first segment that is not sound.
struct Bad {
    /// Its index.
    segment: usize,
    /// Where it is to be cut; none: all of it is lost.
    cut_at: Option<u64>,
}

/// Describes the segments, up to the first one that is not sound.
fn check_segments(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
    text: &mut String,
) -> Option<Bad> {
    let base = manifest.base.sequence();
    let count = manifest.segments.len();
    let mut expected = None;
    for (segment, (name, first)) in manifest.segments.iter().enumerate() {
        let found = match disk.read(&dir.join(name)) {
            Ok(bytes) => segment::survey(&bytes).map(|s| (s, bytes.len())).map_err(str::to_owned),
            Err(e) => Err(e.to_string()),
        };
        let (survey, len) = match found {
            Ok(found) => found,
            Err(why) => {
                let _ = writeln!(text, "{name}: {why}");
                return Some(Bad { segment, cut_at: None });
            }
        };
        text.push_str(&describe(name, &survey, len));
        let follows = expected.map_or(*first <= base + 1, |e: u64| e == *first);
        if survey.first != *first || !follows {
            let _ = writeln!(text, "{name}: does not continue what comes before it");
            return Some(Bad { segment, cut_at: None });
        }
        expected = Some(survey.last.wrapping_add(1));
        if survey.how != End::Clean {
            // An end counts as torn only at the very end of the journal.
            let torn = survey.how == End::Torn && segment + 1 == count;
            if !torn {
                let _ = writeln!(text, "{name}: changes that were durable are lost");
            }
            return Some(Bad { segment, cut_at: Some(survey.end as u64) });
        }
    }
    None
}

/// The right to change the journal that a manifest or segment belongs to.
///
/// # Errors
/// A server is using it (`ResourceBusy`).
pub fn claim(disk: &dyn Disk, path: &Path) -> io::Result<Option<Lock>> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let segments = |name: &str| Some(name.strip_suffix(".seg")?.rsplit_once('.')?.0.to_owned());
    let stem = name.strip_suffix(".journal").map(str::to_owned).or_else(|| segments(name));
    let lock = stem.map(|stem| path.with_file_name(format!("{stem}.lock")));
    // No server uses files that were copied elsewhere.
    let Some(lock) = lock.filter(|lock| exists(disk, lock).unwrap_or(false)) else {
        return Ok(None);
    };
    let busy = "it is being used by a server, which must be stopped first";
    let taken = disk.lock(&lock)?;
    taken.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::ResourceBusy, busy))
}

/// The snapshot that is the base of the journal with the manifest at `path`, if it is there: to be
/// checked by code that knows the format.
///
/// # Errors
/// The manifest cannot be read.
pub fn base_of(disk: &dyn Disk, path: &Path) -> io::Result<Option<PathBuf>> {
    let Ok(Manifest { base: Base::Snapshot { name, .. }, .. }) = Manifest::parse(&disk.read(path)?)
    else {
        return Ok(None);
    };
    let base = path.parent().unwrap_or(Path::new(".")).join(name);
    Ok(exists(disk, &base)?.then_some(base))
}

fn describe(name: &str, s: &Survey, len: usize) -> String {
    let how = match s.how {
        End::Clean => "",
        End::Torn => ", then a torn end that was never durable",
        End::Damaged => ", then DAMAGE: what follows was durable once",
    };
    let records = match s.records {
        0 => format!("no records (the next is {})", s.first),
        n => format!("{n} records ({} to {}), {} commands", s.first, s.last, s.commands),
    };
    format!("{name}: {records}, {} of {len} bytes{how}\n", s.end.max(HEADER))
}

fn cut(disk: &dyn Disk, path: &Path, at: u64) -> io::Result<()> {
    let file = disk.open(path, false)?;
    file.set_len(at)?;
    file.sync()
}
