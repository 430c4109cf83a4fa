//! The manifest: which files are the journal.
//!
//! A text of a few lines, replaced as a whole (written under another name, synced, renamed), so that
//! there is always exactly one valid set of files:
//!
//! ```text
//! apus-journal 1
//! base appendonly.aof.3.base 8812 60123
//! segment appendonly.aof.4.seg 60100
//! segment appendonly.aof.5.seg 93211
//! end 7c1f09aa
//! ```
//!
//! The base is a snapshot (kind, name, bytes and the sequence number at which it was taken), or the
//! files of a Redis (`redis`, with the name of its manifest or single file), or missing when all
//! began empty (`empty`, with a number, when it did so later than with the first record). Each segment is there with the sequence number of its first record. The last line
//! is the checksum of all before it.

use std::io;
use std::path::Path;

use stdx::crc32c::crc32c;

use super::Location;
use crate::disk::{self, Disk};

/// The base that the segments continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Nothing: a server that was empty after this record.
    Empty(u64),
    /// A snapshot.
    Snapshot {
        /// File name.
        name: String,
        /// Its length.
        bytes: u64,
        /// Records up to this number are in it.
        sequence: u64,
    },
    /// Append-only files that Redis has written; our numbers begin behind them.
    Redis {
        /// Name of its manifest, or of its single file.
        name: String,
    },
}

impl Default for Base {
    fn default() -> Self {
        Self::Empty(0)
    }
}

impl Base {
    /// Records up to this number are in the base.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Empty(sequence) | Self::Snapshot { sequence, .. } => *sequence,
            Self::Redis { .. } => 0,
        }
    }
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Manifest {
    /// The base that the segments continue.
    pub base: Base,
    /// Segments in order: file name and sequence number of the first record.
    pub segments: Vec<(String, u64)>,
    /// A checksum of the files of a Redis that were there when this journal began, 0 for none. When
    /// there are others now, they are newer.
    pub seen: u32,
}

const FIRST: &str = "apus-journal 1";

impl Manifest {
    /// The text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST}\n");
        match &self.base {
            Base::Empty(0) => {}
            Base::Empty(sequence) => text.push_str(&format!("empty {sequence}\n")),
            Base::Snapshot { name, bytes, sequence } => {
                text.push_str(&format!("base {} {bytes} {sequence}\n", in_a_line(name)));
            }
            Base::Redis { name } => text.push_str(&format!("redis {}\n", in_a_line(name))),
        }
        for (name, first) in &self.segments {
            text.push_str(&format!("segment {} {first}\n", in_a_line(name)));
        }
        if self.seen != 0 {
            text.push_str(&format!("seen {:08x}\n", self.seen));
        }
        let sum = crc32c(0, text.as_bytes());
        text.push_str(&format!("end {sum:08x}\n"));
        text
    }

    /// Reads a text.
    ///
    /// # Errors
    /// The error in the text.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
        let (body, end) = text
            .strip_suffix('\n')
            .and_then(|t| t.rsplit_once('\n'))
            .ok_or("it has no last line".to_owned())?;
        let covered = &text[..body.len() + 1];
        let sum = end.strip_prefix("end ").and_then(|hex| u32::from_str_radix(hex, 16).ok());
        if sum != Some(crc32c(0, covered.as_bytes())) {
            return Err("its checksum is wrong".to_owned());
        }
        let mut lines = body.lines();
        if lines.next() != Some(FIRST) {
            return Err("it is of another version".to_owned());
        }
        let mut manifest = Self::default();
        for line in lines {
            // Names may hold blanks; numbers never do.
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let number = |s: &str| s.parse::<u64>().map_err(|_| format!("bad line: {line}"));
            let mut parts = rest.rsplitn(if word == "base" { 3 } else { 2 }, ' ');
            let bad = || format!("bad line: {line}");
            match word {
                "base" => {
                    let sequence = number(parts.next().ok_or_else(bad)?)?;
                    let bytes = number(parts.next().ok_or_else(bad)?)?;
                    let name = parts.next().ok_or_else(bad)?.to_owned();
                    manifest.base = Base::Snapshot { name: plain(name)?, bytes, sequence };
                }
                "seen" => manifest.seen = u32::from_str_radix(rest, 16).map_err(|_| bad())?,
                "empty" => manifest.base = Base::Empty(number(rest)?),
                "redis" => manifest.base = Base::Redis { name: plain(rest.to_owned())? },
                "segment" => {
                    let first = number(parts.next().ok_or_else(bad)?)?;
                    let name = parts.next().ok_or_else(bad)?.to_owned();
                    manifest.segments.push((plain(name)?, first));
                }
                _ => return Err(bad()),
            }
        }
        Ok(manifest)
    }

    /// Puts it in the place of the one at `path`.
    ///
    /// # Errors
    /// As the system says; the old one is still there.
    pub fn store(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        disk::replace(disk, path, self.to_text().as_bytes())
    }

    /// Whether a file is one of those that it names.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.segments.iter().any(|(n, _)| n == name)
            || matches!(&self.base, Base::Snapshot { name: n, .. } if n == name)
    }

    /// The highest number among its segments, so that new ones get higher ones.
    pub(crate) fn highest(&self) -> u64 {
        self.segments.iter().map(|(name, _)| number_of(name)).max().unwrap_or(0)
    }

    /// The highest number among all its files.
    pub fn highest_of_all(&self) -> u64 {
        self.highest().max(self.base_number())
    }

    /// Removes its files, as far as that works: the others are removed with the next start.
    pub fn remove(&self, disk: &dyn Disk, place: &Location) {
        let base = match &self.base {
            Base::Snapshot { name, .. } => Some(name),
            _ => None,
        };
        for name in self.segments.iter().map(|(name, _)| name).chain(base) {
            let _ = disk.remove(&place.file(name));
        }
    }

    /// Sets its files aside (`.old`, or with a number where there are such files), itself last: when it
    /// stops half-way, it can be called again.
    ///
    /// # Errors
    /// As the system says.
    pub fn set_aside(&self, disk: &dyn Disk, place: &Location) -> io::Result<()> {
        // One name for all: that of the manifest, which is there until everything is done.
        let mut number = 1;
        let suffix = loop {
            let suffix = if number == 1 { ".old".to_owned() } else { format!(".old.{number}") };
            let mut name = place.manifest().into_os_string();
            name.push(&suffix);
            if !disk::exists(disk, Path::new(&name))? {
                break suffix;
            }
            number += 1;
        };
        let aside = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(&suffix);
            disk.rename(path, Path::new(&name))
        };
        let base = match &self.base {
            Base::Snapshot { name, .. } => Some(name),
            _ => None,
        };
        for name in self.segments.iter().map(|(name, _)| name).chain(base) {
            match aside(&place.file(name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        disk.sync_dir(&place.dir)?;
        aside(&place.manifest())?;
        disk.sync_dir(&place.dir)
    }

    /// The number of its base, 0 if it has none.
    pub(crate) fn base_number(&self) -> u64 {
        if let Base::Snapshot { name, .. } = &self.base { number_of(name) } else { 0 }
    }
}

/// A name as it is written: an administrator may choose any, and this is a text of lines.
fn in_a_line(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// A name that stays in the directory, whichever program has written it.
fn plain(name: String) -> Result<String, String> {
    let mut escaped = false;
    let unescape = |c| {
        let was = escaped;
        escaped = c == '\\' && !was;
        match c {
            '\\' if !was => None,
            'n' if was => Some('\n'),
            'r' if was => Some('\r'),
            c => Some(c),
        }
    };
    let name: String = name.chars().filter_map(unescape).collect();
    let bad = name.is_empty() || name.contains('/') || name == "." || name == "..";
    if bad { Err(format!("bad file name: {name}")) } else { Ok(name) }
}

fn number_of(name: &str) -> u64 {
    name.split('.').filter_map(|part| part.parse().ok()).next_back().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        Manifest {
            base: Base::Snapshot { name: "my file.3.base".into(), bytes: 12, sequence: 60 },
            segments: vec![("my file.4.seg".into(), 55), (" a\r\\n \n\\.aof .11.seg".into(), 99)],
            seen: 77,
        }
    }

    #[test]
    fn reads_what_it_writes() {
        for base in [
            Base::Empty(0),
            Base::Empty(7),
            sample().base,
            Base::Redis { name: "a b.manifest".into() },
        ] {
            let manifest = Manifest { base, ..sample() };
            assert_eq!(Manifest::parse(manifest.to_text().as_bytes()), Ok(manifest));
        }
        assert_eq!(sample().highest(), 11);
    }

    #[test]
    fn refuses_what_was_changed() {
        let text = sample().to_text().into_bytes();
        for at in 0..text.len() {
            let mut bad = text.clone();
            bad[at] = bad[at].wrapping_add(1);
            assert!(Manifest::parse(&bad).is_err(), "byte {at}");
            assert!(Manifest::parse(&text[..at]).is_err(), "cut at {at}");
        }
        let outside = Manifest { segments: vec![("../x.1.seg".into(), 1)], ..sample() };
        assert!(Manifest::parse(outside.to_text().as_bytes()).is_err());
    }
}
