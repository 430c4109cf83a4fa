//! Hints to the processor about what the next groups of commands need, given while this one is executed.
//!
//! A core has only so many cache lines under way, and waits when a hint would make one more. 32 commands with two lines
//! each that come from memory wait for their hints as long as they take to execute. So hints are given for a few
//! commands at a time, between which as many others are executed. And for not too few: where pages are not in the
//! translation buffers either, a hint is a page walk, which blocks what follows it, and walks must go on at the same time
//! (`data::table::prefetch`).

use store::Hint;

use super::batch::{Ahead, GROUP, ParsedGroup};
use crate::engine::Engine;

/// The hints that a thread has still to give: about the entries of one group, and about the buckets of the next.
pub(super) struct Hints {
    entries: [Hint; GROUP],
    buckets: [Hint; GROUP],
    /// Commands per block of hints.
    counts: [usize; 2],
    /// The hints of this number of commands have been given.
    given: usize,
}

impl Hints {
    pub(super) fn new() -> Self {
        let none = [Hint::NONE; GROUP];
        Self { entries: none, buckets: none, counts: [0; 2], given: 0 }
    }

    /// Notes the hints about the buckets of a group.
    #[inline]
    pub(super) fn buckets(&mut self, group: &ParsedGroup, ahead: &Ahead<'_>) {
        for (hint, spot) in self.buckets.iter_mut().zip(&ahead.spots[..group.commands.len()]) {
            *hint = spot.hint();
        }
        self.counts[1] = group.commands.len();
    }

    /// Notes the hints about the entries of a group, whose buckets have been asked for.
    #[inline]
    pub(super) fn entries(
        &mut self,
        engine: &Engine,
        db: usize,
        group: &mut ParsedGroup,
        ahead: &Ahead<'_>,
    ) {
        for ((p, spot), hint) in group.commands.iter_mut().zip(&ahead.spots).zip(&mut self.entries)
        {
            let node = spot.node(p.hash);
            p.near = node.slot as u8;
            *hint = node.hint();
        }
        self.counts[0] = group.commands.len();
        for hash in &group.hashes {
            engine.keyspace.spot(db, *hash, ahead.pin).node(*hash).prefetch();
        }
    }

    /// Gives those of up to so many commands. Returns the number of commands to execute before the next are given.
    #[inline]
    pub(super) fn give(&mut self, commands: usize) -> usize {
        let [entries, buckets] = self.counts;
        let (from, to) = (self.given, self.given + commands);
        if from >= entries.max(buckets) {
            return GROUP;
        }
        for hint in self.entries.iter().take(to.min(entries)).skip(from) {
            hint.give();
        }
        for hint in self.buckets.iter().take(to.min(buckets)).skip(from) {
            hint.give();
        }
        self.given = to;
        commands
    }

    /// Gives the rest.
    #[inline]
    pub(super) fn give_all(&mut self) {
        self.give(GROUP);
        (self.counts, self.given) = ([0; 2], 0);
    }
}
