//! A snapshot's file: there whole under its name, or not at all.

use std::io;
use std::path::{Path, PathBuf};

use persist::disk::{Disk, exists};
use rdb::Encoder;
use store::Background;

use super::queue::Queue;

/// Bytes that the system is asked to write to the disk at once (`rdb-save-incremental-fsync`), so
/// that the end of the snapshot is not one long wait for all users of the disk. Starting it takes the
/// core for as long as all these pages need.
const BEGIN_EVERY: u64 = 256 << 10;
/// Bytes that may be on their way: the writer waits for those before them.
const UNDER_WAY: u64 = 4 << 20;

/// Bytes that are written at once: about as much work as is done between two pauses.
const PART: usize = 128 << 10;

/// A name beside the final one that no other process uses; within this one there is one snapshot at
/// a time. The name of a journal's base shows the journal, which removes the files that a crash has
/// left.
pub(super) fn temporary(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|e| e == "base") {
        return path.with_extension("base.tmp");
    }
    path.with_file_name(format!("temp-{}.rdb", std::process::id()))
}

/// The options of the file.
#[derive(Clone, Copy)]
pub(super) struct Wishes {
    pub(super) checksum: bool,
    pub(super) sync_often: bool,
}

/// Writes `head`, everything that comes through the queue, and the end; with `background`, pauses
/// now and then. Returns the length.
///
/// # Errors
/// As the system says; the previous file is still there, and no other file is left behind.
pub(super) fn write(
    disk: &dyn Disk,
    path: &Path,
    head: &[u8],
    queue: &Queue,
    wishes: &Wishes,
    background: Option<Background>,
) -> io::Result<u64> {
    let temp = temporary(path);
    let outcome = write_to(disk, &temp, head, queue, wishes, background).and_then(|bytes| {
        disk.rename(&temp, path)?;
        let dir = path.parent().filter(|d| !d.as_os_str().is_empty());
        disk.sync_dir(dir.unwrap_or(Path::new(".")))?;
        Ok(bytes)
    });
    if outcome.is_err() {
        queue.kill();
        // After a rename there is none.
        let _ = disk.remove(&temp);
    }
    outcome
}

fn write_to(
    disk: &dyn Disk,
    temp: &Path,
    head: &[u8],
    queue: &Queue,
    wishes: &Wishes,
    mut background: Option<Background>,
) -> io::Result<u64> {
    if exists(disk, temp)? {
        disk.remove(temp)?;
    }
    let file = disk.open(temp, true)?;
    let (mut crc, mut bytes) = (0, 0u64);
    let (mut begun, mut written) = (0, 0);
    let mut add = |piece: &[u8]| {
        file.write_at(piece, bytes)?;
        if wishes.checksum {
            crc = rdb::crc64(crc, piece);
        }
        bytes += piece.len() as u64;
        if wishes.sync_often && bytes - begun >= BEGIN_EVERY {
            file.write_out(begun..bytes, false)?;
            begun = bytes;
            if begun - written >= 2 * UNDER_WAY {
                let until = written + UNDER_WAY;
                file.write_out(written..until, true)?;
                written = until;
            }
        }
        io::Result::Ok(())
    };
    add(head)?;
    while let Some(piece) = queue.take() {
        for part in piece.chunks(PART) {
            add(part)?;
            if let Some(background) = &mut background {
                background.yield_point();
            }
        }
    }
    if queue.is_dead() {
        return Err(io::Error::other("given up"));
    }
    let encoder = Encoder::new(false);
    let mut end = Vec::new();
    encoder.end(&mut end);
    add(&end)?;
    let mut sum = Vec::new();
    encoder.checksum(&mut sum, crc);
    file.write_at(&sum, bytes)?;
    file.sync()?;
    Ok(bytes + sum.len() as u64)
}
