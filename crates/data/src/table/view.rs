//! Views: a table as it is now, for another thread to read while the table goes on changing.
//!
//! A view has buckets of its own and the same nodes; it can be walked and nothing else. While there is one, the table changes no node
//! where it lies and frees none: it changes copies, and what leaves it is *buried* until the last
//! view is gone. So a view costs a copy of the buckets, some nanoseconds for each node, and what
//! changes meanwhile.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    Array, BUCKETS_MAX, Bucket, CHILD, Node, POINTER, SLOTS, SlotMut, Table, child_ptr, prefetch,
};

/// What has left a table of which there are views.
pub(super) struct Grave<T>(Mutex<Buried<T>>);

struct Buried<T> {
    nodes: Vec<T>,
    views: usize,
}

impl<T> Grave<T> {
    fn lock(&self) -> MutexGuard<'_, Buried<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bury(&self, node: T) {
        self.lock().nodes.push(node);
    }
}

/// What becomes of the nodes of a table that is dropped.
pub(super) enum Fate<T> {
    Free,
    /// They are somebody else's.
    Leave(Arc<Grave<T>>),
    Bury(Arc<Grave<T>>),
}

impl<T: Node> Fate<T> {
    pub(super) fn meet(&self, node: T) {
        match self {
            Self::Free => drop(node),
            Self::Leave(_) => _ = node.into_raw(),
            Self::Bury(grave) => grave.bury(node),
        }
    }

    pub(super) fn end(self) {
        if let Self::Leave(grave) = self {
            let mut buried = grave.lock();
            buried.views -= 1;
            if buried.views == 0 {
                // Freed here, and not by whoever changes the table next.
                let nodes = std::mem::take(&mut buried.nodes);
                drop(buried);
                drop(nodes);
            }
        }
    }
}

impl<T: Node> Table<T> {
    /// The same nodes in buckets of their own, to be walked only; see the module's text.
    #[must_use]
    pub fn view(&mut self) -> Self
    where
        T: Send + Sync,
    {
        let new = || Arc::new(Grave(Mutex::new(Buried { nodes: Vec::new(), views: 0 })));
        let grave = self.grave.get_or_insert_with(new);
        grave.lock().views += 1;
        let grave = Some(Arc::clone(grave));
        let mut packer = Packer::new(self.len);
        for array in [self.main, self.old] {
            for i in 0..array.len() {
                if i + AHEAD < array.len() {
                    // SAFETY: in range and alive; the table is borrowed.
                    let ahead = unsafe { &*array.ptr(i + AHEAD) };
                    prefetch(child_ptr(ahead.0[SLOTS - 1].load(Relaxed)).cast());
                }
                self.each_raw(array, i, &mut |p| packer.add(p.as_ptr().addr() as u64));
            }
        }
        Self {
            main: packer.array,
            len: self.len,
            children: packer.children,
            head: None,
            grave,
            is_view: true,
            ..Self::new(self.phase)
        }
    }

    /// Where nodes that leave must go, while there are views.
    #[inline]
    pub(super) fn grave(&mut self) -> Option<&Arc<Grave<T>>> {
        debug_assert!(!self.is_view, "a view is changed");
        if self.grave.is_some() {
            self.forget_views();
        }
        self.grave.as_ref()
    }

    #[cold]
    fn forget_views(&mut self) {
        // This sees all that the views have done, the last look at a node included.
        if self.grave.as_mut().is_some_and(|grave| Arc::get_mut(grave).is_some()) {
            self.grave = None;
        }
    }

    pub(super) fn fate(&mut self) -> Fate<T> {
        if !self.is_view {
            self.grave();
        }
        match self.grave.take() {
            None => Fate::Free,
            Some(grave) if self.is_view => Fate::Leave(grave),
            Some(grave) => Fate::Bury(grave),
        }
    }
}

impl<T: Node> SlotMut<'_, T> {
    /// Before the node is changed where it lies: views keep the one that they see.
    #[inline]
    pub(super) fn make_own(&mut self) {
        if let Some(grave) = self.grave.take() {
            let copy = self.node.duplicate();
            grave.bury(self.put(copy));
        }
    }

    /// The place of the node in its bucket, for [`Table::find_mut_near`].
    #[inline]
    pub fn place(&self) -> usize {
        std::ptr::from_ref(self.word).addr() / size_of::<u64>() % super::SLOTS
    }

    /// Whether [`node_mut`](Self::node_mut) gives a copy at another place, because there are views.
    pub fn will_move(&self) -> bool {
        self.grave.is_some()
    }
}

/// The buckets of a view: full ones, since nobody looks for a node in them.
struct Packer {
    array: Array,
    /// The bucket that is being filled, and whether it is one of the array's: which, and otherwise a
    /// child.
    bucket: *const Bucket,
    next: usize,
    filled: usize,
    children: usize,
}

impl Packer {
    fn new(nodes: usize) -> Self {
        let array = match nodes.div_ceil(SLOTS).min(ARRAY_MAX) {
            0 => Array::NONE,
            n => Array::new(n),
        };
        Self { array, bucket: std::ptr::null(), next: 0, filled: SLOTS, children: 0 }
    }

    #[inline]
    fn add(&mut self, word: u64) {
        if self.filled == SLOTS {
            self.turn();
        }
        // SAFETY: `turn` has found a bucket, which is alive and nobody else's.
        unsafe { &*self.bucket }.0[self.filled].store(word, Relaxed);
        self.filled += 1;
    }

    fn turn(&mut self) {
        if self.next < self.array.len() {
            self.bucket = self.array.ptr(self.next);
            self.next += 1;
            self.filled = 0;
            return;
        }
        // More than an array may have: the last bucket gets a chain.
        // SAFETY: as in `add`; an array is only empty when there is nothing to add.
        let last = &unsafe { &*self.bucket }.0[SLOTS - 1];
        let child = Box::into_raw(Box::new(Bucket(Default::default())));
        // SAFETY: it was just made.
        unsafe { &*child }.0[0].store(last.load(Relaxed), Relaxed);
        let addr = child.expose_provenance() as u64;
        debug_assert!(addr & !POINTER == 0);
        last.store(addr | CHILD, Relaxed);
        (self.bucket, self.filled) = (child, 1);
        self.children += 1;
    }
}

/// Buckets of a view's array.
const ARRAY_MAX: usize = if cfg!(test) { 100 } else { BUCKETS_MAX };
/// Buckets ahead whose children are hinted at.
const AHEAD: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stdx::rng::Rng;

    use super::*;
    use crate::entry::{Content, Entry, Str};

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    fn content(t: &Table<Entry>) -> Model {
        let mut all = Model::new();
        t.for_each(|e| {
            let Str::Inline(value) = e.str() else { panic!("inline") };
            assert!(all.insert(e.key().to_vec(), value.to_vec()).is_none());
        });
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
        // Of one length and of others: in place, and elsewhere.
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
        let mut views: Vec<(Table<Entry>, Model)> = Vec::new();
        for round in 0..rounds {
            change(&mut t, &mut model, &mut r, if round * 4 / rounds == 2 { 50 } else { spread });
            if r.below(rounds / 40) == 0 {
                views.push((t.view(), model.clone()));
            }
            if r.below(rounds / 40) == 0 && !views.is_empty() {
                let (view, then) = views.swap_remove(r.below(views.len() as u64) as usize);
                assert_eq!(content(&view), then);
            }
            if round % 999 == 0 {
                assert_eq!(content(&t), model);
            }
        }
        // A table may go before its views.
        drop(t);
        for (view, then) in views {
            assert_eq!(content(&view), then);
        }
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
        assert!(t.grave().is_none(), "no views, nothing is copied any more");
    }
}
