//! Options of live channels: a configuration of Centrifugo 6, read as a whole.
//!
//! ```text
//!  config.json ─┐
//!               ├─► tree.rs: every name known (rows/), every value of its type, defaults ─► build.rs: Options
//!  environment ─┘   env.rs             │                                                        │
//!                                      └─► notes: options that do nothing, and why ◄────────────┘
//! ```
//!
//! Nothing is silently different from Centrifugo: an option that does nothing here is noted with its reason; one
//! whose absence would let in what was kept out stops the start; a name that is no option does, too, with the name
//! that may be meant. A new file is checked whole before it replaces the old one.

mod build;
mod check;
mod docs;
mod duration;
mod env;
mod proxies;
mod row;
mod rows;
mod tree;
mod types;

pub use docs::reference;
pub use types::*;

use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Most bytes of a configuration.
pub const FILE_MAX: usize = 16 << 20;

/// A configuration that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// What it says.
    pub options: Arc<Options>,
    /// What of it does nothing here, or should be looked at.
    pub notes: Vec<Note>,
}

/// Something to tell the operator at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The option, or the variable of the environment.
    pub path: String,
    /// Why it does nothing, or what should be looked at.
    pub why: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path, self.why)
    }
}

/// Why a configuration cannot be used: all that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// One text for each problem, with the option's path.
    pub problems: Vec<String>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))
    }
}

impl std::error::Error for LoadError {}

/// Reads a configuration: the file's text, JSON, and the variables of the environment, which count more. An empty
/// text is a configuration of defaults.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(text: &[u8], variables: &[(String, String)]) -> Result<Loaded, LoadError> {
    let mut findings =
        tree::Findings { variables: variables.iter().cloned().collect(), ..Default::default() };
    let mut root = object(text).map_err(|problem| LoadError { problems: vec![problem] })?;
    env::overlay(rows::ROOT, &mut root, variables, &mut findings);
    let tree = tree::check(rows::ROOT, &root, "", false, &mut findings);
    let options = build::build(&tree, &mut findings);
    check::check(&tree, &options, &mut findings);
    if findings.problems.is_empty() {
        Ok(Loaded { options: Arc::new(options), notes: findings.notes })
    } else {
        env::name_variables(&mut findings);
        Err(LoadError { problems: findings.problems })
    }
}

fn object(text: &[u8]) -> Result<Map<String, Value>, String> {
    if text.len() > FILE_MAX {
        return Err(format!("the file has more than {FILE_MAX} bytes"));
    }
    if text.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    let value = serde_json::from_slice(text).map_err(|error| {
        format!(
            "the file is not JSON: {error}. YAML and TOML are not read; convert the file to JSON"
        )
    })?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("the file must be a JSON object".into()),
    }
}

impl Default for Options {
    fn default() -> Self {
        let loaded = load(b"", &[]).expect("defaults are a configuration");
        Arc::into_inner(loaded.options).expect("nobody else has it yet")
    }
}

#[cfg(test)]
mod tests;
