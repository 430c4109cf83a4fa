//! Commands of bits within strings.
//!
//! Arguments are read and keys looked up here; [`data::bits`] works on the bits. Reads work on
//! the bytes where they lie. Writes change them in place, whether they lie in the entry or behind
//! it; only a string that has to grow or was an integer is copied.

mod bitcount;
mod bitfield;
mod bitfield_ro;
mod bitop;
mod bitpos;
mod getbit;
mod setbit;

use std::sync::Arc;

use data::bits::Unit;
use resp::Args;
use store::{Content, Db, Entry, INLINE_MAX, Key, Str, Ttl};

use crate::command::DataCommand;
use crate::fail::Fail;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &bitcount::BITCOUNT,
    &bitfield::BITFIELD,
    &bitfield_ro::BITFIELD_RO,
    &bitop::BITOP,
    &bitpos::BITPOS,
    &getbit::GETBIT,
    &setbit::SETBIT,
];

/// Most bytes of spare room that a growing string gets; up to this size it doubles. As in Redis,
/// so that a bitmap filled from left to right is neither copied at every step nor half empty.
const SPARE_MAX: usize = 1 << 20;

/// A bit offset: 0 up to the last bit of a string of `string_max` bytes.
fn offset(text: &[u8], string_max: usize) -> Result<u64, Fail> {
    stdx::num::parse_i64(text).and_then(|at| in_bounds(at, string_max)).ok_or(BAD_OFFSET)
}

/// A bit offset, or `#n` for the n-th field of `bits` bits.
fn field_offset(text: &[u8], bits: u32, string_max: usize) -> Result<u64, Fail> {
    let Some(nth) = text.strip_prefix(b"#") else {
        return offset(text, string_max);
    };
    // Redis multiplies without a check; here an overflow is out of range like the rest.
    stdx::num::parse_i64(nth)
        .and_then(|nth| nth.checked_mul(i64::from(bits)))
        .and_then(|at| in_bounds(at, string_max))
        .ok_or(BAD_OFFSET)
}

const BAD_OFFSET: Fail = Fail::text("ERR bit offset is not an integer or out of range");

fn in_bounds(at: i64, string_max: usize) -> Option<u64> {
    u64::try_from(at).ok().filter(|at| at / 8 < string_max as u64)
}

/// Argument `i` as the unit of a range: BYTE or BIT; bytes when it is absent.
fn unit(args: &Args<'_>, i: usize) -> Result<Unit, Fail> {
    if args.is(i, "bit") {
        Ok(Unit::Bit)
    } else if args.is(i, "byte") || i >= args.len() {
        Ok(Unit::Byte)
    } else {
        Err(Fail::SYNTAX)
    }
}

/// Shows the bytes of a string where they lie; those of an integer are written on the stack.
#[inline]
fn with_bytes<R>(e: &Entry, f: impl FnOnce(&[u8]) -> R) -> R {
    match e.str() {
        Str::Inline(b) => f(b),
        Str::Shared(s) => f(s),
        Str::Int(n) => f(itoa::Buffer::new().format(n).as_bytes()),
    }
}

/// Hands `f` the bytes of the string at `key`, at least `len` (above 0) of them, to change. Missing bytes
/// (all of them, if the key is absent) are added as zeros, and `f` receives whether any were. The
/// deadline stays. The caller notes the effect.
fn edit<R>(
    db: &mut Db<'_>,
    key: Key<'_>,
    len: usize,
    f: impl FnOnce(&mut [u8], bool) -> R,
) -> Result<R, Fail> {
    let mut bytes = Vec::new();
    if let Some(mut e) = db.write_str(key)? {
        let e = e.node_mut();
        if let Some(shared) = e.shared_mut() {
            let grown = grow(shared, len);
            return Ok(f(shared, grown));
        }
        match e.str() {
            // Not where it matched above: `inline_mut` marks the string as modified.
            Str::Inline(b) if b.len() >= len => {
                if let Some(b) = e.inline_mut() {
                    return Ok(f(b, false));
                }
            }
            Str::Inline(b) => bytes.extend_from_slice(b),
            Str::Int(n) => bytes.extend_from_slice(itoa::Buffer::new().format(n).as_bytes()),
            Str::Shared(_) => {}
        }
    }
    let grown = if bytes.is_empty() {
        // Fresh zeros cost nothing until they are touched, however many.
        bytes = vec![0; len];
        true
    } else {
        grow(&mut bytes, len)
    };
    let r = f(&mut bytes, grown);
    store_raw(db, key, bytes, Ttl::Keep);
    Ok(r)
}

/// Pads with zeros up to `len`. Returns whether any were added.
fn grow(bytes: &mut Vec<u8>, len: usize) -> bool {
    let missing = len.saturating_sub(bytes.len());
    if len > bytes.capacity() {
        bytes.reserve_exact(missing + len.min(SPARE_MAX));
    }
    if missing > 0 {
        bytes.resize(len, 0);
    }
    missing > 0
}

/// Sets a key to computed bytes: never to an integer, and OBJECT ENCODING says `raw`.
fn store_raw(db: &mut Db<'_>, key: Key<'_>, bytes: Vec<u8>, ttl: Ttl) {
    if bytes.len() > INLINE_MAX {
        db.set(key, Content::Shared(Arc::new(bytes)), ttl);
        return;
    }
    db.set(key, Content::Bytes(&bytes), ttl);
    if let Some(mut e) = db.peek(key) {
        e.node_mut().mark_raw();
    }
}
