//! The end of a snapshot whose length is not known beforehand: 40 random bytes that were announced
//! before it stand behind it.
//!
//! The last 39 bytes that came are held back, since they may be the mark's beginning; so the mark is
//! found wherever reads cut it, and no byte of it is given out. Redis looks at the last 40 bytes of
//! each read only, because its primary sends nothing more before the first acknowledgement; this
//! scan also stands a primary that goes on at once.

use memchr::memmem;

/// Bytes of the mark.
pub(crate) const MARK: usize = 40;

/// Looks for the mark.
#[derive(Debug)]
pub(crate) struct Scan {
    mark: [u8; MARK],
    held: Vec<u8>,
}

impl Scan {
    pub(crate) fn new(mark: [u8; MARK]) -> Self {
        Self { mark, held: Vec::with_capacity(2 * MARK) }
    }

    /// Takes bytes and gives those of the snapshot to `out`. Returns the number of bytes up to the
    /// mark's end when it is there; all are taken when it is not.
    pub(crate) fn feed(&mut self, input: &[u8], mut out: impl FnMut(&[u8])) -> Option<usize> {
        let mut give = |bytes: &[u8]| {
            if !bytes.is_empty() {
                out(bytes);
            }
        };
        let before = self.held.len();
        if before > 0 {
            // A mark that begins in what is held ends within the next 39 bytes.
            self.held.extend_from_slice(&input[..input.len().min(MARK - 1)]);
            if let Some(at) = memmem::find(&self.held, &self.mark) {
                give(&self.held[..at]);
                self.held.clear();
                return Some(at + MARK - before);
            }
            if input.len() < MARK {
                let known = self.held.len().saturating_sub(MARK - 1);
                give(&self.held[..known]);
                self.held.drain(..known);
                return None;
            }
            give(&self.held[..before]);
            self.held.clear();
        }
        if let Some(at) = memmem::find(input, &self.mark) {
            give(&input[..at]);
            return Some(at + MARK);
        }
        let (known, held) = input.split_at(input.len().saturating_sub(MARK - 1));
        give(known);
        self.held.extend_from_slice(held);
        None
    }
}

#[cfg(test)]
mod tests {
    use stdx::rng::Rng;

    use super::*;

    #[test]
    fn the_mark_is_found_wherever_reads_cut_it() {
        let mut rng = Rng::from_seed(5);
        for round in 0..3000 {
            // Few letters, so that parts of the mark are everywhere.
            let mut letters = |n: usize| -> Vec<u8> {
                (0..n).map(|_| b'a' + u8::from(rng.index(12) == 0)).collect()
            };
            let mark: [u8; MARK] = letters(MARK).try_into().expect("40");
            let len = round % 150;
            let data = letters(len);
            let mut all = [&data[..], &mark].concat();
            let end = memmem::find(&all, &mark).expect("there") + MARK;
            all.extend_from_slice(b"behind");
            let (mut scan, mut got, mut at) = (Scan::new(mark), Vec::new(), 0);
            loop {
                let n = (1 + rng.index(90)).min(all.len() - at);
                let found = scan.feed(&all[at..at + n], |b| got.extend_from_slice(b));
                assert!(scan.held.len() < MARK);
                match found {
                    Some(taken) => break assert_eq!(at + taken, end),
                    None => at += n,
                }
            }
            assert_eq!(got, all[..end - MARK]);
        }
    }
}
