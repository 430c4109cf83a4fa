//! The target of a request: a path and a query. RFC 9112, section 3.2.
//!
//! A path is decoded once. What some file systems and proxies take for something else is refused and not
//! repaired: `.` and `..`, encoded slashes, backslashes, control characters, bytes that are not UTF-8.

use std::borrow::Cow;

use crate::Bad;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target<'b> {
    /// As it was sent: path and query.
    pub raw: &'b str,
    /// The decoded path, which begins with a slash; `*` for OPTIONS of the server.
    pub path: Cow<'b, str>,
    /// What stands behind the question mark, still encoded.
    pub query: &'b str,
}

impl<'b> Target<'b> {
    /// Parses the target of a request line. An absolute one also names the authority. `for_server`: `*`
    /// may be asked for.
    pub(crate) fn parse(for_server: bool, text: &'b str) -> Result<(Self, Option<&'b str>), Bad> {
        if text == "*" {
            if !for_server {
                return Err(Bad::request("Only OPTIONS asks for `*`."));
            }
            return Ok((Self { raw: text, path: Cow::Borrowed(text), query: "" }, None));
        }
        if text.starts_with('/') {
            return Ok((Self::origin(text)?, None));
        }
        let rest = ["http://", "https://"].iter().find_map(|scheme| {
            let (start, rest) = text.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        });
        let Some(rest) = rest else {
            return Err(Bad::request("The address is neither a path nor a URL."));
        };
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        if authority.is_empty() || !path.starts_with('/') {
            return Err(Bad::request("The address has no host or no path."));
        }
        Ok((Self::origin(path)?, Some(authority)))
    }

    /// Parses a path with its query.
    ///
    /// # Errors
    /// See the module's text.
    pub fn origin(text: &'b str) -> Result<Self, Bad> {
        if text.bytes().any(|b| b <= b' ' || b >= 0x7f || b == b'#') {
            return Err(Bad::request("The address contains characters that must be encoded."));
        }
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        Ok(Self { raw: text, path: decode_path(path)?, query })
    }
}

/// Decodes a path.
///
/// # Errors
/// See the module's text.
pub fn decode_path(raw: &str) -> Result<Cow<'_, str>, Bad> {
    const BAD: Bad = Bad::request("The path is not one that is served.");
    if !raw.starts_with('/') {
        return Err(BAD);
    }
    let path = if raw.contains('%') {
        let encoded = raw.as_bytes();
        let mut bytes = Vec::with_capacity(encoded.len());
        let mut i = 0;
        while i < encoded.len() {
            if encoded[i] == b'%' {
                let hex = encoded.get(i + 1..i + 3).ok_or(BAD)?;
                let byte = hex_byte(hex).ok_or(BAD)?;
                if byte == b'/' {
                    return Err(BAD);
                }
                bytes.push(byte);
                i += 3;
            } else {
                bytes.push(encoded[i]);
                i += 1;
            }
        }
        Cow::Owned(String::from_utf8(bytes).map_err(|_| BAD)?)
    } else {
        Cow::Borrowed(raw)
    };
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return Err(BAD);
    }
    if path.split('/').any(|segment| segment == "." || segment == "..") {
        return Err(BAD);
    }
    Ok(path)
}

fn hex_byte(hex: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    Some((digit(hex[0])? * 16 + digit(hex[1])?) as u8)
}
