//! Answers of several connections that are sent one behind the other.
//!
//! A write wakes its reader, and while the next answer is made a fast reader falls asleep again: to wake a thread
//! costs more than to write. So the answers of one wake-up of the event loop are sent together, a few at a time:
//! a reader of several connections (a proxy) is woken once for all of them.

/// Answers, and their bytes, that are sent together.
const ANSWERS_MAX: usize = 16;
const BYTES_MAX: usize = 64 * 1024;
/// Bytes of an answer that waits for others.
const ANSWER_MAX: usize = 16 * 1024;

/// See the module's text.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) bytes: Vec<u8>,
    pub(super) answers: Vec<Answer>,
}

/// Whose answer it is, by the connection's place and its client's number, and where it ends.
pub(super) struct Answer {
    pub(super) i: usize,
    pub(super) id: u64,
    pub(super) end: usize,
}

impl Gathered {
    /// Takes an answer over, unless it is too long to wait for others.
    pub(super) fn add(&mut self, (i, id): (usize, u64), answer: &[u8]) -> bool {
        if answer.len() > ANSWER_MAX {
            return false;
        }
        self.bytes.extend_from_slice(answer);
        self.answers.push(Answer { i, id, end: self.bytes.len() });
        true
    }

    /// Whether there is as much as is sent together.
    pub(super) fn is_full(&self) -> bool {
        self.answers.len() >= ANSWERS_MAX || self.bytes.len() >= BYTES_MAX
    }
}
