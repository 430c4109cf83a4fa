//! Small collections as one run of bytes: the elements of Redis's listpack, without its header.
//!
//! ```text
//!  | count, 2 bytes LE | element | element | …        element = | encoding and value | back length |
//! ```
//!
//! The elements are encoded byte for byte as in a listpack (small integers in one to nine bytes,
//! strings behind a header of one to five, and the length once more behind it so that the run can
//! be walked backwards), so that a dump is a copy. The header and the terminator of a listpack are
//! not kept: the owner of the run knows its length.
//!
//! Reading never panics, whatever the bytes; editing goes through [`Edit`], which an
//! [`Entry`](crate::entry::Entry) in its table and a `Vec<u8>` implement.

/// Bytes in front of the first element.
pub const START: usize = 2;
/// The longest run, in bytes. A collection that grows beyond it becomes another structure.
pub const BYTES_MAX: usize = u16::MAX as usize;

/// The run of no elements.
pub const EMPTY: [u8; START] = [0; START];

/// One element as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A string that reads as a canonical integer.
    Int(i64),
    /// Any other.
    Bytes(&'a [u8]),
}

impl<'a> Item<'a> {
    /// What `value` is kept as.
    #[inline]
    pub fn of(value: &'a [u8]) -> Self {
        // An integer has at most 20 characters and starts with a digit or a minus.
        match value.first() {
            Some(b'0'..=b'9' | b'-') if value.len() <= 20 => {
                stdx::num::parse_i64(value).map_or(Self::Bytes(value), Self::Int)
            }
            _ => Self::Bytes(value),
        }
    }

    /// The element's text; `buf` is where an integer is written.
    #[inline]
    pub fn text<'b>(&self, buf: &'b mut [u8; stdx::num::I64_LEN_MAX]) -> &'b [u8]
    where
        'a: 'b,
    {
        match *self {
            Self::Int(n) => stdx::num::fmt_i64(buf, n),
            Self::Bytes(b) => b,
        }
    }

    /// The element's text, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        self.text(&mut [0; stdx::num::I64_LEN_MAX]).to_vec()
    }

    /// Length of the element's text in bytes.
    pub fn text_len(&self) -> usize {
        self.text(&mut [0; stdx::num::I64_LEN_MAX]).len()
    }

    /// Appends the element as it is kept.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let from = out.len();
        match *self {
            Self::Int(n @ 0..=127) => out.push(n as u8),
            Self::Int(n @ -4096..=4095) => {
                let n = n as u16 & 0x1fff;
                out.extend_from_slice(&[0xc0 | (n >> 8) as u8, n as u8]);
            }
            Self::Int(n) => {
                let (code, bytes) = if i16::try_from(n).is_ok() {
                    (0xf1, 2)
                } else if (-0x80_0000..=0x7f_ffff).contains(&n) {
                    (0xf2, 3)
                } else if i32::try_from(n).is_ok() {
                    (0xf3, 4)
                } else {
                    (0xf4, 8)
                };
                out.push(code);
                out.extend_from_slice(&n.to_le_bytes()[..bytes]);
            }
            Self::Bytes(b) => {
                match b.len() {
                    n @ 0..64 => out.push(0x80 | n as u8),
                    n @ 64..4096 => out.extend_from_slice(&[0xe0 | (n >> 8) as u8, n as u8]),
                    n => {
                        out.push(0xf0);
                        out.extend_from_slice(&(n as u32).to_le_bytes());
                    }
                }
                out.extend_from_slice(b);
            }
        }
        push_back_length(out, out.len() - from);
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub fn encoded_len(&self) -> usize {
        let n = match *self {
            Self::Int(0..=127) => 1,
            Self::Int(-4096..=4095) => 2,
            Self::Int(n) if i16::try_from(n).is_ok() => 3,
            Self::Int(n) if (-0x80_0000..=0x7f_ffff).contains(&n) => 4,
            Self::Int(n) if i32::try_from(n).is_ok() => 5,
            Self::Int(_) => 9,
            Self::Bytes(b) if b.len() < 64 => 1 + b.len(),
            Self::Bytes(b) if b.len() < 4096 => 2 + b.len(),
            Self::Bytes(b) => 5 + b.len(),
        };
        n + back_length_len(n)
    }
}

/// Bytes of the back length of an element of `n` bytes.
#[inline]
fn back_length_len(n: usize) -> usize {
    match n {
        0..=0x7f => 1,
        0x80..0x3fff => 2,
        0x3fff..0x1f_ffff => 3,
        0x1f_ffff..0xfff_ffff => 4,
        _ => 5,
    }
}

fn push_back_length(out: &mut Vec<u8>, n: usize) {
    // Seven bits a byte, the highest first; all but the first byte carry a mark, so that reading
    // from the right knows where to stop.
    let len = back_length_len(n);
    for i in (0..len).rev() {
        let group = (n >> (7 * i)) as u8 & 0x7f;
        out.push(if i == len - 1 { group } else { group | 0x80 });
    }
}

/// A run of elements.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a>(&'a [u8]);

impl<'a> Packed<'a> {
    /// The run in `bytes`, its count included.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Its bytes, the count included.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty collection is not kept")]
    pub fn len(&self) -> usize {
        self.0.first_chunk().map_or(0, |c| u16::from_le_bytes(*c).into())
    }

    /// The element that begins at offset `at`, and the offset behind it; none at the end.
    #[inline(always)]
    pub fn at(&self, at: usize) -> Option<(Item<'a>, usize)> {
        // Short strings are most of what there is.
        let first = *self.0.get(at)?;
        if first & 0xc0 == 0x80 {
            let end = at + 1 + usize::from(first & 0x3f);
            let text = self.0.get(at + 1..end)?;
            return (end < self.0.len()).then_some((Item::Bytes(text), end + 1));
        }
        self.at_any(at)
    }

    fn at_any(&self, at: usize) -> Option<(Item<'a>, usize)> {
        let b = self.0.get(at..)?;
        let first = *b.first()?;
        let int = |n: usize| {
            let bytes = b.get(1..=n)?;
            let mut wide = [if bytes[n - 1] & 0x80 == 0 { 0 } else { 0xff }; 8];
            wide[..n].copy_from_slice(bytes);
            Some((Item::Int(i64::from_le_bytes(wide)), n + 1))
        };
        let text = |head: usize, len: usize| {
            Some((Item::Bytes(b.get(head..head.checked_add(len)?)?), head + len))
        };
        let (item, n) = match first {
            0..=0x7f => (Item::Int(first.into()), 1),
            0x80..=0xbf => text(1, usize::from(first & 0x3f))?,
            0xc0..=0xdf => {
                let n = i16::from(first & 0x1f) << 8 | i16::from(*b.get(1)?);
                // Thirteen bits with a sign.
                (Item::Int(((n << 3) >> 3).into()), 2)
            }
            0xe0..=0xef => text(2, usize::from(first & 0x0f) << 8 | usize::from(*b.get(1)?))?,
            0xf0 => text(5, u32::from_le_bytes(b.get(1..5)?.try_into().ok()?) as usize)?,
            0xf1 => int(2)?,
            0xf2 => int(3)?,
            0xf3 => int(4)?,
            0xf4 => int(8)?,
            0xf5.. => return None,
        };
        let next = at + n + back_length_len(n);
        (next <= self.0.len()).then_some((item, next))
    }

    /// The offset of the element that ends right before offset `end`; none at the start.
    pub fn before(&self, end: usize) -> Option<usize> {
        let (mut n, mut back) = (0usize, 0);
        if end <= START {
            return None;
        }
        loop {
            let b = *self.0.get(end.checked_sub(back + 1)?)?;
            n |= usize::from(b & 0x7f) << (7 * back);
            back += 1;
            if b & 0x80 == 0 {
                break;
            }
            if back == 5 {
                return None;
            }
        }
        let at = end.checked_sub(back)?.checked_sub(n)?;
        (at >= START).then_some(at)
    }

    /// The offset of element `index`, negative from the end; none when there is none.
    pub fn seek(&self, index: isize) -> Option<usize> {
        let len = self.len();
        let back = if index < 0 { index.unsigned_abs() } else { len.checked_sub(index as usize)? };
        if back == 0 || back > len {
            return None;
        }
        if back <= len / 2 {
            let mut at = self.0.len();
            for _ in 0..back {
                at = self.before(at)?;
            }
            return Some(at);
        }
        let mut at = START;
        for _ in 0..len - back {
            at = self.at(at)?.1;
        }
        Some(at)
    }

    /// Element `index`, negative from the end.
    pub fn get(&self, index: isize) -> Option<Item<'a>> {
        Some(self.at(self.seek(index)?)?.0)
    }

    /// All elements in order, with their offsets.
    #[inline]
    pub fn iter(&self) -> Iter<'a> {
        self.iter_from(START)
    }

    /// The elements from offset `at` on.
    #[inline]
    pub fn iter_from(&self, at: usize) -> Iter<'a> {
        Iter { run: *self, at }
    }

    /// All elements from the last to the first, with their offsets.
    pub fn iter_back(&self) -> impl Iterator<Item = (usize, Item<'a>)> + use<'a> {
        let run = *self;
        let mut end = run.0.len();
        std::iter::from_fn(move || {
            let at = run.before(end)?;
            end = at;
            Some((at, run.at(at)?.0))
        })
    }

    /// The offset of the first element equal to `value` among elements 0, `step`, 2 * `step` …:
    /// with step 2, among the fields of a hash.
    #[inline]
    pub fn find(&self, value: &[u8], step: usize) -> Option<usize> {
        let wanted = Item::of(value);
        let mut at = START;
        let mut skip = 0;
        while let Some((item, next)) = self.at(at) {
            if skip == 0 {
                let found = match (item, wanted) {
                    (Item::Bytes(a), Item::Bytes(b)) => stdx::bytes::same(a, b),
                    (Item::Int(a), Item::Int(b)) => a == b,
                    _ => false,
                };
                if found {
                    return Some(at);
                }
                skip = step;
            }
            skip -= 1;
            at = next;
        }
        None
    }
}

/// Whether elements 0, `step`, 2 * `step` … of a run differ from each other. Equal values must have
/// equal bytes, as they have unless another program encoded them.
pub fn distinct(run: Packed<'_>, step: usize) -> bool {
    let bytes = run.bytes();
    let mut few = [&[][..]; 16];
    let mut many = Vec::new();
    let mut n = 0;
    let mut at = START;
    let mut skip = 0;
    while let Some((_, next)) = run.at(at) {
        if skip == 0 {
            let element = bytes.get(at..next).unwrap_or_default();
            if let Some(place) = few.get_mut(n) {
                *place = element;
            } else {
                if many.is_empty() {
                    many.reserve(run.len() / step + 1);
                    many.extend_from_slice(&few);
                }
                many.push(element);
            }
            n += 1;
            skip = step;
        }
        skip -= 1;
        at = next;
    }
    if many.is_empty() {
        let few = &few[..n];
        return few.iter().enumerate().all(|(i, a)| !few[..i].contains(a));
    }
    many.sort_unstable();
    many.windows(2).all(|pair| pair[0] != pair[1])
}

/// Iterator over a run.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    run: Packed<'a>,
    at: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (usize, Item<'a>);
    #[inline]
    fn next(&mut self) -> Option<(usize, Item<'a>)> {
        let at = self.at;
        let (item, next) = self.run.at(at)?;
        self.at = next;
        Some((at, item))
    }
}

/// Bytes that a run can be edited in.
pub trait Edit {
    /// The run.
    fn run(&self) -> &[u8];
    /// Puts `insert` in place of the `remove` bytes at offset `at`. The result must not be longer
    /// than [`BYTES_MAX`].
    fn splice(&mut self, at: usize, remove: usize, insert: &[u8]);
    /// Stores the number of elements.
    fn set_count(&mut self, n: u16);
}

impl Edit for Vec<u8> {
    fn run(&self) -> &[u8] {
        self
    }

    fn splice(&mut self, at: usize, remove: usize, insert: &[u8]) {
        Vec::splice(self, at..at + remove, insert.iter().copied());
    }

    fn set_count(&mut self, n: u16) {
        self[..START].copy_from_slice(&n.to_le_bytes());
    }
}

/// Puts elements that are already encoded in place of the `removed` elements from offset `at` up
/// to `end`; `added` says how many they are.
pub fn replace(
    run: &mut impl Edit,
    at: usize,
    end: usize,
    removed: usize,
    encoded: &[u8],
    added: usize,
) {
    let n = Packed::new(run.run()).len() + added - removed;
    run.splice(at, end - at, encoded);
    if added != removed {
        run.set_count(n as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: &[&[u8]]) -> Vec<u8> {
        let mut run = EMPTY.to_vec();
        for v in values {
            let mut e = Vec::new();
            Item::of(v).encode(&mut e);
            assert_eq!(e.len(), Item::of(v).encoded_len());
            let end = run.len();
            replace(&mut run, end, end, 0, &e, 1);
        }
        run
    }

    #[test]
    fn elements_come_back_in_both_directions() {
        let long = vec![b'x'; 63];
        let longer = vec![b'y'; 4095];
        let longest = vec![b'z'; 20_000];
        let ints = [
            "0",
            "127",
            "128",
            "-1",
            "4095",
            "-4096",
            "4096",
            "-4097",
            "32767",
            "-32768",
            "32768",
            "8388607",
            "-8388608",
            "8388608",
            "2147483647",
            "-2147483649",
            "9223372036854775807",
            "-9223372036854775808",
        ];
        let mut all: Vec<&[u8]> = vec![b"", b"a", b"007", b"-0", b"+1", &long, &longer, &longest];
        all.extend(ints.iter().map(|s| s.as_bytes()));
        let bytes = run(&all);
        let p = Packed::new(&bytes);
        assert_eq!(p.len(), all.len());
        let forward: Vec<Vec<u8>> = p.iter().map(|(_, i)| i.to_vec()).collect();
        assert_eq!(forward, all);
        let mut back: Vec<Vec<u8>> = p.iter_back().map(|(_, i)| i.to_vec()).collect();
        back.reverse();
        assert_eq!(back, all);
        for (i, v) in all.iter().enumerate() {
            assert_eq!(p.get(i as isize).map(|i| i.to_vec()).as_deref(), Some(*v));
            let from_end = i as isize - all.len() as isize;
            assert_eq!(p.get(from_end).map(|i| i.to_vec()).as_deref(), Some(*v));
            assert_eq!(p.find(v, 1), p.seek(i as isize));
        }
        assert_eq!(p.get(all.len() as isize), None);
        assert_eq!(p.get(-(all.len() as isize) - 1), None);
    }

    #[test]
    fn the_encoding_is_that_of_a_listpack() {
        // Bytes of `DEBUG LISTPACK`-like dumps of Redis: 1, 300, "ab", -2.
        let bytes = run(&[b"1", b"300", b"ab", b"-2"]);
        let expected: &[u8] = &[4, 0, 1, 1, 0xc1, 0x2c, 2, 0x82, b'a', b'b', 3, 0xdf, 0xfe, 2];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn find_looks_at_every_step_th_element() {
        let bytes = run(&[b"f", b"v", b"v", b"f"]);
        let p = Packed::new(&bytes);
        assert_eq!(p.find(b"v", 2), p.seek(2));
        assert_eq!(p.find(b"x", 2), None);
    }

    #[test]
    fn equal_elements_are_noticed() {
        for n in [0, 1, 2, 15, 16, 17, 18, 40] {
            let mut texts: Vec<String> = (0..n).map(|i| format!("{}", i * 37)).collect();
            let as_run =
                |texts: &[String]| run(&texts.iter().map(String::as_bytes).collect::<Vec<_>>());
            assert!(distinct(Packed::new(&as_run(&texts)), 1), "{n}");
            if n >= 4 {
                texts[(n / 2) | 1] = texts[0].clone();
                let odd = as_run(&texts);
                assert!(!distinct(Packed::new(&odd), 1), "{n}");
                assert!(distinct(Packed::new(&odd), 2), "{n}");
            }
        }
    }

    #[test]
    fn damaged_bytes_end_the_run_and_nothing_else() {
        let bytes = run(&[b"hello", b"12345", b"world"]);
        for cut in 0..bytes.len() {
            let p = Packed::new(&bytes[..cut]);
            assert!(p.iter().count() <= 3);
            let _ = p.iter_back().count();
            let _ = p.get(-1);
        }
        for at in START..bytes.len() {
            for b in [0xf0, 0xff, 0xe5, 0x9f] {
                let mut damaged = bytes.clone();
                damaged[at] = b;
                let p = Packed::new(&damaged);
                assert!(p.iter().count() <= bytes.len());
                let _ = p.iter_back().take(100).count();
            }
        }
    }
}
