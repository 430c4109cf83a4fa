//! Helpers of this crate's tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Caller, Config, Id, SetError};

/// CONFIG SET from this machine, with nobody to apply it.
pub(crate) fn set(config: &Config, pairs: &[(&str, &str)]) -> Result<Vec<Id>, SetError> {
    let pairs: Vec<_> = pairs.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    config.set(&pairs, Caller::default(), &mut |_, _| Ok(()))
}

/// The text of the error that CONFIG SET of one option gives.
pub(crate) fn set_error(config: &Config, name: &str, value: &str) -> String {
    set(config, &[(name, value)]).expect_err(name).to_string()
}

/// CONFIG GET of one option.
pub(crate) fn get(config: &Config, name: &str) -> String {
    let found = config.get(&[name.as_bytes()]);
    assert_eq!(found.len(), 1, "{name}");
    String::from_utf8(found[0].1.clone()).unwrap()
}

/// A directory of its own, gone at the end.
pub(crate) struct TempDir(pub(crate) PathBuf);

impl TempDir {
    pub(crate) fn new() -> TempDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("config-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path.canonicalize().unwrap())
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
