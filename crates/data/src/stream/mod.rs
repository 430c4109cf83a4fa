//! Streams: a log of entries, and groups of consumers that read it.
//!
//! `log` keeps the entries in `node`s, `group` what is delivered and not acknowledged.

mod group;
mod id;
mod log;
mod node;
mod pending;
mod saved;

use std::ops::{Deref, DerefMut};
use stdx::mem::allocated;

pub use group::{Consumer, ConsumerId, Group, Pending};
pub use id::Id;
pub use log::{BYTES_MAX, Entry, Log, NodeLimits, Range, RangeRev, Trim};
pub use node::{Fields, JOINED_MAX, Text};
pub use saved::{NodeView, SavedEntry};

use crate::big::Value;
use crate::entry::Kind;
use crate::part::Part;

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The entries.
    pub log: Log,
    groups: Vec<Group>,
    /// What the groups hold from the allocator, without the list of them.
    group_bytes: usize,
}

impl Stream {
    fn search(&self, name: &[u8]) -> Result<usize, usize> {
        self.groups.binary_search_by(|group| group.name().cmp(name))
    }

    /// The groups in the order of their names.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &Group> {
        self.groups.iter()
    }

    /// The group of a name.
    pub fn group(&self, name: &[u8]) -> Option<&Group> {
        self.search(name).ok().and_then(|i| self.groups.get(i))
    }

    /// The group of a name to change, and the entries.
    pub fn group_mut(&mut self, name: &[u8]) -> Option<(GroupMut<'_>, &Log)> {
        let i = self.search(name).ok()?;
        let group = self.groups.get_mut(i)?;
        let before = group.bytes();
        Some((GroupMut { group, total: &mut self.group_bytes, before }, &self.log))
    }

    /// Adds a group, unless there is one of that name; whether it was added.
    pub fn add_group(&mut self, name: &[u8], last: Id, read: Option<u64>) -> bool {
        let Err(place) = self.search(name) else { return false };
        let group = Group::new(name, last, read);
        self.group_bytes += group.bytes();
        self.groups.insert(place, group);
        true
    }

    /// Removes a group. Returns whether there was one.
    pub fn remove_group(&mut self, name: &[u8]) -> bool {
        let Ok(place) = self.search(name) else { return false };
        self.group_bytes -= self.groups.remove(place).bytes();
        true
    }

    /// Whether a group has yet to be given an entry, or to acknowledge it.
    pub fn is_referenced(&self, id: Id) -> bool {
        self.groups.iter().any(|group| id > group.last || group.get(id).is_some())
    }

    /// Makes all groups forget that an entry is pending.
    pub fn forget(&mut self, id: Id) {
        for group in &mut self.groups {
            let before = group.bytes();
            if group.forget(id) {
                self.group_bytes = self.group_bytes - before + group.bytes();
            }
        }
    }

    /// Counts anew what the groups hold, since copies have other capacities.
    fn count_groups(&mut self) {
        self.group_bytes = self.groups.iter().map(Group::bytes).sum();
    }

    /// How many entries a group has yet to be given, if that can be told.
    pub fn lag(&self, group: &Group) -> Option<u64> {
        let log = &self.log;
        if log.added == 0 || log.is_empty() {
            return Some(0);
        }
        if group.last < log.first() && log.max_deleted < log.first() {
            return Some(log.len());
        }
        let read = match group.read {
            Some(read) if !log.has_gap_after(group.last) => Some(read),
            _ => log.read_up_to(group.last),
        };
        // XGROUP SETID may have set any number.
        read.map(|read| log.added.wrapping_sub(read))
    }

    /// What the stream consists of; see [`walk`](crate::walk::walk). Times at which consumers were
    /// seen are not among it: they say something about clients.
    pub(crate) fn walk(&self, f: &mut dyn FnMut(Part<'_>)) {
        let log = &self.log;
        for entry in log.range(Id::MIN, Id::MAX) {
            f(Part::Id(entry.id.ms, entry.id.seq));
            for (field, value) in entry.fields() {
                let (mut a, mut b) = ([0; JOINED_MAX], [0; JOINED_MAX]);
                f(Part::Field(field.bytes(&mut a), value.bytes(&mut b), None));
            }
        }
        let text = format!("last {} deleted {} added {}", log.last, log.max_deleted, log.added);
        f(Part::Note(text.as_bytes()));
        for group in self.groups() {
            f(Part::Note(format!("group last {} read {:?}", group.last, group.read).as_bytes()));
            f(Part::Note(group.name()));
            for consumer in group.consumers() {
                f(Part::Note(b"consumer"));
                f(Part::Note(consumer.name()));
                for id in consumer.pending(Id::MIN) {
                    let Some(pending) = group.get(id) else { continue };
                    let text = format!("{id} {} {}", pending.time, pending.count);
                    f(Part::Note(text.as_bytes()));
                }
            }
        }
    }
}

impl Log {
    /// Whether something was deleted at or behind `id`, so that entries cannot be counted from
    /// there on.
    pub fn has_gap_after(&self, id: Id) -> bool {
        !self.is_empty() && self.max_deleted != Id::MIN && id <= self.max_deleted
    }

    /// How many entries were ever added up to `id`, that one included, if that can be told: at the
    /// ends of the stream, as long as nothing was deleted in between.
    pub fn read_up_to(&self, id: Id) -> Option<u64> {
        if self.added == 0 {
            return Some(0);
        }
        if self.is_empty() && id <= self.last {
            return Some(self.added);
        }
        if id != Id::MIN && id < self.max_deleted {
            return None;
        }
        if id >= self.last {
            return (id == self.last).then_some(self.added);
        }
        if self.max_deleted != Id::MIN && self.max_deleted >= self.first() {
            return None;
        }
        match id.cmp(&self.first()) {
            std::cmp::Ordering::Less => Some(self.added.saturating_sub(self.len())),
            std::cmp::Ordering::Equal => Some(self.added.saturating_sub(self.len()) + 1),
            std::cmp::Ordering::Greater => None,
        }
    }
}

impl Value for Stream {
    const KIND: Kind = Kind::Stream;

    fn bytes(&self) -> usize {
        self.log.bytes() + self.group_bytes + allocated::<Group>(self.groups.capacity())
    }

    fn effort(&self) -> usize {
        1 + self.log.nodes() + self.group_bytes / 1024
    }

    fn encoding_name(&self) -> &'static str {
        "stream"
    }

    fn duplicate(&self) -> Self {
        let mut copy = self.clone();
        copy.count_groups();
        copy
    }

    fn freeze(&mut self) -> Self {
        let groups = self.groups.iter_mut().map(Group::freeze).collect();
        let mut copy = Self { log: self.log.freeze(), groups, group_bytes: 0 };
        self.count_groups();
        copy.count_groups();
        copy
    }
}

/// A group to change. See [`Stream::group_mut`].
pub struct GroupMut<'a> {
    group: &'a mut Group,
    total: &'a mut usize,
    before: usize,
}

impl Deref for GroupMut<'_> {
    type Target = Group;

    fn deref(&self) -> &Group {
        self.group
    }
}

impl DerefMut for GroupMut<'_> {
    fn deref_mut(&mut self) -> &mut Group {
        self.group
    }
}

impl Drop for GroupMut<'_> {
    /// Keeps the stream's account.
    fn drop(&mut self) {
        *self.total = *self.total - self.before + self.group.bytes();
    }
}
