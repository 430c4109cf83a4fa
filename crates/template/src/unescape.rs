//! Escapes in strings of templates.

use std::str::Chars;

/// The text that is meant; none where an escape is wrong.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    // The first half of a character that has two.
    let mut half: Option<u16> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            half.is_none().then(|| out.push(c))?;
            continue;
        }
        let c = chars.next()?;
        if c == 'u' {
            unit(digits(&mut chars, 4)?, &mut half, &mut out)?;
            continue;
        }
        half.is_none().then_some(())?;
        match c {
            '"' | '\\' | '/' | '\'' => out.push(c),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'x' => out.push(char::from(u8::try_from(digits(&mut chars, 2)?).ok()?)),
            '0'..='7' => out.push(octal(c, &mut chars)?),
            _ => out.extend(['\\', c]),
        }
    }
    half.is_none().then_some(out)
}

fn unit(unit: u16, half: &mut Option<u16>, out: &mut String) -> Option<()> {
    let surrogate = (0xd800..=0xdfff).contains(&unit);
    match (half.take(), surrogate) {
        (None, true) => *half = Some(unit),
        (None, false) => out.push(char::from_u32(u32::from(unit))?),
        (Some(_), false) => return None,
        (Some(first), true) => out.push(char::decode_utf16([first, unit]).next()?.ok()?),
    }
    Some(())
}

fn digits(chars: &mut Chars<'_>, n: usize) -> Option<u16> {
    let text: String = chars.take(n).collect();
    (text.len() == n).then(|| u16::from_str_radix(&text, 16).ok())?
}

/// Up to three octal digits.
fn octal(first: char, chars: &mut Chars<'_>) -> Option<char> {
    let mut value = first.to_digit(8)?;
    for _ in 0..2 {
        let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(8)) else { break };
        chars.next();
        value = value * 8 + digit;
    }
    u8::try_from(value).ok().map(char::from)
}
