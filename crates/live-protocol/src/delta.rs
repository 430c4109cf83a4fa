//! Deltas in the format of Fossil: how to make one text from another.
//!
//! ```text
//! delta    = size LF *command checksum ";"
//! command  = length "@" offset ","      copies from the source
//!          | length ":" bytes           inserts
//! ```
//!
//! Numbers are in base 64 with the digits `0-9A-Z_a-z~`. The checksum is the sum of the target's words of 32 bits, the
//! first byte the highest, the last word filled up with zeros
//! (<https://fossil-scm.org/home/doc/trunk/www/delta_format.wiki>).
//!
//! Two bounds hold for every input: [`create`] compares at most `CANDIDATES` places for each byte of the target, and
//! [`apply`] makes no more than the bytes that its caller permits, whatever size a delta claims.

/// Bytes that must be equal for a copy to be considered.
const BLOCK: usize = 16;
/// Places of the source with the same hash that are compared.
const CANDIDATES: usize = 32;
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~";

/// The delta that makes `target` from `source`. Where both are UTF-8, it is UTF-8, too: what it inserts begins and
/// ends between characters, so that a client of JSON can be sent it as a string. Sources from 4 GiB on are not used.
#[must_use]
pub fn create(source: &[u8], target: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(target.len().min(256) + 32);
    number(&mut out, target.len() as u64);
    out.push(b'\n');
    let index = Index::of(source);
    // Bytes before `done` are written; `at` is where a copy is looked for.
    let (mut done, mut at) = (0, 0);
    let mut rolling = Rolling::of(target);
    while at + BLOCK <= target.len() {
        match index.longest(rolling.hash(), source, target, (done, at)) {
            Some(copy) => {
                insert(&mut out, &target[done..copy.to]);
                number(&mut out, copy.len as u64);
                out.push(b'@');
                number(&mut out, copy.from as u64);
                out.push(b',');
                done = copy.to + copy.len;
                at = done;
                rolling = Rolling::of(&target[at..]);
            }
            None => {
                rolling.roll(target[at], target.get(at + BLOCK).copied().unwrap_or(0));
                at += 1;
            }
        }
    }
    insert(&mut out, &target[done..]);
    number(&mut out, checksum(target).into());
    out.push(b';');
    out
}

fn insert(out: &mut Vec<u8>, bytes: &[u8]) {
    if !bytes.is_empty() {
        number(out, bytes.len() as u64);
        out.push(b':');
        out.extend_from_slice(bytes);
    }
}

fn number(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 11];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = DIGITS[(n & 63) as usize];
        n >>= 6;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn checksum(bytes: &[u8]) -> u32 {
    bytes.chunks(4).fold(0, |sum: u32, chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        sum.wrapping_add(u32::from_be_bytes(word))
    })
}

/// A hash of [`BLOCK`] bytes that moves on by a byte at constant cost.
struct Rolling {
    sum: u16,
    weighted: u16,
}

impl Rolling {
    fn of(bytes: &[u8]) -> Self {
        let mut hash = Self { sum: 0, weighted: 0 };
        for (i, &b) in bytes.iter().take(BLOCK).enumerate() {
            hash.sum = hash.sum.wrapping_add(b.into());
            hash.weighted = hash.weighted.wrapping_add((BLOCK - i) as u16 * u16::from(b));
        }
        hash
    }

    fn roll(&mut self, leaves: u8, enters: u8) {
        self.sum = self.sum.wrapping_sub(leaves.into()).wrapping_add(enters.into());
        self.weighted =
            self.weighted.wrapping_sub(BLOCK as u16 * u16::from(leaves)).wrapping_add(self.sum);
    }

    fn hash(&self) -> u32 {
        u32::from(self.sum) | u32::from(self.weighted) << 16
    }
}

/// The whole blocks of a source by their hashes: chains of block numbers, the first block first.
struct Index {
    heads: Vec<u32>,
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// A part of the source that lies in the target at `to`.
struct Copy {
    from: usize,
    to: usize,
    len: usize,
}

impl Index {
    fn of(source: &[u8]) -> Self {
        let blocks = if u32::try_from(source.len()).is_ok() { source.len() / BLOCK } else { 0 };
        let mut index =
            Self { heads: vec![NONE; blocks.next_power_of_two()], next: vec![NONE; blocks] };
        for block in (0..blocks).rev() {
            let slot = index.slot(Rolling::of(&source[block * BLOCK..]).hash());
            index.next[block] = index.heads[slot];
            index.heads[slot] = block as u32;
        }
        index
    }

    fn slot(&self, hash: u32) -> usize {
        (hash.wrapping_mul(0x9e37_79b1) >> 7) as usize & (self.heads.len() - 1)
    }

    /// The longest copy around `at`, if it saves bytes. It may begin before `at`, not before `done`.
    fn longest(
        &self,
        hash: u32,
        source: &[u8],
        target: &[u8],
        (done, at): (usize, usize),
    ) -> Option<Copy> {
        let mut best: Option<Copy> = None;
        let mut block = self.heads[self.slot(hash)];
        for _ in 0..CANDIDATES {
            if block == NONE {
                break;
            }
            let from = block as usize * BLOCK;
            block = self.next[block as usize];
            if source[from..from + BLOCK] != target[at..at + BLOCK] {
                continue;
            }
            let ahead = common(source[from..].iter().zip(&target[at..]));
            let back = common(source[..from].iter().rev().zip(target[done..at].iter().rev()));
            let copy = whole_characters(
                target,
                Copy { from: from - back, to: at - back, len: back + ahead },
            );
            // A command of two numbers is shorter than a block; a copy cut down to characters may not be.
            if copy.len >= BLOCK - 6 && best.as_ref().is_none_or(|best| best.len < copy.len) {
                best = Some(copy);
            }
        }
        best
    }
}

fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(a, b)| a == b).count()
}

/// Shortens a copy to where characters begin in the target, if that is at most three bytes away on each side: in what
/// is no UTF-8, nothing is gained.
fn whole_characters(target: &[u8], mut copy: Copy) -> Copy {
    let inside = |at: usize| target.get(at).is_some_and(|b| b & 0xc0 == 0x80);
    if let Some(skip) = (0..4).find(|skip| *skip <= copy.len && !inside(copy.to + skip)) {
        copy = Copy { from: copy.from + skip, to: copy.to + skip, len: copy.len - skip };
    }
    if let Some(cut) = (0..4).find(|cut| *cut <= copy.len && !inside(copy.to + copy.len - cut)) {
        copy.len -= cut;
    }
    copy
}

/// Makes the target from a source and a delta. None: the delta is malformed, belongs to another source, or makes more
/// than `max` bytes.
#[must_use]
pub fn apply(source: &[u8], delta: &[u8], max: usize) -> Option<Vec<u8>> {
    let mut rest = delta;
    let size = usize::try_from(read(&mut rest)?).ok()?;
    if size > max || take(&mut rest)? != b'\n' {
        return None;
    }
    // What a delta claims is not what it makes: memory grows with what is made.
    let mut out = Vec::new();
    loop {
        let n = read(&mut rest)?;
        let sign = take(&mut rest)?;
        if sign == b';' {
            let good = out.len() == size && n == u64::from(checksum(&out)) && rest.is_empty();
            return good.then_some(out);
        }
        let len = usize::try_from(n).ok()?;
        let part = match sign {
            b'@' => {
                let from = usize::try_from(read(&mut rest)?).ok()?;
                if take(&mut rest)? != b',' {
                    return None;
                }
                source.get(from..from.checked_add(len)?)?
            }
            b':' => {
                let (part, after) = rest.split_at_checked(len)?;
                rest = after;
                part
            }
            _ => return None,
        };
        if part.len() > size - out.len() {
            return None;
        }
        out.extend_from_slice(part);
    }
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// A number of at least one digit.
fn read(rest: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    let mut digits = 0;
    while let Some(digit) = rest.first().and_then(|b| digit(*b)) {
        if n >> 58 != 0 {
            return None;
        }
        n = n << 6 | u64::from(digit);
        digits += 1;
        *rest = &rest[1..];
    }
    (digits > 0).then_some(n)
}

fn digit(b: u8) -> Option<u8> {
    Some(match b {
        b'0'..=b'9' => b - b'0',
        b'A'..=b'Z' => b - b'A' + 10,
        b'_' => 36,
        b'a'..=b'z' => b - b'a' + 37,
        b'~' => 63,
        _ => return None,
    })
}
