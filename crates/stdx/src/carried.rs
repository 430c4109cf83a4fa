//! Bytes that are no UTF-8, carried through text.
//!
//! Error texts quote what clients have sent, which may be any bytes, and clients are told the very
//! same ones. Between the two they are `String`s, since they are put together with `format!`. So a
//! byte that is not part of a character travels as one of the last 128 characters of Unicode, which
//! are for private use, and those characters themselves travel byte by byte: nothing is lost.

use std::borrow::Cow;

/// The byte `b` travels as the character with this number plus `b`.
const BASE: u32 = 0x10_ff00;
/// The first byte of all characters from [`BASE`] on, and of no byte that is below 0x80.
const FIRST: u8 = 0xf4;

fn carries(c: char) -> Option<u8> {
    u8::try_from((c as u32).checked_sub(BASE)?).ok().filter(|b| *b >= 0x80)
}

/// A text that carries these bytes.
pub fn carry(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&FIRST) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    let byte = |text: &mut String, b: u8| text.extend(char::from_u32(BASE + u32::from(b)));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match carries(c) {
                None => text.push(c),
                Some(_) => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| byte(&mut text, b));
                }
            }
        }
        chunk.invalid().iter().for_each(|b| byte(&mut text, *b));
    }
    Cow::Owned(text)
}

/// The bytes that a text carries.
pub fn carried(text: &str) -> Cow<'_, [u8]> {
    if !text.as_bytes().contains(&FIRST) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match carries(c) {
            Some(b) => bytes.push(b),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_as_it_was() {
        let all: Vec<u8> = (0..=255).collect();
        let last = "\u{10ffff}\u{10ff80}\u{10ff7f}\u{10ff00}é".as_bytes();
        for bytes in [&all, last, b"", b"plain", b"\xf4", b"\xc3", &[last, &all].concat()] {
            let text = carry(bytes);
            assert_eq!(carried(&text), bytes);
            let quoted = format!("ERR no '{text}' here");
            assert_eq!(*carried(&quoted), *[b"ERR no '", bytes, b"' here"].concat());
        }
        assert_eq!(carry("é".as_bytes()), "é");
    }
}
