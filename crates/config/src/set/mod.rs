//! CONFIG GET and CONFIG SET: names, patterns, all or nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use stdx::glob;

use crate::kind::{Area, DENY_LOADING, HIDDEN, IMMUTABLE, MULTI, PROTECTED, SENSITIVE, VOLATILE};
use crate::parse::{self, Value};
use crate::{Choice, Config, Id, ProtectedAction, ROWS};

/// The caller of CONFIG SET, as far as it decides which options may be set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller {
    /// The client is on this machine: `enable-protected-configs local` lets it pass.
    pub local: bool,
    /// The server is loading its data set.
    pub loading: bool,
    /// The caller starts the server: no option is protected from it.
    pub owner: bool,
}

/// Why CONFIG SET changed nothing. `Display` is the reply, error code first;
/// it never has a CR or LF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetError {
    /// No option has this name.
    Unknown(String),
    /// Not while the data set is loaded.
    Loading,
    /// The option and the reason; the reason may be empty.
    Failed(String, String),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            SetError::Unknown(name) => {
                format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'")
            }
            SetError::Loading => "LOADING Redis is loading the dataset in memory".to_owned(),
            SetError::Failed(name, reason) => {
                let dash = if reason.is_empty() { "" } else { " - " };
                format!(
                    "ERR CONFIG SET failed (possibly related to argument '{name}'){dash}{reason}"
                )
            }
        };
        f.write_str(&text.replace(['\r', '\n'], " "))
    }
}

impl std::error::Error for SetError {}

/// The option called `name` (or aliased so), whatever its case.
pub fn lookup(name: &[u8]) -> Option<Id> {
    static NAMES: OnceLock<HashMap<&'static [u8], Id>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        ROWS.iter().flat_map(|row| row.names().map(|n| (n.as_bytes(), row.id))).collect()
    });
    names.get(name.to_ascii_lowercase().as_slice()).copied()
}

/// Whether the value after `name` in a CONFIG SET must stay out of logs.
pub fn is_sensitive(name: &[u8]) -> bool {
    lookup(name).is_some_and(|id| id.row().has(SENSITIVE))
}

impl Config {
    /// CONFIG GET: the options whose name or alias matches any of the patterns,
    /// each name once. A name without glob characters is answered as it was
    /// written; hidden options answer only to that.
    pub fn get(&self, patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        let mut found: Vec<(String, Vec<u8>)> = Vec::new();
        let has = |found: &[(String, Vec<u8>)], name: &str| {
            found.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for pattern in patterns {
            if !pattern.iter().any(|byte| matches!(byte, b'[' | b'*' | b'?')) {
                if let (Some(id), Ok(name)) = (lookup(pattern), std::str::from_utf8(pattern))
                    && !has(&found, name)
                {
                    found.push((name.to_owned(), self.show(id)));
                }
                continue;
            }
            for row in ROWS.iter().filter(|row| !row.has(HIDDEN)) {
                for name in row.names() {
                    if glob::matches(pattern, name.as_bytes(), true) && !has(&found, name) {
                        found.push((name.to_owned(), self.show(row.id)));
                    }
                }
            }
        }
        found
    }

    /// CONFIG SET of several options at once, all or nothing.
    ///
    /// Every value is checked and stored, then `apply` is called for each option
    /// that changed. If it refuses one, all options get their old values back,
    /// `apply` is called again for those it had been called for, and its text is
    /// the error's reason. Returns the options that changed.
    ///
    /// `apply` reads the new values from the configuration it is given; it must
    /// not call `set`, which would wait for itself.
    pub fn set(
        &self,
        pairs: &[(&[u8], &[u8])],
        caller: Caller,
        apply: &mut dyn FnMut(Id, &Config) -> Result<(), String>,
    ) -> Result<Vec<Id>, SetError> {
        let named = self.check_names(pairs, caller)?;
        let _writer = self.writer.lock();
        let old: Vec<_> = named.iter().map(|(id, _)| self.load(*id)).collect();
        // All values are parsed before any is stored: no thread sees a value that is refused later.
        let mut new = Vec::with_capacity(named.len());
        for ((id, name), (_, text)) in named.iter().zip(pairs) {
            let row = id.row();
            let words: Vec<&[u8]> = if !row.has(MULTI) {
                vec![text]
            } else if text.is_empty() {
                vec![]
            } else {
                text.split(|byte| *byte == b' ').collect()
            };
            let value = parse::parse(row, &words, self);
            new.push(value.map_err(|why| SetError::Failed(name.to_ascii_lowercase(), why))?);
        }
        let store_all = |values: &[Value]| {
            for ((id, _), value) in named.iter().zip(values) {
                self.store(*id, value);
            }
        };
        store_all(&new);
        let mut changed: Vec<Id> = Vec::new();
        for ((id, _), before) in named.iter().zip(&old) {
            let differs = *before != self.load(*id) || id.row().has(VOLATILE);
            if differs && !changed.contains(id) {
                changed.push(*id);
            }
        }
        if changed.is_empty() {
            return Ok(changed);
        }
        self.changed();
        for (count, id) in changed.iter().enumerate() {
            if let Err(reason) = apply(*id, self) {
                store_all(&old);
                self.changed();
                for id in &changed[..=count] {
                    // The old values were applied before; an error here has no receiver.
                    let _ = apply(*id, self);
                }
                let name = named.iter().find(|(other, _)| other == id);
                let name = name.map_or(id.name(), |(_, name)| name.as_str());
                return Err(SetError::Failed(name.to_ascii_lowercase(), reason));
            }
        }
        Ok(changed)
    }

    /// Stores what the server itself has changed in a way that is no change of an option by a client, so that
    /// CONFIG GET and CONFIG REWRITE show it: the role. The option may be one that no client can set.
    ///
    /// # Errors
    /// The text is no value of the option.
    pub fn note(&self, id: Id, text: &str) -> Result<(), String> {
        let words: Vec<&[u8]> = match id.row().has(MULTI) {
            true if text.is_empty() => vec![],
            true => text.as_bytes().split(|byte| *byte == b' ').collect(),
            false => vec![text.as_bytes()],
        };
        let value = parse::parse(id.row(), &words, self)?;
        let _writer = self.writer.lock();
        self.store(id, &value);
        self.changed();
        Ok(())
    }

    /// Finds the options and refuses those that may not be set, the first first.
    fn check_names(
        &self,
        pairs: &[(&[u8], &[u8])],
        caller: Caller,
    ) -> Result<Vec<(Id, String)>, SetError> {
        let mut named: Vec<(Id, String)> = Vec::with_capacity(pairs.len());
        for (given, value) in pairs {
            let name = String::from_utf8_lossy(given).into_owned();
            let Some(id) = lookup(given) else {
                return Err(SetError::Unknown(name));
            };
            let row = id.row();
            let fail = |why: &str| Err(SetError::Failed(name.clone(), why.to_owned()));
            // Tools that set every option to the value it has know those of Redis that cannot be set, so
            // Apus's own let that pass.
            let same = row.area == Area::Apus && self.show(id) == *value;
            if row.has(IMMUTABLE) && !same {
                return fail("can't set immutable config");
            }
            let protects =
                || !caller.owner && !self.allows(Id::EnableProtectedConfigs, caller.local);
            if row.has(PROTECTED) && !same && protects() {
                return fail("can't set protected config");
            }
            if row.has(DENY_LOADING) && caller.loading {
                return Err(SetError::Loading);
            }
            // The same option under its name and its alias is let through, as in Redis.
            if named.iter().any(|(_, other)| other.eq_ignore_ascii_case(&name)) {
                return fail("duplicate parameter");
            }
            named.push((id, name));
        }
        Ok(named)
    }

    /// Whether a guarded action (`enable-debug-command` and its kin) is allowed
    /// to a client that is, or is not, on this machine.
    pub fn allows(&self, id: Id, local: bool) -> bool {
        match ProtectedAction::from_value(self.choice(id)) {
            ProtectedAction::No => false,
            ProtectedAction::Yes => true,
            ProtectedAction::Local => local,
        }
    }
}

#[cfg(test)]
mod tests;
