//! Finds a command's row by its name, for dispatch: every request asks.
//!
//! A name is at most three machine words, folded to lower case a word at a
//! time; no byte loop, no allocation, no hash function to speak of:
//!
//! ```text
//! 1..=3 bytes   first, middle, last byte                     word
//! 4..=8         first 4 | last 4 << (len-4)*8 (may overlap)  word
//! 9..=16        first 8, last 8 (may overlap)                word, more[0]
//! 17..=24       first 8, second 8, last 8 (may overlap)      word, more
//! longer        (renamed commands only) a list, compared bytewise
//! ```
//!
//! Together with its length this is unambiguous. Slots are open-addressed in a
//! power-of-two array that is at most a quarter full and filled once, so a
//! client cannot degrade it. Subcommands live in the same array, told apart by
//! their owner.

use crate::row::Row;

/// Marks a free slot, and the owner of top-level names.
const NONE: u16 = u16::MAX;

/// The longest name that fits the words.
const WORDS_BYTES_MAX: usize = 24;

/// An odd constant with well-mixed bits (2^64 / golden ratio).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Names, as positions in the list of rows it was built from.
#[derive(Clone, Debug)]
pub struct Index {
    slots: Box<[Slot]>,
    /// The second and third word of names longer than 8 bytes.
    more: Box<[[u64; 2]]>,
    /// `64 - log2(slots)`.
    shift: u32,
    long: Vec<(u16, Box<[u8]>, u16)>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    word: u64,
    owner: u16,
    row: u16,
    len: u8,
}

const FREE: Slot = Slot { word: 0, owner: NONE, row: NONE, len: 0 };

impl Index {
    /// Indexes top-level `rows` and their subcommands under their own names.
    #[must_use]
    pub fn new(rows: &[&Row]) -> Self {
        let names = rows.iter().enumerate().map(|(at, row)| (row.name.as_bytes(), at));
        Self::with_names(rows, names)
    }

    /// Indexes `rows` under other names (`rename-command`): each pair is a
    /// name and the position of its row. Of two equal names the first counts.
    ///
    /// # Panics
    /// With 65,535 rows or more, or a position past the end: the table is
    /// made of constants.
    #[must_use]
    pub fn with_names<'n>(
        rows: &[&Row],
        names: impl IntoIterator<Item = (&'n [u8], usize)>,
    ) -> Self {
        assert!(rows.len() < usize::from(NONE), "row positions are 16 bits");
        let position = |at: usize| u16::try_from(at).unwrap_or(NONE);
        let mut entries: Vec<(u16, &[u8], u16)> = Vec::new();
        for (name, at) in names {
            assert!(at < rows.len(), "a name for a row that is not there");
            entries.push((NONE, name, position(at)));
        }
        for (owner, row) in rows.iter().enumerate() {
            for (at, sub) in row.subcommands.iter().enumerate() {
                entries.push((position(owner), sub.sub_name().as_bytes(), position(at)));
            }
        }
        let slots = (entries.len() * 4).next_power_of_two().max(16);
        let mut index = Self {
            slots: vec![FREE; slots].into(),
            more: vec![[0; 2]; slots].into(),
            shift: 64 - slots.trailing_zeros(),
            long: Vec::new(),
        };
        for (owner, name, row) in entries {
            index.insert(owner, name, row);
        }
        index
    }

    /// The position of the row called `name`, whatever its case.
    #[inline]
    #[must_use]
    pub fn lookup(&self, name: &[u8]) -> Option<u16> {
        self.find(NONE, name)
    }

    /// The position of `name` among the subcommands of the row at `row`.
    #[inline]
    #[must_use]
    pub fn lookup_sub(&self, row: u16, name: &[u8]) -> Option<u16> {
        if row == NONE { None } else { self.find(row, name) }
    }

    #[inline]
    fn find(&self, owner: u16, name: &[u8]) -> Option<u16> {
        match name.len() {
            1..=8 => {
                let word = short_word(name);
                self.probe(owner, name.len(), word, hash(word, owner), |_| true)
            }
            9..=WORDS_BYTES_MAX => {
                let (word, more) = long_words(name);
                let hash = hash(word ^ more[0].rotate_left(23) ^ more[1].rotate_left(41), owner);
                self.probe(owner, name.len(), word, hash, |at| self.more[at] == more)
            }
            0 => None,
            _ => {
                let same = |(its, long, _): &&(u16, Box<[u8]>, u16)| {
                    *its == owner && long.eq_ignore_ascii_case(name)
                };
                self.long.iter().find(same).map(|(_, _, row)| *row)
            }
        }
    }

    #[inline]
    fn probe(
        &self,
        owner: u16,
        len: usize,
        word: u64,
        hash: u64,
        rest_fits: impl Fn(usize) -> bool,
    ) -> Option<u16> {
        let mask = self.slots.len() - 1;
        // The shift leaves log2(slots) bits.
        let mut at = (hash >> self.shift) as usize & mask;
        loop {
            let slot = &self.slots[at];
            let fits = slot.word == word && usize::from(slot.len) == len && slot.owner == owner;
            if fits && rest_fits(at) {
                return Some(slot.row);
            }
            if slot.len == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, owner: u16, name: &[u8], row: u16) {
        if name.is_empty() || self.find(owner, name).is_some() {
            return;
        }
        let (word, more, hash) = match name.len() {
            1..=8 => {
                let word = short_word(name);
                (word, [0; 2], hash(word, owner))
            }
            9..=WORDS_BYTES_MAX => {
                let (word, more) = long_words(name);
                let mixed = word ^ more[0].rotate_left(23) ^ more[1].rotate_left(41);
                (word, more, hash(mixed, owner))
            }
            _ => return self.long.push((owner, name.into(), row)),
        };
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize & mask;
        while self.slots[at].len != 0 {
            at = (at + 1) & mask;
        }
        // At most WORDS_BYTES_MAX.
        let len = u8::try_from(name.len()).unwrap_or(u8::MAX);
        self.slots[at] = Slot { word, owner, row, len };
        self.more[at] = more;
    }
}

#[inline]
fn hash(word: u64, owner: u16) -> u64 {
    (word ^ u64::from(owner) << 48).wrapping_mul(MIX)
}

/// A name of 1 to 8 bytes as one word in lower case.
#[inline]
fn short_word(name: &[u8]) -> u64 {
    let len = name.len();
    let word = if let (Some(head), Some(tail)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        let (head, tail) = (u32::from_le_bytes(*head), u32::from_le_bytes(*tail));
        u64::from(head) | u64::from(tail) << ((len - 4) * 8)
    } else {
        let byte = |at: usize| u64::from(name[at]) << (at * 8);
        byte(0) | byte(len / 2) | byte(len - 1)
    };
    lower(word)
}

/// A name of 9 to 24 bytes as three words in lower case.
#[inline]
fn long_words(name: &[u8]) -> (u64, [u64; 2]) {
    let read = |chunk: Option<&[u8; 8]>| chunk.map_or(0, |chunk| lower(u64::from_le_bytes(*chunk)));
    let middle = if name.len() > 16 { read(name[8..].first_chunk()) } else { 0 };
    (read(name.first_chunk()), [read(name.last_chunk()), middle])
}

/// Eight bytes in ASCII lower case at once: a byte between `A` and `Z` gets
/// its bit 0x20. Adding brings each byte's comparison into its own top bit;
/// masked to seven bits, no byte carries into the next.
#[inline]
const fn lower(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let seven = word & (ONES * 0x7f);
    let from_a = seven + ONES * (0x80 - b'A' as u64);
    let past_z = seven + ONES * (0x7f - b'Z' as u64);
    let ascii = !word & (ONES * 0x80);
    word | ((from_a ^ past_z) & ascii) >> 2
}

#[cfg(test)]
mod tests;
