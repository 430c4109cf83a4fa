//! Views: a table as it is now, for another thread to read while the table goes on changing.
//!
//! It can be walked and nothing else. What it sees it shares with the table, in two ways:
//!
//! - *Nodes.* While there is a view, the table changes no node where it lies and frees none: it
//!   changes copies, and what leaves it is *retired* until the last view is gone.
//! - *Buckets*, in [`Pieces`] of some hundred. A piece is copied once, by the first that needs it: by the
//!   view, to read it, or by the table, before it changes anything in it. From then on it is the
//!   view's own copy that counts, and the table may change its buckets.
//!
//! So neither the beginning of a view nor a change takes longer because the table is large: a change
//! copies one piece at most for each bucket that it concerns. What all of it costs in memory is some bytes
//! for each node, and what changes meanwhile.
//!
//! A bucket changes in `put`, `remove` and `step` and through a [`SlotMut`], an array is freed when `step`
//! has emptied it or its table is dropped: there, and nowhere else, the pieces concerned must have been
//! copied before (`keep_bucket`). When there is a second view, what the first has not read is copied.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Array, Node, SLOTS, SlotMut, Table, child_ptr, each_raw, prefetch};

/// What has left a table of which there are views.
pub(super) struct Retired<T>(Mutex<Inner<T>>);

struct Inner<T> {
    nodes: Vec<T>,
    views: usize,
}

impl<T> Retired<T> {
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn retire(&self, node: T) {
        self.lock().nodes.push(node);
    }
}

/// What becomes of the nodes of a table that is dropped.
pub(super) enum Fate<T> {
    Free,
    /// Another owner has them.
    Leave(Arc<Retired<T>>),
    Retire(Arc<Retired<T>>),
}

impl<T: Node> Fate<T> {
    pub(super) fn meet(&self, node: T) {
        match self {
            Self::Free => drop(node),
            Self::Leave(_) => _ = node.into_raw(),
            Self::Retire(retired) => retired.retire(node),
        }
    }

    pub(super) fn end(self) {
        if let Self::Leave(retired) = self {
            let mut inner = retired.lock();
            inner.views -= 1;
            if inner.views == 0 {
                // Freed here, and not by the next change of the table.
                let nodes = std::mem::take(&mut inner.nodes);
                drop(inner);
                drop(nodes);
            }
        }
    }
}

impl<T: Node> Table<T> {
    /// The same nodes, to be walked only; see the module's text.
    #[must_use]
    pub fn view(&mut self) -> Self
    where
        T: Send + Sync,
    {
        let new = || Arc::new(Retired(Mutex::new(Inner { nodes: Vec::new(), views: 0 })));
        self.retired();
        if let Some(before) = self.pieces.take() {
            before.keep_all(|| {});
        }
        let retired = self.retired.get_or_insert_with(new);
        retired.lock().views += 1;
        let retired = Some(Arc::clone(retired));
        let parts = [ArrayPieces::new(self.main, 0), ArrayPieces::new(self.old, self.moved)];
        let pieces = Arc::new(Pieces { parts, nodes: self.len });
        self.pieces = Some(Arc::clone(&pieces));
        let mut view = Self::new(self.phase);
        (view.is_view, view.retired, view.pieces) = (true, retired, Some(pieces));
        view
    }

    /// Nodes that a view sees.
    #[cold]
    pub(super) fn viewed(&self) -> usize {
        self.pieces.as_ref().map_or(0, |pieces| pieces.nodes)
    }

    /// As [`Table::scan`]; the positions of a view are the numbers of its pieces.
    #[cold]
    pub(super) fn scan_view(&self, pos: u32, mut f: impl FnMut(NonNull<u8>)) -> Option<u32> {
        let pieces = self.pieces.as_ref().filter(|_| self.is_view)?;
        let nodes = pieces.piece(pos as usize)?;
        for (i, node) in nodes.iter().enumerate() {
            if let Some(ahead) = nodes.get(i + AHEAD) {
                prefetch(ahead.0.as_ptr());
            }
            f(node.0);
        }
        pos.checked_add(1)
    }

    /// Must be called before anything changes in a bucket chain, its head being bucket `i` of
    /// `array`.
    #[inline]
    pub(super) fn keep_bucket(&mut self, array: Array, i: usize) {
        if self.pieces.is_some() {
            self.keep_for_view(array, i);
        }
    }

    #[cold]
    fn keep_for_view(&mut self, array: Array, i: usize) {
        self.retired();
        if let Some(pieces) = &self.pieces {
            pieces.keep(array, i);
        }
    }

    /// Where nodes that leave must go, while there are views.
    #[inline]
    pub(super) fn retired(&mut self) -> Option<&Arc<Retired<T>>> {
        if self.retired.is_some() {
            self.forget_views();
        }
        self.retired.as_ref()
    }

    #[cold]
    fn forget_views(&mut self) {
        assert!(!self.is_view, "a view is changed");
        // This sees all that the views have done, the last look at a node included.
        if self.retired.as_mut().is_some_and(|retired| Arc::get_mut(retired).is_some()) {
            self.retired = None;
            self.pieces = None;
        }
    }

    pub(super) fn fate(&mut self) -> Fate<T> {
        if !self.is_view {
            self.retired();
        }
        match self.retired.take() {
            None => Fate::Free,
            Some(retired) if self.is_view => Fate::Leave(retired),
            Some(retired) => {
                if let Some(pieces) = self.pieces.take() {
                    pieces.keep_all(stdx::yield_point::reached);
                }
                Fate::Retire(retired)
            }
        }
    }
}

impl<T: Node> SlotMut<'_, T> {
    /// Before the node is changed where it lies: views keep the one that they see.
    #[inline]
    pub(super) fn make_own(&mut self) {
        if let Some(retired) = self.retired.take() {
            let copy = self.node.duplicate();
            retired.retire(self.put(copy));
        }
    }

    /// The place of the node in its bucket, for [`Table::find_mut_near`].
    #[inline]
    pub fn place(&self) -> usize {
        std::ptr::from_ref(self.word).addr() / size_of::<u64>() % super::SLOTS
    }

    /// Whether [`node_mut`](Self::node_mut) gives a copy at another place, because there are views.
    pub fn will_move(&self) -> bool {
        self.retired.is_some()
    }
}

/// The buckets of a table as they were when a view began.
pub(super) struct Pieces {
    /// The pieces of both arrays.
    parts: [ArrayPieces; 2],
    /// Nodes in them.
    nodes: usize,
}

/// The buckets of one array.
struct ArrayPieces {
    array: Array,
    /// The first bucket; those before it had been emptied.
    from: usize,
    /// What was in so many buckets each.
    copies: Box<[OnceLock<Box<[Shared]>>]>,
}

/// A node that a table and its view share.
struct Shared(NonNull<u8>);

// SAFETY: only tables whose nodes are `Send` and `Sync` have views, and nodes that a view sees are
// looked at and nothing else as long as there is one.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl ArrayPieces {
    fn new(array: Array, from: usize) -> Self {
        let pieces = (array.len() - from).div_ceil(PIECE);
        Self { array, from, copies: (0..pieces).map(|_| OnceLock::new()).collect() }
    }

    /// What was in a piece. It is copied now if that has not been done yet.
    fn piece(&self, n: usize) -> &[Shared] {
        self.copies[n].get_or_init(|| {
            let first = self.from + n * PIECE;
            let end = (first + PIECE).min(self.array.len());
            // SAFETY: in range. The array is alive and nothing in these buckets has changed since the
            // view began: the table does neither before it has seen that this is done.
            let bucket = |i: usize| unsafe { &*self.array.ptr(i) };
            let mut nodes = Vec::with_capacity((end - first) * SLOTS);
            for i in first..end {
                if i + AHEAD < end {
                    prefetch(child_ptr(bucket(i + AHEAD).0[SLOTS - 1].load(Relaxed)).cast());
                }
                each_raw(bucket(i), &mut |node| nodes.push(Shared(node)));
            }
            nodes.into_boxed_slice()
        })
    }
}

impl Pieces {
    /// The table is about to change bucket `i` of an array, which need not be one that the view sees.
    fn keep(&self, array: Array, i: usize) {
        // An array that was allocated where one of these was that has been freed is another one; all
        // of that one has been copied.
        let seen =
            |part: &&ArrayPieces| part.array == array && (part.from..array.len()).contains(&i);
        if let Some(part) = self.parts.iter().find(seen) {
            part.piece((i - part.from) / PIECE);
        }
    }

    /// What was in a piece, of all in both arrays.
    fn piece(&self, n: usize) -> Option<&[Shared]> {
        let [main, old] = &self.parts;
        match n.checked_sub(main.copies.len()) {
            None => Some(main.piece(n)),
            Some(n) => (n < old.copies.len()).then(|| old.piece(n)),
        }
    }

    /// The table is about to change, or to free, all of it; `each` is called now and then.
    fn keep_all(&self, each: impl Fn()) {
        (0..).take_while(|n| self.piece(*n).is_some()).for_each(|_| each());
    }
}

/// Buckets that are copied together: some microseconds.
const PIECE: usize = if cfg!(test) { 7 } else { 256 };
/// How far ahead is hinted at.
const AHEAD: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stdx::rng::Rng;

    use super::*;
    use crate::entry::{Content, Entry, Str};

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    fn add(all: &mut Model, e: &Entry) {
        let Str::Inline(value) = e.str() else { panic!("inline") };
        assert!(all.insert(e.key().to_vec(), value.to_vec()).is_none());
    }

    fn content(t: &Table<Entry>) -> Model {
        let mut all = Model::new();
        t.for_each(|e| add(&mut all, e));
        assert_eq!(all.len(), t.len());
        all
    }

    fn change(t: &mut Table<Entry>, model: &mut Model, r: &mut Rng, spread: u64) {
        let key = r.below(spread).to_string().into_bytes();
        let hash = stdx::hash::hash64(&key);
        if r.below(3) == 0 {
            let gone = t.remove(hash, |e| e.key() == key).map(|e| e.key().to_vec());
            assert_eq!(gone.is_some(), model.remove(&key).is_some());
            return;
        }
        // A value of the same length is written in place, another one elsewhere.
        let value =
            vec![b'a' + r.below(26) as u8; if r.below(2) == 0 { 5 } else { 5 + key.len() * 9 }];
        if let Some(mut slot) = t.find_mut(hash, |e| e.key() == key) {
            slot.replace_with(|e| e.set(Content::Bytes(&value), None));
            slot.node_mut().set_access(7);
        } else {
            t.insert(Entry::string(&key, Content::Bytes(&value), None, 0));
        }
        model.insert(key, value);
    }

    #[test]
    fn views_stay_as_they_were() {
        let (rounds, spread) = if cfg!(miri) { (300, 60) } else { (30_000, 3_000) };
        let mut r = Rng::from_seed(11);
        let mut t = Table::<Entry>::new(100);
        let mut model = Model::new();
        // Each is read bit by bit.
        let mut views: Vec<(Table<Entry>, Model, Model, Option<u32>)> = Vec::new();
        let read = |(view, _, seen, at): &mut (Table<Entry>, Model, Model, Option<u32>)| {
            *at = at.and_then(|pos| view.scan(pos, |e| add(seen, e)));
        };
        for round in 0..rounds {
            change(&mut t, &mut model, &mut r, if round * 4 / rounds == 2 { 50 } else { spread });
            if r.below(rounds / 40) == 0 {
                views.push((t.view(), model.clone(), Model::new(), Some(0)));
            }
            let any = r.below(views.len().max(1) as u64) as usize;
            if let Some(reading) = views.get_mut(any)
                && r.below(20) == 0
            {
                read(reading);
            }
            if r.below(rounds / 40) == 0 && !views.is_empty() {
                let (view, then, ..) = views.swap_remove(any);
                assert_eq!(content(&view), then);
            }
            if round % 999 == 0 {
                assert_eq!(content(&t), model);
            }
        }
        // A table may go before its views.
        drop(t);
        for mut reading in views {
            while reading.3.is_some() {
                read(&mut reading);
            }
            let (view, then, seen, _) = reading;
            assert_eq!(seen, then);
            assert_eq!(content(&view), then);
        }
    }

    #[test]
    fn neither_a_view_nor_a_change_copies_all_buckets() {
        let mut r = Rng::from_seed(3);
        let (mut t, mut model) = (Table::<Entry>::new(0), Model::new());
        for _ in 0..if cfg!(miri) { 400 } else { 20_000 } {
            change(&mut t, &mut model, &mut r, 5_000);
        }
        let view = t.view();
        let pieces = Arc::clone(view.pieces.as_ref().expect("a view has pieces"));
        let copied = || {
            let parts = pieces.parts.iter().flat_map(|part| &part.copies);
            parts.filter(|copy| copy.get().is_some()).count()
        };
        assert_eq!(copied(), 0);
        let then = model.clone();
        for changes in 1..10 {
            change(&mut t, &mut model, &mut r, 5_000);
            // Where it changes, and what a growing table moves: from there and to there.
            assert!(copied() <= 4 * changes, "{} after {changes}", copied());
        }
        assert!(copied() > 0);
        assert_eq!(content(&view), then);
    }

    #[test]
    fn another_thread_reads_a_view_while_the_table_changes() {
        let rounds = if cfg!(miri) { 3 } else { 100 };
        let mut r = Rng::from_seed(5);
        let (mut t, mut model) = (Table::<Entry>::new(0), Model::new());
        for _ in 0..rounds {
            let (view, then) = (t.view(), model.clone());
            std::thread::scope(|scope| {
                scope.spawn(move || assert_eq!(content(&view), then));
                for _ in 0..200 {
                    change(&mut t, &mut model, &mut r, 400);
                }
            });
        }
        assert_eq!(content(&t), model);
        assert!(t.retired().is_none(), "no views, nothing is copied any more");
    }
}
