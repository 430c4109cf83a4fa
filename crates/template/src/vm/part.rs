//! Parts of a page that the host may have kept: see [`crate::compile::PartSpec`].

use super::Machine;
use crate::compile::{Name, PartSpec};
use crate::error::Result;
use crate::escape::Escape;
use crate::part::{Part, PartKind};
use crate::value::{ListKind, Text, Value};

/// Bytes of the values that a part depends on; with more it is no part.
const KEY_MAX: usize = 1024;
/// How deep these values nest.
const DEPTH_MAX: u32 = 3;

impl<'t> Machine<'t, '_> {
    /// Begins a part. Returns whether it was kept, and is written.
    pub(super) fn begin_part(&mut self, spec: &PartSpec) -> Result<bool> {
        // What is captured goes elsewhere, and a part of a part is kept with it.
        let is_within = self.turn.is_some()
            || spec.kind == PartKind::Loop && (self.whole_loop.is_some() || self.is_in_recursive());
        if is_within || !self.captures.is_empty() || self.in_live {
            return Ok(false);
        }
        let mut key = std::mem::take(&mut self.part_key);
        key.clear();
        let known = match self.key_of(spec, &mut key) {
            Some(()) if spec.kind == PartKind::Loop && self.asks(spec) => Ok(Part::Other),
            Some(()) => self.host.part(spec.kind, &key, &mut self.out, &self.env.meter),
            None => Ok(Part::Other),
        };
        self.part_key = key;
        match known? {
            Part::Kept => {
                self.check_output()?;
                Ok(true)
            }
            Part::Begun => {
                *self.begun(spec.kind) = Some((spec.number, self.frames.len()));
                Ok(false)
            }
            Part::Other => Ok(false),
        }
    }

    pub(super) fn end_part(&mut self, spec: &PartSpec) {
        let this = Some((spec.number, self.frames.len()));
        let begun = self.begun(spec.kind);
        if *begun == this {
            *begun = None;
            self.host.end_part(spec.kind, &self.out);
        }
    }

    /// The part of a kind that has begun.
    fn begun(&mut self, kind: PartKind) -> &mut Option<(u32, usize)> {
        match kind {
            PartKind::Loop => &mut self.whole_loop,
            PartKind::Turn => &mut self.turn,
        }
    }

    /// Whether a loop in here is deeper than it would be elsewhere, which it may show.
    fn is_in_recursive(&self) -> bool {
        self.frames.innermost(false).is_some_and(|outer| outer.recurse.is_some())
    }

    /// Whether a name of a part is neither a variable nor the same for all pages.
    fn asks(&self, spec: &PartSpec) -> bool {
        let asks = |name: Name| {
            self.frames.load(name).is_none() && self.host.is_asked(self.engine.names.text(name))
        };
        spec.names.iter().any(|name| asks(*name))
    }

    /// All that a part depends on but what it calls.
    fn key_of(&self, spec: &PartSpec, key: &mut Vec<u8>) -> Option<()> {
        key.extend(spec.number.to_le_bytes());
        key.push(match self.env.escape {
            Escape::None => 0,
            Escape::Html => 1,
            Escape::Json => 2,
        });
        for name in &spec.names {
            match self.frames.load(*name) {
                Some(value) => encode(value, 0, key)?,
                None => key.push(b'-'),
            }
        }
        if spec.uses_loop {
            let current = self.frames.innermost(true)?;
            for name in ["index0", "length", "depth0"] {
                encode(&current.get(name)?, 0, key)?;
            }
        }
        Some(())
    }
}

/// Writes a value so that no other one is written in the same way. None: it is too much, or more than data.
fn encode(value: &Value<'_>, depth: u32, key: &mut Vec<u8>) -> Option<()> {
    if key.len() > KEY_MAX || depth > DEPTH_MAX {
        return None;
    }
    let bytes = |kind: u8, bytes: &[u8], key: &mut Vec<u8>| {
        (bytes.len() <= KEY_MAX).then(|| {
            key.push(kind);
            key.extend((bytes.len() as u32).to_le_bytes());
            key.extend_from_slice(bytes);
        })
    };
    match value {
        Value::Undefined => key.push(b'u'),
        Value::None => key.push(b'n'),
        Value::Bool(b) => key.extend([b'b', u8::from(*b)]),
        Value::Int(n) => {
            key.push(b'i');
            key.extend(n.to_le_bytes());
        }
        Value::Big(n) => {
            key.push(b'I');
            key.extend(n.to_le_bytes());
        }
        Value::Float(n) => {
            key.push(b'f');
            key.extend(n.to_bits().to_le_bytes());
        }
        Value::Str(Text::Safe(text)) => bytes(b'S', text.as_bytes(), key)?,
        Value::Str(text) => bytes(b's', text.as_bytes(), key)?,
        Value::Bytes(all) => bytes(b'y', all, key)?,
        Value::List(list) => {
            let kind = match list.kind() {
                ListKind::Seq => b'l',
                ListKind::Tuple => b't',
                _ => return None,
            };
            key.push(kind);
            key.extend((list.len() as u32).to_le_bytes());
            for item in list.iter() {
                encode(item, depth + 1, key)?;
            }
        }
        Value::Map(_) | Value::Object(_) => return None,
    }
    Some(())
}
