//! Append-only files of Redis's own: a directory with a manifest, or the single file of before 7.0.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Display, Path, PathBuf};

use engine::{Engine, log};
use persist::journal::Location;
use persist::journal::redis::{Commands, Stop, parse_manifest};
use stdx::crc32c::crc32c;

use super::base;
use super::replay::Player;
use crate::state::Durable;

/// The files of Redis that are at `place`, if any: the name for our manifest, and the files to load,
/// in order.
pub(super) fn find(place: &Location) -> Result<Option<Theirs>, String> {
    let manifest = format!("{}.manifest", place.stem);
    let path = place.file(&manifest);
    if path.exists() {
        let text = std::fs::read(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
        // One that cannot be understood is looked at when it is to be loaded.
        let files = files(place, &manifest).unwrap_or_default();
        return Ok(Some(Theirs { seen: seen(&text, &files), name: manifest }));
    }
    let single = place.dir.parent().unwrap_or(Path::new("")).join(&place.stem);
    let theirs = |file: PathBuf| Theirs { seen: seen(&[], &[file]), name: place.stem.clone() };
    Ok(single.is_file().then(|| theirs(single)))
}

/// Files of a Redis.
pub(super) struct Theirs {
    /// The name that stands for them in our manifest.
    pub(super) name: String,
    /// Distinguishes them from others: see [`persist::journal::Manifest::seen`].
    pub(super) seen: u32,
}

/// Bytes at both ends of a file that are compared to distinguish it from others.
const ENDS: u64 = 64 << 10;

/// A checksum of a manifest, of lengths and of the first and last bytes of the files; not of times,
/// which a restored backup changes. Never 0.
fn seen(manifest: &[u8], files: &[PathBuf]) -> u32 {
    let mut sum = crc32c(0, manifest);
    for path in files {
        let mut add = || -> std::io::Result<()> {
            let mut file = File::open(path)?;
            let len = file.metadata()?.len();
            sum = crc32c(sum, &len.to_le_bytes());
            let mut bytes = Vec::new();
            (&mut file).take(ENDS).read_to_end(&mut bytes)?;
            file.seek(std::io::SeekFrom::Start(len.saturating_sub(ENDS)))?;
            file.take(ENDS).read_to_end(&mut bytes)?;
            sum = crc32c(sum, &bytes);
            Ok(())
        };
        // A missing file is a different one; loading says more about it.
        if add().is_err() {
            sum = crc32c(sum, b"none");
        }
    }
    sum.max(1)
}

/// The files that the name in our manifest stands for.
pub(super) fn files(place: &Location, name: &str) -> Result<Vec<PathBuf>, String> {
    if name == place.stem {
        return Ok(vec![place.dir.parent().unwrap_or(Path::new("")).join(name)]);
    }
    let path = place.file(name);
    let text = std::fs::read(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
    let parts = parse_manifest(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    let parent = place.dir.parent().unwrap_or(Path::new(""));
    let file = |name: &str| match place.file(name) {
        // Redis was stopped before it had moved its old single file.
        path if name == place.stem && !path.exists() => parent.join(name),
        path => path,
    };
    Ok(parts.iter().map(|p| file(&p.name)).collect())
}

/// Loads files of Redis in order. Only the last may end within a command, and only if
/// `aof-load-truncated` says so.
pub(super) fn load(
    engine: &Engine,
    player: &mut Player<'_>,
    files: &[PathBuf],
    truncated: bool,
) -> Result<(), String> {
    let len = |path: &PathBuf| std::fs::metadata(path).map_or(0, |m| m.len());
    let loading = &Durable::of(engine).loading;
    loading.begin(files.iter().map(len).sum(), engine.clock.wall_ms() as i64);
    let mut before = 0;
    let outcome = files.iter().enumerate().try_for_each(|(i, path)| {
        let last = i + 1 == files.len();
        load_file(engine, player, path, before, truncated && last)?;
        before += len(path);
        loading.reached(before, player.commands);
        Ok(())
    });
    loading.end();
    outcome
}

/// Loads one file. `before`: bytes of the files in front of it.
fn load_file(
    engine: &Engine,
    player: &mut Player<'_>,
    path: &Path,
    before: u64,
    truncated: bool,
) -> Result<(), String> {
    let shown = path.display();
    let failed = |e: std::io::Error| format!("the append-only file {shown} cannot be read: {e}");
    let mut file = File::open(path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    let mut magic = Vec::new();
    (&mut file).take(5).read_to_end(&mut magic).map_err(failed)?;
    if magic == b"REDIS" || magic == b"VALKE" {
        let whole = std::io::Cursor::new(magic).chain(file);
        let free = player.yields();
        let (rest, file) = base::let_go(engine, player.cx(), free, |cx| {
            base::load_preamble(engine, cx, path, whole)
        })?;
        let (_, mut file) = file.into_inner();
        let at = file.stream_position().map_err(failed)?.saturating_sub(rest.len() as u64);
        let source = std::io::Cursor::new(rest).chain(file);
        let (at, spot) = (Commands::new(source, at), Spot { path, len, before });
        return commands(engine, player, spot, truncated, at);
    }
    let whole = Commands::new(std::io::Cursor::new(magic).chain(file), 0);
    commands(engine, player, Spot { path, len, before }, truncated, whole)
}

/// A file, its bytes, and those of the files in front of it.
struct Spot<'a> {
    path: &'a Path,
    len: u64,
    before: u64,
}

/// Commands between two looks at whether it is time to report how far loading is.
const TELL: u64 = 1024;

/// Runs the commands of a file; a transaction once its end has been read.
fn commands<R: Read>(
    engine: &Engine,
    player: &mut Player<'_>,
    Spot { path, len, before }: Spot<'_>,
    truncated: bool,
    mut reader: Commands<R>,
) -> Result<(), String> {
    let shown = path.display();
    let loading = &Durable::of(engine).loading;
    let mut tell = player.commands;
    // The file does not record when a command ran. Nothing had expired for those that follow it in
    // the file.
    let cx = player.cx();
    let clock = cx.lru_clock;
    cx.set_now(1);
    cx.lru_clock = clock;
    let mut db = 0;
    let mut spans = Vec::new();
    let mut open: Option<Vec<(usize, Vec<Vec<u8>>)>> = None;
    // Where the last whole transaction or command has ended.
    let mut whole = reader.offset();
    let stop = loop {
        if open.is_none() {
            whole = reader.offset();
        }
        if player.commands >= tell {
            tell = player.commands + TELL;
            loading.reached(before + reader.offset(), player.commands);
            loading.tell(&engine.log, engine.clock.wall_ms() as i64, &path.display());
        }
        let words = match reader.next(&mut spans) {
            Ok(Some(bytes)) => words_of(bytes, &spans),
            Ok(None) if open.is_some() => break Stop::Truncated(whole),
            Ok(None) => return Ok(()),
            Err(stop) => break stop,
        };
        let is =
            |word: &str| words.first().is_some_and(|w| w.eq_ignore_ascii_case(word.as_bytes()));
        let refuse = |why: String| {
            format!("{why} reading the append only file {shown}, before offset {}", reader.offset())
        };
        if is("select") {
            db = database(engine, words.get(1))
                .ok_or_else(|| refuse("no such database (option `databases`)".to_owned()))?;
        } else if is("multi") {
            open = Some(Vec::new());
        } else if is("exec") {
            for (db, words) in open.take().unwrap_or_default() {
                player.play_one(db, words).map_err(refuse)?;
            }
        } else if let Some(open) = &mut open {
            open.push((db, words));
        } else {
            player.play_one(db, words).map_err(refuse)?;
        }
    };
    if !(truncated && matches!(stop, Stop::Truncated(_))) {
        return Err(refusal(&stop, &shown, whole));
    }
    log!(
        engine.log,
        Warning,
        "{} ends in the middle of a command: the {} bytes from offset {} on are not loaded",
        shown,
        len.saturating_sub(whole),
        whole
    );
    Ok(())
}

/// The words of a command, each of which is so many bytes from a place on.
fn words_of(bytes: &[u8], spans: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let word = |(at, n): &(usize, usize)| bytes.get(*at..*at + *n).unwrap_or_default().to_vec();
    spans.iter().map(word).collect()
}

/// The database that SELECT names, if there is one.
fn database(engine: &Engine, word: Option<&Vec<u8>>) -> Option<usize> {
    let n = stdx::num::parse_i64(word?)?;
    usize::try_from(n).ok().filter(|n| *n < engine.keyspace.databases())
}

/// Why a file that ends with `stop` is not loaded; its last whole command or transaction ends at `whole`.
fn refusal(stop: &Stop, shown: &Display<'_>, whole: u64) -> String {
    match stop {
        Stop::Truncated(_) => format!(
            "Unexpected end of file reading the append only file {shown}: a command or transaction \
             begins at offset {whole} and does not end. Set aof-load-truncated yes, or cut it there."
        ),
        Stop::Malformed(at) => format!(
            "Bad file format reading the append only file {shown}: what is at offset {at} is no \
             command. Make a copy of the file, then repair it with redis-check-aof."
        ),
        Stop::Io(e) => format!("reading {shown}: {e}"),
    }
}
