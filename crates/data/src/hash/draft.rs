//! A hash in the making, from what was saved: small if it may be, and in its encoding from the
//! start if it is known how many fields there will be.

use stdx::num::I64_LEN_MAX;

use super::big::Name;
use super::{BigHash, Limits, Value, small};
use crate::entry::{Entry, Kind};
use crate::packed::{self, EMPTY, Item, Packed, START};

/// See the module's text.
pub struct Draft {
    limits: Limits,
    /// Whether it is to have the encoding with deadlines.
    ex: bool,
    /// Field, value (and deadline) of all fields so far, while there is no `big`.
    run: Vec<u8>,
    /// With deadlines: where each field begins, to put them in order.
    places: Vec<(i64, u32)>,
    fields: usize,
    big: Option<BigHash>,
}

/// What order fields without a deadline have: behind all others.
fn rank(deadline: Option<i64>) -> i64 {
    deadline.unwrap_or(i64::MAX)
}

impl Draft {
    /// A hash that is about to be given `fields` fields, with deadlines if `ex`.
    pub fn new(fields: usize, ex: bool, limits: Limits) -> Self {
        let big = (fields > limits.entries).then(|| BigHash::new(Name::Hashtable));
        Self { limits, ex, run: EMPTY.to_vec(), places: Vec::new(), fields: 0, big }
    }

    /// Adds a field. Returns false if it is certain that it was there before; see
    /// [`finish`](Self::finish).
    pub fn add(&mut self, field: &[u8], value: &[u8], deadline: Option<i64>) -> bool {
        if self.big.is_none() {
            let long = field.len().max(value.len()) > self.limits.value;
            let at = self.run.len();
            // An upper bound of what the elements take.
            let room = field.len() + value.len() + 32;
            if !long && self.fields < self.limits.entries && at + room <= packed::BYTES_MAX {
                Item::of(field).encode(&mut self.run);
                Item::of(value).encode(&mut self.run);
                if self.ex {
                    Item::Int(deadline.unwrap_or(0)).encode(&mut self.run);
                    self.places.push((rank(deadline), at as u32));
                }
                self.fields += 1;
                return true;
            }
            let name = match (long || self.fields >= self.limits.entries, self.ex) {
                (true, _) => Name::Hashtable,
                (false, false) => Name::Listpack,
                (false, true) => Name::ListpackEx,
            };
            if !self.grow(name) {
                return false;
            }
        }
        let longest = field.len().max(value.len());
        let Some(big) = &mut self.big else { return false };
        if big.get(field).is_some() {
            return false;
        }
        big.add_new(field, &Value::Bytes(value), deadline);
        if longest > self.limits.value || big.len() > self.limits.entries {
            big.name = Name::Hashtable;
        }
        true
    }

    /// Goes on as a big hash. Returns false if a field is there twice.
    fn grow(&mut self, name: Name) -> bool {
        let mut big = BigHash::new(name);
        let mut distinct = true;
        small::for_each(&self.run, self.ex, |field, value, deadline| {
            let mut buf = [0; I64_LEN_MAX];
            let field = field.text(&mut buf);
            distinct &= big.get(field).is_none();
            if distinct {
                big.add_new(field, &value.into(), deadline);
            }
        });
        self.big = Some(big);
        distinct
    }

    /// The finished hash; none if a field is there twice.
    pub fn finish(self, key: &[u8], deadline: Option<i64>) -> Option<Entry> {
        if let Some(big) = self.big {
            return Some(Entry::big(key, big, deadline, 0));
        }
        let mut run = self.run;
        if !self.places.is_sorted_by_key(|(deadline, _)| *deadline) {
            let ends = self.places.iter().skip(1).map(|(_, at)| *at).chain([run.len() as u32]);
            let mut order: Vec<_> = self.places.iter().copied().zip(ends).collect();
            order.sort_by_key(|((deadline, _), _)| *deadline);
            let mut sorted = Vec::with_capacity(run.len());
            sorted.extend_from_slice(&EMPTY);
            for ((_, at), end) in order {
                sorted.extend_from_slice(run.get(at as usize..end as usize).unwrap_or_default());
            }
            run = sorted;
        }
        let step = small::step(self.ex);
        run[..START].copy_from_slice(&((self.fields * step) as u16).to_le_bytes());
        if !packed::distinct(Packed::new(&run), step) {
            return None;
        }
        let mut e = Entry::packed(Kind::Hash, key, &run, deadline, 0);
        if self.ex {
            e.set_tag(small::EX);
        }
        Some(e)
    }
}

/// A small hash as it was saved: a run of fields and values, or with `ex` of fields, values and
/// deadlines in the order that the small form wants.
pub fn of_run(key: &[u8], run: &[u8], ex: bool, deadline: Option<i64>) -> Entry {
    let mut e = Entry::packed(Kind::Hash, key, run, deadline, 0);
    if ex {
        e.set_tag(small::EX);
    }
    e
}
