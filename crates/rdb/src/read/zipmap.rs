//! Zipmaps, in which Redis before 2.6 kept small hashes.
//!
//! ```text
//!  | count 1, 254 if unknown | (length | field | length | unused 1 | value | unused …) … | ff |
//!  length = 1 byte below 254, or 254 and 4 bytes
//! ```

const END: u8 = 0xff;
const LONG: u8 = 0xfe;

/// Calls `f` for every field and value. None if anything is wrong with the zipmap.
pub(super) fn each<'a>(bytes: &'a [u8], mut f: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let (said, rest) = bytes.split_first()?;
    let (last, mut rest) = rest.split_last()?;
    if *last != END {
        return None;
    }
    let mut count = 0usize;
    while !rest.is_empty() {
        let n = length(&mut rest)?;
        let field = take(&mut rest, n)?;
        let n = length(&mut rest)?;
        let unused = take(&mut rest, 1)?;
        let value = take(&mut rest, n)?;
        take(&mut rest, usize::from(*unused.first()?))?;
        f(field, value);
        count += 1;
    }
    (*said >= LONG || usize::from(*said) == count).then_some(())
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(n)?;
    *rest = behind;
    Some(taken)
}

fn length(rest: &mut &[u8]) -> Option<usize> {
    match *take(rest, 1)?.first()? {
        END => None,
        LONG => Some(u32::from_le_bytes(*take(rest, 4)?.first_chunk()?) as usize),
        n => Some(n.into()),
    }
}
