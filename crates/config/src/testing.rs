//! Helpers of this crate's tests.

use std::path::Path;

use crate::{Caller, Config, Id, SetError};

/// CONFIG SET from this machine, with no code that applies it.
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

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
