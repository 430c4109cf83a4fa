//! Intersection, union and difference of sets, and the code that their commands share.
//!
//! Integers are kept in order, so where no listpack takes part they are merged; all other members
//! are looked up in the other sets.

use data::hll;
use data::packed::Item;
use data::set::{BigSet, Draft, Encoding, Limits, Set, Sorted};
use data::table::Slot;
use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, fmt_i64};
use store::{Class, Db, Entry, Key, Kind};

use crate::command::Outcome;
use crate::fail::Fail;

/// The sets at the keys from argument `from` up to `to`, as far as they exist.
fn entries<'d>(
    db: &'d mut Db<'_>,
    args: &Args<'_>,
    from: usize,
    to: usize,
) -> Result<Vec<Option<Slot<'d, Entry>>>, Fail> {
    Ok(db.read_all_as(args.iter_from(from).take(to.saturating_sub(from)), Kind::Set)?)
}

/// The sets to intersect, the smallest first; none when one of them is missing.
fn smallest_first<'e>(entries: &'e [Option<Slot<'_, Entry>>]) -> Option<Vec<Set<'e>>> {
    let sets: Option<Vec<Set<'e>>> =
        entries.iter().map(|e| e.as_ref().map(|e| Set::of(e))).collect();
    let mut sets = sets?;
    sets.sort_by_key(Set::len);
    Some(sets)
}

/// Calls `f` for every member of all `sets`, the smallest of which is the first, until it returns
/// false.
fn intersect(sets: &[Set<'_>], mut f: impl FnMut(Item<'_>) -> bool) {
    let Some((first, others)) = sets.split_first() else { return };
    let sorted: Option<Vec<(Sorted<'_>, usize)>> = sets.iter().map(Set::sorted).collect();
    let Some(sorted) = sorted else {
        first.each(|item| !others.iter().all(|s| s.contains(item)) || f(item));
        return;
    };
    let texts = sorted.iter().map(|(_, texts)| *texts).min();
    let mut walks: Vec<Sorted<'_>> = sorted.into_iter().map(|(walk, _)| walk).collect();
    if !intersect_ints(&mut walks, |v| f(Item::Int(v))) || texts == Some(0) {
        return;
    }
    // All sets are big, since all have members that are no integers.
    let bigs = sets.iter().filter_map(|s| if let Set::Big(big) = s { Some(*big) } else { None });
    let Some(fewest) = bigs.min_by_key(|big| big.texts()) else { return };
    fewest.each_text(|b| !sets.iter().all(|s| s.contains(Item::Bytes(b))) || f(Item::Bytes(b)));
}

/// The integers that all walks have. Returns whether `f` never returned false.
fn intersect_ints(walks: &mut [Sorted<'_>], mut f: impl FnMut(i64) -> bool) -> bool {
    let heads: Option<Vec<i64>> = walks.iter_mut().map(Iterator::next).collect();
    let Some(mut heads) = heads else { return true };
    'next: loop {
        let v = heads[0];
        for j in 1..walks.len() {
            if heads[j] < v {
                walks[j].seek(v);
                let Some(head) = walks[j].next() else { return true };
                heads[j] = head;
            }
            if heads[j] > v {
                walks[0].seek(heads[j]);
                let Some(head) = walks[0].next() else { return true };
                heads[0] = head;
                continue 'next;
            }
        }
        if !f(v) {
            return false;
        }
        let Some(head) = walks[0].next() else { return true };
        heads[0] = head;
    }
}

/// The integers of all sets in order, if none of them has other members and all are kept in order.
fn merged_ints(sets: &[Set<'_>]) -> Option<Vec<i64>> {
    let mut values = Vec::new();
    for set in sets {
        let (walk, 0) = set.sorted()? else { return None };
        values.reserve(set.len());
        values.extend(walk);
    }
    // A stable sort finds the runs and merges them.
    values.sort();
    values.dedup();
    Some(values)
}

/// The operands of a difference.
struct Difference<'e> {
    first: Option<Set<'e>>,
    others: Vec<Set<'e>>,
}

impl<'e> Difference<'e> {
    fn new(entries: &'e [Option<Slot<'_, Entry>>], names: &[&[u8]]) -> Self {
        let mut sets = entries.iter().map(|e| e.as_ref().map(|e| Set::of(e)));
        let first = sets.next().flatten();
        // A set minus itself is empty.
        let same = names.iter().skip(1).any(|name| Some(name) == names.first());
        Self { first: first.filter(|_| !same), others: sets.flatten().collect() }
    }

    /// Whether it costs less to subtract the members of the others one by one than to look each
    /// member of the first up in them: Redis's estimate, for the encoding follows from it.
    fn subtracts(&self) -> bool {
        let Some(first) = self.first else { return false };
        let look_up = first.len() * (self.others.len() + 1) / 2;
        let subtract = first.len() + self.others.iter().map(Set::len).sum::<usize>();
        look_up > subtract
    }

    /// Calls `f` for every member of the first set that no other set has, until it returns false.
    fn each(&self, mut f: impl FnMut(Item<'_>) -> bool) {
        let Some(first) = self.first else { return };
        let mut others = self.others.clone();
        others.sort_by_key(|s| std::cmp::Reverse(s.len()));
        first.each(|item| others.iter().any(|s| s.contains(item)) || f(item));
    }

    /// The same by subtracting, from a set with `key` that is made for it.
    fn subtract(&self, key: &[u8], limits: &Limits) -> Draft {
        let mut draft = Draft::new(key, Encoding::Intset);
        if let Some(first) = self.first {
            add_all(&mut draft, first, limits);
        }
        for set in &self.others {
            if draft.set().is_empty() {
                break;
            }
            set.each(|item| {
                draft.remove(item);
                true
            });
        }
        draft
    }
}

fn add_all(draft: &mut Draft, set: Set<'_>, limits: &Limits) {
    set.each(|item| {
        draft.add(item, limits);
        true
    });
}

/// SINTER.
pub(super) fn sinter(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let entries = entries(db, args, 1, args.len())?;
    let mark = reply.begin();
    let mut n = 0;
    if let Some(sets) = smallest_first(&entries) {
        intersect(&sets, |item| {
            super::reply_item(item, reply);
            n += 1;
            true
        });
    }
    reply.end_set(mark, n);
    Ok(())
}

/// SINTERCARD: members of the intersection of the sets at arguments 2 up to `to`, counted up to
/// `limit`.
pub(super) fn sintercard(
    db: &mut Db<'_>,
    args: &Args<'_>,
    to: usize,
    limit: u64,
) -> Result<u64, Fail> {
    let entries = entries(db, args, 2, to)?;
    let mut n = 0;
    if let Some(sets) = smallest_first(&entries) {
        intersect(&sets, |_| {
            n += 1;
            n < limit
        });
    }
    Ok(n)
}

/// SINTERSTORE.
pub(super) fn sinterstore(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, limits) = (db.first_key(&args[1]), super::limits(db));
    let entries = entries(db, args, 2, args.len())?;
    let draft = smallest_first(&entries).map(|sets| {
        let begin = match sets[0].encoding() {
            Encoding::Intset => Encoding::Intset,
            _ => Encoding::Listpack,
        };
        let mut ints = Vec::new();
        // From the first member that is no integer on.
        let mut mixed: Option<Draft> = None;
        let draft_of = |ints: &[i64]| {
            let mut draft = Draft::new(key.bytes, begin);
            ints.iter().for_each(|v| {
                draft.add(Item::Int(*v), &limits);
            });
            draft
        };
        intersect(&sets, |item| {
            match (item, &mut mixed) {
                (Item::Int(v), None) => ints.push(v),
                (_, Some(draft)) => {
                    draft.add(item, &limits);
                }
                (_, None) => {
                    mixed.insert(draft_of(&ints)).add(item, &limits);
                }
            }
            true
        });
        match mixed {
            Some(draft) => draft,
            // A listpack is walked in its own order.
            None => {
                ints.sort();
                let fits = ints.len() <= limits.intset_max();
                if !fits && begin == Encoding::Listpack && ints.len() <= limits.listpack_entries {
                    draft_of(&ints)
                } else {
                    Draft::of_ints(key.bytes, &ints, fits)
                }
            }
        }
    });
    drop(entries);
    store(db, key, draft, "sinterstore", reply);
    Ok(())
}

/// SUNION.
pub(super) fn sunion(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let entries = entries(db, args, 1, args.len())?;
    let sets: Vec<Set<'_>> = entries.iter().flatten().map(|e| Set::of(e)).collect();
    if let [only] = sets[..] {
        reply.set(only.len());
        super::reply_members(only, reply);
        return Ok(());
    }
    if let Some(values) = merged_ints(&sets) {
        reply.set(values.len());
        values.iter().for_each(|v| reply.bulk_int(*v));
        return Ok(());
    }
    let mut union = BigSet::new(Encoding::Hashtable);
    for set in sets {
        set.each(|item| {
            union.put(item);
            true
        });
    }
    reply.set(union.len());
    super::reply_members(Set::Big(&union), reply);
    Ok(())
}

/// SUNIONCARD: members of the union of the sets at arguments 2 up to `to`, counted up to `limit`, or estimated
/// by the registers of a HyperLogLog.
pub(super) fn sunioncard(
    db: &mut Db<'_>,
    args: &Args<'_>,
    to: usize,
    limit: u64,
    approx: bool,
) -> Result<u64, Fail> {
    let entries = entries(db, args, 2, to)?;
    let sets: Vec<Set<'_>> = entries.iter().flatten().map(|e| Set::of(e)).collect();
    if let [only] = sets[..] {
        return Ok(limit.min(only.len() as u64));
    }
    if approx {
        let mut registers = [0; hll::REGISTERS];
        let mut note = |bytes: &[u8]| {
            let (at, rank) = hll::place(bytes);
            if let Some(register) = registers.get_mut(at) {
                *register = rank.max(*register);
            }
        };
        for set in sets {
            set.each(|item| {
                match item {
                    Item::Int(v) => note(fmt_i64(&mut [0; I64_LEN_MAX], v)),
                    Item::Bytes(bytes) => note(bytes),
                }
                true
            });
        }
        return Ok(limit.min(hll::count_registers(&registers)));
    }
    if let Some(values) = merged_ints(&sets) {
        return Ok(limit.min(values.len() as u64));
    }
    let mut union = BigSet::new(Encoding::Hashtable);
    for set in sets {
        set.each(|item| {
            union.put(item);
            (union.len() as u64) < limit
        });
    }
    Ok(limit.min(union.len() as u64))
}

/// SUNIONSTORE.
pub(super) fn sunionstore(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, limits) = (db.first_key(&args[1]), super::limits(db));
    let entries = entries(db, args, 2, args.len())?;
    let sets: Vec<Set<'_>> = entries.iter().flatten().map(|e| Set::of(e)).collect();
    let draft = if let Some(values) = merged_ints(&sets) {
        Draft::of_ints(key.bytes, &values, values.len() <= limits.intset_max())
    } else {
        let mut draft = Draft::new(key.bytes, Encoding::Intset);
        sets.into_iter().for_each(|set| add_all(&mut draft, set, &limits));
        draft
    };
    drop(entries);
    store(db, key, Some(draft), "sunionstore", reply);
    Ok(())
}

/// SDIFF.
pub(super) fn sdiff(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let limits = super::limits(db);
    let entries = entries(db, args, 1, args.len())?;
    let difference = Difference::new(&entries, &args.to_slices(1));
    if difference.subtracts() {
        let draft = difference.subtract(&[], &limits);
        reply.set(draft.set().len());
        super::reply_members(draft.set(), reply);
        return Ok(());
    }
    let mark = reply.begin();
    let mut n = 0;
    difference.each(|item| {
        super::reply_item(item, reply);
        n += 1;
        true
    });
    reply.end_set(mark, n);
    Ok(())
}

/// SDIFFCARD: members of the difference of the sets at arguments 2 up to `to`, counted up to `limit`.
pub(super) fn sdiffcard(
    db: &mut Db<'_>,
    args: &Args<'_>,
    to: usize,
    limit: u64,
) -> Result<u64, Fail> {
    let entries = entries(db, args, 2, to)?;
    let names = args.to_slices(2);
    let mut n = 0;
    Difference::new(&entries, &names[..to - 2]).each(|_| {
        n += 1;
        n < limit
    });
    Ok(n)
}

/// SDIFFSTORE.
pub(super) fn sdiffstore(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, limits) = (db.first_key(&args[1]), super::limits(db));
    let entries = entries(db, args, 2, args.len())?;
    let difference = Difference::new(&entries, &args.to_slices(2));
    let draft = if difference.subtracts() {
        difference.subtract(key.bytes, &limits)
    } else {
        let mut draft = Draft::new(key.bytes, Encoding::Intset);
        difference.each(|item| {
            draft.add(item, &limits);
            true
        });
        draft
    };
    drop(entries);
    store(db, key, Some(draft), "sdiffstore", reply);
    Ok(())
}

/// Stores a result at its key, or deletes the key when the result is empty.
fn store(
    db: &mut Db<'_>,
    key: Key<'_>,
    draft: Option<Draft>,
    event: &'static str,
    reply: &mut Reply<'_>,
) {
    let Some(draft) = draft.filter(|d| !d.set().is_empty()) else {
        if db.delete(key) {
            db.changed(key.bytes, Class::Generic, "del");
        }
        return reply.int(0);
    };
    reply.int(draft.set().len() as i64);
    db.replace(key, draft.finish());
    db.changed(key.bytes, Class::Set, event);
}
