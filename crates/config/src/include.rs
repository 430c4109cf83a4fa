//! Finding the files an `include` line names.

use std::io;
use std::path::{Component, Path, PathBuf};

use stdx::glob;

fn is_pattern(part: &[u8]) -> bool {
    part.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// The files that `path` names, sorted by name. A path without wildcards is
/// itself, whether it exists or not; one with wildcards may match nothing, so
/// that an empty `conf.d` can be included. As in a shell, a wildcard does not
/// match a leading dot.
pub(crate) fn expand(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !is_pattern(path.as_os_str().as_encoded_bytes()) {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let bytes = part.as_os_str().as_encoded_bytes();
        if !matches!(part, Component::Normal(_)) || !is_pattern(bytes) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for directory in found.iter().filter(|path| path.is_dir()) {
            for entry in std::fs::read_dir(directory)? {
                let name = entry?.file_name();
                let text = name.as_encoded_bytes();
                let hidden = text.starts_with(b".") && !bytes.starts_with(b".");
                if !hidden && glob::matches(bytes, text, false) {
                    next.push(directory.join(&name));
                }
            }
        }
        found = next;
    }
    found.retain(|path| path.exists());
    found.sort();
    Ok(found)
}
