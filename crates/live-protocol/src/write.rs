//! Writes the fields of a message, as JSON or as Protobuf. Fields that have their default value are left out.

use super::Form;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// See the module's text.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    form: Form,
    /// No member of the present object has been written.
    first: bool,
}

impl<'a> Writer<'a> {
    /// Writes one message behind `out`.
    pub(crate) fn message(out: &'a mut Vec<u8>, form: Form, body: impl FnOnce(&mut Writer<'_>)) {
        let mut writer = Writer { out, form, first: true };
        match form {
            Form::Json => {
                writer.out.push(b'{');
                body(&mut writer);
                writer.out.push(b'}');
            }
            Form::Protobuf => body(&mut writer),
        }
    }

    /// Writes fields behind `out` that another writer takes over ([`Self::made`]).
    pub(crate) fn fields(out: &mut Vec<u8>, form: Form, body: impl FnOnce(&mut Writer<'_>)) {
        body(&mut Writer { out, form, first: true });
    }

    /// One or more fields that are written already.
    pub(crate) fn made(&mut self, fields: &[u8]) {
        if self.is_json() && !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        self.out.extend_from_slice(fields);
    }

    /// Whether it writes JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    fn name(&mut self, name: &str) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn tag(&mut self, field: u32, kind: u32) {
        varint(self.out, u64::from(field << 3 | kind));
    }

    /// An unsigned number that is there even if it is 0, in JSON.
    pub(crate) fn uint_always(&mut self, field: u32, name: &str, value: u64) {
        if value == 0 && self.is_json() {
            self.name(name);
            self.out.push(b'0');
        } else {
            self.uint(field, name, value);
        }
    }

    /// An unsigned number.
    pub(crate) fn uint(&mut self, field: u32, name: &str, value: u64) {
        if value == 0 {
            return;
        }
        match self.form {
            Form::Json => {
                self.name(name);
                let mut digits = itoa::Buffer::new();
                self.out.extend_from_slice(digits.format(value).as_bytes());
            }
            Form::Protobuf => {
                self.tag(field, 0);
                varint(self.out, value);
            }
        }
    }

    /// A boolean.
    pub(crate) fn flag(&mut self, field: u32, name: &str, value: bool) {
        match (value, self.form) {
            (false, _) => {}
            (true, Form::Json) => {
                self.name(name);
                self.out.extend_from_slice(b"true");
            }
            (true, Form::Protobuf) => self.uint(field, name, 1),
        }
    }

    fn sized(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        varint(self.out, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    /// A text.
    pub(crate) fn text(&mut self, field: u32, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        match self.form {
            Form::Json => {
                self.name(name);
                json_text(self.out, value);
            }
            Form::Protobuf => self.sized(field, value.as_bytes()),
        }
    }

    /// A text that is there even if it is empty, in JSON.
    pub(crate) fn text_always(&mut self, field: u32, name: &str, value: &str) {
        if value.is_empty() && self.is_json() {
            self.name(name);
            self.out.extend_from_slice(b"\"\"");
        } else {
            self.text(field, name, value);
        }
    }

    /// Bytes of an application: a JSON value in JSON.
    pub(crate) fn raw(&mut self, field: u32, name: &str, value: &[u8]) {
        if value.is_empty() {
            return;
        }
        match self.form {
            Form::Json => {
                self.name(name);
                json_line(self.out, value);
            }
            Form::Protobuf => self.sized(field, value),
        }
    }

    /// A message within the message.
    pub(crate) fn inner(&mut self, field: u32, name: &str, body: impl FnOnce(&mut Writer<'_>)) {
        match self.form {
            Form::Json => {
                self.name(name);
                Writer::message(self.out, Form::Json, body);
            }
            Form::Protobuf => {
                self.tag(field, 2);
                self.delimited(body);
            }
        }
    }

    fn delimited(&mut self, body: impl FnOnce(&mut Writer<'_>)) {
        // The length is known afterwards. One byte is kept free for it, which nearly always suffices.
        let at = self.out.len();
        self.out.push(0);
        Writer::message(self.out, Form::Protobuf, body);
        let len = self.out.len() - at - 1;
        let mut digits = [0; 10];
        let n = varint_into(&mut digits, len as u64);
        match self.out.get_mut(at) {
            Some(free) if n == 1 => *free = digits[0],
            _ => drop(self.out.splice(at..=at, digits[..n].iter().copied())),
        }
    }

    /// Messages.
    pub(crate) fn list<T>(
        &mut self,
        field: u32,
        name: &str,
        items: &[T],
        body: impl Fn(&mut Writer<'_>, &T),
    ) {
        if items.is_empty() {
            return;
        }
        match self.form {
            Form::Json => {
                self.name(name);
                self.out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        self.out.push(b',');
                    }
                    Writer::message(self.out, Form::Json, |w| body(w, item));
                }
                self.out.push(b']');
            }
            Form::Protobuf => {
                for item in items {
                    self.tag(field, 2);
                    self.delimited(|w| body(w, item));
                }
            }
        }
    }

    /// The same; a list without items is written, in JSON.
    pub(crate) fn list_always<T>(
        &mut self,
        field: u32,
        name: &str,
        items: &[T],
        body: impl Fn(&mut Writer<'_>, &T),
    ) {
        if items.is_empty() && self.is_json() {
            self.name(name);
            self.out.extend_from_slice(b"[]");
        } else {
            self.list(field, name, items, body);
        }
    }

    /// Messages by name. `always`: an object without members is written, in JSON.
    pub(crate) fn map<T>(
        &mut self,
        (field, name, always): (u32, &str, bool),
        items: &[(String, T)],
        body: impl Fn(&mut Writer<'_>, &T),
    ) {
        if items.is_empty() && !always {
            return;
        }
        match self.form {
            Form::Json => {
                self.name(name);
                self.out.push(b'{');
                for (i, (key, item)) in items.iter().enumerate() {
                    if i > 0 {
                        self.out.push(b',');
                    }
                    json_text(self.out, key);
                    self.out.push(b':');
                    Writer::message(self.out, Form::Json, |w| body(w, item));
                }
                self.out.push(b'}');
            }
            Form::Protobuf => {
                for (key, item) in items {
                    self.tag(field, 2);
                    self.delimited(|w| {
                        w.text(1, "", key);
                        w.inner(2, "", |w| body(w, item));
                    });
                }
            }
        }
    }

    /// Texts by name.
    pub(crate) fn texts(&mut self, field: u32, name: &str, items: &[(String, String)]) {
        if items.is_empty() {
            return;
        }
        match self.form {
            Form::Json => {
                self.name(name);
                self.out.push(b'{');
                for (i, (key, value)) in items.iter().enumerate() {
                    if i > 0 {
                        self.out.push(b',');
                    }
                    json_text(self.out, key);
                    self.out.push(b':');
                    json_text(self.out, value);
                }
                self.out.push(b'}');
            }
            Form::Protobuf => {
                for (key, value) in items {
                    self.tag(field, 2);
                    self.delimited(|w| {
                        w.text(1, "", key);
                        w.text(2, "", value);
                    });
                }
            }
        }
    }
}

/// Appends a number in Protobuf's form of variable length.
pub fn varint(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0; 10];
    let n = varint_into(&mut digits, value);
    out.extend_from_slice(&digits[..n]);
}

fn varint_into(digits: &mut [u8; 10], mut value: u64) -> usize {
    let mut n = 0;
    while value >= 0x80 {
        digits[n] = value as u8 | 0x80;
        value >>= 7;
        n += 1;
    }
    digits[n] = value as u8;
    n + 1
}

/// Appends a JSON string, escaped as Centrifugo's encoder does it: also what has a meaning in HTML, and U+2028 and
/// U+2029, which end lines in older JavaScript.
pub fn json_text(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, &b) in bytes.iter().enumerate() {
        let separator = b == 0xe2 && matches!(bytes.get(i + 1..i + 3), Some([0x80, 0xa8 | 0xa9]));
        if b >= 0x20 && !matches!(b, b'"' | b'\\' | b'<' | b'>' | b'&') && !separator {
            continue;
        }
        out.extend_from_slice(&bytes[from..i]);
        from = i + 1;
        match b {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', b]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ if separator => {
                out.extend_from_slice(b"\\u202");
                out.push(HEX[usize::from(bytes[i + 2] & 15)]);
                from = i + 3;
            }
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
            }
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Appends a JSON value on one line: line ends within it can only stand between its parts, where a space means
/// the same. Lines part the messages of a text. Centrifugo leaves them out, which joins the numbers of a payload that
/// is no JSON value.
pub fn json_line(out: &mut Vec<u8>, value: &[u8]) {
    let from = out.len();
    out.extend_from_slice(value);
    if memchr::memchr2(b'\n', b'\r', value).is_some() {
        out[from..].iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    }
}

/// A payload that can be sent to clients of JSON: itself if it is a JSON value, else a JSON string of it, in which
/// what is not UTF-8 is replaced.
#[must_use]
pub fn json_value(payload: &[u8]) -> Cow<'_, [u8]> {
    if serde_json::from_slice::<&RawValue>(payload).is_ok() {
        return Cow::Borrowed(payload);
    }
    let mut out = Vec::with_capacity(payload.len() + 2);
    json_text(&mut out, &String::from_utf8_lossy(payload));
    Cow::Owned(out)
}
