//! Libraries as bytes: the functions of a dump file, one after the other, then its version and a
//! checksum, as DUMP has them for values.

use commands::Fail;

/// Opcode of a library in a dump file.
const FUNCTION: u8 = 245;
/// Opcode of a form that only release candidates of Redis 7.0 wrote.
const FUNCTION_EARLY: u8 = 246;
/// Version of the format written here, that of Redis 7.0; all later ones read it.
const VERSION: u16 = 10;
/// The highest version that is understood.
const VERSION_MAX: u16 = 13;

const WRONG: Fail = Fail::text("ERR DUMP payload version or checksum are wrong");
const BROKEN: Fail = Fail::text("ERR failed loading the given functions payload");

/// The bytes of these libraries.
pub fn write<'a>(codes: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for code in codes {
        out.push(FUNCTION);
        match code.len() {
            n @ 0..64 => out.push(n as u8),
            n @ 64..16384 => out.extend_from_slice(&[0x40 | (n >> 8) as u8, n as u8]),
            n => {
                out.push(0x80);
                out.extend_from_slice(&(n as u32).to_be_bytes());
            }
        }
        out.extend_from_slice(code);
    }
    out.extend_from_slice(&VERSION.to_le_bytes());
    let crc = stdx::crc::crc64(0, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// The codes of the libraries.
pub fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Fail> {
    let (rest, crc) = bytes.split_last_chunk::<8>().ok_or(WRONG)?;
    let (body, version) = rest.split_last_chunk::<2>().ok_or(WRONG)?;
    if u16::from_le_bytes(*version) > VERSION_MAX {
        return Err(WRONG);
    }
    let crc = u64::from_le_bytes(*crc);
    if crc != 0 && crc != stdx::crc::crc64(0, rest) {
        return Err(WRONG);
    }
    let mut r = body;
    let mut codes = Vec::new();
    while !r.is_empty() {
        match take(&mut r, 1)?[0] {
            FUNCTION => codes.push(string(&mut r)?),
            FUNCTION_EARLY => {
                return Err(Fail::text("ERR Pre-GA function format not supported"));
            }
            _ => return Err(Fail::text("ERR given type is not a function")),
        }
    }
    Ok(codes)
}

fn take<'a>(r: &mut &'a [u8], n: usize) -> Result<&'a [u8], Fail> {
    let (head, rest) = r.split_at_checked(n).ok_or(BROKEN)?;
    *r = rest;
    Ok(head)
}

fn uint(r: &mut &[u8], n: usize) -> Result<u64, Fail> {
    Ok(take(r, n)?.iter().fold(0, |v, b| v << 8 | u64::from(*b)))
}

fn length(r: &mut &[u8]) -> Result<usize, Fail> {
    let first = take(r, 1)?[0];
    let n = match (first >> 6, first) {
        (0, b) => u64::from(b),
        (1, b) => u64::from(b & 63) << 8 | uint(r, 1)?,
        (_, 0x80) => uint(r, 4)?,
        (_, 0x81) => uint(r, 8)?,
        _ => return Err(BROKEN),
    };
    usize::try_from(n).map_err(|_| BROKEN)
}

fn string(r: &mut &[u8]) -> Result<Vec<u8>, Fail> {
    if r.first() == Some(&0xc3) {
        take(r, 1)?;
        let (packed, plain) = (length(r)?, length(r)?);
        return unpack(take(r, packed)?, plain);
    }
    let n = length(r)?;
    take(r, n).map(<[u8]>::to_vec)
}

/// Undoes LZF compression.
fn unpack(mut r: &[u8], plain: usize) -> Result<Vec<u8>, Fail> {
    let mut out = Vec::new();
    while !r.is_empty() {
        let control = usize::from(take(&mut r, 1)?[0]);
        if control < 32 {
            out.extend_from_slice(take(&mut r, control + 1)?);
        } else {
            let mut n = control >> 5;
            if n == 7 {
                n += usize::from(take(&mut r, 1)?[0]);
            }
            let back = (control & 31) << 8 | usize::from(take(&mut r, 1)?[0]);
            let from = out.len().checked_sub(back + 1).ok_or(BROKEN)?;
            for i in from..from + n + 2 {
                let b = *out.get(i).ok_or(BROKEN)?;
                out.push(b);
            }
        }
        if out.len() > plain {
            return Err(BROKEN);
        }
    }
    if out.len() == plain { Ok(out) } else { Err(BROKEN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let long = vec![b'x'; 100_000];
        let codes = [&b"#!lua"[..], b"", &long[..100], &long];
        let bytes = write(codes.into_iter());
        assert_eq!(read(&bytes).expect("readable"), codes);
        for i in 0..bytes.len().min(300) {
            let mut broken = bytes.clone();
            broken[i] ^= 1;
            assert!(read(&broken).is_err());
        }
    }

    #[test]
    fn compressed_texts_are_unpacked() {
        // Three literals, then six bytes from three back.
        assert_eq!(unpack(&[2, b'a', b'b', b'c', 0x80, 2], 9).expect("fits"), b"abcabcabc");
        assert!(unpack(&[0x80, 2], 6).is_err());
    }
}
