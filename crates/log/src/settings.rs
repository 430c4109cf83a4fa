//! The settings of a topic, and their written form.

use serde_json::{Map, Value, json};

use crate::batch::{BYTES_MAX, Compression};
use crate::error::{Error, Result};

/// Longest name of a topic or a group.
pub const NAME_MAX: usize = 200;

/// Settings of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether records are acknowledged only when they are synced to the disk.
    pub sync: bool,
    /// Compression of batches whose producers did not compress them.
    pub compression: Compression,
    /// Milliseconds that records wait for others to be stored with. None: as long as the storage
    /// likes, and on a disk no longer than until as many have come as last time.
    pub linger_ms: Option<u32>,
    /// Bytes that are stored together at most, unless one batch alone has more.
    pub group_bytes: u32,
    /// Bytes of a segment file, after which the next one is begun.
    pub segment_bytes: u64,
    /// Milliseconds after which records may go; 0: never.
    pub retention_ms: u64,
    /// Bytes beyond which the oldest records may go; 0: never.
    pub retention_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sync: true,
            compression: Compression::None,
            linger_ms: None,
            group_bytes: 10 << 20,
            segment_bytes: 256 << 20,
            retention_ms: 0,
            retention_bytes: 0,
        }
    }
}

fn number(value: &Value, name: &str, min: u64, max: u64) -> Result<u64> {
    value
        .as_u64()
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| Error::Bad(format!("{name} must be a whole number from {min} to {max}")))
}

impl Settings {
    /// These settings, changed by the members of a JSON object.
    ///
    /// # Errors
    /// [`Error::Bad`] if it is no object, or a member is unknown or out of range.
    pub fn with_json(mut self, text: &[u8]) -> Result<Self> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|e| Error::Bad(format!("settings are not JSON: {e}")))?;
        let Value::Object(members) = value else {
            return Err(Error::Bad("settings must be a JSON object".to_owned()));
        };
        for (name, value) in &members {
            match name.as_str() {
                "sync" => {
                    self.sync = value
                        .as_bool()
                        .ok_or_else(|| Error::Bad("sync must be true or false".to_owned()))?;
                }
                "compression" => {
                    self.compression =
                        value.as_str().and_then(Compression::named).ok_or_else(|| {
                            Error::Bad("compression must be none, lz4 or zstd".to_owned())
                        })?;
                }
                // The second names are those in files of version 0.1.
                "linger_ms" | "gather_ms" => {
                    self.linger_ms = match value {
                        Value::Null => None,
                        n => Some(number(n, name, 0, 60_000)? as u32),
                    };
                }
                "group_bytes" | "gather_bytes" => {
                    self.group_bytes = number(value, name, 1, BYTES_MAX as u64)? as u32;
                }
                "segment_bytes" => self.segment_bytes = number(value, name, 1 << 12, 1 << 40)?,
                "retention_ms" => self.retention_ms = number(value, name, 0, 1 << 53)?,
                "retention_bytes" => self.retention_bytes = number(value, name, 0, 1 << 53)?,
                _ => return Err(Error::Bad(format!("there is no setting '{name}'"))),
            }
        }
        Ok(self)
    }

    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        for (name, value) in [
            ("sync", json!(self.sync)),
            ("compression", json!(self.compression.name())),
            ("linger_ms", json!(self.linger_ms)),
            ("group_bytes", json!(self.group_bytes)),
            ("segment_bytes", json!(self.segment_bytes)),
            ("retention_ms", json!(self.retention_ms)),
            ("retention_bytes", json!(self.retention_bytes)),
        ] {
            members.insert(name.to_owned(), value);
        }
        Value::Object(members)
    }
}

/// Refuses names that could not be part of a path or a URL as they are.
///
/// # Errors
/// [`Error::Bad`] with the rule.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > NAME_MAX || name.starts_with('.') || !name.bytes().all(fine)
    {
        return Err(Error::Bad(format!(
            "a {what}'s name is 1 to {NAME_MAX} letters, digits, dots, dashes and underscores, \
             and does not begin with a dot"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_back() {
        let all = br#"{"sync":false,"compression":"zstd","linger_ms":7,"group_bytes":1,
            "segment_bytes":4096,"retention_ms":5,"retention_bytes":6}"#;
        let s = Settings::default().with_json(all).expect("sound");
        assert!(!s.sync && s.compression == Compression::Zstd && s.linger_ms == Some(7));
        assert_eq!(
            Settings::default().with_json(s.to_json().to_string().as_bytes()),
            Ok(s.clone())
        );
        // Settings that are not mentioned stay.
        let changed = s.clone().with_json(br#"{"linger_ms":null}"#).expect("sound");
        assert_eq!(changed, Settings { linger_ms: None, ..s });
        let old = br#"{"gather_ms":7,"gather_bytes":1}"#;
        let s = Settings::default().with_json(old).expect("as 0.1 has written it");
        assert_eq!((s.linger_ms, s.group_bytes), (Some(7), 1));
        for bad in [
            "",
            "[]",
            "{",
            r#"{"synk":true}"#,
            r#"{"sync":1}"#,
            r#"{"compression":"gzip"}"#,
            r#"{"linger_ms":-1}"#,
            r#"{"linger_ms":60001}"#,
            r#"{"group_bytes":0}"#,
            r#"{"segment_bytes":1e3}"#,
            r#"{"retention_ms":"1d"}"#,
        ] {
            assert!(Settings::default().with_json(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn names() {
        for good in ["a", "some-topic", "A.b_c-9", &"x".repeat(NAME_MAX)] {
            assert_eq!(check_name("topic", good), Ok(()));
        }
        for bad in ["", ".", "..", ".a", "a/b", "a b", "ä", "a\0", &"x".repeat(NAME_MAX + 1)] {
            assert!(check_name("topic", bad).is_err(), "{bad}");
        }
    }
}
