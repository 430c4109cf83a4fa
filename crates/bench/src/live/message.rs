//! Messages as they are published, and how they are found again in what subscribers receive.
//!
//! `{"t":DUE,"s":NUMBER,"p":"xxx"}`: DUE is in nanoseconds since the run began; NUMBER counts all messages of a run
//! from 0. Message N goes to channel N mod channels, through publisher N mod publishers.

use memchr::memmem::Finder;

/// Appends a message of `size` bytes.
pub(super) fn data(out: &mut String, due_ns: u64, number: u64, size: usize) {
    use std::fmt::Write as _;
    let from = out.len();
    // Writing into a String cannot fail.
    _ = write!(out, "{{\"t\":{due_ns},\"s\":{number},\"p\":\"");
    let missing = size.saturating_sub(out.len() - from + 2);
    out.extend(std::iter::repeat_n('x', missing));
    out.push_str("\"}");
}

/// A message within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) due_ns: u64,
    pub(super) number: u64,
    /// Of the publication; 0 if it was not asked for, or the channel has no history.
    pub(super) offset: u64,
    /// Where to look for the next one.
    pub(super) end: usize,
}

/// Looks for messages in lines.
#[derive(Debug)]
pub(super) struct Reader {
    begin: Finder<'static>,
    offset: Finder<'static>,
    offsets: bool,
}

impl Reader {
    /// `offsets`: the offsets of publications are read, too.
    pub(super) fn new(offsets: bool) -> Self {
        Self { begin: Finder::new("{\"t\":"), offset: Finder::new("\"offset\":"), offsets }
    }

    /// The first message from `from` on.
    pub(super) fn next(&self, line: &[u8], from: usize) -> Option<Found> {
        let at = from + self.begin.find(line.get(from..)?)? + 5;
        let (due_ns, at) = number(line, at);
        let at = at + line.get(at..)?.strip_prefix(b",\"s\":").map(|_| 5)?;
        let (number_, end) = number(line, at);
        let mut found = Found { due_ns, number: number_, offset: 0, end };
        if self.offsets
            && let Some(n) = self.offset.find(line.get(end..)?)
        {
            // The offset is behind the data; in a reply with several publications each has its own.
            (found.offset, found.end) = number(line, end + n + 9);
        }
        Some(found)
    }
}

/// The number at a place, and where it ends; 0 if there is none.
pub(super) fn number(line: &[u8], mut at: usize) -> (u64, usize) {
    let mut n = 0u64;
    while let Some(digit) = line.get(at).filter(|b| b.is_ascii_digit()) {
        n = n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    (n, at)
}

/// What a subscriber has seen of each publisher's messages in its channel.
#[derive(Debug)]
pub(super) struct Seen {
    next: Box<[Option<u64>]>,
}

/// What one more message shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is the next one.
    Next,
    /// So many are missing before it.
    Gap(u64),
    /// It was seen before.
    Again,
}

impl Seen {
    pub(super) fn new(publishers: usize) -> Self {
        Self { next: vec![None; publishers].into_boxed_slice() }
    }

    /// Notes a message. `every`: messages from one of a publisher to its next one in the same channel.
    pub(super) fn take(&mut self, number: u64, every: u64) -> Step {
        let publisher = (number % self.next.len() as u64) as usize;
        // The first one of a publisher in a channel is the least number with the same remainders.
        let expected = self.next[publisher].unwrap_or(number % every);
        if number < expected {
            return Step::Again;
        }
        self.next[publisher] = Some(number + every);
        match (number - expected) / every {
            0 => Step::Next,
            n => Step::Gap(n),
        }
    }
}

/// The least common multiple: after so many messages, channel and publisher are the same again.
pub(super) fn every(channels: u64, publishers: u64) -> u64 {
    let (mut a, mut b) = (channels, publishers);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    channels / a * publishers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_again() {
        let mut text = String::new();
        data(&mut text, 12_345, 6, 60);
        assert_eq!(text.len(), 60);
        let mut line =
            format!("{{\"push\":{{\"channel\":\"c\",\"pub\":{{\"data\":{text},\"offset\":7}}}}}}");
        let plain = Reader::new(false).next(line.as_bytes(), 0).expect("one");
        assert_eq!((plain.due_ns, plain.number, plain.offset), (12_345, 6, 0));
        line += &line.replace("\"s\":6", "\"s\":8").replace(":7}", ":90}");
        let reader = Reader::new(true);
        let first = reader.next(line.as_bytes(), 0).expect("one");
        let second = reader.next(line.as_bytes(), first.end).expect("two");
        assert_eq!((first.number, first.offset, second.number, second.offset), (6, 7, 8, 90));
        assert_eq!(reader.next(line.as_bytes(), second.end), None);
    }

    #[test]
    fn gaps_and_duplicates_are_seen() {
        assert_eq!((every(1, 1), every(4, 6), every(1000, 1), every(3, 5)), (1, 12, 1000, 15));
        // Channel 1 of 2, two publishers: 1, 3, 5, … all of publisher 1.
        let mut seen = Seen::new(2);
        let steps = [1, 3, 3, 9, 5, 11].map(|n| seen.take(n, 2));
        assert_eq!(
            steps,
            [Step::Next, Step::Next, Step::Again, Step::Gap(2), Step::Again, Step::Next]
        );
        assert_eq!(Seen::new(1).take(4, 2), Step::Gap(2), "the first ones are missing");
        // Publishers do not wait for each other.
        let mut seen = Seen::new(2);
        assert_eq!([1, 0, 3, 2].map(|n| seen.take(n, 2)), [Step::Next; 4]);
    }
}
