//! Values, type by type.

use data::entry::{Entry, Kind, Str};
use data::list::List;
use data::packed::{Item, START};
use data::set::{IntRun, Set};
use data::stream::Stream;
use data::{hash, zset};

use super::{Encoder, Out, PIECE, put_int, put_len, trim};
use crate::format::{LISTPACK_END, LISTPACK_HEAD, NODE_PACKED, NODE_PLAIN, kind};

impl Encoder {
    /// The type that a value is written as.
    pub(super) fn kind(&self, e: &Entry) -> u8 {
        let small = e.run().is_some();
        match e.kind() {
            Kind::String => kind::STRING,
            Kind::List => kind::LIST_QUICKLIST_2,
            Kind::Set => match Set::of(e) {
                Set::Ints(_) => kind::SET_INTSET,
                Set::Run(_) if self.version > crate::VERSION => kind::SET_LISTPACK,
                _ => kind::SET,
            },
            Kind::ZSet if small => kind::ZSET_LISTPACK,
            Kind::ZSet => kind::ZSET_2,
            Kind::Hash if self.writes_deadlines_behind(e) => kind::VALKEY_HASH_2_CODE,
            Kind::Hash => match (small, hash::has_deadlines(e)) {
                (true, false) => kind::HASH_LISTPACK,
                (true, true) => kind::HASH_LISTPACK_EX,
                (false, false) => kind::HASH,
                (false, true) => kind::HASH_METADATA,
            },
            Kind::Stream if self.version > crate::VERSION => kind::STREAM_LISTPACKS_3,
            Kind::Stream => kind::STREAM_LISTPACKS_2,
        }
    }

    /// The value, as the type that [`kind`](Self::kind) says.
    pub(super) fn value(&mut self, out: &mut Out<'_>, e: &Entry) {
        let run = e.run();
        match (e.kind(), run) {
            (Kind::String, _) => match e.str() {
                Str::Int(n) => put_int(out.buf, n),
                Str::Inline(b) => self.put_string(out.buf, b),
                Str::Shared(b) => self.put_long(out, b),
            },
            (Kind::List, _) => self.list(out, e),
            (Kind::Set, _) => self.set(out, e),
            (Kind::ZSet, Some(run)) => self.put_listpack(out.buf, run),
            (Kind::ZSet, None) => self.zset(out, e),
            (Kind::Hash, _) if self.writes_deadlines_behind(e) => self.hash_of_valkey(out, e),
            (Kind::Hash, Some(run)) => {
                if hash::has_deadlines(e) {
                    let first = e.part_deadline().unwrap_or(0);
                    out.buf.extend_from_slice(&first.to_le_bytes());
                }
                self.put_listpack(out.buf, run);
            }
            (Kind::Hash, None) => self.hash(out, e),
            (Kind::Stream, _) => {
                if let Some(stream) = e.value::<Stream>() {
                    self.stream(out, stream);
                }
            }
        }
    }

    /// A string that may be so long that it goes in pieces.
    fn put_long(&mut self, out: &mut Out<'_>, bytes: &[u8]) {
        if bytes.len() <= PIECE || self.compressor.is_some() {
            return self.put_string(out.buf, bytes);
        }
        put_len(out.buf, bytes.len() as u64);
        for piece in bytes.chunks(PIECE) {
            out.buf.extend_from_slice(piece);
            out.pause();
        }
    }

    /// A packed run as the listpack that it nearly is.
    fn put_listpack(&mut self, out: &mut Vec<u8>, run: &[u8]) {
        let elements = run.get(START..).unwrap_or_default();
        let count = run.first_chunk().map_or(0, |c| u16::from_le_bytes(*c));
        self.put_elements(out, elements, count);
    }

    /// Elements in packed form as a listpack.
    fn put_elements(&mut self, out: &mut Vec<u8>, elements: &[u8], count: u16) {
        let total = LISTPACK_HEAD + elements.len() + 1;
        if self.compressor.is_some() {
            let mut listpack = std::mem::take(&mut self.listpack);
            listpack.clear();
            frame(&mut listpack, total, elements, count);
            self.put_string(out, &listpack);
            self.listpack = listpack;
        } else {
            put_len(out, total as u64);
            frame(out, total, elements, count);
        }
    }

    fn list(&mut self, out: &mut Out<'_>, e: &Entry) {
        if let Some(run) = e.run() {
            put_len(out.buf, 1);
            put_len(out.buf, NODE_PACKED);
            return self.put_listpack(out.buf, run);
        }
        let Some(list) = e.value::<List>() else { return };
        put_len(out.buf, list.nodes_len() as u64);
        let mut elements = Vec::new();
        for node in list.nodes() {
            if let Some(long) = node.solo() {
                put_len(out.buf, NODE_PLAIN);
                self.put_long(out, long);
            } else {
                put_len(out.buf, NODE_PACKED);
                elements.clear();
                node.encode(&mut elements);
                self.put_elements(out.buf, &elements, node.count() as u16);
            }
            out.pause();
        }
    }

    fn set(&mut self, out: &mut Out<'_>, e: &Entry) {
        let set = Set::of(e);
        match set {
            Set::Ints(run) => return self.intset(out.buf, run),
            Set::Run(run) if self.version > crate::VERSION => {
                return self.put_listpack(out.buf, run.bytes());
            }
            _ => {}
        }
        put_len(out.buf, set.len() as u64);
        set.each(|item| {
            self.put_item(out.buf, item);
            out.pause();
            true
        });
    }

    fn intset(&mut self, out: &mut Vec<u8>, run: IntRun<'_>) {
        let mut intset = std::mem::take(&mut self.listpack);
        intset.clear();
        intset.extend_from_slice(&(run.width() as u32).to_le_bytes());
        intset.extend_from_slice(&(run.len() as u32).to_le_bytes());
        for n in run.iter() {
            intset.extend_from_slice(&n.to_le_bytes()[..run.width()]);
        }
        self.put_string(out, &intset);
        self.listpack = intset;
    }

    fn zset(&mut self, out: &mut Out<'_>, e: &Entry) {
        let view = zset::View::of(e);
        put_len(out.buf, view.len() as u64);
        let mut put = |member: Item<'_>, score: f64| {
            self.put_item(out.buf, member);
            out.buf.extend_from_slice(&score.to_le_bytes());
            out.pause();
        };
        // From the greatest, as Redis does: that is how its skip list is built fastest.
        match view {
            zset::View::Big(z) => {
                z.for_each_to_save(|member, score| put(Item::Bytes(member), score))
            }
            view => view.each(view.len().saturating_sub(1), usize::MAX, true, put),
        }
    }

    fn hash(&mut self, out: &mut Out<'_>, e: &Entry) {
        let first = hash::has_deadlines(e).then(|| e.part_deadline().unwrap_or(0));
        if let Some(first) = first {
            out.buf.extend_from_slice(&first.to_le_bytes());
        }
        put_len(out.buf, hash::len(e) as u64);
        hash::for_each(e, |field, value, deadline| {
            if let Some(first) = first {
                // 0 is none; others count from the first deadline on.
                let after = |d: i64| d.saturating_sub(first).max(0) as u64 + 1;
                put_len(out.buf, deadline.map_or(0, after));
            }
            self.put_pair(out, field, value);
            out.pause();
        });
    }

    /// Whether this is a hash with deadlines of fields, for Valkey.
    fn writes_deadlines_behind(&self, e: &Entry) -> bool {
        self.is_for_valkey() && hash::has_deadlines(e)
    }

    /// A hash with deadlines of fields as Valkey 9 has it, small or big: the absolute deadline behind each value, -1 for
    /// none.
    fn hash_of_valkey(&mut self, out: &mut Out<'_>, e: &Entry) {
        put_len(out.buf, hash::len(e) as u64);
        hash::for_each(e, |field, value, deadline| {
            self.put_pair(out, field, value);
            out.buf.extend_from_slice(&deadline.unwrap_or(-1).to_le_bytes());
            out.pause();
        });
    }

    fn put_pair(&mut self, out: &mut Out<'_>, field: Item<'_>, value: hash::Value<'_>) {
        self.put_item(out.buf, field);
        match value {
            hash::Value::Int(n) => put_int(out.buf, n),
            hash::Value::Bytes(b) => self.put_string(out.buf, b),
            hash::Value::Shared(b) => self.put_long(out, b),
        }
    }

    /// What `make` appends to an empty listpack, with its head and end; it returns the count.
    pub(super) fn put_made_listpack(
        &mut self,
        out: &mut Vec<u8>,
        make: impl FnOnce(&mut Vec<u8>) -> usize,
    ) {
        let mut listpack = std::mem::take(&mut self.listpack);
        listpack.clear();
        listpack.resize(LISTPACK_HEAD, 0);
        // A count that does not fit is said to be unknown.
        let count = u16::try_from(make(&mut listpack)).unwrap_or(u16::MAX);
        listpack.push(LISTPACK_END);
        let total = listpack.len() as u32;
        listpack[..4].copy_from_slice(&total.to_le_bytes());
        listpack[4..LISTPACK_HEAD].copy_from_slice(&count.to_le_bytes());
        self.put_string(out, &listpack);
        trim(&mut listpack);
        self.listpack = listpack;
    }
}

fn frame(out: &mut Vec<u8>, total: usize, elements: &[u8], count: u16) {
    out.extend_from_slice(&(total as u32).to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(elements);
    out.push(LISTPACK_END);
}

/// Appends an element's text.
pub(super) fn encode(out: &mut Vec<u8>, text: data::stream::Text<'_>) {
    match text {
        data::stream::Text::Int(n) => Item::Int(n).encode(out),
        _ => Item::of(text.bytes(&mut [0; data::stream::JOINED_MAX])).encode(out),
    }
}
