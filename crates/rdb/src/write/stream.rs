//! Streams: listpacks of entries, what is known about all of them, groups.
//!
//! A listpack begins with a *master entry*: how many entries there are and how many deleted ones,
//! and the fields of the first, which those that have the same fields do not repeat.
//!
//! ```text
//!  | live | deleted | fields n | field … | 0 | entry | entry | …
//!  entry = | flags | ms - first's | seq - first's | n field value … or value … | elements so far |
//! ```

use data::packed::Item;
use data::stream::{Group, Id, NodeView, Stream};

use super::value::encode;
use super::{Encoder, Out, put_len};
use crate::VERSION;
use crate::format::{ENTRY_DELETED, ENTRY_SAME_FIELDS};

fn put_id(out: &mut Vec<u8>, id: Id) {
    put_len(out, id.ms);
    put_len(out, id.seq);
}

fn raw_id(id: Id) -> [u8; 16] {
    (u128::from(id.ms) << 64 | u128::from(id.seq)).to_be_bytes()
}

/// Appends a node's elements and returns how many they are.
fn put_node(out: &mut Vec<u8>, node: NodeView<'_>, first: Id) -> usize {
    let mut count = 0;
    let mut int = |out: &mut Vec<u8>, n: i64| {
        Item::Int(n).encode(out);
        count += 1;
    };
    let mut texts = 0;
    int(out, node.live().into());
    int(out, (node.total() - node.live()).into());
    for (i, entry) in node.entries().enumerate() {
        let fields = entry.fields();
        let n = fields.len();
        if i == 0 {
            int(out, n as i64);
            for (field, _) in fields.clone() {
                encode(out, field);
                texts += 1;
            }
            int(out, 0);
        }
        let deleted = if entry.deleted { ENTRY_DELETED } else { 0 };
        let same = if entry.same_fields { ENTRY_SAME_FIELDS } else { 0 };
        int(out, deleted | same);
        int(out, entry.id.ms.wrapping_sub(first.ms) as i64);
        int(out, entry.id.seq.wrapping_sub(first.seq) as i64);
        if !entry.same_fields {
            int(out, n as i64);
        }
        for (field, value) in fields {
            if !entry.same_fields {
                encode(out, field);
                texts += 1;
            }
            encode(out, value);
            texts += 1;
        }
        int(out, if entry.same_fields { n + 3 } else { 2 * n + 4 } as i64);
    }
    count + texts
}

impl Encoder {
    pub(super) fn stream(&mut self, out: &mut Out<'_>, stream: &Stream) {
        let log = &stream.log;
        put_len(out.buf, log.saved_nodes().count() as u64);
        for node in log.saved_nodes() {
            let first = node.entries().next().map_or(Id::MIN, |e| e.id);
            self.put_string(out.buf, &raw_id(first));
            self.put_made_listpack(out.buf, |listpack| put_node(listpack, node, first));
            out.pause();
        }
        put_len(out.buf, log.len());
        put_id(out.buf, log.last);
        put_id(out.buf, log.first());
        put_id(out.buf, log.max_deleted);
        put_len(out.buf, log.added);
        put_len(out.buf, stream.groups().len() as u64);
        for group in stream.groups() {
            self.group(out, group);
        }
    }

    fn group(&mut self, out: &mut Out<'_>, group: &Group) {
        self.put_string(out.buf, group.name());
        put_id(out.buf, group.last);
        // What is not known is -1 there.
        put_len(out.buf, group.read.unwrap_or(u64::MAX));
        put_len(out.buf, group.pending_len() as u64);
        for (id, pending) in group.pending(Id::MIN) {
            out.buf.extend_from_slice(&raw_id(id));
            out.buf.extend_from_slice(&pending.time.to_le_bytes());
            put_len(out.buf, pending.count);
            out.pause();
        }
        put_len(out.buf, group.consumers_len() as u64);
        for consumer in group.consumers() {
            self.put_string(out.buf, consumer.name());
            out.buf.extend_from_slice(&consumer.seen.to_le_bytes());
            if self.version > VERSION {
                out.buf.extend_from_slice(&consumer.active.to_le_bytes());
            }
            put_len(out.buf, consumer.pending_len() as u64);
            for id in consumer.pending(Id::MIN) {
                out.buf.extend_from_slice(&raw_id(id));
                out.pause();
            }
        }
    }
}
