//! Entries of the types that are not strings: a packed run that is edited in place, and a big
//! value behind a pointer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use data::big::Value;
use data::entry::{Content, Entry, Kind};
use data::packed::{self, Item, Packed};
use data::table::{Node as _, Table};

struct Probe {
    name: Vec<u8>,
    alive: Arc<AtomicUsize>,
}

impl Probe {
    fn new(name: &[u8], alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Relaxed);
        Self { name: name.to_vec(), alive: Arc::clone(alive) }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
    }
}

impl Value for Probe {
    const KIND: Kind = Kind::Set;
    fn bytes(&self) -> usize {
        self.name.len()
    }
    fn effort(&self) -> usize {
        100
    }
    fn encoding_name(&self) -> &'static str {
        "hashtable"
    }
    fn duplicate(&self) -> Self {
        Self::new(&self.name, &self.alive)
    }
}

#[test]
fn a_big_value_lives_exactly_as_long_as_its_entry() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut e = Entry::big(b"key", Probe::new(b"one", &alive), Some(5), 7);
    e.set_tag(9);
    assert_eq!((e.kind(), e.encoding_name(), e.is_big()), (Kind::Set, "hashtable", true));
    e = e.set_deadline(None).rename(b"another, longer name of a key");
    assert_eq!(
        (e.key(), e.deadline(), e.access(), e.tag()),
        (&b"another, longer name of a key"[..], None, 7, 9)
    );
    assert_eq!(alive.load(Relaxed), 1);
    let copy = e.with_key(b"copy");
    assert_eq!(alive.load(Relaxed), 2);
    e.value_mut::<Probe>().expect("a probe").name.push(b'!');
    assert_eq!(copy.value::<Probe>().expect("a probe").name, b"one");
    let e = e.with_run(Kind::Set, &packed::EMPTY);
    assert_eq!(alive.load(Relaxed), 1);
    assert!(e.value::<Probe>().is_none());
    let e = e.with_big(Probe::new(b"two", &alive)).set(Content::Bytes(b"text"), None);
    assert_eq!((alive.load(Relaxed), e.kind()), (1, Kind::String));
    assert!(e.run().is_none());
    drop(copy);
    assert_eq!(alive.load(Relaxed), 0);
}

#[test]
fn runs_are_edited_in_place_as_a_vector_would_be() {
    for (keylen, deadline) in [(1, None), (13, Some(3)), (300, None)] {
        let key = vec![b'k'; keylen];
        let mut table = Table::new(0);
        let e = Entry::packed(Kind::List, &key, &packed::EMPTY, deadline, 1);
        let hash = e.hash();
        table.insert(e);
        let mut model = packed::EMPTY.to_vec();
        let mut seed = 12345u32;
        for round in 0..400 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut slot = table.find_mut(hash, |e| e.key() == key).expect("there");
            let n = Packed::new(&model).len();
            let text = "x".repeat((seed >> 8) as usize % 50);
            let mut encoded = Vec::new();
            Item::of(text.as_bytes()).encode(&mut encoded);
            let index = (seed >> 16) as usize % (n + 1);
            let p = Packed::new(&model);
            let at = p.seek(index as isize).unwrap_or(model.len());
            let end = p.at(at).map_or(at, |(_, end)| end);
            let (removed, encoded, added): (_, &[u8], _) = match round % 3 {
                _ if n > 60 => (usize::from(end > at), &[], 0),
                0 => (usize::from(end > at), &encoded, 1),
                _ => (0, &encoded, 1),
            };
            let end = if removed == 0 { at } else { end };
            packed::replace(&mut slot, at, end, removed, encoded, added);
            packed::replace(&mut model, at, end, removed, encoded, added);
            assert_eq!(slot.run(), Some(&model[..]));
            assert_eq!((slot.key(), slot.deadline()), (&key[..], deadline));
        }
        assert!(Packed::new(&model).len() > 10);
    }
}
