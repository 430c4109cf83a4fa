//! `apus check`: looks at a file that the server has written, or a Redis.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use persist::disk::Real;
use persist::journal::check::{self, Report};
use persist::journal::redis::{Commands, Stop, parse_manifest};
use persist::journal::segment;

/// Looks at a file of the journal (a segment, or the manifest and with it all files), at a snapshot, or
/// at an append-only file of Redis's (or its manifest, and with it all files); with `fix` cuts off the
/// unreadable part of the journal.
///
/// # Errors
/// The file cannot be read or changed, is none of these, or is to be changed and in use.
pub fn check(path: &Path, fix: bool) -> io::Result<Report> {
    if path.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "a directory; name a file: a snapshot, or a journal (appendonlydir/appendonly.aof.journal)",
        ));
    }
    let _claim = if fix { check::claim(&Real, path)? } else { None };
    let mut start = Vec::new();
    File::open(path)?.take(16).read_to_end(&mut start)?;
    let is = |end: &str| path.extension().is_some_and(|e| e == end);
    if segment::is_segment(&start) {
        check::check_segment(&Real, path, fix)
    } else if start.starts_with(b"apus-journal") || is("journal") {
        let mut report = check::check_journal(&Real, path, fix)?;
        if let Some(base) = check::base_of(&Real, path)? {
            let (text, sound) = file(&base, false);
            report.text.push_str(&text);
            report.sound &= sound;
        }
        Ok(report)
    } else if start.starts_with(b"file ") || is("manifest") {
        Ok(redis_manifest(path, fix)?)
    } else if is_snapshot(&start) || start.starts_with(b"*") || is("aof") {
        // A snapshot cannot be cut: the data behind the damage cannot be found.
        let (text, sound) = file(path, fix);
        Ok(Report { text, sound })
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "neither a segment nor a manifest of a journal, nor a snapshot, nor an append-only file of Redis's",
        ))
    }
}

fn is_snapshot(start: &[u8]) -> bool {
    start.starts_with(b"REDIS") || start.starts_with(b"VALKE")
}

/// The files that a manifest of Redis's names.
fn redis_manifest(path: &Path, fix: bool) -> io::Result<Report> {
    let shown = path.display();
    let parts = match parse_manifest(&std::fs::read(path)?) {
        Ok(parts) => parts,
        Err(why) => {
            let text = format!("{shown}: a damaged manifest of Redis's append-only file: {why}\n");
            return Ok(Report { text, sound: false });
        }
    };
    let mut text = format!("{shown}: the manifest of Redis's append-only file\n");
    let mut sound = true;
    let dir = path.parent().unwrap_or(Path::new(""));
    for part in &parts {
        let (line, whole) = file(&dir.join(&part.name), fix);
        text.push_str(&line);
        sound &= whole;
    }
    let ours = path.with_extension("journal");
    text.push_str(&if ours.exists() {
        format!(
            "{} is Apus's own journal beside it: `apus serve --appendonly yes` loads that one, unless a \
             Redis has changed these files since\n",
            ours.display()
        )
    } else {
        "`apus serve --appendonly yes` loads these files, and leaves them as they are\n".to_owned()
    });
    Ok(Report { text, sound })
}

/// A snapshot, commands, or a snapshot with commands behind it: its content, and whether it is whole.
fn file(path: &Path, fix: bool) -> (String, bool) {
    let shown = path.display();
    match look(path) {
        Ok(what) => (format!("{shown}: {what}\n"), true),
        Err(mut why) => {
            if fix {
                let _ = write!(why, "; it is not changed (redis-check-aof cuts append-only files)");
            }
            (format!("{shown}: {why}\n"), false)
        }
    }
}

fn look(path: &Path) -> Result<String, String> {
    let io = |e: io::Error| config::os_text(&e);
    let mut file = File::open(path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    let mut start = Vec::new();
    (&mut file).take(5).read_to_end(&mut start).map_err(io)?;
    file.rewind().map_err(io)?;
    if !is_snapshot(&start) {
        let (commands, why) = count(Commands::new(file, 0), len);
        let what = format!("an append-only file of Redis's, {commands} commands");
        return why.map_or(Ok(what.clone()), |why| Err(format!("{what}, then {why}")));
    }
    let (keys, rest) =
        durable::load::check_snapshot(file).map_err(|e| format!("a damaged snapshot: {e}"))?;
    let what = format!("a whole snapshot, {keys} keys");
    let (rest, mut file) = rest;
    let at = file.stream_position().map_err(io)?.saturating_sub(rest.len() as u64);
    if at == len {
        return Ok(what);
    }
    let (commands, why) = count(Commands::new(io::Cursor::new(rest).chain(file), at), len);
    let what = format!("an append-only file of Redis's: {what}, and {commands} commands");
    why.map_or(Ok(what.clone()), |why| Err(format!("{what}, then {why}")))
}

/// How many commands there are, and the error in those that follow.
fn count<R: Read>(mut reader: Commands<R>, len: u64) -> (u64, Option<String>) {
    let (mut commands, mut spans) = (0, Vec::new());
    // Where a transaction has begun that has not ended, and how many commands came before it.
    let mut open: Option<(u64, u64)> = None;
    loop {
        let at = reader.offset();
        let stop = match reader.next(&mut spans) {
            Ok(Some(bytes)) => {
                let name =
                    spans.first().and_then(|(at, n)| bytes.get(*at..*at + *n)).unwrap_or_default();
                if name.eq_ignore_ascii_case(b"multi") {
                    open = Some((at, commands));
                } else if name.eq_ignore_ascii_case(b"exec") {
                    open = None;
                }
                commands += 1;
                continue;
            }
            Ok(None) if open.is_some() => Stop::Truncated(at),
            Ok(None) => return (commands, None),
            Err(stop) => stop,
        };
        return match stop {
            Stop::Truncated(at) => {
                let (at, commands) = open.unwrap_or((at, commands));
                let what = "that does not end (`aof-load-truncated yes` leaves it out)";
                let why = format!("a command or transaction at offset {at} of {len} {what}");
                (commands, Some(why))
            }
            Stop::Malformed(at) => {
                (commands, Some(format!("DAMAGE: what is at offset {at} of {len} is no command")))
            }
            Stop::Io(e) => (commands, Some(config::os_text(&e))),
        };
    }
}
