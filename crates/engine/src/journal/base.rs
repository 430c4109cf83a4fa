//! Where the journal meets snapshots: what a rewrite takes, and what loading begins with.

use std::io::Read;
use std::path::Path;

use commands::Fail;
use store::Context;

use crate::engine::Engine;
use crate::thread::Thread;

/// Loads the snapshot that the segments continue. Keys whose time is over are kept: a record may say
/// something else of them.
pub(super) fn load_base(_: &Engine, _: &mut Context, path: &Path) -> Result<(), String> {
    Err(format!("{} is a snapshot, which this version cannot load", path.display()))
}

/// Loads the snapshot that a file of Redis's begins with. Returns the source, and what was read of
/// it beyond the snapshot.
pub(super) fn load_preamble<R: Read>(
    _: &Engine,
    _: &mut Context,
    path: &Path,
    _: R,
) -> Result<(Vec<u8>, R), String> {
    Err(format!("{} begins with a snapshot, which this version cannot load", path.display()))
}

/// Begins a snapshot for a rewrite at `path`. At its moment, `at` is called; when it is there,
/// `done` is told its length.
pub(super) fn start_snapshot(
    _: &Engine,
    _: &mut Thread,
    _: &Path,
    _: impl FnOnce(),
    _: impl FnOnce(&Engine, Result<u64, String>) + Send + 'static,
) -> Result<(), Fail> {
    Err(Fail::text("ERR this version cannot take snapshots"))
}
