//! Listpacks: checked, and in the form of a packed run.
//!
//! A listpack without its first four bytes and its last one is a run ([`data::packed`]), except for a
//! count that may be unknown. Elements must be encoded as this crate and Redis encode them:
//! comparing values relies on it. A listpack whose elements are valid and not in their shortest
//! form (no version writes one) is encoded anew.

use std::borrow::Cow;

use data::packed::{Item, Packed, START};

use crate::format::{LISTPACK_END, LISTPACK_HEAD};

/// A listpack that was checked.
pub(super) struct Listpack<'a> {
    /// Its elements as a run of any length, in front of them two bytes that mean nothing.
    run: Cow<'a, [u8]>,
    /// How many they are.
    pub(super) count: usize,
}

impl<'a> Listpack<'a> {
    /// Checks a listpack. None if anything is wrong with it.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let total = u32::from_le_bytes(*bytes.first_chunk()?);
        if total as usize != bytes.len() || bytes.len() <= LISTPACK_HEAD {
            return None;
        }
        let (last, body) = bytes.get(4..)?.split_last()?;
        if *last != LISTPACK_END {
            return None;
        }
        let said = u16::from_le_bytes(*body.first_chunk()?);
        let run = Packed::new(body);
        let (mut at, mut count, mut shortest) = (START, 0, true);
        while at < body.len() {
            let (item, next) = run.at(at)?;
            let len = next - at;
            // The length once more: one byte for short elements.
            let back = if len <= 128 {
                body.get(next - 1).is_some_and(|b| usize::from(*b) == len - 1)
            } else {
                run.before(next) == Some(at)
            };
            if !back {
                return None;
            }
            shortest &= match item {
                Item::Int(_) => item.encoded_len() == len,
                // No integer is longer than 20 digits.
                Item::Bytes(b) => {
                    (b.len() > 20 || Item::of(b) == item)
                        && (b.len() < 64 || item.encoded_len() == len)
                        && (b.len() >= 64 || body.get(at).is_some_and(|h| h & 0xc0 == 0x80))
                }
            };
            at = next;
            count += 1;
        }
        if said != u16::MAX && usize::from(said) != count {
            return None;
        }
        let run = if shortest {
            Cow::Borrowed(body)
        } else {
            let mut anew = vec![0; START];
            let mut buf = [0; stdx::num::I64_LEN_MAX];
            for (_, item) in run.iter() {
                Item::of(item.text(&mut buf)).encode(&mut anew);
            }
            Cow::Owned(anew)
        };
        Some(Self { run, count })
    }

    /// Its elements.
    pub(super) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        Packed::new(&self.run).iter().map(|(_, item)| item)
    }

    /// The elements in packed form.
    pub(super) fn elements(&self) -> &[u8] {
        self.run.get(START..).unwrap_or_default()
    }

    /// The run, if it is as short as one must be.
    pub(super) fn as_run(&mut self) -> Option<&[u8]> {
        if self.run.len() > data::packed::BYTES_MAX {
            return None;
        }
        let count = u16::try_from(self.count).ok()?.to_le_bytes();
        if self.run.first_chunk() != Some(&count) {
            self.run.to_mut()[..START].copy_from_slice(&count);
        }
        Some(&self.run)
    }

    /// Whether elements 0, `step`, 2 * `step` … differ from each other, and there are as many
    /// elements as `step` asks for.
    pub(super) fn is_set_of(&self, step: usize) -> bool {
        self.count.is_multiple_of(step) && data::packed::distinct(Packed::new(&self.run), step)
    }
}
