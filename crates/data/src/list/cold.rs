//! The form of nodes that do not change: as few bits as a simple code needs.
//!
//! ```text
//!  text:  | 0 | k | p | s | shortest 2 | common 2 | symbols 1 | tails at 4 | common prefix | symbols |
//!         | heads: per element p bits of shared prefix, s bits of length | tails: k bits per byte | 8 zeros |
//!  ints:  | 1 | width | least 8 | per element `width` bits above the least | 8 zeros |
//! ```
//!
//! **Text.** All elements of a node begin with its common prefix, which is kept once. Beyond it an
//! element is the bytes it shares with the one before (at most 2^p - 1 of them) and a tail, whose
//! bytes are numbers in the node's own alphabet: digits and hexadecimal take 4 bits, letters and
//! digits 6, ASCII 7, and with more than 128 different bytes, or when tails are long, they are kept as they are. Widths
//! are fixed per node, so that decoding is shifts and table look-ups, eight bytes at a time.
//!
//! **Ints.** When every element is an integer, each is its distance from the least.
//!
//! The zeros at the end let a reader load eight bytes anywhere.

use std::sync::Arc;

use super::Elem;
use super::hot::Hot;
use crate::packed::{Item, START};

const TEXT: u8 = 0;
const INTS: u8 = 1;
const TEXT_HEAD: usize = 13;
const INTS_HEAD: usize = 10;
/// Zeros behind everything.
const PAD: usize = 8;
/// Most bits of a shared prefix's length.
const PREFIX_BITS_MAX: u32 = 7;
/// Lengths of shared prefixes that are told apart.
const PREFIX_MAX: usize = (1 << PREFIX_BITS_MAX) - 1;

/// Tails that are longer, on average, are kept as they are: packing a byte takes longer than copying
/// ten, and of long texts an alphabet saves an eighth or a quarter at best.
const TAIL_MAX: usize = 96;

/// See the module's text. How many elements there are is known to the node. Shared with the copies that
/// snapshots write.
#[derive(Clone, Debug)]
pub(super) struct Cold(Arc<[u8]>);

/// The elements of a run, taken apart to be frozen.
pub(super) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Bytes that each takes in a run, all together up to it.
    raws: Vec<u32>,
    /// The same elements, as long as all are integers.
    ints: Option<Vec<i64>>,
}

impl Texts {
    /// Takes a run apart.
    pub(super) fn of(hot: &Hot) -> Self {
        let run = hot.packed();
        let n = run.len();
        let mut texts = Self {
            bytes: Vec::with_capacity(run.bytes().len() * 2),
            ends: Vec::with_capacity(n + 1),
            raws: Vec::with_capacity(n + 1),
            ints: Some(Vec::with_capacity(n)),
        };
        texts.ends.push(0);
        texts.raws.push(0);
        let mut at = START;
        let mut buf = [0; stdx::num::I64_LEN_MAX];
        while let Some((item, next)) = run.at(at) {
            texts.bytes.extend_from_slice(item.text(&mut buf));
            texts.ends.push(texts.bytes.len() as u32);
            texts.raws.push((next - START) as u32);
            match (item, &mut texts.ints) {
                (Item::Int(n), Some(ints)) => ints.push(n),
                _ => texts.ints = None,
            }
            at = next;
        }
        texts
    }

    /// Elements.
    pub(super) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Bytes that elements `from` up to `to` take in a run.
    pub(super) fn raw(&self, from: usize, to: usize) -> usize {
        (self.raws[to] - self.raws[from]) as usize
    }

    fn text(&self, i: usize) -> &[u8] {
        &self.bytes[self.ends[i] as usize..self.ends[i + 1] as usize]
    }

    /// How elements `from` up to `to`, at least one, are best kept.
    pub(super) fn plan(&self, from: usize, to: usize) -> Plan {
        if let Some(ints) = &self.ints {
            return Plan::ints(&ints[from..to], from, to);
        }
        Plan::text(self, from, to)
    }

    /// The elements in the form that `plan` says.
    pub(super) fn freeze(&self, plan: &Plan) -> Cold {
        let mut out = Vec::with_capacity(plan.bytes);
        match &plan.code {
            Code::Ints { least, width } => {
                out.extend_from_slice(&[INTS, *width as u8]);
                out.extend_from_slice(&least.to_le_bytes());
                let ints = self.ints.as_deref().unwrap_or_default();
                let mut bits = Bits::new(&mut out);
                for n in ints.get(plan.from..plan.to).unwrap_or_default() {
                    let above = (*n as u64).wrapping_sub(*least as u64);
                    bits.put(above & 0xffff_ffff, (*width).min(32));
                    bits.put(above >> 32, width.saturating_sub(32));
                }
                bits.finish();
            }
            Code::Text(code) => self.freeze_text(plan, code, &mut out),
        }
        out.extend_from_slice(&[0; PAD]);
        assert_eq!(out.len(), plan.bytes);
        Cold(out.into())
    }

    fn freeze_text(&self, plan: &Plan, code: &TextCode, out: &mut Vec<u8>) {
        let TextCode { k, p, s, shortest, common, symbols } = code;
        let coded = if *k == 8 { &[][..] } else { symbols };
        let count = plan.to - plan.from;
        let tails_at = TEXT_HEAD + common + coded.len() + (count * (p + s) as usize).div_ceil(8);
        out.extend_from_slice(&[TEXT, *k as u8, *p as u8, *s as u8]);
        out.extend_from_slice(&(*shortest as u16).to_le_bytes());
        out.extend_from_slice(&(*common as u16).to_le_bytes());
        out.push(coded.len() as u8);
        out.extend_from_slice(&(tails_at as u32).to_le_bytes());
        out.extend_from_slice(&self.text(plan.from)[..*common]);
        out.extend_from_slice(coded);
        let mut codes = [0u8; 256];
        for (i, symbol) in coded.iter().enumerate() {
            codes[usize::from(*symbol)] = i as u8;
        }
        let mut tails = Vec::with_capacity(plan.bytes - tails_at);
        {
            let (mut heads, mut packer) = (Bits::new(out), Bits::new(&mut tails));
            let mut before: &[u8] = &[];
            for i in plan.from..plan.to {
                let text = self.text(i);
                let shared = shared(before, text).max(*common) - common;
                let shared = if i == plan.from { 0 } else { shared.min((1 << p) - 1) };
                heads.put(shared as u64 | ((text.len() - shortest) as u64) << p, p + s);
                let tail = &text[common + shared..];
                if *k == 8 {
                    packer.out.extend_from_slice(tail);
                } else {
                    tail.iter().for_each(|b| packer.put(codes[usize::from(*b)].into(), *k));
                }
                before = text;
            }
            heads.finish();
            packer.finish();
        }
        out.extend_from_slice(&tails);
    }
}

/// Bytes at the start that are the same.
#[inline]
fn shared(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let mut at = 0;
    while let (Some(x), Some(y)) =
        (a.get(at..).and_then(<[u8]>::first_chunk::<8>), b.get(at..).and_then(<[u8]>::first_chunk))
    {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < n && a[at] == b[at] {
        at += 1;
    }
    at
}

/// How a range of elements would be kept.
pub(super) struct Plan {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Bytes that takes.
    pub(super) bytes: usize,
    code: Code,
}

enum Code {
    Ints { least: i64, width: u32 },
    Text(TextCode),
}

struct TextCode {
    k: u32,
    p: u32,
    s: u32,
    shortest: usize,
    common: usize,
    symbols: Vec<u8>,
}

impl Plan {
    fn ints(ints: &[i64], from: usize, to: usize) -> Self {
        let least = ints.iter().copied().min().unwrap_or(0);
        let most = ints.iter().copied().max().unwrap_or(0);
        let width = match bits_for((most as u64).wrapping_sub(least as u64)) {
            // What lies across nine bytes cannot be loaded in one go.
            58.. => 64,
            n => n,
        };
        let bytes = INTS_HEAD + (ints.len() * width as usize).div_ceil(8) + PAD;
        Self { from, to, bytes, code: Code::Ints { least, width } }
    }

    fn text(texts: &Texts, from: usize, to: usize) -> Self {
        let count = to - from;
        let (mut shortest, mut longest, mut beginning) = (usize::MAX, 0, texts.text(from));
        for i in from..to {
            let text = texts.text(i);
            shortest = shortest.min(text.len());
            longest = longest.max(text.len());
            beginning = &beginning[..shared(beginning, text)];
        }
        let common = beginning.len();
        // How many elements share how much with the one before, beyond that.
        let mut lengths = [0u32; PREFIX_MAX + 1];
        for i in from + 1..to {
            let n = shared(&texts.text(i - 1)[common..], &texts.text(i)[common..]);
            lengths[n.min(PREFIX_MAX)] += 1;
        }
        let s = bits_for((longest - shortest) as u64);
        let tails = (texts.ends[to] - texts.ends[from]) as usize - count * common;
        let symbols =
            if tails > count * TAIL_MAX { Vec::new() } else { symbols(texts, from, to, common) };
        let k = match symbols.len() {
            0 if tails > 0 => 8,
            129.. => 8,
            n => bits_for(n.saturating_sub(1) as u64),
        };
        // The bytes that p bits save, less the bytes that they cost.
        let saved = |p: u32| -> usize {
            let most = (1usize << p) - 1;
            let bytes = |(n, times): (usize, &u32)| n.min(most) * *times as usize;
            lengths.iter().enumerate().map(bytes).sum()
        };
        let bits = |p: u32| count * p as usize + (tails - saved(p)) * k as usize;
        let p = (0..=PREFIX_BITS_MAX).min_by_key(|p| bits(*p)).unwrap_or(0);
        let heads = (count * (p + s) as usize).div_ceil(8);
        let table = if k == 8 { 0 } else { symbols.len() };
        let bytes = TEXT_HEAD
            + common
            + table
            + heads
            + ((tails - saved(p)) * k as usize).div_ceil(8)
            + PAD;
        let code = TextCode { k, p, s, shortest, common, symbols };
        Self { from, to, bytes, code: Code::Text(code) }
    }
}

/// The bytes that occur behind the common prefix.
fn symbols(texts: &Texts, from: usize, to: usize, common: usize) -> Vec<u8> {
    let mut seen = [false; 256];
    for i in from..to {
        texts.text(i)[common..].iter().for_each(|b| seen[usize::from(*b)] = true);
    }
    (0..=255).filter(|b| seen[usize::from(*b)]).collect()
}

/// Bits that numbers up to `n` need.
fn bits_for(n: u64) -> u32 {
    u64::BITS - n.leading_zeros()
}

/// Appends bits, the lowest first.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    filled: u32,
}

impl<'a> Bits<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, word: 0, filled: 0 }
    }

    /// Appends the `n` lowest bits of `value`, which has no others; at most 32.
    #[inline]
    fn put(&mut self, value: u64, n: u32) {
        self.word |= value << self.filled;
        self.filled += n;
        if self.filled >= 32 {
            self.out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.filled -= 32;
        }
    }

    fn finish(&mut self) {
        let bytes = self.filled.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
        (self.word, self.filled) = (0, 0);
    }
}

/// At least 57 bits from bit `at` on.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at / 8..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |w| u64::from_le_bytes(*w) >> (at % 8))
}

impl Cold {
    /// Bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        // Behind two counts.
        stdx::mem::size_class(16 + self.0.len())
    }

    /// Calls `f` with the elements from number `from` on, of `count` in all, until it returns
    /// false. Returns whether it never did.
    #[inline]
    pub(super) fn each(
        &self,
        count: usize,
        from: usize,
        f: &mut impl FnMut(Elem<'_>) -> bool,
    ) -> bool {
        let b = &self.0[..];
        if b[0] == INTS {
            let width = usize::from(b[1]);
            let least = b[2..INTS_HEAD].first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            return (from..count).all(|i| {
                let above = load(&b[INTS_HEAD..], i * width) & mask;
                f(Elem::Int(least.wrapping_add(above) as i64))
            });
        }
        self.each_text(count, from, f)
    }

    fn each_text(&self, count: usize, from: usize, f: &mut impl FnMut(Elem<'_>) -> bool) -> bool {
        let b = &self.0[..];
        let (k, p, s) = (usize::from(b[1]), usize::from(b[2]), usize::from(b[3]));
        let shortest = usize::from(u16::from_le_bytes([b[4], b[5]]));
        let common = usize::from(u16::from_le_bytes([b[6], b[7]]));
        let symbols = usize::from(b[8]);
        let tails_at = u32::from_le_bytes([b[9], b[10], b[11], b[12]]) as usize;
        let heads_at = TEXT_HEAD + common + symbols;
        let mut table = [0u8; 128];
        table[..symbols].copy_from_slice(&b[TEXT_HEAD + common..heads_at]);
        let (heads, tails) = (&b[heads_at..], &b[tails_at..]);
        let (prefix_mask, length_mask) = ((1usize << p) - 1, (1usize << s) - 1);
        let mask = (1u64 << k) - 1;
        // Eight bytes more than the longest, since eight are written at a time.
        let mut text = vec![0; shortest + length_mask + 8];
        text[..common].copy_from_slice(&b[TEXT_HEAD..TEXT_HEAD + common]);
        let (mut head, mut tail) = (0, 0);
        for i in 0..count {
            let word = load(heads, head) as usize;
            head += p + s;
            let mut at = common + (word & prefix_mask);
            let len = shortest + (word >> p & length_mask);
            if k == 8 {
                let n = len - at;
                text[at..len].copy_from_slice(&tails[tail..tail + n]);
                tail += n;
            } else {
                while at < len {
                    let word = load(tails, tail);
                    let mut eight = [0; 8];
                    for (j, byte) in eight.iter_mut().enumerate() {
                        *byte = table[((word >> (j * k)) & mask & 127) as usize];
                    }
                    text[at..at + 8].copy_from_slice(&eight);
                    let n = (len - at).min(8);
                    at += n;
                    tail += n * k;
                }
            }
            if i >= from && !f(Elem::Bytes(&text[..len])) {
                return false;
            }
        }
        true
    }

    /// The same elements as a run that can be changed.
    pub(super) fn thaw(&self, count: usize, raw: usize) -> Hot {
        let mut run = Vec::with_capacity(START + raw);
        run.extend_from_slice(&(count as u16).to_le_bytes());
        self.each(count, 0, &mut |elem| {
            match elem {
                Elem::Int(n) => Item::Int(n).encode(&mut run),
                Elem::Bytes(b) => Item::of(b).encode(&mut run),
                Elem::Shared(b) => Item::of(b).encode(&mut run),
            }
            true
        });
        assert_eq!(run.len(), START + raw);
        Hot::from_run(&run)
    }
}
