//! How values are shown in a page: plainly, in HTML, or in JSON.

mod kind;

pub use kind::Escape;

use crate::error::Result;
use crate::meter::Meter;
use crate::show::{display, json};
use crate::value::{Text, Value};

/// What stands for a byte in HTML.
fn entity(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'&' => "&amp;",
        b'"' => "&quot;",
        b'\'' => "&#x27;",
        b'/' => "&#x2f;",
        _ => return None,
    })
}

const fn special(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\'' | b'/')
}

/// Whether a byte needs an entity, by the byte: this is looked up for every byte of a page.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = special(byte as u8);
        byte += 1;
    }
    table
};

/// Where the next byte that needs an entity is, or the end.
fn next_special(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    rest.iter().position(|b| SPECIAL[usize::from(*b)]).map_or(bytes.len(), |n| from + n)
}

/// Writes a text as HTML. Pays for what it makes.
pub(crate) fn html(text: &str, out: &mut String, meter: &Meter) -> Result<()> {
    let bytes = text.as_bytes();
    meter.bytes(bytes.len())?;
    let mut start = 0;
    loop {
        let at = next_special(bytes, start);
        out.push_str(&text[start..at]);
        let Some(entity) = bytes.get(at).and_then(|byte| entity(*byte)) else { return Ok(()) };
        meter.bytes(entity.len() - 1)?;
        out.push_str(entity);
        start = at + 1;
    }
}

/// Writes a value as it is shown.
pub(crate) fn write(
    value: &Value<'_>,
    escape: Escape,
    out: &mut String,
    meter: &Meter,
) -> Result<()> {
    match (value, escape) {
        (Value::Str(Text::Safe(text)), _) => {
            meter.bytes(text.len())?;
            out.push_str(text);
            Ok(())
        }
        (Value::Str(text), Escape::Html) => html(text, out, meter),
        (_, Escape::None) => display(value, out, meter),
        (_, Escape::Json) => json(value, crate::show::Json::Compact, false, out, meter),
        (
            Value::Undefined
            | Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Big(_)
            | Value::Float(_),
            Escape::Html,
        ) => display(value, out, meter),
        (_, Escape::Html) => {
            let mut text = String::new();
            display(value, &mut text, meter)?;
            html(&text, out, meter)
        }
    }
}
