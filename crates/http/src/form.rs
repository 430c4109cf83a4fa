//! What forms and cookies carry: names and values. Everything is decoded to text; bytes that are not UTF-8
//! become replacement characters.

use percent_encoding::percent_decode;

/// Names and values that one request may carry in one place.
pub const PAIRS_MAX: usize = 1000;

/// Names and values in their order.
pub type Pairs = Vec<(String, String)>;

/// A query, or a body of the type `application/x-www-form-urlencoded`.
#[must_use]
pub fn urlencoded(text: &[u8]) -> Pairs {
    let decode = |part: &[u8]| {
        let spaced: Vec<u8> = part.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
        percent_decode(&spaced).decode_utf8_lossy().into_owned()
    };
    text.split(|b| *b == b'&')
        .filter(|pair| !pair.is_empty())
        .take(PAIRS_MAX)
        .map(|pair| match memchr::memchr(b'=', pair) {
            Some(at) => (decode(&pair[..at]), decode(&pair[at + 1..])),
            None => (decode(pair), String::new()),
        })
        .collect()
}

/// The cookies of a Cookie field. RFC 6265, section 4.2.
#[must_use]
pub fn cookies(field: &[u8]) -> Pairs {
    let text = |part: &[u8]| String::from_utf8_lossy(part.trim_ascii()).into_owned();
    field
        .split(|b| *b == b';')
        .filter_map(|pair| {
            let at = memchr::memchr(b'=', pair)?;
            let value = pair[at + 1..].trim_ascii();
            let bare = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\""));
            Some((text(&pair[..at]), text(bare.unwrap_or(value))))
        })
        .filter(|(name, _)| !name.is_empty())
        .take(PAIRS_MAX)
        .collect()
}

/// Bytes of the head of a part, and of a name in it.
const PART_HEAD_MAX: usize = 4096;
const NAME_MAX: usize = 1024;

/// A part of a form: a field, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'b> {
    /// The field's name.
    pub name: String,
    /// The name of the file, as the client has it: it may be any text, and no path to be followed. None: it is
    /// no file.
    pub filename: Option<String>,
    /// The type that the client gives the file.
    pub content_type: String,
    /// The value, or the content.
    pub bytes: &'b [u8],
}

/// The parts of a body of the type `multipart/form-data` (RFC 7578), at most [`PAIRS_MAX`]. None if it cannot
/// be read.
#[must_use]
pub fn multipart<'b>(content_type: &str, body: &'b [u8]) -> Option<Vec<Part<'b>>> {
    let boundary = parameter(content_type, "boundary")?;
    let fits = |b: u8| b.is_ascii_graphic() || b == b' ';
    if boundary.is_empty() || boundary.len() > 70 || !boundary.bytes().all(fits) {
        return None;
    }
    let mark = format!("--{boundary}");
    let mut rest = body.strip_prefix(mark.as_bytes())?;
    let mark = format!("\r\n--{boundary}");
    let mut parts = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Some(parts);
        }
        rest = rest.strip_prefix(b"\r\n")?;
        let end = memchr::memmem::find(rest, mark.as_bytes())?;
        if parts.len() == PAIRS_MAX {
            return None;
        }
        parts.push(part(&rest[..end])?);
        rest = &rest[end + mark.len()..];
    }
}

fn part(part: &[u8]) -> Option<Part<'_>> {
    let near = &part[..part.len().min(PART_HEAD_MAX)];
    let at = memchr::memmem::find(near, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&part[..at]);
    let field = |wanted: &str| {
        head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let disposition = field("content-disposition")?;
    let kind = disposition.split(';').next().unwrap_or("").trim();
    if !kind.eq_ignore_ascii_case("form-data") {
        return None;
    }
    let (name, filename) = (parameter(disposition, "name")?, parameter(disposition, "filename"));
    if name.len() > NAME_MAX || filename.as_ref().is_some_and(|name| name.len() > NAME_MAX) {
        return None;
    }
    let content_type = field("content-type").unwrap_or("text/plain").to_owned();
    Some(Part { name, filename, content_type, bytes: &part[at + 4..] })
}

/// A parameter of a field's value: `name=value` or `name="value"`. In quotes, `\"` and `%22` are a quote, since
/// some clients write the one and browsers the other.
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (n, tail) = rest.split_once('=')?;
        let is = n.trim().eq_ignore_ascii_case(name);
        let tail = tail.trim_start();
        let (text, behind) = match tail.strip_prefix('"') {
            Some(quoted) => {
                let mut end = None;
                let mut escaped = false;
                for (i, c) in quoted.char_indices() {
                    if c == '"' && !escaped {
                        end = Some(i);
                        break;
                    }
                    escaped = c == '\\' && quoted[i + 1..].starts_with('"') && !escaped;
                }
                let end = end?;
                let text = quoted[..end].replace("\\\"", "\"").replace("%22", "\"");
                (text, quoted[end + 1..].trim_start())
            }
            None => {
                let end = tail.find(';').unwrap_or(tail.len());
                (tail[..end].trim_end().to_owned(), &tail[end..])
            }
        };
        if is {
            return Some(text);
        }
        rest = behind.strip_prefix(';')?;
    }
}
