//! A list in the making, from what was saved.

use super::big::List;
use super::slot::{Limit, RUN_MAX};
use super::{End, QUICK};
use crate::entry::{Entry, Kind};
use crate::packed::{EMPTY, Edit, Item};

/// See the module's text.
#[derive(Default)]
pub struct Draft {
    /// All elements so far, while there is no `list`.
    run: Vec<u8>,
    count: u16,
    list: Option<List>,
    /// Where one element is encoded.
    scratch: Vec<u8>,
}

impl Draft {
    /// Adds an element behind the others.
    pub fn push(&mut self, value: &[u8]) {
        if self.list.is_none() && self.run.len() + value.len() <= RUN_MAX - 16 {
            if self.run.is_empty() {
                self.run.extend_from_slice(&EMPTY);
            }
            Item::of(value).encode(&mut self.run);
            self.count += 1;
            return;
        }
        let list = self.list.get_or_insert_with(|| {
            self.run.resize(self.run.len().max(EMPTY.len()), 0);
            self.run.set_count(self.count);
            List::from_run(&self.run, true)
        });
        self.scratch.clear();
        Item::of(value).encode(&mut self.scratch);
        list.push(End::Tail, value, &self.scratch);
    }

    /// Adds all elements of a listpack without its header and terminator, the number of elements
    /// being `count`; each is encoded as it would be here.
    pub fn push_elements(&mut self, elements: &[u8], count: usize) {
        let len = self.run.len().max(EMPTY.len());
        if self.list.is_none() && len + elements.len() <= RUN_MAX {
            self.run.resize(len, 0);
            self.run.extend_from_slice(elements);
            self.count += count as u16;
            return;
        }
        let mut buf = [0; stdx::num::I64_LEN_MAX];
        let run = crate::packed::Packed::new(elements);
        for (_, item) in run.iter_from(0) {
            self.push(item.text(&mut buf));
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.list.is_none()
    }

    /// The finished list, by the name that Redis would give it.
    pub fn finish(mut self, key: &[u8], deadline: Option<i64>, limit: Limit) -> Entry {
        match self.list {
            Some(mut list) => {
                let raw = list.run_len() - EMPTY.len();
                list.set_quick(limit.exceeded(raw, list.len()));
                Entry::big(key, list, deadline, 0)
            }
            None => {
                self.run.resize(self.run.len().max(EMPTY.len()), 0);
                self.run.set_count(self.count);
                let raw = self.run.len() - EMPTY.len();
                let mut e = Entry::packed(Kind::List, key, &self.run, deadline, 0);
                e.set_tag(if limit.exceeded(raw, usize::from(self.count)) { QUICK } else { 0 });
                e
            }
        }
    }
}
