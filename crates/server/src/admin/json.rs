//! JSON, as much of it as the admin port writes.

use std::fmt::{Display, Write as _};

/// `text` as a JSON string.
pub(super) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// An object of fields whose values are JSON already.
pub(super) fn object<V: Display>(fields: impl IntoIterator<Item = (impl AsRef<str>, V)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(k, v)| format!("{}: {v}", string(k.as_ref()))).collect();
    format!("{{{}}}", fields.join(", "))
}

/// An array of JSON values, one to a line.
pub(super) fn array(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    if values.is_empty() {
        return "[]".into();
    }
    format!("[\n  {}\n]", values.join(",\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(string("a\"b\\c\n\u{1}é"), r#""a\"b\\c\n\u0001é""#);
        assert_eq!(object([("x", 1), ("y", 2)]), r#"{"x": 1, "y": 2}"#);
        assert_eq!(array(["1".into(), "2".into()]), "[\n  1,\n  2\n]");
    }
}
