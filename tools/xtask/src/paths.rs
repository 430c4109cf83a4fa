//! Where things are: the workspace, the cache for test tools, targets by name.

use crate::Result;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("tools/xtask is a folder of the workspace")
}

/// Where test tools are installed: never in the source tree, so that a clone stays clean.
pub(crate) fn cache() -> Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let dir = set("APUS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("apus")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/apus")))
        .ok_or("none of APUS_CACHE, XDG_CACHE_HOME and HOME is set")?;
    // Before anything is created, and again with links resolved.
    outside(&std::path::absolute(&dir).map_err(|e| format!("{}: {e}", dir.display()))?, root())?;
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let dir = fs::canonicalize(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let root = fs::canonicalize(root()).map_err(|e| format!("{}: {e}", root().display()))?;
    outside(&dir, &root)?;
    Ok(dir)
}

fn outside(dir: &Path, root: &Path) -> Result<()> {
    match dir.starts_with(root) {
        true => Err(format!("the cache {} lies inside the source tree", dir.display())),
        false => Ok(()),
    }
}

/// The cargo targets `crates/*/{folder}/{prefix}*.rs` and `tools/*/…`, as package and target name, sorted.
pub(crate) fn targets(folder: &str, prefix: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut packages = entries(&root().join("crates"))?;
    packages.extend(entries(&root().join("tools"))?);
    for krate in packages {
        let dir = krate.join(folder);
        if !dir.is_dir() {
            continue;
        }
        for file in entries(&dir)? {
            let stem = file.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into());
            if file.extension().is_some_and(|e| e == "rs") && stem.starts_with(prefix) {
                found.push((package_name(&krate)?, stem));
            }
        }
    }
    Ok(found)
}

fn package_name(krate: &Path) -> Result<String> {
    let manifest = krate.join("Cargo.toml");
    let text = read(&manifest)?;
    text.lines()
        .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        .map(str::to_owned)
        .ok_or_else(|| format!("{} names no package", manifest.display()))
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let list = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut paths = Vec::new();
    for entry in list {
        paths.push(entry.map_err(|e| format!("{}: {e}", dir.display()))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The text of a file, or an error that names it.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Writes a file, or gives an error that names it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{outside, root};

    #[test]
    fn the_cache_is_never_in_the_source_tree() {
        assert!(outside(&root().join("target/cache"), root()).is_err());
        assert!(outside(root(), root()).is_err());
        assert!(outside(&std::env::temp_dir().join("cache"), root()).is_ok());
    }
}
