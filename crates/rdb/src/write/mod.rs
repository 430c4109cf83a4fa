//! Writing. See the crate's text for the order of things in a file.

mod stream;
mod value;

use data::entry::Entry;
use data::packed::Item;

use crate::format::{VALKEY_VERSION, VERSION, op, string};
use crate::lzf::Compressor;

/// Bytes after which a value that is written in pieces is handed on.
pub const PIECE: usize = 64 * 1024;

/// The longest string in decimal that may be kept as a 32-bit integer.
const INT_TEXT_MAX: usize = 11;
/// Strings are compressed from this length on; Redis has found that shorter ones gain nothing.
const COMPRESS_MIN: usize = 21;

/// What is known about the use of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing that is worth saving.
    #[default]
    Untold,
    /// Seconds since it was used last (`maxmemory-policy …-lru`).
    Idle(u64),
    /// Its logarithmic counter (`maxmemory-policy …-lfu`).
    Freq(u8),
}

/// Turns entries and everything else that a file consists of into bytes, which it appends to
/// buffers that are the caller's. One per thread: what it keeps is room to work in.
pub struct Encoder {
    compressor: Option<Compressor>,
    version: u16,
    /// A listpack in the making.
    listpack: Vec<u8>,
    /// A compressed string.
    compressed: Vec<u8>,
}

/// Where a value goes, and what is called when much has come together.
pub(crate) struct Out<'a> {
    pub(crate) buf: &'a mut Vec<u8>,
    hand_on: &'a mut dyn FnMut(&mut Vec<u8>),
}

impl Out<'_> {
    /// Between two elements: hands on what there is if it is enough.
    #[inline]
    pub(crate) fn pause(&mut self) {
        if self.buf.len() >= PIECE {
            (self.hand_on)(self.buf);
        }
    }
}

/// Appends a length: six, fourteen, 32 or 64 bits.
pub(crate) fn put_len(out: &mut Vec<u8>, len: u64) {
    if len < 1 << 6 {
        out.push(len as u8);
    } else if len < 1 << 14 {
        out.extend_from_slice(&(len as u16 | 1 << 14).to_be_bytes());
    } else if let Ok(len) = u32::try_from(len) {
        out.push(0x80);
        out.extend_from_slice(&len.to_be_bytes());
    } else {
        out.push(0x81);
        out.extend_from_slice(&len.to_be_bytes());
    }
}

/// Appends an integer as a string of special form, if it has 32 bits.
fn put_small_int(out: &mut Vec<u8>, n: i64) -> bool {
    if let Ok(n) = i8::try_from(n) {
        out.extend_from_slice(&[string::INT8, n as u8]);
    } else if let Ok(n) = i16::try_from(n) {
        out.push(string::INT16);
        out.extend_from_slice(&n.to_le_bytes());
    } else if let Ok(n) = i32::try_from(n) {
        out.push(string::INT32);
        out.extend_from_slice(&n.to_le_bytes());
    } else {
        return false;
    }
    true
}

/// Appends an integer as a string.
fn put_int(out: &mut Vec<u8>, n: i64) {
    if !put_small_int(out, n) {
        let mut buf = [0; stdx::num::I64_LEN_MAX];
        let text = stdx::num::fmt_i64(&mut buf, n);
        out.push(text.len() as u8);
        out.extend_from_slice(text);
    }
}

impl Encoder {
    /// An encoder that writes what Redis 7.0 loads, or with `compress` compresses long strings
    /// (`rdbcompression`).
    pub fn new(compress: bool) -> Self {
        Self {
            compressor: compress.then(Compressor::default),
            version: VERSION,
            listpack: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// Writes what Redis 7.2 and later load, and 7.0 does not: small sets as listpacks, and when
    /// consumers of streams were active.
    pub fn for_redis_7_2(mut self) -> Self {
        self.version = 11;
        self
    }

    /// Writes what Valkey 9 and later load, and no other server: hashes whose fields have deadlines in Valkey's own
    /// form. It refuses versions of Redis that are later than 11.
    pub fn for_valkey_9(mut self) -> Self {
        self.version = VALKEY_VERSION;
        self
    }

    /// Whether it writes for Valkey 9.
    fn is_for_valkey(&self) -> bool {
        self.version == VALKEY_VERSION
    }

    /// The version of the format.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// The first bytes of a file.
    pub fn header(&self, out: &mut Vec<u8>) {
        let version = self.version;
        let name = if self.is_for_valkey() {
            format!("VALKEY{version:03}")
        } else {
            format!("REDIS{version:04}")
        };
        out.extend_from_slice(name.as_bytes());
    }

    /// A note for the server that loads the file, which ignores names that it does not know.
    pub fn aux(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        out.push(op::AUX);
        self.put_string(out, name);
        self.put_string(out, value);
    }

    /// The entries from here on belong to a database.
    pub fn select(&self, out: &mut Vec<u8>, db: u64) {
        out.push(op::SELECTDB);
        put_len(out, db);
    }

    /// About how many keys the database has, and how many of them with a deadline.
    pub fn resize(&self, out: &mut Vec<u8>, keys: u64, expires: u64) {
        out.push(op::RESIZEDB);
        put_len(out, keys);
        put_len(out, expires);
    }

    /// The source code of a library of functions.
    pub fn function(&mut self, out: &mut Vec<u8>, code: &[u8]) {
        out.push(op::FUNCTION2);
        self.put_string(out, code);
    }

    /// A key with its value and deadline.
    pub fn entry(&mut self, out: &mut Vec<u8>, e: &Entry, access: Access) {
        self.entry_in_pieces(out, e, access, &mut |_| {});
    }

    /// The same, calling `hand_on` whenever `out` holds [`PIECE`] bytes or more, and never within
    /// an element: it may take them out. What is left in the end is the caller's to hand on. A
    /// value of any size passes through a buffer of about that length, or that of its longest
    /// element where strings are compressed.
    pub fn entry_in_pieces(
        &mut self,
        out: &mut Vec<u8>,
        e: &Entry,
        access: Access,
        hand_on: &mut dyn FnMut(&mut Vec<u8>),
    ) {
        if let Some(deadline) = e.deadline() {
            out.push(op::EXPIRETIME_MS);
            out.extend_from_slice(&deadline.to_le_bytes());
        }
        match access {
            Access::Untold => {}
            Access::Idle(seconds) => {
                out.push(op::IDLE);
                put_len(out, seconds);
            }
            Access::Freq(n) => out.extend_from_slice(&[op::FREQ, n]),
        }
        out.push(self.kind(e));
        self.put_string(out, e.key());
        self.value(&mut Out { buf: out, hand_on }, e);
    }

    /// The type of a value alone, and then the value: what DUMP is made of.
    pub(crate) fn kind_and_value(&mut self, out: &mut Vec<u8>, e: &Entry) {
        out.push(self.kind(e));
        self.value(&mut Out { buf: out, hand_on: &mut |_| {} }, e);
    }

    /// The end of the entries. Behind it comes [`checksum`](Self::checksum).
    pub fn end(&self, out: &mut Vec<u8>) {
        out.push(op::EOF);
    }

    /// The last bytes of a file: its [`crc64`](crate::crc64) up to here, or 0 if none was computed
    /// (`rdbchecksum no`).
    pub fn checksum(&self, out: &mut Vec<u8>, crc: u64) {
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Appends a string in its shortest form.
    #[inline]
    pub(crate) fn put_string(&mut self, out: &mut Vec<u8>, bytes: &[u8]) {
        if bytes.len() <= INT_TEXT_MAX {
            if let Item::Int(n) = Item::of(bytes)
                && put_small_int(out, n)
            {
                return;
            }
        } else if self.put_compressed(out, bytes) {
            return;
        }
        put_len(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }

    /// Appends a string in compressed form, if that is wanted and shorter.
    fn put_compressed(&mut self, out: &mut Vec<u8>, bytes: &[u8]) -> bool {
        let Some(compressor) = &mut self.compressor else { return false };
        if bytes.len() < COMPRESS_MIN {
            return false;
        }
        self.compressed.clear();
        if !compressor.compress(bytes, &mut self.compressed, bytes.len() - 4) {
            return false;
        }
        out.push(string::LZF);
        put_len(out, self.compressed.len() as u64);
        put_len(out, bytes.len() as u64);
        out.extend_from_slice(&self.compressed);
        trim(&mut self.compressed);
        true
    }

    /// Appends an element of a collection as a string.
    #[inline]
    fn put_item(&mut self, out: &mut Vec<u8>, item: Item<'_>) {
        match item {
            Item::Int(n) => put_int(out, n),
            Item::Bytes(b) => self.put_string(out, b),
        }
    }
}

/// Gives back the room that an unusually long value needed.
fn trim(buf: &mut Vec<u8>) {
    if buf.capacity() > 4 * PIECE {
        *buf = Vec::new();
    }
}
