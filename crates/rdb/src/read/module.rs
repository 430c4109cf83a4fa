//! Values of modules: their names, and how to pass over what is not understood.

use super::input::{Input, len, skip_text};
use crate::error::Result;
use crate::format::module::{DOUBLE, EOF, FLOAT, SINT, STRING, UINT};

/// The name in a module's number: nine characters of six bits, above ten bits of a version.
pub(super) fn name(id: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..9).rev().map(|i| char::from(LETTERS[(id >> (10 + 6 * i)) as usize & 63])).collect()
}

/// Passes over what a module saved besides values, and returns its name.
pub(super) fn skip_aux(input: &mut impl Input, scratch: &mut Vec<u8>) -> Result<String> {
    let id = len(input)?;
    if len(input)? != UINT {
        return Err(input.bad("bad when_opcode"));
    }
    len(input)?;
    loop {
        match len(input)? {
            EOF => return Ok(name(id)),
            SINT | UINT => _ = len(input)?,
            FLOAT => _ = input.array::<4>()?,
            DOUBLE => _ = input.array::<8>()?,
            STRING => skip_text(input, scratch)?,
            other => {
                return Err(
                    input.bad(format!("Unknown part {other} in the data of module '{}'", name(id)))
                );
            }
        }
    }
}
