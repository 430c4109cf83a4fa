//! Streams. The form of their listpacks is described where they are written.

use data::entry::Entry;
use data::packed::Item;
use data::stream::{Group, Id, Log, Pending, Stream};
use stdx::num::I64_LEN_MAX;

use super::input::{Input, blob, len, skip_text, text_into};
use super::listpack::Listpack;
use super::value::{Decoder, Head};
use crate::error::Result;
use crate::format::{ENTRY_DELETED, ENTRY_SAME_FIELDS};

fn id(input: &mut impl Input) -> Result<Id> {
    Ok(Id::new(len(input)?, len(input)?))
}

fn raw_id(bytes: [u8; 16]) -> Id {
    let n = u128::from_be_bytes(bytes);
    Id::new((n >> 64) as u64, n as u64)
}

impl Decoder {
    /// A stream as version 1, 2, 3 or 4 of its form has it.
    pub(super) fn stream(
        &mut self,
        head: Head<'_>,
        input: &mut impl Input,
        version: u8,
    ) -> Result<Option<Entry>> {
        let mut stream = Stream::default();
        let log = &mut stream.log;
        let nodes = len(input)?;
        for _ in 0..nodes {
            text_into(input, &mut self.b)?;
            let Some(first) = <[u8; 16]>::try_from(&self.b[..]).ok().map(raw_id) else {
                return Err(input.bad("Stream node key entry is not the size of a stream ID"));
            };
            let bytes = blob(input, &mut self.a)?;
            if load_node(log, first, bytes).is_none() {
                return Err(input.bad("Stream listpack integrity check failed."));
            }
        }
        log.loaded();
        let last_entry = log.last;
        let entries = len(input)?;
        log.last = id(input)?;
        if version >= 2 {
            // The first ID; the entries tell it.
            id(input)?;
            log.max_deleted = id(input)?;
            log.added = len(input)?;
        } else {
            log.added = log.len();
        }
        if (entries > 0 && nodes == 0) || (!log.is_empty() && log.last < last_entry) {
            return Err(input.bad("Stream length inconsistent with rax entries"));
        }
        for _ in 0..len(input)? {
            self.group(&mut stream, input, version)?;
        }
        if version >= 4 {
            self.skip_producers(input)?;
        }
        Ok(Some(Entry::big(head.key, stream, head.deadline, 0)))
    }

    /// Passes over what `XADD … IDMP` remembers, which has no place here.
    fn skip_producers(&mut self, input: &mut impl Input) -> Result<()> {
        // For how long, and how many per producer.
        len(input)?;
        len(input)?;
        for _ in 0..len(input)? {
            skip_text(input, &mut self.b)?;
            // The names of what it has sent, and the IDs that it became.
            for _ in 0..len(input)? {
                skip_text(input, &mut self.b)?;
                id(input)?;
            }
        }
        // How many names there have been, and how often one came again.
        len(input)?;
        len(input)?;
        Ok(())
    }

    fn group(&mut self, stream: &mut Stream, input: &mut impl Input, version: u8) -> Result<()> {
        text_into(input, &mut self.b)?;
        let last = id(input)?;
        let read = if version >= 2 {
            Some(len(input)?).filter(|n| *n != u64::MAX)
        } else {
            stream.log.read_up_to(last)
        };
        if !stream.add_group(&self.b, last, read) {
            let name = stdx::repr::quoted(&self.b);
            return Err(input.bad(format!("Duplicated consumer group name {name}")));
        }
        // The entries pending with the group come before its consumers, whose they are.
        let mut pending = Vec::new();
        for _ in 0..len(input)? {
            let id = raw_id(input.array()?);
            let time = i64::from_le_bytes(input.array()?);
            pending.push(Nack { id, time, count: len(input)?, taken: false });
        }
        pending.sort_unstable_by_key(|nack| nack.id);
        if pending.windows(2).any(|pair| pair[0].id == pair[1].id) {
            return Err(input.bad("Duplicated global PEL entry loading stream consumer group"));
        }
        let Some((mut group, _)) = stream.group_mut(&self.b) else { return Ok(()) };
        for _ in 0..len(input)? {
            self.consumer(&mut group, &mut pending, input, version)?;
        }
        if pending.iter().any(|nack| !nack.taken) {
            return Err(input.bad("Stream CG PEL entry without consumer"));
        }
        Ok(())
    }

    fn consumer(
        &mut self,
        group: &mut Group,
        pending: &mut [Nack],
        input: &mut impl Input,
        version: u8,
    ) -> Result<()> {
        text_into(input, &mut self.c)?;
        let seen = i64::from_le_bytes(input.array()?);
        let (consumer, new) = group.find_or_add(&self.c, seen);
        if !new {
            return Err(input.bad("Duplicate stream consumer detected."));
        }
        let active = if version >= 3 { i64::from_le_bytes(input.array()?) } else { seen };
        group.set_times(consumer, seen, active);
        for _ in 0..len(input)? {
            let id = raw_id(input.array()?);
            let found = pending.binary_search_by_key(&id, |nack| nack.id);
            let Some(nack) = found.ok().and_then(|i| pending.get_mut(i)) else {
                return Err(input.bad("Consumer entry not found in group global PEL"));
            };
            if std::mem::replace(&mut nack.taken, true) {
                return Err(
                    input.bad("Duplicated consumer PEL entry loading a stream consumer group")
                );
            }
            group.assign(id, Pending { time: nack.time, count: nack.count, consumer });
        }
        Ok(())
    }
}

/// A pending entry of a group whose consumer is not known yet.
struct Nack {
    id: Id,
    time: i64,
    count: u64,
    /// Whether a consumer has it.
    taken: bool,
}

/// Adds the entries of a listpack. None if anything is wrong with it.
fn load_node(log: &mut Log, first: Id, bytes: &[u8]) -> Option<()> {
    let listpack = Listpack::new(bytes)?;
    let mut items = listpack.items();
    let int = |items: &mut dyn Iterator<Item = Item<'_>>| match items.next()? {
        Item::Int(n) => Some(n),
        Item::Bytes(_) => None,
    };
    let (live, deleted) = (int(&mut items)?, int(&mut items)?);
    let total = u64::try_from(live).ok()?.checked_add(u64::try_from(deleted).ok()?)?;
    let fields = usize::try_from(int(&mut items)?).ok().filter(|n| *n <= listpack.count)?;
    let names: Vec<Item<'_>> = items.by_ref().take(fields).collect();
    if names.len() != fields || int(&mut items)? != 0 {
        return None;
    }
    let mut texts: Vec<Item<'_>> = Vec::new();
    let mut digits: Vec<[u8; I64_LEN_MAX]> = Vec::new();
    let mut found = 0;
    for i in 0..total {
        let flags = int(&mut items)?;
        let (ms, seq) = (int(&mut items)?, int(&mut items)?);
        let id = Id::new(first.ms.wrapping_add(ms as u64), first.seq.wrapping_add(seq as u64));
        texts.clear();
        let said = if flags & ENTRY_SAME_FIELDS != 0 {
            for name in &names {
                texts.extend([*name, items.next()?]);
            }
            fields + 3
        } else {
            let n = usize::try_from(int(&mut items)?).ok().filter(|n| *n <= listpack.count)?;
            for _ in 0..n {
                texts.extend([items.next()?, items.next()?]);
            }
            2 * n + 4
        };
        if int(&mut items)? != said as i64 {
            return None;
        }
        let is_deleted = flags & ENTRY_DELETED != 0;
        found += i64::from(!is_deleted);
        digits.resize(texts.len().max(digits.len()), [0; I64_LEN_MAX]);
        let texts: Vec<&[u8]> =
            texts.iter().zip(&mut digits).map(|(item, buf)| item.text(buf)).collect();
        if !log.load(id, texts.into_iter(), i == 0, is_deleted) {
            return None;
        }
    }
    (items.next().is_none() && found == live).then_some(())
}
