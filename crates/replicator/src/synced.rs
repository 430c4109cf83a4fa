//! What a replica says of its disk: up to which offset of the stream its journal is durable.
//!
//! The journal counts records, the stream bytes. Behind each batch that was executed it is noted which record stands
//! for which offset. So the answer grows while the stream goes on, and not only when the disk has everything.

use std::collections::VecDeque;

/// Marks that are kept. Of more, the last one is moved on.
const MARKS_MAX: usize = 4096;

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Synced {
    /// Numbers of records, and the offsets behind them: both grow.
    marks: VecDeque<(u64, i64)>,
    reached: Option<i64>,
}

impl Synced {
    /// The stream up to `offset` is in the journal up to record `sequence`.
    pub(crate) fn executed(&mut self, sequence: u64, offset: i64) {
        let full = self.marks.len() >= MARKS_MAX;
        match self.marks.back_mut() {
            Some(back) if back.0 >= sequence => back.1 = offset,
            Some(back) if full => *back = (sequence, offset),
            _ => self.marks.push_back((sequence, offset)),
        }
    }

    /// The journal is durable up to record `sequence`. Returns whether more of the stream is by that.
    pub(crate) fn durable(&mut self, sequence: u64) -> bool {
        let before = self.reached;
        while let Some(&(_, offset)) = self.marks.front().filter(|mark| mark.0 <= sequence) {
            self.marks.pop_front();
            self.reached = Some(offset);
        }
        self.reached != before
    }

    /// Up to which offset; none if it is not known.
    pub(crate) fn offset(&self) -> Option<i64> {
        self.reached
    }

    /// Whether there is more to come.
    pub(crate) fn waits(&self) -> bool {
        !self.marks.is_empty()
    }

    /// There is no journal, or another history.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_follows_the_stream_at_a_distance() {
        let mut s = Synced::default();
        assert!(!s.durable(9) && s.offset().is_none() && !s.waits());
        s.executed(10, 100);
        s.executed(12, 200);
        assert!(!s.durable(9));
        assert!(s.durable(11));
        assert_eq!((s.offset(), s.waits()), (Some(100), true));
        // A batch without changes: it is as durable as what was before it.
        s.executed(12, 230);
        s.executed(15, 300);
        assert!(s.durable(12) && !s.durable(14));
        assert_eq!(s.offset(), Some(230));
        assert!(s.durable(15));
        assert_eq!((s.offset(), s.waits()), (Some(300), false));
        s.executed(15, 314);
        assert!(s.durable(15));
        s.forget();
        assert_eq!(s.offset(), None);
    }

    #[test]
    fn marks_are_bounded_and_never_say_too_much() {
        let mut s = Synced::default();
        for n in 1..3 * MARKS_MAX as u64 {
            s.executed(n, n as i64 * 10);
        }
        assert_eq!(s.marks.len(), MARKS_MAX);
        s.durable(2 * MARKS_MAX as u64);
        assert!(s.offset().is_some_and(|offset| offset <= 20 * MARKS_MAX as i64));
        s.durable(u64::MAX);
        assert_eq!(s.offset(), Some((3 * MARKS_MAX as i64 - 1) * 10));
    }
}
