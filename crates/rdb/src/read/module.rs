//! Values of modules: their names, and how to pass over what is not understood.

use super::input::{Input, len, skip_text};
use crate::error::Result;
use crate::format::module::{DOUBLE, EOF, FLOAT, SINT, STRING, UINT};

/// The name in a module's number: nine characters of six bits, above ten bits of a version.
pub(super) fn name(id: u64) -> String {
    letters(id >> 10, 9)
}

/// `count` characters of six bits each, the last one lowest.
fn letters(bits: u64, count: u32) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..count).rev().map(|i| char::from(LETTERS[(bits >> (6 * i)) as usize & 63])).collect()
}

/// What modules keep with a key is passed over where it says of itself that it may be. It is their
/// number, and of each a name of four characters, five bits of a version, three flags, and the data.
pub(crate) fn skip_key_meta(input: &mut impl Input, scratch: &mut Vec<u8>) -> Result<()> {
    for _ in 0..len(input)? {
        let id = u32::from_le_bytes(input.array()?);
        let name = letters(u64::from(id >> 8), 4);
        if id & MAY_BE_IGNORED == 0 {
            return Err(input.bad(format!(
                "The RDB file contains key metadata of a module I can't load: no matching class \
                 '{name}'"
            )));
        }
        skip_data(input, scratch, &name)?;
    }
    Ok(())
}

/// A flag of what a module keeps with a key.
const MAY_BE_IGNORED: u32 = 1;

/// Passes over what a module saved besides values, and returns its name.
pub(super) fn skip_aux(input: &mut impl Input, scratch: &mut Vec<u8>) -> Result<String> {
    let id = len(input)?;
    if len(input)? != UINT {
        return Err(input.bad("bad when_opcode"));
    }
    len(input)?;
    let name = name(id);
    skip_data(input, scratch, &name)?;
    Ok(name)
}

/// Passes over the parts of what the module of this name wrote.
fn skip_data(input: &mut impl Input, scratch: &mut Vec<u8>, name: &str) -> Result<()> {
    loop {
        match len(input)? {
            EOF => return Ok(()),
            SINT | UINT => _ = len(input)?,
            FLOAT => _ = input.array::<4>()?,
            DOUBLE => _ = input.array::<8>()?,
            STRING => skip_text(input, scratch)?,
            other => {
                return Err(
                    input.bad(format!("Unknown part {other} in the data of module '{name}'"))
                );
            }
        }
    }
}
