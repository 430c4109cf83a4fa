//! A big sorted set: a dictionary that owns the members, and a tree of their order.
//!
//! Invariant: the tree holds exactly the members of the dictionary, each with the score that lies
//! in the member. A member leaves the tree before it is dropped.

#![expect(unsafe_code, reason = "the tree points at the dictionary's members")]

use super::member::{Member, Ref};
use super::tree::{Item, Tree};
use crate::big::{Named, Step, Value};
use crate::entry::Kind;
use crate::table::Table;

/// See the module's text.
pub struct ZSet {
    table: Table<Member>,
    tree: Tree,
    /// Bytes that the members hold from the allocator.
    member_bytes: usize,
    /// It would be a listpack in Redis, whose listpacks may be longer than a run.
    pub(super) is_listpack: bool,
}

#[inline]
fn find<'t>(table: &'t Table<Member>, member: &[u8]) -> Option<crate::table::Slot<'t, Member>> {
    table.find(stdx::hash::hash64(member), |m| stdx::bytes::same(m.bytes(), member))
}

impl ZSet {
    /// An empty set.
    pub(super) fn new() -> Self {
        Self { table: Table::new(0), tree: Tree::default(), member_bytes: 0, is_listpack: false }
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The score of a member.
    #[inline]
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        Some(find(&self.table, member)?.score())
    }

    /// The rank and score of a member.
    pub fn rank(&self, member: &[u8]) -> Option<(usize, f64)> {
        let score = self.score(member)?;
        Some((self.tree.rank(score, member), score))
    }

    /// How many members have a score for which `before` holds; it must hold for none above one for
    /// which it does not.
    #[inline]
    pub fn count_scores(&self, before: impl Fn(f64) -> bool) -> usize {
        self.tree.count_scores(before)
    }

    /// The same, deciding by the member: of use when all scores are equal.
    #[inline]
    pub fn count_members(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        self.tree.count_before(|_, member| before(member.bytes()))
    }

    /// Members with their scores from a rank on: upwards, or with `back` downwards.
    pub fn iter(&self, rank: usize, back: bool) -> impl Iterator<Item = (&[u8], f64)> + '_ {
        self.tree.iter(rank, back).map(|item| (self.text(item.member), item.score))
    }

    fn text(&self, member: Ref) -> &[u8] {
        // SAFETY: members of the tree live in the dictionary, which is borrowed as long as `self`.
        unsafe { member.bytes_for() }
    }

    /// Adds a member, or gives it another score.
    pub fn put(&mut self, member: &[u8], score: f64) {
        self.put_if(member, |_| Some(score));
    }

    /// Gives a member the score that `decide` makes of the one it has, or of none if it is not
    /// there, and adds it then; nothing changes where that makes none.
    pub(super) fn put_if(
        &mut self,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) {
        let hash = stdx::hash::hash64(member);
        let found = self.table.find_mut(hash, |m| stdx::bytes::same(m.bytes(), member));
        let Some(mut slot) = found else {
            if let Some(score) = decide(None) {
                self.put_new(member, score);
            }
            return;
        };
        let old = slot.score();
        let Some(score) = decide(Some(old)).filter(|score| *score != old) else {
            return;
        };
        // SAFETY: the member stays in the dictionary until it has left the tree.
        let before = Item { score: old, member: unsafe { slot.share() } };
        // Where it goes is loaded while it leaves where it was.
        self.tree.prefetch(score, member);
        let moves = slot.will_move();
        if moves {
            // Before there is a copy: from then on the old one is freed as soon as the last view is gone,
            // which another thread may have.
            self.tree.remove(before);
        }
        // The tree reads members only, never their scores.
        slot.node_mut().set_score(score);
        // SAFETY: the member stays in the dictionary.
        let shared = unsafe { slot.share() };
        if moves || self.tree.rescore(before, score) {
            self.tree.insert(Item { score, member: shared });
        }
    }

    /// Adds a member that is not there.
    pub fn put_new(&mut self, member: &[u8], score: f64) {
        let new = Member::new(member, score);
        self.member_bytes += new.allocated();
        // SAFETY: it leaves the tree before the dictionary drops it.
        let shared = unsafe { new.share() };
        self.table.insert(new);
        self.tree.insert(Item { score, member: shared });
    }

    /// Takes a member out and returns its score.
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let found = find(&self.table, member)?;
        // SAFETY: the member is dropped after it has left the tree.
        let item = Item { score: found.score(), member: unsafe { found.share() } };
        self.tree.remove(item);
        self.forget(member);
        Some(item.score)
    }

    /// Drops a member that the tree no longer has.
    fn forget(&mut self, member: &[u8]) {
        let hash = stdx::hash::hash64(member);
        if let Some(gone) = self.table.remove(hash, |m| stdx::bytes::same(m.bytes(), member)) {
            self.member_bytes -= gone.allocated();
        }
    }

    /// Takes out `n` members from a rank on and shows them to `f`, in order.
    pub fn remove_ranks(&mut self, from: usize, mut n: usize, mut f: impl FnMut(&[u8], f64)) {
        let mut gone = Vec::new();
        while n > 0 {
            let some = self.tree.remove_some(from, n, &mut |item| gone.push(item));
            if some == 0 {
                return;
            }
            n -= some;
            for item in gone.drain(..) {
                let member = item.member;
                f(member.bytes(), item.score);
                let hash = stdx::hash::hash64(member.bytes());
                // By address: nothing is compared, and the bytes are not read while they go.
                let same = |m: &Member| std::ptr::eq(m.bytes().as_ptr(), member.bytes().as_ptr());
                if let Some(gone) = self.table.remove(hash, same) {
                    self.member_bytes -= gone.allocated();
                }
            }
        }
    }

    /// Shows all members to `f`, in the order in which a set is built fastest, if that is known: from
    /// the greatest.
    pub fn for_each_to_save(&self, mut f: impl FnMut(&[u8], f64)) {
        if self.tree.len() < self.table.len() {
            // Frozen.
            return self.table.for_each(|m| f(m.bytes(), m.score()));
        }
        self.iter(self.len().saturating_sub(1), true).for_each(|(member, score)| f(member, score));
    }

    /// One step of a scan over the members in no order; see [`Table::scan`].
    pub fn scan(&self, at: u32, mut f: impl FnMut(&[u8], f64)) -> Option<u32> {
        self.table.scan(at, |m| f(m.bytes(), m.score()))
    }
}

impl Value for ZSet {
    const KIND: Kind = Kind::ZSet;

    fn bytes(&self) -> usize {
        self.member_bytes + self.table.bytes() + self.tree.bytes()
    }

    fn effort(&self) -> usize {
        self.len()
    }

    fn encoding_name(&self) -> &'static str {
        if self.is_listpack { "listpack" } else { "skiplist" }
    }

    fn duplicate(&self) -> Self {
        let mut copy = Self { is_listpack: self.is_listpack, ..Self::new() };
        for (member, score) in self.iter(0, false) {
            copy.put_new(member, score);
        }
        copy
    }

    fn freeze(&mut self) -> Self {
        let is_listpack = self.is_listpack;
        Self {
            table: self.table.view(),
            member_bytes: self.member_bytes,
            is_listpack,
            ..Self::new()
        }
    }

    fn prefetch(&self, about: Named<'_>, step: Step) {
        match step {
            Step::Bucket => self.table.prefetch_bucket(about.hash),
            Step::Node => self.table.prefetch_node(about.hash),
            Step::Place => {
                let same = |m: &Member| stdx::bytes::same(m.bytes(), about.name);
                if let Some(member) = self.table.find(about.hash, same) {
                    self.tree.prefetch(member.score(), about.name);
                }
            }
        }
    }
}

/// A sorted set in the making: members are found by name, and put in order once, at the end.
pub struct Draft {
    table: Table<Member>,
    member_bytes: usize,
    longest: usize,
}

impl Default for Draft {
    fn default() -> Self {
        Self { table: Table::new(0), member_bytes: 0, longest: 0 }
    }
}

impl Draft {
    /// Members.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Bytes of the longest member that was added.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Adds a member that is not there.
    pub fn insert(&mut self, member: &[u8], score: f64) {
        let new = Member::new(member, score);
        self.member_bytes += new.allocated();
        self.longest = self.longest.max(member.len());
        self.table.insert(new);
    }

    /// Adds a member. Returns false, and does nothing, if it is there.
    pub fn insert_new(&mut self, member: &[u8], score: f64) -> bool {
        let hash = stdx::hash::hash64(member);
        if self.table.find(hash, |m| stdx::bytes::same(m.bytes(), member)).is_some() {
            return false;
        }
        self.insert(member, score);
        true
    }

    /// Adds a member, or gives the one that is there the score `join(its score, score)`.
    pub fn join(&mut self, member: &[u8], score: f64, join: impl FnOnce(f64, f64) -> f64) {
        let hash = stdx::hash::hash64(member);
        match self.table.find_mut(hash, |m| stdx::bytes::same(m.bytes(), member)) {
            Some(mut slot) => {
                let joined = join(slot.score(), score);
                slot.node_mut().set_score(joined);
            }
            None => self.insert(member, score),
        }
    }

    /// Takes a member out, if it is there.
    pub fn remove(&mut self, member: &[u8]) {
        let hash = stdx::hash::hash64(member);
        if let Some(gone) = self.table.remove(hash, |m| stdx::bytes::same(m.bytes(), member)) {
            self.member_bytes -= gone.allocated();
        }
    }

    /// Keeps the members for which `f` gives a score, with that score.
    pub fn retain(&mut self, mut f: impl FnMut(&[u8], f64) -> Option<f64>) {
        let mut kept = Self::default();
        self.table.for_each(|m| {
            if let Some(score) = f(m.bytes(), m.score()) {
                kept.insert(m.bytes(), score);
            }
        });
        *self = kept;
    }

    /// The finished set.
    pub fn finish(self) -> ZSet {
        let mut items = Vec::with_capacity(self.table.len());
        self.table.for_each(|m| {
            // SAFETY: the members stay in the dictionary, which goes into the set.
            items.push(Item { score: m.score(), member: unsafe { m.share() } });
        });
        items.sort_unstable_by(|a, b| {
            let scores = a.score.partial_cmp(&b.score).unwrap_or(std::cmp::Ordering::Equal);
            scores.then_with(|| a.member.bytes().cmp(b.member.bytes()))
        });
        let mut tree = Tree::default();
        for item in items {
            tree.insert(item);
        }
        ZSet { table: self.table, tree, member_bytes: self.member_bytes, is_listpack: false }
    }
}

#[cfg(test)]
mod tests {
    use stdx::rng::Rng;

    use super::*;

    /// Grows to thousands, shrinks to nothing, and grows again: every split, merge and collapse.
    #[test]
    fn behaves_like_a_sorted_vector() {
        let mut r = Rng::from_seed(3);
        let mut z = ZSet::new();
        let mut model: std::collections::BTreeMap<String, i64> = Default::default();
        let (rounds, spread) = if cfg!(miri) { (600, 100) } else { (40_000, 6_000) };
        for round in 0..rounds {
            let shrinking = round * 5 / rounds % 2 == 1;
            let name = format!("m{}", r.below(spread));
            if shrinking && r.below(8) == 0 && !model.is_empty() {
                let from = r.below(model.len() as u64) as usize;
                let n = r.below(120) as usize;
                let mut sorted: Vec<_> = model.iter().map(|(m, s)| (*s, m.clone())).collect();
                sorted.sort();
                let mut gone = Vec::new();
                z.remove_ranks(from, n, |m, s| {
                    gone.push((s as i64, String::from_utf8_lossy(m).into_owned()));
                });
                let expected: Vec<_> = sorted.into_iter().skip(from).take(n).collect();
                assert_eq!(gone, expected);
                for (_, m) in gone {
                    model.remove(&m);
                }
            } else if shrinking || r.below(5) == 0 {
                let gone = z.remove(name.as_bytes()).map(|s| s as i64);
                assert_eq!(gone, model.remove(&name));
            } else {
                // Scores in order for a while, so that full nodes at the ends come up.
                let score = if r.below(3) == 0 { round as i64 } else { r.below(50) as i64 - 25 };
                z.put(name.as_bytes(), score as f64);
                model.insert(name, score);
            }
            if round % 512 == 0 || model.len() < 3 {
                z.tree.check();
            }
            assert_eq!(z.len(), model.len());
        }
        let mut sorted: Vec<_> = model.iter().map(|(m, s)| (*s, m.clone())).collect();
        sorted.sort();
        let text = |(m, s): (&[u8], f64)| (s as i64, String::from_utf8_lossy(m).into_owned());
        assert_eq!(z.iter(0, false).map(text).collect::<Vec<_>>(), sorted);
        let mut back: Vec<_> = z.iter(z.len() - 1, true).map(text).collect();
        back.reverse();
        assert_eq!(back, sorted);
        for (rank, (score, member)) in sorted.iter().enumerate() {
            assert_eq!(z.rank(member.as_bytes()), Some((rank, *score as f64)));
            assert_eq!(text(z.iter(rank, false).next().expect("there")), sorted[rank]);
        }
        assert_eq!(z.count_scores(|s| s < 0.0), sorted.iter().filter(|(s, _)| *s < 0).count());
        let bytes = z.bytes();
        assert_eq!(z.duplicate().member_bytes, z.member_bytes);
        assert!(bytes > z.member_bytes);
        z.remove_ranks(0, usize::MAX, |_, _| {});
        z.tree.check();
        assert_eq!((z.len(), z.member_bytes, z.tree.bytes()), (0, 0, 0));
        assert_eq!(z.iter(0, false).count() + z.iter(0, true).count(), 0);
    }

    #[test]
    fn scores_change_while_another_thread_drops_a_frozen_copy() {
        let (rounds, members) = if cfg!(miri) { (20, 10) } else { (300, 200) };
        let mut z = ZSet::new();
        for round in 0..rounds {
            for i in 0..members {
                z.put(format!("{i}").as_bytes(), 0.0);
            }
            let frozen = z.freeze();
            std::thread::scope(|scope| {
                scope.spawn(move || drop(frozen));
                for i in 0..members {
                    z.put(format!("{i}").as_bytes(), f64::from(round + 1));
                }
            });
            z.tree.check();
        }
        assert_eq!(z.count_scores(|s| s < f64::from(rounds)), 0);
    }

    #[test]
    fn sets_filled_in_order_have_full_leaves() {
        let members = if cfg!(miri) { 1_000 } else { 10_000 };
        for step in [1.0, -1.0] {
            let mut z = ZSet::new();
            for i in 0..members {
                z.put(format!("{i}").as_bytes(), f64::from(i) * step);
            }
            z.tree.check();
            // The fixed part of a tree weighs more in a small one.
            assert!(cfg!(miri) || z.tree.bytes() < members as usize * 18, "{}", z.tree.bytes());
        }
    }

    #[test]
    fn long_members_and_drafts() {
        let mut draft = Draft::default();
        for n in [0usize, 1, 7, 8, 254, 255, 256, 70_000] {
            draft.insert(&vec![b'x'; n], n as f64);
        }
        draft.join(b"x", 5.0, |a, b| a + b);
        draft.join(b"y", 0.5, |a, b| a + b);
        draft.remove(b"xxxxxxx");
        draft.retain(|m, s| (m.len() != 254).then_some(s * 2.0));
        assert_eq!((draft.len(), draft.longest()), (7, 70_000));
        let z = draft.finish();
        let got: Vec<_> = z.iter(0, false).map(|(m, s)| (m.len(), s)).collect();
        let expected = [(0, 0.0), (1, 1.0), (1, 12.0), (8, 16.0), (255, 510.0)];
        assert_eq!(got[..5], expected);
        assert_eq!(z.score(&[b'x'; 70_000]), Some(140_000.0));
    }
}
