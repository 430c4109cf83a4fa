//! Answers of several connections that are sent one behind the other.
//!
//! A write wakes its reader, and while the next answer is made a fast reader falls asleep again: to wake a thread
//! costs more than to write, in virtual machines several times as much. So the answers of one wake-up of the event loop
//! are sent together, a few at a time: a reader of several connections (a proxy, a pool) is woken once for all of them.
//! Only as many gather as leave this thread something to do while the reader goes on, or each would wait for the other in
//! turn. And an answer waits for those behind it only while these take little time: [`engine::Thread::send_answers_by`].

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::Client;

use super::Stream;

/// Answers, and their bytes, that are sent together.
const ANSWERS_MAX: usize = 32;
const BYTES_MAX: usize = 128 * 1024;
/// While turns are short, so many more connections than have gathered must still have theirs.
const SHORT_TURNS: usize = 4;
/// Bytes of an answer that waits for others.
const ANSWER_MAX: usize = 16 * 1024;

/// See the module's text.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    answers: Vec<Answer>,
    /// Of the answers, so many have been sent.
    sent: usize,
    /// The last turn was a long one.
    long: bool,
    /// So many connections have a turn behind the present one's.
    behind: usize,
}

/// An answer, with what it takes to send it.
struct Answer {
    /// The connection's place.
    i: usize,
    client: Arc<Client>,
    stream: Arc<Stream>,
    range: Range<usize>,
    /// Bytes of it that the socket has taken.
    sent: io::Result<usize>,
}

/// An answer that has been sent.
pub(super) struct Sent<'a> {
    /// The connection's place, and its client's number.
    pub(super) i: usize,
    pub(super) id: u64,
    /// Bytes that the socket has taken.
    pub(super) sent: io::Result<usize>,
    /// Those that it has not.
    pub(super) rest: &'a [u8],
}

impl Gathered {
    /// Takes over the answer to the connection at place `i`, whose turn has [begun](Self::begin_turn), unless it is not to
    /// wait for others. The turn was a `long` one: what sends requests probably takes less time for them.
    pub(super) fn add(
        &mut self,
        (i, client, stream): (usize, &Arc<Client>, &Arc<Stream>),
        long: bool,
        answer: &[u8],
    ) -> bool {
        self.long = long;
        if self.answers.len() >= self.most() || answer.len() > ANSWER_MAX {
            return false;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(answer);
        let (client, stream) = (Arc::clone(client), Arc::clone(stream));
        client.output_bytes.store(answer.len() as u64, Relaxed);
        let range = start..self.bytes.len();
        self.answers.push(Answer { i, client, stream, range, sent: Ok(0) });
        true
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Connection `i` has a turn now, and `behind` others behind it. Returns whether the answers are to be sent before it.
    pub(super) fn begin_turn(&mut self, i: usize, behind: usize) -> bool {
        self.behind = behind;
        self.answers.len() >= ANSWERS_MAX
            || self.answers.len() >= self.most()
            || self.bytes.len() >= BYTES_MAX
            || self.answers.iter().any(|answer| answer.i == i)
    }

    /// How many may gather while so many connections have their turns behind them.
    fn most(&self) -> usize {
        if self.long { 2 * self.behind } else { self.behind.saturating_sub(SHORT_TURNS) }
    }

    /// Sends those that have not been sent. They stay until [`Self::take_sent`].
    pub(super) fn send(&mut self) {
        for answer in &mut self.answers[self.sent..] {
            let bytes = &self.bytes[answer.range.clone()];
            let mut sent = 0;
            answer.sent = answer.stream.write_some(bytes, &mut sent).map(|()| sent);
            // A thread that is stuck behind this may serve the connection: see `stuck`.
            answer.client.output_bytes.store((bytes.len() - sent) as u64, Relaxed);
        }
        self.sent = self.answers.len();
    }

    /// Sends those that have not been sent, and hands over all of them.
    pub(super) fn take_sent(&mut self, mut done: impl FnMut(Sent<'_>)) {
        self.send();
        for Answer { i, client, range, sent, .. } in self.answers.drain(..) {
            let taken = *sent.as_ref().unwrap_or(&0);
            let rest = &self.bytes[range][taken..];
            done(Sent { i, id: client.id, sent, rest });
        }
        self.bytes.clear();
        self.sent = 0;
    }
}
