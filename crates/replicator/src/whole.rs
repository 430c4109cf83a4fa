//! Whole commands at the start of a primary's stream.
//!
//! Reads cut the stream anywhere. A replica executes whole commands, and of a transaction all or nothing: the
//! prefix ends behind a command that is not within MULTI.

/// Longest line with a length, in bytes.
const LINE_MAX: usize = 32;
/// Longest argument, as a primary's `proto-max-bulk-len` may be set, and the most arguments.
const BULK_MAX: u64 = 4 << 30;
const ARGS_MAX: u64 = 1 << 31;

/// The stream is no sequence of commands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// How far the bytes were looked at. No byte is looked at twice, but for a line or an argument that was cut.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Where the next line with a length begins.
    at: usize,
    /// Arguments of the present command that are yet to come.
    left: u64,
    /// The present command has one word, or its first is yet to come.
    alone: bool,
    word: Word,
    /// Behind the last command that is not within a transaction.
    whole: usize,
    in_multi: bool,
}

/// The name of the present command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Word {
    /// Its name is yet to come.
    #[default]
    Unknown,
    Multi,
    /// EXEC or DISCARD.
    End,
    Other,
}

impl Scan {
    /// How many bytes of `buf` may be executed.
    pub(crate) fn whole(&mut self, buf: &[u8]) -> Result<usize, Malformed> {
        while self.step(buf)? {}
        Ok(self.whole)
    }

    /// The first `n` bytes are gone.
    pub(crate) fn consume(&mut self, n: usize) {
        self.at -= n;
        self.whole -= n;
    }

    /// Looks at the next line, with its argument. Returns false when it is not whole.
    fn step(&mut self, buf: &[u8]) -> Result<bool, Malformed> {
        if self.left == 0 {
            match &buf[self.at..] {
                [] | [b'\r'] => return Ok(false),
                // Signs of life.
                [b'\n', ..] => self.at += 1,
                [b'\r', b'\n', ..] => self.at += 2,
                _ => {
                    let Some((count, at)) = number(buf, self.at, b'*', ARGS_MAX)? else {
                        return Ok(false);
                    };
                    (self.at, self.left) = (at, count);
                    (self.alone, self.word) = (count == 1, Word::Unknown);
                    if count > 0 {
                        return Ok(true);
                    }
                }
            }
        } else {
            let Some((len, start)) = number(buf, self.at, b'$', BULK_MAX)? else {
                return Ok(false);
            };
            let len = usize::try_from(len).map_err(|_| Malformed)?;
            if buf.len() - start < len + 2 {
                return Ok(false);
            }
            self.at = start + len + 2;
            if &buf[start + len..self.at] != b"\r\n" {
                return Err(Malformed);
            }
            if self.word == Word::Unknown {
                self.word = word(&buf[start..start + len], self.alone);
            }
            self.left -= 1;
            if self.left > 0 {
                return Ok(true);
            }
            match self.word {
                Word::Multi => self.in_multi = true,
                Word::End => self.in_multi = false,
                Word::Unknown | Word::Other => {}
            }
        }
        if !self.in_multi {
            self.whole = self.at;
        }
        Ok(true)
    }
}

fn word(name: &[u8], alone: bool) -> Word {
    if alone && name.eq_ignore_ascii_case(b"multi") {
        Word::Multi
    } else if alone && (name.eq_ignore_ascii_case(b"exec") || name.eq_ignore_ascii_case(b"discard"))
    {
        Word::End
    } else {
        Word::Other
    }
}

/// The number on the line at `at`, and where the line ends. `max` has more than two digits.
#[inline]
fn number(buf: &[u8], at: usize, kind: u8, max: u64) -> Result<Option<(u64, usize)>, Malformed> {
    let line = &buf[at.min(buf.len())..];
    let digit = |b: u8| u64::from(b - b'0');
    // Nearly all lines of a stream are one of these.
    match *line {
        [k, a @ b'0'..=b'9', b'\r', b'\n', ..] if k == kind => Ok(Some((digit(a), at + 4))),
        [k, a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', ..] if k == kind => {
            Ok(Some((digit(a) * 10 + digit(b), at + 5)))
        }
        _ => long_number(line, at, kind, max),
    }
}

fn long_number(
    line: &[u8],
    at: usize,
    kind: u8,
    max: u64,
) -> Result<Option<(u64, usize)>, Malformed> {
    let Some((&first, digits)) = line.split_first() else { return Ok(None) };
    if first != kind {
        return Err(Malformed);
    }
    let Some(len) = digits.iter().take(LINE_MAX).position(|b| *b == b'\r') else {
        return if digits.len() >= LINE_MAX { Err(Malformed) } else { Ok(None) };
    };
    if digits.len() < len + 2 {
        return Ok(None);
    }
    let n = stdx::num::parse_u64(&digits[..len]).filter(|n| *n <= max && digits[len + 1] == b'\n');
    n.map(|n| Some((n, at + len + 3))).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n\n*1\r\n$5\r\nMULTI\r\n\
        *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\n*1\r\nx\r\n*1\r\n$4\r\nexec\r\n*1\r\n$4\r\nPING\r\n";

    #[test]
    fn no_cut_lets_half_a_transaction_through() {
        let multi = STREAM.windows(5).position(|w| w == b"MULTI").expect("there") - 8;
        let behind = STREAM.windows(4).position(|w| w == b"exec").expect("there") + 6;
        for cut in 0..=STREAM.len() {
            let mut scan = Scan::default();
            let first = scan.whole(&STREAM[..cut]).expect("well formed");
            assert!(first <= cut && (first <= multi || first >= behind), "{cut}: {first}");
            scan.consume(first);
            let rest = scan.whole(&STREAM[first..]).expect("well formed");
            assert_eq!(first + rest, STREAM.len(), "{cut}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for bytes in [
            &b"GET k\r\n"[..],
            b"*x\r\n",
            b"*1\r\nPING\r\n",
            b"*1\r\n$4\r\nPINGxx",
            b"*1\r\n$99999999999999999999\r\n",
            b"*1111111111111111111111111111111111111111111111",
            b"\rX*1\r\n$4\r\nPING\r\n",
        ] {
            assert_eq!(Scan::default().whole(bytes), Err(Malformed), "{bytes:?}");
        }
    }

    #[test]
    fn a_long_command_is_looked_at_once() {
        let mut stream = b"*200001\r\n$5\r\nRPUSH\r\n".to_vec();
        (0..200_000).for_each(|_| stream.extend_from_slice(b"$1\r\nx\r\n"));
        let (mut scan, mut before) = (Scan::default(), 0);
        for end in (0..stream.len()).step_by(1000) {
            assert_eq!(scan.whole(&stream[..end]), Ok(0));
            assert!(scan.at >= before && end - scan.at < 20, "{end}: {}", scan.at);
            before = scan.at;
        }
        assert_eq!(scan.whole(&stream), Ok(stream.len()));
        // A word more, and it begins no transaction.
        let stream = b"*2\r\n$5\r\nMULTI\r\n$1\r\nx\r\n";
        assert_eq!(Scan::default().whole(stream), Ok(stream.len()));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut rng = stdx::rng::Rng::from_seed(5);
        for _ in 0..20_000 {
            let mut bytes = STREAM.to_vec();
            for _ in 0..=rng.index(3) {
                let i = rng.index(bytes.len());
                bytes[i] = rng.next_u64() as u8;
            }
            let n = Scan::default().whole(&bytes).unwrap_or(0);
            assert!(n <= bytes.len());
        }
    }
}
