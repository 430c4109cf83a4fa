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

/// The fields of a body of the type `multipart/form-data` (RFC 7578); of files, their content. None if it
/// cannot be read.
#[must_use]
pub fn multipart(content_type: &str, body: &[u8]) -> Option<Pairs> {
    let boundary = parameter(content_type, "boundary")?;
    if boundary.is_empty() || boundary.len() > 70 {
        return None;
    }
    let mark = format!("--{boundary}");
    let mut rest = body.strip_prefix(mark.as_bytes())?;
    let mark = format!("\r\n--{boundary}");
    let mut pairs = Pairs::new();
    loop {
        if rest.starts_with(b"--") {
            return Some(pairs);
        }
        rest = rest.strip_prefix(b"\r\n")?;
        let end = memchr::memmem::find(rest, mark.as_bytes())?;
        let part = &rest[..end];
        rest = &rest[end + mark.len()..];
        let at = memchr::memmem::find(part, b"\r\n\r\n")?;
        let head = std::str::from_utf8(&part[..at]).ok()?;
        let disposition = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-disposition").then(|| value.trim())
        })?;
        let name = parameter(disposition, "name")?;
        if pairs.len() == PAIRS_MAX {
            return None;
        }
        pairs.push((name.to_owned(), String::from_utf8_lossy(&part[at + 4..]).into_owned()));
    }
}

/// A parameter of a field's value: `name=value` or `name="value"`.
fn parameter<'t>(value: &'t str, name: &str) -> Option<&'t str> {
    value.split(';').skip(1).find_map(|p| {
        let (n, v) = p.split_once('=')?;
        n.trim().eq_ignore_ascii_case(name).then(|| {
            let v = v.trim();
            v.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(v)
        })
    })
}
