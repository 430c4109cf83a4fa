//! Journal forms of the changes that consumer groups make.
//!
//! A read or a claim depends on the time and on the pending entries, so the journal has its outcome,
//! as Redis propagates it: a consumer that was made, entries that became pending as XCLAIM, and the
//! group's position as XGROUP SETID. One record takes all entries with the same time and count.

use data::stream::{Group, Id};
use store::Db;

/// Collects the records of one command. Does nothing when the effects are not observed.
pub(super) struct Journal {
    on: bool,
    records: Vec<Vec<Vec<u8>>>,
}

/// Records about one consumer of one group.
pub(super) struct Of<'a> {
    journal: &'a mut Journal,
    key: &'a [u8],
    group: &'a [u8],
    consumer: &'a [u8],
    /// Entries that became pending, with one time and count.
    claimed: Vec<Id>,
    time: i64,
    count: u64,
}

impl Journal {
    pub(super) fn new(db: &Db<'_>) -> Self {
        Self { on: db.cx.effects.observed, records: Vec::new() }
    }

    pub(super) fn of<'a>(
        &'a mut self,
        key: &'a [u8],
        group: &'a [u8],
        consumer: &'a [u8],
    ) -> Of<'a> {
        Of { journal: self, key, group, consumer, claimed: Vec::new(), time: 0, count: 0 }
    }

    fn push(&mut self, words: &[&[u8]]) {
        self.records.push(words.iter().map(|word| word.to_vec()).collect());
    }

    /// Notes the records as the journal form of the command.
    pub(super) fn write(self, db: &mut Db<'_>) {
        for (i, record) in self.records.iter().enumerate() {
            let words: Vec<&[u8]> = record.iter().map(Vec::as_slice).collect();
            if i == 0 {
                db.rewrite(&words);
            } else {
                db.also(&words);
            }
        }
    }
}

impl Of<'_> {
    /// The consumer was made.
    pub(super) fn created(&mut self) {
        if self.journal.on {
            self.journal.push(&[b"XGROUP", b"CREATECONSUMER", self.key, self.group, self.consumer]);
        }
    }

    /// An entry is pending with the consumer, or (when it is gone) with no consumer.
    pub(super) fn claimed(&mut self, id: Id, time: i64, count: u64) {
        if !self.journal.on {
            return;
        }
        if (time, count) != (self.time, self.count) {
            self.flush();
            (self.time, self.count) = (time, count);
        }
        self.claimed.push(id);
    }

    fn flush(&mut self) {
        if self.claimed.is_empty() {
            return;
        }
        let ids: Vec<String> = self.claimed.drain(..).map(|id| id.to_string()).collect();
        let (time, count) = (self.time.to_string(), self.count.to_string());
        let mut words: Vec<&[u8]> = vec![b"XCLAIM", self.key, self.group, self.consumer, b"0"];
        words.extend(ids.iter().map(String::as_bytes));
        words.extend_from_slice(&[
            b"TIME",
            time.as_bytes(),
            b"RETRYCOUNT",
            count.as_bytes(),
            b"FORCE",
            b"JUSTID",
        ]);
        self.journal.push(&words);
    }

    /// Ends with the group's position, if it `moved`.
    pub(super) fn end(mut self, group: &Group, moved: bool) {
        self.flush();
        if moved && self.journal.on {
            let last = group.last.to_string();
            let read = group.read.map_or_else(|| "-1".to_owned(), |read| read.to_string());
            self.journal.push(&[
                b"XGROUP",
                b"SETID",
                self.key,
                self.group,
                last.as_bytes(),
                b"ENTRIESREAD",
                read.as_bytes(),
            ]);
        }
    }
}
