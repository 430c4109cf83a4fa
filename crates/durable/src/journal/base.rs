//! Where the journal meets snapshots: the start of loading.

use std::io::Read;
use std::path::Path;

use engine::Engine;
use store::Context;

use crate::load::{Present, read, read_file};

/// Calls `f` while others may look at the keyspace and all cores take part, if `free`: at the start of the
/// server. The shards that `cx` had locked are locked again afterwards.
pub(super) fn let_go<R>(
    engine: &Engine,
    cx: &mut Context,
    free: bool,
    f: impl FnOnce(&mut Context) -> R,
) -> R {
    if !free {
        return f(cx);
    }
    engine.keyspace.release(cx);
    let r = f(cx);
    engine.keyspace.hold(cx, None);
    r
}

/// Loads the snapshot that the segments continue. Keys whose time is over are kept: a later record may
/// change their deadlines.
pub(super) fn load_base(engine: &Engine, cx: &mut Context, path: &Path) -> Result<(), String> {
    cx.keep_expired = true;
    let read = read_file(engine, cx, path, Present::Refuse);
    cx.keep_expired = false;
    read.map_err(|e| {
        format!(
            "{}: {e}. It is the base of the journal, without which later changes cannot be applied; \
             restore it from a backup.",
            path.display()
        )
    })
}

/// Loads the snapshot that a file of Redis's begins with. Returns the source, and the bytes that were read
/// beyond the snapshot.
pub(super) fn load_preamble<R: Read + Send>(
    engine: &Engine,
    cx: &mut Context,
    path: &Path,
    source: R,
) -> Result<(Vec<u8>, R), String> {
    cx.keep_expired = true;
    let read = read(engine, cx, &path.display(), source, Present::Refuse);
    cx.keep_expired = false;
    read.map_err(|e| format!("{}: {e}", path.display()))
}
