//! Where the engine and its threads are observed: what `observe` needs of them is filled in here.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use commands::row::Row;
use config::Id;
use observe::costs::Breakdown;
use observe::slowlog::Entry;
use observe::stats::Totals;
use observe::topkeys::{self, By, Report, Sample, Selection, Spent, TopKey};
use resp::Args;
use stdx::clock::Clock;

use crate::clients::Client;
use crate::engine::{Engine, Worker};
use crate::process::{self, CpuTime};
use crate::table::Cmd;
use crate::thread::Thread;

/// Characters of an error that the log shows.
const ERROR_SHOWN: usize = 200;

impl Thread {
    /// Monotonic nanoseconds before a read, if the batch that it may bring is timed.
    #[inline]
    pub fn read_begins(&self, engine: &Engine) -> Option<u64> {
        self.costs.next_is_timed().then(|| engine.clock.monotonic_ns())
    }

    /// A read has ended; `begin` is the result of [`read_begins`](Self::read_begins).
    #[inline]
    pub fn read_ends(&self, engine: &Engine, begin: Option<u64>) {
        if let Some(begin) = begin {
            self.worker.costs.read_took(engine.clock.monotonic_ns().saturating_sub(begin));
        }
    }

    /// Monotonic nanoseconds before a write, if the batch that it answers is timed.
    #[inline]
    pub fn write_begins(&self, engine: &Engine) -> Option<u64> {
        self.costs.on.then(|| engine.clock.monotonic_ns())
    }

    /// A write has ended; `begin` is the result of [`write_begins`](Self::write_begins).
    #[inline]
    pub fn write_ends(&mut self, engine: &Engine, begin: Option<u64>) {
        if let Some(begin) = begin {
            let nanos = engine.clock.monotonic_ns().saturating_sub(begin);
            self.costs.wrote(&self.worker.costs, nanos);
        }
    }

    /// Begins the sample of a command.
    #[cold]
    pub(crate) fn begin_sample(&self, clock: &Clock, args: &Args<'_>, output: usize) -> Sample {
        Sample::new(args, output, clock.monotonic_ns())
    }

    /// Begins the sample of a command of a transaction, if it is this command's turn to be sampled.
    pub fn begin_inner_sample(
        &mut self,
        clock: &Clock,
        args: &Args<'_>,
        output: usize,
    ) -> Option<Sample> {
        let turn = self.sampler.ahead(1) == 0;
        if !turn {
            self.sampler.pass(1);
        }
        turn.then(|| self.begin_sample(clock, args, output))
    }

    /// Ends the sample of a command: `command` has it, its database and its arguments, if there was one.
    /// `output` is the output so far.
    #[cold]
    pub fn end_sample(
        &mut self,
        engine: &Engine,
        command: Option<(&Cmd, usize, &Args<'_>)>,
        sample: Sample,
        output: usize,
    ) {
        let command = command.map(|(cmd, db, args)| (cmd.row, db, args));
        let keys = &self.worker.top_keys;
        keys.note(&engine.hotkeys, &mut self.sampler, command, &sample, (self.mono, output));
    }
}

impl Engine {
    /// Counters summed over all threads.
    pub fn totals(&self) -> Totals {
        let mut t = Totals::default();
        self.executing_workers().iter().for_each(|w| w.stats.add_to(&mut t));
        self.helpers.each_worker(|w| w.stats.add_to(&mut t));
        t
    }

    /// The threads that execute what they are sent: those with connections, and the one that follows a primary.
    pub fn executing_workers(&self) -> Vec<Arc<Worker>> {
        let mut workers = self.workers();
        workers.extend(self.link_worker.get().cloned());
        workers
    }

    /// Samples the rates; called a few times per second by one thread.
    pub fn sample_rates(&self) {
        self.rates.sample(self.clock.monotonic_ns(), self.totals(), self.workers().len());
        stdx::mem::sample_peak();
    }

    /// Counts an error reply by its first word.
    #[cold]
    pub fn count_error(&self, text: &str) {
        if let Some(known) = self.errors.count(text) {
            self.keyspace.count_freed_apart(known.len() as u64);
            crate::log!(
                self.log,
                Warning,
                "Errorstats stopped adding new errors: there are too many, maybe of a script's \
                 redis.error_reply; see INFO ERRORSTATS. CONFIG RESETSTAT begins anew."
            );
            crate::log!(self.log, Warning, "Current errors code list: {}", known.join(", "));
        }
    }

    /// Counts and logs a command of a primary's stream that has failed here.
    #[cold]
    pub(crate) fn note_divergence(&self, error: &str, command: &str) {
        self.replication.counts.failed.fetch_add(1, Relaxed);
        let error: String = error.chars().take_while(|c| *c != '\n').take(ERROR_SHOWN).collect();
        crate::log!(
            self.log,
            Warning,
            "== CRITICAL == This replica is sending an error to its master: '{}' after processing the command '{}'",
            error,
            command
        );
    }

    /// Keeps a command that took long in the slow log.
    #[cold]
    pub fn note_slow(&self, client: &Client, nanos: u64, row: &Row, args: &Args<'_>) {
        let slow = Entry {
            at: self.clock.wall_ms() as i64 / 1000,
            micros: nanos / 1000,
            peer: client.endpoint.peer.to_string(),
            name: client.name(),
            ..Entry::default()
        };
        let max = usize::try_from(self.config.int(Id::SlowlogMaxLen)).unwrap_or(0);
        let hides = |i| row.is_secret(args, i).then_some(Row::REDACTED);
        self.slowlog.record(max, slow, args, hides);
    }

    /// The costs of commands, summed over threads.
    pub fn costs(&self) -> Breakdown {
        let workers = self.workers();
        let threads: Vec<_> = workers.iter().map(|w| (&w.stats, &w.costs)).collect();
        Breakdown::of(&threads, self.table.all().iter().map(|cmd| cmd.row.group))
    }

    /// The `count` keys that have made most of the work over the last minute or so, heaviest
    /// first.
    pub fn top_keys(&self, by: By, count: usize) -> Vec<TopKey> {
        let workers = self.workers();
        topkeys::top(keys_of(&workers), by, count, self.clock.monotonic_ns())
    }

    fn spent(&self) -> Spent {
        let t = self.totals();
        let CpuTime { user, system } = process::cpu_self();
        Spent {
            command_nanos: t.command_nanos,
            net_bytes: t.net_input_bytes.wrapping_add(t.net_output_bytes),
            cpu_user: user,
            cpu_system: system,
        }
    }

    /// Ends a session of HOTKEYS whose time is over.
    pub fn tick_hotkeys(&self) {
        self.hotkeys.tick(self.clock.monotonic_ns(), || self.spent());
    }

    /// Begins a session of HOTKEYS; false when one is on.
    pub fn start_hotkeys(&self, selection: Selection) -> bool {
        let now = (self.clock.monotonic_ns(), self.clock.wall_ms() as i64);
        self.hotkeys.start(selection, now, || self.spent())
    }

    /// Ends the session; false when none is on.
    pub fn stop_hotkeys(&self) -> bool {
        self.hotkeys.stop(self.clock.monotonic_ns(), || self.spent())
    }

    /// Forgets the session; false while it is on.
    pub fn reset_hotkeys(&self) -> bool {
        let workers = self.workers();
        self.hotkeys.reset(keys_of(&workers), self.clock.monotonic_ns(), || self.spent())
    }

    /// The session's findings so far, if there is or was one.
    pub fn hotkeys_report(&self) -> Option<Report> {
        let workers = self.workers();
        self.hotkeys.report(keys_of(&workers), self.clock.monotonic_ns(), || self.spent())
    }
}

fn keys_of(workers: &[Arc<Worker>]) -> impl Iterator<Item = &topkeys::TopKeys> {
    workers.iter().map(|w| &w.top_keys)
}
