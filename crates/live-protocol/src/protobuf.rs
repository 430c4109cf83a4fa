//! Reads Protobuf messages field by field.

/// The fields of a message. Ends early, and says so, where the bytes are no message.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    bad: bool,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Reader<'a> {
    /// Reads this message.
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest, bad: false }
    }

    /// Whether all of it was a message, as far as it has been read.
    pub(crate) fn is_good(&self) -> bool {
        !self.bad
    }

    /// Takes a message that its length comes before. None: it is not whole, or none.
    pub(crate) fn delimited(bytes: &'a [u8]) -> Option<(&'a [u8], usize)> {
        let mut reader = Self::new(bytes);
        let len = usize::try_from(reader.varint()?).ok()?;
        let begin = bytes.len() - reader.rest.len();
        Some((bytes.get(begin..begin.checked_add(len)?)?, begin + len))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for (i, b) in self.rest.iter().enumerate().take(10) {
            // The tenth byte holds the one bit that is left.
            if i == 9 && *b > 1 {
                return None;
            }
            value |= u64::from(b & 0x7f) << (7 * i);
            if b & 0x80 == 0 {
                self.rest = &self.rest[i + 1..];
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Bytes(self.take(4)?),
            _ => return None,
        };
        let field = u32::try_from(tag >> 3).ok().filter(|field| *field > 0)?;
        Some((field, value))
    }
}

impl<'a> Iterator for &mut Reader<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.bad {
            return None;
        }
        let field = self.field();
        self.bad = field.is_none();
        field
    }
}

impl<'a> Value<'a> {
    pub(crate) fn number(self) -> u64 {
        if let Self::Number(n) = self { n } else { 0 }
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// A pair of texts: an entry of a map.
    pub(crate) fn pair(self) -> (String, String) {
        let (mut key, mut value) = Default::default();
        for (field, v) in &mut Reader::new(self.bytes()) {
            match field {
                1 => key = v.text(),
                2 => value = v.text(),
                _ => {}
            }
        }
        (key, value)
    }
}
