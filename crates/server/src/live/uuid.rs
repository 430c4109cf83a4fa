//! Random identifiers of clients and servers: UUIDs of version 4. Some of them are secrets, with which requests send
//! commands for a stream.

use std::cell::RefCell;

const SIZE: usize = 16;
/// The system is asked for the bytes of so many at once: each time costs as much as the rest of an identifier.
const AT_ONCE: usize = 32;

/// Random bytes of a thread, which are taken from the end.
struct Supply {
    bytes: [u8; SIZE * AT_ONCE],
    left: usize,
}

thread_local! {
    static SUPPLY: RefCell<Supply> =
        const { RefCell::new(Supply { bytes: [0; SIZE * AT_ONCE], left: 0 }) };
}

impl Supply {
    fn take(&mut self) -> [u8; SIZE] {
        if self.left == 0 {
            if stdx::rng::fill_from_os(&mut self.bytes).is_err() {
                // Without randomness, only time and address space differ.
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let nanos = now.map_or(0, |now| now.as_nanos() as u64);
                stdx::rng::Rng::from_seed(nanos ^ u64::from(std::process::id()))
                    .fill(&mut self.bytes);
            }
            self.left = self.bytes.len();
        }
        self.left -= SIZE;
        let mut taken = [0; SIZE];
        // What was given out is not kept.
        taken.swap_with_slice(&mut self.bytes[self.left..self.left + SIZE]);
        taken
    }
}

/// A new one, as text.
pub(super) fn new_uuid() -> String {
    let mut bytes = SUPPLY.with_borrow_mut(Supply::take);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_the_form_of_version_4_and_is_another() {
        let mut all: Vec<String> = (0..3 * AT_ONCE).map(|_| new_uuid()).collect();
        for one in &all {
            let parts: Vec<usize> = one.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{one}");
            assert!(one.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()), "{one}");
            assert_eq!(one.as_bytes()[14], b'4', "{one}");
            assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 3 * AT_ONCE);
    }
}
