//! Passing over values without decoding them, as far as their lengths tell where they end.

use super::input::{Input, Len, len, len_or_special};
use crate::error::Result;
use crate::format::{kind, string};

/// Longest string that is passed over, in bytes.
const STRING_MAX: u64 = 256 * 1024;

/// Passes over a string, unless it is long.
#[inline]
fn string(input: &mut impl Input) -> Result<bool> {
    let n = match len_or_special(input)? {
        Len::Plain(n) => n,
        Len::Special(string::INT8) => 1,
        Len::Special(string::INT16) => 2,
        Len::Special(string::INT32) => 4,
        Len::Special(string::LZF) => {
            let n = len(input)?;
            len(input)?;
            n
        }
        Len::Special(_) => return Ok(false),
    };
    if n > STRING_MAX {
        return Ok(false);
    }
    input.take(n as usize).map(|_| true)
}

/// Passes over a key and its value. False if that cannot be done, or not without having much of it
/// in memory (more than about `bytes_max`): then it is to be decoded instead.
pub(super) fn key_and_value(input: &mut impl Input, kind: u8, bytes_max: u64) -> Result<bool> {
    if !string(input)? {
        return Ok(false);
    }
    match kind {
        kind::STRING
        | kind::HASH_ZIPMAP
        | kind::LIST_ZIPLIST
        | kind::SET_INTSET
        | kind::ZSET_ZIPLIST
        | kind::HASH_ZIPLIST
        | kind::HASH_LISTPACK
        | kind::ZSET_LISTPACK
        | kind::SET_LISTPACK
        | kind::HASH_LISTPACK_EX_PRE_GA => return string(input),
        kind::HASH_LISTPACK_EX => {
            input.array::<8>()?;
            return string(input);
        }
        kind::HASH_METADATA => _ = input.array::<8>()?,
        kind::LIST
        | kind::SET
        | kind::LIST_QUICKLIST
        | kind::HASH
        | kind::ZSET
        | kind::ZSET_2
        | kind::LIST_QUICKLIST_2
        | kind::HASH_METADATA_PRE_GA
        | kind::VALKEY_HASH_2 => {}
        // Streams are long, and tell where they end no sooner than they are read.
        _ => return Ok(false),
    }
    let end = input.offset() + bytes_max;
    for _ in 0..len(input)? {
        let done = match kind {
            kind::ZSET => string(input)? && skip_score(input)?,
            kind::ZSET_2 => string(input)? && input.array::<8>().map(|_| true)?,
            kind::LIST_QUICKLIST_2 => {
                len(input)?;
                string(input)?
            }
            kind::HASH_METADATA | kind::HASH_METADATA_PRE_GA => {
                len(input)?;
                string(input)? && string(input)?
            }
            kind::HASH => string(input)? && string(input)?,
            kind::VALKEY_HASH_2 => {
                string(input)? && string(input)? && input.array::<8>().map(|_| true)?
            }
            _ => string(input)?,
        };
        if !done || input.offset() > end {
            return Ok(false);
        }
    }
    Ok(true)
}

fn skip_score(input: &mut impl Input) -> Result<bool> {
    match input.byte()? {
        253.. => Ok(true),
        n => input.take(n.into()).map(|_| true),
    }
}
