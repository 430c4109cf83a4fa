//! Requests that are built once and sent again and again: a reel of encoded requests, in which
//! only the digits of keys change from one round to the next.
//!
//! A thread has one reel for all its connections, so what is sent next lies in the nearest cache.
//! Commands of a mix stand in it in their exact proportions, shuffled; sizes of values are drawn.
//!
//! ```text
//! | *3 $3 SET $16 key:000000000042 $3 xxx | *2 $3 GET $16 key:000000000007 | …
//!                     ^^^^^^^^^^^^ slot                       ^^^^^^^^^^^^ slot
//! ```

use super::dist::{Keys, Sizes};
use stdx::rng::Rng;

/// Digits of a key, as redis-benchmark has them.
pub(crate) const DIGITS: usize = 12;

/// The first number that does not fit in [`DIGITS`].
pub(crate) const KEYS_MAX: u64 = 1_000_000_000_000;

/// Bytes of a reel whose requests differ, unless a single pipeline is larger.
const BYTES: usize = 2 << 20;

/// Requests of a reel whose requests differ, unless a single pipeline is longer.
const REQUESTS: usize = 4096;

/// A request with placeholders: `{key}` is a key drawn from the distribution, `{rand}` (and
/// `__rand_int__`) an evenly drawn one, `{value}` a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// Its share in a mix.
    pub(crate) weight: u64,
    /// The arguments; an inline command if it is empty.
    pub(crate) args: Vec<Vec<u8>>,
    /// The arguments are the request as it is sent, not words of a command in RESP.
    pub(crate) raw: bool,
}

const PLACEHOLDERS: [(&str, Slot); 3] =
    [("{key}", Slot::Key), ("{rand}", Slot::Even), ("__rand_int__", Slot::Even)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Key,
    Even,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Reel {
    bytes: Vec<u8>,
    /// Where each request starts, and where the last one ends.
    starts: Vec<usize>,
    /// Where digits are, ascending.
    slots: Vec<(usize, Slot)>,
    /// The first slot of each request, and the number of slots.
    first_slots: Vec<usize>,
    /// The template of each request; empty when there is one.
    kinds: Vec<u16>,
    /// The request that is sent next.
    at: usize,
    keys: Keys,
}

impl Template {
    /// The command in a line, cut where it gets long.
    pub(crate) fn title(&self) -> String {
        if self.args.is_empty() {
            return "PING (inline)".to_owned();
        }
        if self.raw {
            let line = self.args[0].split(|b| *b == b'\r').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line);
            return line.trim_end_matches(" HTTP/1.1").chars().take(60).collect();
        }
        let words: Vec<_> = self.args.iter().map(|a| String::from_utf8_lossy(a)).collect();
        words.join(" ").chars().take(60).collect()
    }

    fn encode(&self, reel: &mut Reel, fill: bool, sizes: &Sizes, rng: &mut Rng) {
        reel.first_slots.push(reel.slots.len());
        if self.args.is_empty() {
            reel.bytes.extend_from_slice(b"PING\r\n");
        } else if !self.raw {
            reel.bytes.extend_from_slice(format!("*{}\r\n", self.args.len()).as_bytes());
        }
        for arg in &self.args {
            let (text, slots) = expand(arg, fill, sizes, rng);
            if !self.raw {
                reel.bytes.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
            }
            let base = reel.bytes.len();
            reel.slots.extend(slots.iter().map(|(at, slot)| (base + at, *slot)));
            reel.bytes.extend_from_slice(&text);
            if !self.raw {
                reel.bytes.extend_from_slice(b"\r\n");
            }
        }
        reel.starts.push(reel.bytes.len());
    }

    /// Whether two requests of it may differ in more than digits.
    fn varies(&self, sizes: &Sizes) -> bool {
        !sizes.is_fixed() && self.args.iter().any(|a| find(a, b"{value}"))
    }
}

fn find(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|w| w == what)
}

/// An argument with its placeholders replaced, and where digits are in it. Without `fill`, as
/// redis-benchmark has it without -r, digits stay 0 and `__rand_int__` is text.
fn expand(arg: &[u8], fill: bool, sizes: &Sizes, rng: &mut Rng) -> (Vec<u8>, Vec<(usize, Slot)>) {
    let (mut text, mut slots) = (Vec::new(), Vec::new());
    let mut rest = arg;
    'next: while let Some(first) = rest.first() {
        for (name, slot) in PLACEHOLDERS {
            if rest.starts_with(name.as_bytes()) && (fill || name.starts_with('{')) {
                if fill {
                    slots.push((text.len(), slot));
                }
                text.extend_from_slice(&[b'0'; DIGITS]);
                rest = &rest[name.len()..];
                continue 'next;
            }
        }
        if let Some(after) = rest.strip_prefix(b"{value}") {
            // Letters that compress as badly as a server could wish for: random ones.
            let len = sizes.draw(rng);
            text.extend((0..len).map(|_| b'a' + (rng.next_u64() >> 59) as u8 % 26));
            rest = after;
            continue;
        }
        text.push(*first);
        rest = &rest[1..];
    }
    (text, slots)
}

impl Reel {
    /// A reel for pipelines of `depth` requests. Without `fill` all keys are the same.
    pub(crate) fn new(
        templates: &[Template],
        depth: usize,
        sizes: &Sizes,
        keys: Keys,
        fill: bool,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::from_seed(seed);
        let mut reel = Reel {
            bytes: Vec::new(),
            starts: vec![0],
            slots: Vec::new(),
            first_slots: Vec::new(),
            kinds: Vec::new(),
            at: 0,
            keys,
        };
        let alike = templates.len() == 1 && !templates[0].varies(sizes);
        let mean = sizes.mean() + 64;
        let wanted = if alike { depth } else { REQUESTS.min(BYTES / mean).max(depth) };
        let requests = wanted.next_multiple_of(depth.max(1));
        for index in order(templates, requests, &mut rng) {
            templates[index].encode(&mut reel, fill, sizes, &mut rng);
            if templates.len() > 1 {
                reel.kinds.push(index as u16);
            }
        }
        reel.first_slots.push(reel.slots.len());
        reel
    }

    /// The place of the request that is sent next, for [`Reel::tally`].
    #[inline]
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Adds to `counts` how many of the `requests` sent from `place` on are of each template;
    /// the place after them.
    #[inline]
    pub(crate) fn tally(&self, mut place: usize, requests: u64, counts: &mut [u64]) -> usize {
        for _ in 0..requests {
            if let Some(kind) = self.kinds.get(place) {
                counts[usize::from(*kind)] += 1;
            }
            place = if place + 1 == self.kinds.len() { 0 } else { place + 1 };
        }
        place
    }

    /// The next `requests` requests, or as many as come before the end of the reel, with fresh
    /// keys in them.
    #[inline]
    pub(crate) fn next(&mut self, requests: usize) -> (&[u8], usize) {
        let from = self.at;
        let to = (from + requests).min(self.starts.len() - 1);
        for (at, slot) in &self.slots[self.first_slots[from]..self.first_slots[to]] {
            let number = match slot {
                Slot::Key => self.keys.draw(),
                Slot::Even => self.keys.even(),
            };
            if let Some((digits, _)) = self.bytes[*at..].split_first_chunk_mut() {
                write_digits(digits, number);
            }
        }
        self.at = if to == self.starts.len() - 1 { 0 } else { to };
        (&self.bytes[self.starts[from]..self.starts[to]], to - from)
    }
}

/// Which template each request of a reel takes: in proportion to their weights (largest
/// remainders first), shuffled.
fn order(templates: &[Template], requests: usize, rng: &mut Rng) -> Vec<usize> {
    let weights: u64 = templates.iter().map(|t| t.weight).sum::<u64>().max(1);
    let mut credit = vec![0i64; templates.len()];
    let mut order: Vec<usize> = (0..requests)
        .map(|_| {
            for (credit, template) in credit.iter_mut().zip(templates) {
                *credit += template.weight as i64;
            }
            let most = (0..templates.len()).max_by_key(|i| credit[*i]).unwrap_or(0);
            credit[most] -= weights as i64;
            most
        })
        .collect();
    for i in (1..order.len()).rev() {
        order.swap(i, rng.index(i + 1));
    }
    order
}

/// Four digits at a time: a division by 10,000 costs what one by 10 does.
static QUADS: [[u8; 4]; 10_000] = {
    let mut quads = [[0; 4]; 10_000];
    let mut i = 0;
    while i < 10_000 {
        let n = i as u32;
        quads[i] = [
            b'0' + (n / 1000) as u8,
            b'0' + (n / 100 % 10) as u8,
            b'0' + (n / 10 % 10) as u8,
            b'0' + (n % 10) as u8,
        ];
        i += 1;
    }
    quads
};

#[inline]
fn write_digits(to: &mut [u8; DIGITS], number: u64) {
    let (high, rest) = (number / 100_000_000, (number % 100_000_000) as u32);
    to[..4].copy_from_slice(&QUADS[high as usize % 10_000]);
    to[4..8].copy_from_slice(&QUADS[(rest / 10_000) as usize]);
    to[8..].copy_from_slice(&QUADS[(rest % 10_000) as usize]);
}

#[cfg(test)]
mod tests {
    use super::super::dist::Dist;
    use super::*;

    fn template(weight: u64, text: &str) -> Template {
        let args = text.split_whitespace().map(|a| a.as_bytes().to_vec()).collect();
        Template { weight, args, raw: false }
    }

    fn seq(templates: &[Template], depth: usize, sizes: &str, fill: bool) -> Reel {
        let keys = Dist::Seq.keys(1000, 1, 0, 1);
        Reel::new(templates, depth, &Sizes::parse(sizes).unwrap(), keys, fill, 1)
    }

    #[test]
    fn digits() {
        let mut to = [0; DIGITS];
        for n in [0, 9, 10_000, 123_456_789_012, KEYS_MAX - 1] {
            write_digits(&mut to, n);
            assert_eq!(String::from_utf8_lossy(&to), format!("{n:012}"));
        }
    }

    #[test]
    fn keys_change_from_round_to_round() {
        let mut reel = seq(&[template(1, "SET key:{key} {value}")], 2, "3", true);
        for first in [0, 2, 4] {
            let (bytes, n) = reel.next(2);
            let text = String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(n, 2);
            for (i, request) in text.split_inclusive("\r\n*3").enumerate() {
                assert!(request.contains(&format!("\r\n$16\r\nkey:{:012}\r\n$3\r\n", first + i)));
            }
        }
        let (bytes, n) = reel.next(1);
        assert_eq!((bytes.len(), n), (45, 1), "a short pipeline is cut");
    }

    #[test]
    fn without_a_key_space_nothing_changes() {
        let mut reel = seq(&[template(1, "MSET {key} __rand_int__ x{rand}x y")], 1, "3", false);
        let wanted = "*5\r\n$4\r\nMSET\r\n$12\r\n000000000000\r\n$12\r\n__rand_int__\r\n\
                      $14\r\nx000000000000x\r\n$1\r\ny\r\n";
        for _ in 0..2 {
            assert_eq!(String::from_utf8_lossy(reel.next(1).0), wanted);
        }
        let mut ping = seq(&[Template { weight: 1, args: Vec::new(), raw: false }], 2, "3", true);
        assert_eq!(ping.next(2), (&b"PING\r\nPING\r\n"[..], 2));
    }

    #[test]
    fn a_mix_is_exact_and_sizes_vary() {
        let mix = [template(9, "GET {key}"), template(1, "SET {key} {value}")];
        let mut reel = seq(&mix, 10, "5:1,1000:1", true);
        let (bytes, n) = reel.next(usize::MAX);
        assert_eq!(n % 10, 0);
        let count =
            |what: &str| bytes.windows(what.len()).filter(|w| *w == what.as_bytes()).count();
        let (gets, sets) = (count("\r\nGET\r\n"), count("\r\nSET\r\n"));
        assert_eq!(gets + sets, n);
        assert!(gets.abs_diff(9 * sets) < 10, "{gets} {sets}");
        let (small, large) = (count("\r\n$5\r\n"), count("\r\n$1000\r\n"));
        assert!(small + large == sets && small > 0 && large > 0, "{small} {large}");
        let mut tally = [0; 2];
        assert_eq!(reel.tally(0, n as u64, &mut tally), 0);
        assert_eq!(tally, [gets as u64, sets as u64]);
        // Around the end, the first of the reel come again.
        let (mut both, mut start) = ([0; 2], [0; 2]);
        let place = reel.tally(n - 5, 10, &mut both);
        assert_eq!((place, reel.tally(0, 5, &mut start)), (5, 5));
        let mut end = [0; 2];
        reel.tally(n - 5, 5, &mut end);
        assert_eq!(both, [start[0] + end[0], start[1] + end[1]]);
    }
}
