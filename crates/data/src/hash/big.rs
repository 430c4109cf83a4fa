//! A big hash: a table of fields, and an index of the fields' deadlines.

use std::collections::BTreeSet;

use stdx::bytes::same;
use stdx::hash::hash64;

use super::field::Field;
use super::{Found, Value};
use crate::big::{Named, Step};
use crate::entry::Kind;
use crate::table::Table;

/// Bytes of one deadline in the index, its share of the tree's nodes included: they are filled to
/// seven tenths on average.
const DEADLINE_BYTES: usize = 24;

/// What OBJECT ENCODING says. A hash that has outgrown a run without reaching the configured
/// thresholds keeps the name that Redis would give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    Hashtable,
    Listpack,
    ListpackEx,
}

/// See the module's text.
pub struct BigHash {
    table: Table<Field>,
    /// Bytes of all fields.
    fields: usize,
    /// (deadline, hash of the field), for every field that has a deadline.
    deadlines: BTreeSet<(i64, u64)>,
    pub(super) name: Name,
}

impl BigHash {
    pub(super) fn new(name: Name) -> Self {
        Self { table: Table::new(0), fields: 0, deadlines: BTreeSet::new(), name }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn get(&self, field: &[u8]) -> Option<Found<'_>> {
        let found = self.table.find(hash64(field), |f| same(f.name(), field))?;
        Some(Found { value: Field::parts(&found).1, deadline: found.deadline() })
    }

    /// Sets a field to a value; returns whether it is new. A deadline stays only when it is to be
    /// kept.
    pub(super) fn set(&mut self, field: &[u8], value: &Value<'_>, keep: bool) -> bool {
        let hash = hash64(field);
        let Some(mut slot) = self.table.find_mut(hash, |f| same(f.name(), field)) else {
            self.add(hash, Field::new(field, value, None));
            return true;
        };
        let before = slot.deadline();
        let after = before.filter(|_| keep);
        self.fields -= slot.bytes();
        slot.replace_with(|f| f.with(value, after));
        self.fields += slot.bytes();
        self.note(hash, before, after);
        false
    }

    /// Adds a field that is not there.
    pub(super) fn add_new(&mut self, field: &[u8], value: &Value<'_>, deadline: Option<i64>) {
        self.add(hash64(field), Field::new(field, value, deadline));
    }

    fn add(&mut self, hash: u64, field: Field) {
        self.fields += field.bytes();
        self.note(hash, None, field.deadline());
        self.table.insert_hashed(hash, field);
    }

    pub(super) fn remove(&mut self, field: &[u8]) -> bool {
        let hash = hash64(field);
        let Some(gone) = self.table.remove(hash, |f| same(f.name(), field)) else {
            return false;
        };
        self.fields -= gone.bytes();
        self.note(hash, gone.deadline(), None);
        true
    }

    /// Sets or clears the deadline of a field; returns whether the field is there.
    pub(super) fn set_deadline(&mut self, field: &[u8], deadline: Option<i64>) -> bool {
        let hash = hash64(field);
        let Some(mut slot) = self.table.find_mut(hash, |f| same(f.name(), field)) else {
            return false;
        };
        let before = slot.deadline();
        self.fields -= slot.bytes();
        slot.replace_with(|f| f.with_deadline(deadline));
        self.fields += slot.bytes();
        self.note(hash, before, deadline);
        true
    }

    /// Notes that a field's deadline has changed from `before` to `after`.
    fn note(&mut self, hash: u64, before: Option<i64>, after: Option<i64>) {
        if before == after {
            return;
        }
        if let Some(d) = before
            // Two fields of one hash and one deadline share their place in the index.
            && self.table.find(hash, |f| f.deadline() == before).is_none()
        {
            self.deadlines.remove(&(d, hash));
        }
        if let Some(d) = after {
            self.deadlines.insert((d, hash));
        }
    }

    /// Removes fields whose deadline is before `now`, `max` at most; `f` is told their names.
    pub(super) fn expire(&mut self, now: i64, max: usize, f: &mut dyn FnMut(&[u8])) -> usize {
        let mut n = 0;
        while let Some(&(d, hash)) = self.deadlines.first()
            && d < now
            && n < max
        {
            match self.table.remove(hash, |f| f.deadline() == Some(d)) {
                Some(gone) => {
                    self.fields -= gone.bytes();
                    n += 1;
                    f(gone.name());
                }
                None => _ = self.deadlines.pop_first(),
            }
        }
        // The last one's place may still be there; it leads nowhere and must not look due.
        while let Some(&(d, hash)) = self.deadlines.first()
            && self.table.find(hash, |f| f.deadline() == Some(d)).is_none()
        {
            self.deadlines.pop_first();
        }
        n
    }

    pub(super) fn for_each(&self, mut f: impl FnMut(&[u8], Value<'_>, Option<i64>)) {
        self.table.for_each(|x| f(x.name(), x.value(), x.deadline()));
    }

    /// One step of a scan; see [`Table::scan`].
    pub(super) fn scan(
        &self,
        pos: u32,
        mut f: impl FnMut(&[u8], Value<'_>, Option<i64>),
    ) -> Option<u32> {
        self.table.scan(pos, |x| f(x.name(), x.value(), x.deadline()))
    }

    /// A random field, every one with the same chance; `below(n)` chooses below `n`.
    pub(super) fn random(
        &self,
        below: &mut dyn FnMut(usize) -> usize,
    ) -> Option<(&[u8], Value<'_>)> {
        Some(Field::parts(&self.table.sample_fair(below)?))
    }
}

impl crate::big::Value for BigHash {
    const KIND: Kind = Kind::Hash;

    fn bytes(&self) -> usize {
        self.fields + self.table.bytes() + self.deadlines.len() * DEADLINE_BYTES
    }

    fn effort(&self) -> usize {
        self.table.len()
    }

    fn encoding_name(&self) -> &'static str {
        match self.name {
            Name::Hashtable => "hashtable",
            Name::Listpack => "listpack",
            Name::ListpackEx => "listpackex",
        }
    }

    fn duplicate(&self) -> Self {
        let mut copy = Self::new(self.name);
        self.for_each(|name, value, deadline| copy.add_new(name, &value, deadline));
        copy
    }

    fn freeze(&mut self) -> Self {
        // The copy needs the first deadline only, which also says whether there are any.
        let deadlines = self.deadlines.first().copied().into_iter().collect();
        Self { table: self.table.view(), fields: self.fields, deadlines, name: self.name }
    }

    fn deadline(&self) -> Option<i64> {
        self.deadlines.first().map(|(d, _)| *d)
    }

    fn prefetch(&self, about: Named<'_>, step: Step) {
        match step {
            Step::Bucket => self.table.prefetch_bucket(about.hash),
            Step::Node => self.table.prefetch_node(about.hash),
            Step::Place => {}
        }
    }
}
