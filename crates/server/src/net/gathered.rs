//! Answers of several connections that are sent one behind the other.
//!
//! A write wakes its reader, and while the next answer is made a fast reader falls asleep again: to wake a thread
//! costs more than to write. So the answers of one wake-up of the event loop are sent together, a few at a time:
//! a reader of several connections (a proxy) is woken once for all of them.

use super::conn::Conn;
use super::worker::Worker;

/// Answers, and their bytes, that are sent together.
const ANSWERS_MAX: usize = 16;
const BYTES_MAX: usize = 64 * 1024;
/// Bytes of an answer that waits for others.
const ANSWER_MAX: usize = 16 * 1024;

/// See the module's text.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    answers: Vec<Answer>,
}

/// Whose answer it is, and where it ends.
struct Answer {
    i: usize,
    id: u64,
    end: usize,
}

impl Gathered {
    /// Takes an answer over, unless it is to be sent at once.
    pub(super) fn add(&mut self, i: usize, c: &Conn, answer: &[u8]) -> bool {
        if c.hangup || c.gate.is_some() || c.unsent() > 0 || answer.len() > ANSWER_MAX {
            return false;
        }
        self.bytes.extend_from_slice(answer);
        self.answers.push(Answer { i, id: c.session.client.id, end: self.bytes.len() });
        true
    }

    /// Whether there is as much as is sent together.
    pub(super) fn is_full(&self) -> bool {
        self.answers.len() >= ANSWERS_MAX || self.bytes.len() >= BYTES_MAX
    }
}

impl Worker {
    /// Sends the gathered answers.
    pub(super) fn send_gathered(&mut self) {
        if self.gathered.answers.is_empty() {
            return;
        }
        let Gathered { mut bytes, mut answers } = std::mem::take(&mut self.gathered);
        let mut start = 0;
        for Answer { i, id, end } in answers.drain(..) {
            let answer = &bytes[start..end];
            start = end;
            let Some(c) = self.conns.get_mut(i).filter(|c| c.session.client.id == id) else {
                continue;
            };
            if let Some(web) = &mut c.web {
                web.gathered = false;
            }
            match c.send_bytes(answer) {
                Ok(n) => c.note_sent(&self.inbox.worker.stats, n, self.thread.cx.now),
                Err(_) => self.close(i),
            }
        }
        bytes.clear();
        self.gathered = Gathered { bytes, answers };
    }
}
