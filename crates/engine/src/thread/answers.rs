//! Answers to connections that wait to be sent together with those of the connections behind them: the network
//! gathers them, and executing says when they must wait no longer.

use super::Thread;

/// How long answers wait while others are made, in nanoseconds; commands that take little time may add a group's.
const WAIT_NS: u64 = 500_000;
/// No answer waits.
const NEVER: u64 = u64::MAX;

/// See the module's text.
pub(super) struct WaitingAnswers {
    /// When they are to be sent, in monotonic nanoseconds.
    due: u64,
    send: Option<Box<dyn FnMut() + Send>>,
}

impl Default for WaitingAnswers {
    fn default() -> Self {
        Self { due: NEVER, send: None }
    }
}

impl WaitingAnswers {
    fn wait(&mut self, now: u64) {
        if self.due == NEVER {
            self.due = now + WAIT_NS;
        }
    }

    #[inline]
    fn send_due(&mut self, now: u64) {
        if self.due <= now {
            self.send();
        }
    }

    #[cold]
    fn send(&mut self) {
        self.due = NEVER;
        if let Some(send) = &mut self.send {
            send();
        }
    }
}

impl Thread {
    /// Has waiting answers sent by `send`: before a command that may take long, and when they have waited for half a
    /// millisecond.
    pub fn send_answers_by(&mut self, send: Box<dyn FnMut() + Send>) {
        self.answers.send = Some(send);
    }

    /// An answer waits.
    #[inline]
    pub fn answer_waits(&mut self) {
        self.answers.wait(self.mono);
    }

    /// All answers have been sent by the caller.
    #[inline]
    pub fn answers_sent(&mut self) {
        self.answers.due = NEVER;
    }

    /// Sends the waiting answers: what comes next may take long.
    #[inline]
    pub(crate) fn send_answers(&mut self) {
        if self.answers.due != NEVER {
            self.answers.send();
        }
    }

    /// Sends the answers if they have waited for long.
    #[inline]
    pub(super) fn send_due_answers(&mut self) {
        self.answers.send_due(self.mono);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[test]
    fn answers_wait_for_half_a_millisecond_at_most() {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let send = move || count.store(count.load(Relaxed) + 1, Relaxed);
        let mut answers = WaitingAnswers { send: Some(Box::new(send)), ..Default::default() };
        answers.send_due(u64::MAX - 1);
        answers.wait(7);
        answers.wait(500);
        answers.send_due(7 + WAIT_NS - 1);
        assert_eq!(sent.load(Relaxed), 0);
        answers.send_due(7 + WAIT_NS);
        answers.send_due(7 + WAIT_NS);
        assert_eq!(sent.load(Relaxed), 1, "once");
    }
}
