//! A node of a big list: some elements in one of three forms.

use std::sync::Arc;

use super::cold::{Cold, Texts};
use super::hot::{BYTES_MAX, Hot};
use super::{Elem, End, Needle};
use crate::packed::{Item, START, replace};

/// Elements of more bytes are nodes of their own.
pub(super) const SOLO_MIN: usize = 4096;

/// The elements of a node and their layout.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Elements in a form that can be changed.
    Hot(Hot),
    /// Elements in a compact form that can only be read.
    Cold(Cold),
    /// One long element.
    Solo(Arc<Vec<u8>>),
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Node {
    body: Body,
    /// Elements, never 0 between two operations.
    pub(super) count: u32,
    /// Bytes that they take, or would take, in a packed run.
    pub(super) raw: u32,
}

/// A node to be read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(pub(super) &'a Node);

impl<'a> View<'a> {
    /// The element, if it is a single long one.
    pub fn solo(&self) -> Option<&'a [u8]> {
        match &self.0.body {
            Body::Solo(s) => Some(s),
            _ => None,
        }
    }

    /// Elements.
    pub fn count(&self) -> usize {
        self.0.count as usize
    }

    /// Bytes that they take in packed form.
    pub fn raw(&self) -> usize {
        self.0.raw as usize
    }

    /// Appends the elements in packed form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Body::Hot(hot) = &self.0.body {
            return out.extend_from_slice(hot.run().get(START..).unwrap_or_default());
        }
        self.0.each(0, &mut |elem| {
            match elem {
                Elem::Int(n) => Item::Int(n).encode(out),
                Elem::Bytes(b) => Item::of(b).encode(out),
                Elem::Shared(b) => Item::of(b).encode(out),
            }
            true
        });
    }
}

impl Node {
    /// A node of a run's elements.
    pub(super) fn from_run(run: &[u8]) -> Self {
        Self::hot(Hot::from_run(run))
    }

    pub(super) fn hot(hot: Hot) -> Self {
        Self { count: hot.packed().len() as u32, raw: hot.len() as u32, body: Body::Hot(hot) }
    }

    /// A node of one long element.
    pub(super) fn solo(value: &[u8]) -> Self {
        let raw = u32::try_from(Item::Bytes(value).encoded_len()).unwrap_or(u32::MAX);
        Self { body: Body::Solo(Arc::new(value.to_vec())), count: 1, raw }
    }

    /// Bytes held from the allocator, without the node itself.
    pub(super) fn bytes(&self) -> usize {
        match &self.body {
            Body::Hot(h) => h.bytes(),
            Body::Cold(c) => c.bytes(),
            Body::Solo(s) => stdx::mem::size_class(s.capacity()) + stdx::mem::size_class(40),
        }
    }

    pub(super) fn is_hot(&self) -> bool {
        matches!(self.body, Body::Hot(_))
    }

    pub(super) fn is_solo(&self) -> bool {
        matches!(self.body, Body::Solo(_))
    }

    /// Whether `n` more bytes of elements may be added to this very node.
    #[inline]
    pub(super) fn takes(&self, n: usize) -> bool {
        matches!(&self.body, Body::Hot(h) if h.len() + n <= BYTES_MAX)
    }

    /// Makes the node one that can be changed; a long element becomes a run only when nothing
    /// else can be done with it, so none of the callers asks for that.
    pub(super) fn thaw(&mut self) -> Option<&mut Hot> {
        if let Body::Cold(c) = &self.body {
            self.body = Body::Hot(c.thaw(self.count as usize, self.raw as usize));
        }
        match &mut self.body {
            Body::Hot(h) => Some(h),
            _ => None,
        }
    }

    /// Makes the node small.
    pub(super) fn freeze(&mut self) {
        if let Body::Hot(h) = &self.body
            && self.count > 0
        {
            let texts = Texts::of(h);
            self.body = Body::Cold(texts.freeze(&texts.plan(0, texts.len())));
        }
    }

    /// Takes most of the elements out of a full node, those away from `end`, and freezes them.
    pub(super) fn split_off(&mut self, end: End) -> Option<Self> {
        let Body::Hot(hot) = &mut self.body else {
            return None;
        };
        let texts = Texts::of(hot);
        let n = texts.len();
        if n < 2 {
            return None;
        }
        let range = |wanted: usize| match end {
            End::Head => (n - wanted, n),
            End::Tail => (0, wanted),
        };
        let plan = |wanted: usize| {
            let (from, to) = range(wanted);
            texts.plan(from, to)
        };
        // Takes as many elements as fill an allocation: size classes are up to a quarter apart. What packs to next
        // to nothing need not.
        let mut wanted = (n * 3 / 4).max(1);
        let mut best = plan(wanted);
        for _ in 0..2 {
            let class = stdx::mem::size_class(best.bytes);
            if best.bytes * 64 >= class * 63 || class <= 256 {
                break;
            }
            let fits = wanted * class / best.bytes;
            let next = if fits <= n * 15 / 16 {
                fits
            } else {
                // The class below: as far under its bound as this is under its own.
                let below = lower_class(class);
                (wanted * below / best.bytes).saturating_sub(wanted / 256)
            };
            if next == wanted || !(n / 2..n).contains(&next) {
                break;
            }
            let other = plan(next);
            let waste =
                |p: &super::cold::Plan| stdx::mem::size_class(p.bytes) * 1024 / (p.to - p.from);
            if waste(&other) < waste(&best) {
                best = other;
                wanted = next;
            } else {
                break;
            }
        }
        let count = best.to - best.from;
        let raw = texts.raw(best.from, best.to);
        let cold = texts.freeze(&best);
        match end {
            End::Head => hot.cut_back(START + texts.raw(0, best.from), count),
            End::Tail => hot.cut_front(raw, count),
        }
        self.count -= count as u32;
        self.raw -= raw as u32;
        Some(Self { body: Body::Cold(cold), count: count as u32, raw: raw as u32 })
    }

    /// Adds an encoded element at one end. The node is hot.
    #[inline]
    pub(super) fn push(&mut self, end: End, encoded: &[u8]) {
        if let Body::Hot(h) = &mut self.body {
            match end {
                End::Head => h.push_front(encoded),
                End::Tail => h.push_back(encoded),
            }
            self.count += 1;
            self.raw += encoded.len() as u32;
        }
    }

    /// Takes `n` elements, fewer than there are or all of them, from one end away.
    pub(super) fn cut(&mut self, end: End, n: usize) {
        let count = self.count as usize;
        if n >= count {
            (self.count, self.raw) = (0, 0);
            return;
        }
        let Some(hot) = self.thaw() else { return };
        let keep = count - n;
        match end {
            End::Head => {
                let at = hot.packed().seek(n as isize).unwrap_or(START);
                hot.cut_front(at - START, n);
            }
            End::Tail => {
                let at = hot.packed().seek(keep as isize).unwrap_or(START);
                hot.cut_back(at, n);
            }
        }
        let raw = hot.len() as u32;
        (self.count, self.raw) = (keep as u32, raw);
    }

    /// Replaces `removed` elements from number `at` on by encoded ones.
    pub(super) fn splice(&mut self, at: usize, removed: usize, encoded: &[u8], added: usize) {
        let Some(hot) = self.thaw() else { return };
        let run = hot.packed();
        let len = run.len();
        let offset = |i: usize| run.seek(i as isize).unwrap_or(run.bytes().len());
        let (from, to) = (offset(at), offset(at + removed));
        replace(hot, from, to, removed, encoded, added);
        let raw = hot.len() as u32;
        (self.count, self.raw) = ((len + added - removed) as u32, raw);
    }

    /// Cuts the node in two before element `at`, which is neither the first nor beyond the last.
    pub(super) fn halve(&mut self, at: usize) -> Option<Self> {
        let count = self.count as usize;
        let hot = self.thaw()?;
        let offset = hot.packed().seek(at as isize)?;
        let mut run = ((count - at) as u16).to_le_bytes().to_vec();
        run.extend_from_slice(&hot.run()[offset..]);
        hot.cut_back(offset, count - at);
        let raw = hot.len() as u32;
        (self.count, self.raw) = (at as u32, raw);
        Some(Self::from_run(&run))
    }

    /// Appends the elements of another node; neither is a long element.
    pub(super) fn absorb(&mut self, mut other: Self) {
        let count = self.count + other.count;
        let (Some(hot), Some(more)) = (self.thaw(), other.thaw()) else { return };
        let end = hot.run().len();
        let (added, bytes) = (more.packed().len(), &more.run()[START..]);
        replace(hot, end, end, 0, bytes, added);
        let raw = hot.len() as u32;
        (self.count, self.raw) = (count, raw);
    }

    /// Removes elements equal to the needle, at most `most`, the first or the last ones. Returns
    /// how many.
    pub(super) fn remove_equal(&mut self, needle: Needle<'_>, most: usize, from: End) -> usize {
        let mut total = 0;
        self.each(0, &mut |elem| {
            total += usize::from(needle.is(elem));
            true
        });
        let wanted = total.min(most);
        if wanted == 0 {
            return 0;
        }
        if wanted == self.count as usize {
            (self.count, self.raw) = (0, 0);
            return wanted;
        }
        let count = self.count as usize - wanted;
        let Some(hot) = self.thaw() else { return 0 };
        // From the tail, the first matches are those that stay.
        let mut spare = if from == End::Tail { total - wanted } else { 0 };
        let (mut left, mut at) = (wanted, START);
        let mut run = Vec::with_capacity(hot.run().len());
        run.extend_from_slice(&(count as u16).to_le_bytes());
        let packed = hot.packed();
        while let Some((item, next)) = packed.at(at) {
            let goes = left > 0 && needle.is(item.into()) && {
                let stays = spare > 0;
                spare -= usize::from(stays);
                !stays
            };
            if goes {
                left -= 1;
            } else {
                run.extend_from_slice(&packed.bytes()[at..next]);
            }
            at = next;
        }
        *self = Self::from_run(&run);
        wanted
    }

    /// Calls `f` with the elements from number `from` on until it returns false. Returns whether
    /// it never did.
    #[inline]
    pub(super) fn each(&self, from: usize, f: &mut impl FnMut(Elem<'_>) -> bool) -> bool {
        match &self.body {
            Body::Hot(h) => {
                let run = h.packed();
                let Some(at) = run.seek(from as isize) else { return true };
                run.iter_from(at).all(|(_, item)| f(item.into()))
            }
            Body::Cold(c) => c.each(self.count as usize, from, f),
            Body::Solo(s) => from > 0 || f(Elem::Shared(s)),
        }
    }

    /// The same from the `skip`-th element before the last on, backwards.
    pub(super) fn each_back(&self, skip: usize, f: &mut impl FnMut(Elem<'_>) -> bool) -> bool {
        let back = |h: &Hot, f: &mut dyn FnMut(Elem<'_>) -> bool| {
            h.packed().iter_back().skip(skip).all(|(_, item)| f(item.into()))
        };
        match &self.body {
            Body::Hot(h) => back(h, f),
            Body::Cold(c) => back(&c.thaw(self.count as usize, self.raw as usize), f),
            Body::Solo(s) => skip > 0 || f(Elem::Shared(s)),
        }
    }
}

/// The size class below one, which is above 64.
fn lower_class(class: usize) -> usize {
    let n = class - 1;
    let shift = (usize::BITS - 1 - n.leading_zeros()).saturating_sub(2);
    (n >> shift) << shift
}
