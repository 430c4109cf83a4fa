//! The path of a batch: parse a group, look ahead, execute.
//!
//! This is the path of every request. Its instructions are counted (`examples/batch.rs` under
//! callgrind): work is done once for all commands of a group where that is possible, and by the
//! commands' own functions otherwise.

use std::sync::atomic::Ordering::Relaxed;

use commands::DataFn;
use commands::row::Traits;
use commands::runs::{CommandRun, ParsedCommand, RunFunction};
use observe::stats::bump;
use observe::topkeys::Sample;
use resp::{Args, Header, Limits, Out, Parsed, Parser, ProtocolError, Reply, Span, Template};
use store::{Budget, Db, Key, Named, Spot};

use super::{Batch, Next, Thread};
use crate::attention::Attention;
use crate::dispatch::Done;
use crate::engine::Engine;
use crate::exec::run_data;
use crate::helpers::AT_ONCE;
use crate::pubsub::{self, ChannelKind};
use crate::session::{Deferred, ReplyMode, Session};
use crate::table::{Call, Cmd, Run, Table};

/// Commands that are parsed before the first of them is executed.
pub(super) const GROUP: usize = 32;
/// Commands that are executed between the hints about others: see [`Hints`].
const HINTS_AT_ONCE: usize = 8;
/// Keys of a script that are looked up ahead.
const COUNTED_MAX: usize = 8;
/// Output after which a batch is interrupted to be sent, in bytes.
const OUTPUT_PAUSE: usize = 1 << 20;
/// Instead of a command's number: it does not take the fast path.
pub(super) const NO_COMMAND: u16 = u16::MAX;
/// Arguments up to which a command that subscribes takes little time.
const SUBSCRIBED_MAX: usize = 16;
/// Receivers of one message beyond which its time is measured apart from its neighbours.
const FEW_RECEIVERS: u64 = 32;
/// Arguments of one command behind which a group ends.
const ARGUMENTS_MANY: u32 = 1 << 20;
/// Output of one command from which on its time is measured apart from its neighbours, in bytes.
const LONG_REPLY: usize = 8 << 10;

/// The context that a batch is executed in.
type Running<'r> =
    (&'r Engine, &'r mut Session, &'r mut Parser, &'r [u8], &'r mut Batch, &'r mut Out);

/// Where a group's keys lie.
pub(super) struct Ahead<'p> {
    pub(super) pin: &'p store::epoch::Guard,
    /// The buckets of the group's commands that have one key.
    pub(super) spots: [Spot<'p>; GROUP],
}

/// Commands that are parsed and not executed yet.
#[derive(Default)]
pub(super) struct ParsedGroup {
    pub(super) commands: Vec<ParsedCommand>,
    pub(super) spans: Vec<Span>,
    /// Arguments that are not in the input.
    owned: Vec<Vec<u8>>,
    /// Hashes of the keys of commands over several keys.
    pub(super) hashes: Vec<u64>,
    /// Whether the next group may be parsed, and its buckets fetched, before this one is executed: all its commands take the
    /// fast path, so that none changes how input is read, and each can be parsed again.
    may_wait: bool,
}

impl ParsedGroup {
    fn clear(&mut self) {
        self.commands.clear();
        self.spans.clear();
        self.owned.clear();
        self.hashes.clear();
        self.may_wait = true;
    }

    /// Whether the first look at the keys may as well be that of their commands.
    #[inline]
    fn needs_no_hints(&self) -> bool {
        self.commands.len() <= 1 && self.hashes.is_empty()
    }

    /// The offset behind its last command.
    fn end(&self) -> usize {
        self.commands.last().map_or(0, |p| p.end)
    }
}

impl Batch {
    /// Ends it in front of input that was parsed already, which is parsed again later.
    fn stop(&mut self, next: Next, parser: &mut Parser) {
        *parser = Parser::default();
        self.next = next;
    }
}

/// What has to be known of commands of one kind, to execute several of them one after the other. Without
/// `run`, they are executed in the usual way.
#[derive(Clone, Copy, Default)]
struct OfKind {
    run: Option<DataFn>,
    run_function: Option<RunFunction>,
    by_reply: bool,
    estimates: bool,
}

impl OfKind {
    /// The facts about command `id`. The command whose last reply was long is executed in the usual way.
    #[inline]
    fn find(table: &Table, id: u16, long: u16) -> Self {
        let usual = id == NO_COMMAND || id == long;
        if usual { Self::default() } else { Self::of(table.get(id)) }
    }

    #[inline]
    fn of(cmd: &Cmd) -> Self {
        let run = if let Run::Data(f) = cmd.run { Some(f) } else { None };
        let estimates = cmd.traits.has(Traits::ESTIMATES_ITSELF);
        Self { run, run_function: cmd.run_function, by_reply: cmd.by_reply, estimates }
    }
}

impl Thread {
    pub(super) fn run_batch(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        out: &mut Out,
    ) -> Batch {
        let mut batch = Batch { consumed: 0, next: Next::Read };
        if session.client.closing.load(Relaxed) {
            // A command that waited for the end of a pause is not run for a client that has been killed.
            batch.next = Next::Close;
            return batch;
        }
        if let Some(deferred) = session.deferred.take()
            && let Some(next) = self.run_deferred(engine, session, deferred.words, out)
        {
            batch.next = next;
            return batch;
        }
        loop {
            let (group, stop) = {
                let pin = store::epoch::pin();
                let run = (engine, &mut *session, &mut *parser, input, &mut batch, &mut *out);
                match self.run_ahead(run, &pin) {
                    Some(last) => last,
                    None => return batch,
                }
            };
            if let Some(next) =
                self.run_group(engine, session, input, group, &mut batch.consumed, out)
            {
                batch.stop(next, parser);
                return batch;
            }
            match stop {
                Stop::Full => continue,
                Stop::At(end, next) => {
                    batch.consumed = end;
                    batch.next = if session.closing { Next::Close } else { next };
                }
                Stop::Invalid(why) => {
                    self.end_by_protocol(engine, session, &why.0, out);
                    batch = Batch { consumed: input.len(), next: Next::Close };
                }
            }
            return batch;
        }
    }

    /// Parses groups, has their keys fetched, and executes all groups but the last, which is returned: behind it there
    /// is no whole command, or the next must not be parsed before this one is executed. Returns nothing when the batch
    /// ends before that.
    ///
    /// Three groups are under way. While one is executed, the entries of the second and the buckets of the third
    /// arrive, so that the processor need not wait for either.
    fn run_ahead<'p>(
        &mut self,
        (engine, session, parser, input, batch, out): Running<'_>,
        pin: &'p store::epoch::Guard,
    ) -> Option<(ParsedGroup, Stop)> {
        // The first waits for its entries, the second for its buckets.
        let mut first: Option<ParsedGroup> = None;
        let mut second: Option<(ParsedGroup, Ahead<'p>)> = None;
        loop {
            // Another thread's CLIENT KILL takes effect here, before further commands.
            let closing = session.closing || session.client.closing.load(Relaxed);
            if closing || self.must_pause(out) {
                batch.next = if closing { Next::Close } else { Next::Flush };
                return None;
            }
            let from = second.as_ref().map_or(batch.consumed, |(group, _)| group.end());
            let mut ahead = Ahead { pin, spots: [Spot::NONE; GROUP] };
            let timed = self.costs.on.then(|| engine.clock.monotonic_ns());
            let stop = self.parse_group(engine, session, parser, input, from, &mut ahead);
            if let Some(start) = timed {
                self.mono = engine.clock.monotonic_ns();
                self.costs.parsed(self.group.commands.len(), self.mono.saturating_sub(start));
            }
            let mut third =
                std::mem::replace(&mut self.group, self.spare.pop().unwrap_or_default());
            let last = !third.may_wait || !matches!(stop, Stop::Full);
            if last && second.is_none() && third.needs_no_hints() {
                return Some((third, stop));
            }
            if let Some((group, ahead)) = &mut second {
                self.hints.entries(engine, session.db, group, ahead);
            }
            self.hints.buckets(&third, &ahead);
            self.run_or_fetch((engine, session, parser, input, batch, out), first.take())?;
            first = second.map(|(group, _)| group);
            if last {
                self.hints.entries(engine, session.db, &mut third, &ahead);
                self.run_or_fetch((engine, session, parser, input, batch, out), first)?;
                return Some((third, stop));
            }
            second = Some((third, ahead));
        }
    }

    /// Executes a group, if there is one, while what the hints are about is fetched. Returns nothing if the batch ends.
    #[inline]
    fn run_or_fetch(
        &mut self,
        (engine, session, parser, input, batch, out): Running<'_>,
        group: Option<ParsedGroup>,
    ) -> Option<()> {
        let next = group.and_then(|group| {
            self.run_group(engine, session, input, group, &mut batch.consumed, out)
        });
        self.hints.give_all();
        if let Some(next) = next {
            batch.stop(next, parser);
            return None;
        }
        Some(())
    }

    /// Whether to send the output before anything else is executed, or to wait until other threads have
    /// sent the messages that they were given: see [`Thread::take_crowded`].
    #[inline]
    fn must_pause(&self, out: &Out) -> bool {
        out.len() >= OUTPUT_PAUSE || self.pubsub.crowded.is_some()
    }

    /// Parses up to a group of commands, and finds the buckets of those that take the fast path.
    fn parse_group(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        from: usize,
        ahead: &mut Ahead<'_>,
    ) -> Stop {
        let unauthenticated = session.needs_auth(engine);
        let limits = Limits { bulk_max: self.hot.bulk_max, unauthenticated };
        // The next command may authenticate the client, which changes the limits of the commands behind it.
        let most = if unauthenticated { 1 } else { GROUP };
        self.group.clear();
        let mut pos = from;
        while self.group.commands.len() < most {
            let resumed = parser.is_active();
            if !resumed && !unauthenticated {
                pos = self.parse_same_shape(engine, session.db, input, pos, &limits, ahead);
                if self.group.commands.len() == most {
                    break;
                }
            }
            // Most input ends with a command.
            if pos == input.len() && !resumed {
                return Stop::At(pos, Next::Read);
            }
            let group = &mut self.group;
            let first = group.spans.len();
            let parsed =
                parser.parse(&input[pos..], pos, &limits, &mut group.spans, &mut group.owned);
            match parsed {
                Parsed::Command(used) => {
                    let (id, top, hash) =
                        self.classify(engine, session.db, input, pos, first, ahead);
                    pos += used;
                    let group = &mut self.group;
                    let (first, argc) = (first as u32, (group.spans.len() - first) as u32);
                    group.may_wait &= id != NO_COMMAND && !resumed;
                    group.commands.push(ParsedCommand {
                        end: pos,
                        first,
                        argc,
                        id,
                        top,
                        near: 0,
                        hash,
                    });
                    // A resumed command's large arguments are not in the input: it must not be
                    // parsed again, so nothing before it may stop the group.
                    // Arguments are numbered with 32 bits, and one command has up to 2^31.
                    if resumed || argc > ARGUMENTS_MANY {
                        break;
                    }
                }
                Parsed::Nothing(used) => pos += used,
                Parsed::Incomplete => return Stop::At(pos, Next::Read),
                // The parser has taken the rest over.
                Parsed::Big { .. } => return Stop::At(input.len(), Next::ReadBig),
                // Replies of the commands before it come first: it is answered after them.
                Parsed::Error(_) if !self.group.commands.is_empty() => break,
                Parsed::Error(e) => return Stop::Invalid(e),
            }
        }
        Stop::Full
    }

    /// Answers what is no request, behind which nothing can be read.
    #[cold]
    fn end_by_protocol(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        why: &str,
        out: &mut Out,
    ) {
        if session.reply == ReplyMode::On {
            Reply::new(out, session.proto).error(format!("ERR {why}"));
        }
        session.closing = true;
        self.worker.count_error(engine, "ERR");
    }

    /// Parses commands from `pos` on as long as they have the shape of the last one that took the fast
    /// path, and returns the offset behind them.
    #[inline]
    fn parse_same_shape(
        &mut self,
        engine: &Engine,
        db: usize,
        input: &[u8],
        pos: usize,
        limits: &Limits,
        ahead: &mut Ahead<'_>,
    ) -> usize {
        let Some((shape, _)) = &self.shape else { return pos };
        match shape.argc() {
            2 => self.parse_some::<2>(engine, db, input, pos, limits, ahead),
            3 => self.parse_some::<3>(engine, db, input, pos, limits, ahead),
            4 => self.parse_some::<4>(engine, db, input, pos, limits, ahead),
            _ => pos,
        }
    }

    /// Parses commands of `N` arguments.
    fn parse_some<const N: usize>(
        &mut self,
        engine: &Engine,
        db: usize,
        input: &[u8],
        mut pos: usize,
        limits: &Limits,
        ahead: &mut Ahead<'_>,
    ) -> usize {
        let Some((shape, id)) = self.shape else { return pos };
        let mut header = Header::default();
        let keyed = engine.table.get(id).one_key;
        let place = self.group.commands.len();
        for spot in ahead.spots.iter_mut().skip(place) {
            let Some((spans, key, end)) = shape.next::<N>(&mut header, input, pos, limits) else {
                break;
            };
            let hash = stdx::hash::hash64(key);
            if keyed {
                *spot = engine.keyspace.spot(db, hash, ahead.pin);
            }
            let first = self.group.spans.len() as u32;
            self.group.spans.extend_from_slice(&spans);
            self.group.commands.push(ParsedCommand {
                end,
                first,
                argc: N as u32,
                id,
                top: id,
                near: 0,
                hash,
            });
            pos = end;
        }
        pos
    }

    /// Looks a command up, decides whether it takes the fast path, and finds its bucket. See
    /// [`ParsedCommand`] for the result.
    fn classify(
        &mut self,
        engine: &Engine,
        db: usize,
        input: &[u8],
        pos: usize,
        first: usize,
        ahead: &mut Ahead<'_>,
    ) -> (u16, u16, u64) {
        let [name, rest @ ..] = &self.group.spans[first..] else {
            return (NO_COMMAND, NO_COMMAND, 0);
        };
        let (name, key, argc) = (*name, rest.first().copied(), rest.len() + 1);
        let Some(id) = name.bytes(input).and_then(|name| engine.table.find(name)) else {
            return (NO_COMMAND, NO_COMMAND, 0);
        };
        let cmd = engine.table.get(id);
        if !cmd.arity_fits(argc) {
            return (NO_COMMAND, id, 0);
        }
        if cmd.subscribes && argc <= SUBSCRIBED_MAX {
            self.note_shape(input, pos, argc, id);
            return (id, id, 0);
        }
        if !cmd.one_key && cmd.publishes.is_none() {
            let keys = match cmd.many_keys {
                // As many as there are; a last key counted from the end is the last argument.
                Some((last, step)) if last < 0 => Some((1..argc).step_by(step)),
                Some((last, step)) => Some((1..argc.min(2 + last as usize)).step_by(step)),
                None if cmd.counted_keys => {
                    let count = self.group.spans.get(first + 2).and_then(|n| n.bytes(input));
                    let count = count.and_then(stdx::num::parse_i64).unwrap_or(0);
                    let count = usize::try_from(count).unwrap_or(0).min(COUNTED_MAX);
                    Some((3..argc.min(3 + count)).step_by(1))
                }
                None => None,
            };
            if let Some(keys) = keys {
                for at in keys {
                    if let Some(key) = self.group.spans[first + at].bytes(input) {
                        let hash = stdx::hash::hash64(key);
                        engine.keyspace.spot(db, hash, ahead.pin).prefetch_bucket();
                        self.group.hashes.push(hash);
                    }
                }
            }
            return (NO_COMMAND, id, 0);
        }
        let Some(key) = key.and_then(|k| k.bytes(input)) else { return (NO_COMMAND, id, 0) };
        let hash = stdx::hash::hash64(key);
        if cmd.one_key {
            ahead.spots[self.group.commands.len()] = engine.keyspace.spot(db, hash, ahead.pin);
        }
        if !cmd.fast {
            return (NO_COMMAND, id, hash);
        }
        self.note_shape(input, pos, argc, id);
        (id, id, hash)
    }

    /// The next command probably has the shape of the command at `pos`.
    fn note_shape(&mut self, input: &[u8], pos: usize, argc: usize, id: u16) {
        if let Some(shape) = input.get(pos..).and_then(Template::of)
            && shape.argc() == argc
        {
            self.shape = Some((shape, id));
        }
    }

    /// Executes a parsed group. Returns what to do instead of going on, if anything.
    fn run_group(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        input: &[u8],
        mut parsed: ParsedGroup,
        consumed: &mut usize,
        out: &mut Out,
    ) -> Option<Next> {
        let ParsedGroup { commands: group, spans, owned, .. } = &mut parsed;
        let mut next = None;
        let mut i = 0;
        self.since = None;
        while i < group.len() {
            if session.closing {
                // Input behind QUIT is not looked at.
                next = Some(Next::Close);
                break;
            }
            // A command that is looked at for the top keys is executed by itself.
            let ahead = self.sampler.ahead(group.len() - i);
            let until = i + ahead.max(1);
            let p = &group[i];
            let sample = (ahead == 0).then(|| {
                let spans = &spans[p.first as usize..][..p.argc as usize];
                self.begin_sample(&engine.clock, &Args::new(input, spans, owned), out.len())
            });
            let fast = self.run_fast(engine, session, input, &group[i..until], spans, owned, out);
            self.cx.budget = Budget::UNLIMITED;
            if fast > 0 {
                let run = (input, &group[i..i + fast], &spans[..]);
                self.ran_fast(engine, session, run, owned, sample, out.len());
                i += fast;
                *consumed = group[i - 1].end;
            } else {
                let spans = &spans[p.first as usize..][..p.argc as usize];
                let mut args = Args::new(input, spans, owned);
                *consumed = p.end;
                i += 1;
                next = self.run_one(engine, session, p, &mut args, sample, out);
                if next.is_some() {
                    break;
                }
            }
            if i < group.len() && self.must_pause(out) {
                next = Some(Next::Flush);
                break;
            }
        }
        self.collect();
        self.spare.push(parsed);
        next
    }

    /// Accounts a run of fast commands that has just been executed.
    #[inline]
    fn ran_fast(
        &mut self,
        engine: &Engine,
        session: &Session,
        (input, run, spans): (&[u8], &[ParsedCommand], &[Span]),
        owned: &mut [Vec<u8>],
        sample: Option<Sample>,
        output: usize,
    ) {
        let start = self.mono;
        self.mono = engine.clock.monotonic_ns();
        self.since = Some(self.mono);
        let nanos = self.mono.saturating_sub(start);
        self.time_went_by();
        self.account_run(engine, &session.client, run, nanos);
        self.send_due_answers();
        if nanos >= self.hot.slow_ns {
            let p = suspect(run);
            let spans = &spans[p.first as usize..][..p.argc as usize];
            let args = Args::new(input, spans, owned);
            let row = engine.table.get(p.id).row;
            engine.note_slow(&session.client, nanos, row, &args);
        }
        match sample {
            Some(sample) => {
                let p = &run[0];
                let spans = &spans[p.first as usize..][..p.argc as usize];
                let args = Args::new(input, spans, owned);
                let cmd = engine.table.get(p.id);
                self.end_sample(engine, Some((cmd, session.db, &args)), sample, output);
            }
            None => self.sampler.pass(run.len()),
        }
    }

    /// Executes one command in the usual way. Returns what to do instead of going on, if anything.
    #[inline]
    fn run_one(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        p: &ParsedCommand,
        args: &mut Args<'_>,
        sample: Option<Sample>,
        out: &mut Out,
    ) -> Option<Next> {
        self.send_answers();
        let (mark, before) = (out.mark(), out.len());
        let mut reply = Reply::new(out, session.proto);
        let done = match p.top {
            NO_COMMAND => self.dispatch(engine, session, args, &mut reply),
            top => self.dispatch_known(engine, session, top, args, &mut reply),
        };
        match done {
            Done::Yes if p.id == self.long && out.len().saturating_sub(before) < LONG_REPLY => {
                self.long = NO_COMMAND;
            }
            Done::Yes => {}
            Done::Wait => {
                session.deferred = Some(Box::new(Deferred { words: args.to_vecs(0) }));
                return Some(Next::Wait);
            }
            Done::Block => return Some(Next::Block),
        }
        match sample {
            Some(sample) => {
                // An unknown command has no number, and no keys.
                let id = session.client.last_cmd.load(Relaxed).wrapping_sub(1);
                let cmd = engine.table.all().get(usize::from(id));
                // A command that is queued for a transaction is looked at when it runs.
                let cmd = cmd.filter(|_| session.multi.is_none());
                let command = cmd.map(|c| (c, session.db, &*args));
                self.end_sample(engine, command, sample, out.len());
            }
            None => self.sampler.pass(1),
        }
        self.after(session, out, mark);
        None
    }

    /// Executes the fast commands at the start of a group, as long as nothing needs attention.
    /// Returns how many.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the scratch buffers are lent, not owned, here")]
    fn run_fast(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        input: &[u8],
        group: &[ParsedCommand],
        spans: &[Span],
        owned: &mut [Vec<u8>],
        out: &mut Out,
    ) -> usize {
        let Some(id) = group.first().map(|p| p.id).filter(|id| *id != NO_COMMAND) else {
            return 0;
        };
        let cmd = engine.table.get(id);
        // The link to the primary passes by what a replica refuses to its clients.
        let mut attention = engine.attention.get();
        if session.from_primary {
            attention &= !Attention::OBEYED;
        }
        if attention != 0
            || !session.authenticated
            || !session.user.is_free()
            || session.reply != ReplyMode::On
            || session.attention
            || session.multi.is_some()
        {
            return 0;
        }
        let run = (input, group, spans);
        if let Some(kind) = cmd.publishes {
            return self.run_publish(engine, session, kind, run, owned, out);
        }
        if cmd.subscribes {
            return self.run_subscribe(engine, session, cmd, run, owned, out);
        }
        self.run_data_commands(engine, session, run, owned, out)
    }

    /// Executes the fast data commands at the start of a group, as long as that takes little time.
    #[inline]
    fn run_data_commands(
        &mut self,
        engine: &Engine,
        session: &Session,
        (input, group, spans): (&[u8], &[ParsedCommand], &[Span]),
        owned: &mut [Vec<u8>],
        out: &mut Out,
    ) -> usize {
        self.shows_data = true;
        self.cx.client = session.client.id;
        self.cx.no_touch = session.no_touch;
        let mut reply = Reply::new(out, session.proto);
        let mut db = Db::unlocked(&engine.keyspace, session.db, &mut self.cx);
        if let part @ 1.. = shared_part(&engine.table, group) {
            prefetch_parts(&mut db, input, group, spans, owned, part);
        }
        let (mut last, mut of_kind) = (NO_COMMAND, OfKind::default());
        let (mut n, mut hinted) = (0, 0);
        db.cx.budget = AT_ONCE;
        let mut args = Args::new(input, &[], owned);
        while let Some(p) = group.get(n) {
            if n >= hinted {
                hinted = n + self.hints.give(HINTS_AT_ONCE);
            }
            if p.id != last {
                last = p.id;
                of_kind = OfKind::find(&engine.table, p.id, self.long);
            }
            if let Some(run_function) = of_kind.run_function {
                let some = &group[n..hinted.min(group.len())];
                let run = &CommandRun { input, spans, group: some };
                let done = run_function(&mut db, run, &mut reply);
                n += done;
                // The command that it stops in front of, and the rest of the kind, are executed in the usual way.
                of_kind.run_function = of_kind.run_function.filter(|_| done == some.len());
                if done > 0 {
                    continue;
                }
            }
            let Some(run) = of_kind.run else { break };
            let before = if of_kind.by_reply { reply.out().len() } else { 0 };
            // A fast command has one key: argument 1.
            args.turn_to(&spans[p.first as usize..][..p.argc as usize]);
            db.move_to(p.hash, usize::from(p.near));
            let (own, local) = ((session.db, engine.table.get(p.id)), &mut self.pubsub);
            let outcome = run_data(engine, local, &mut db, run, own, &mut args, &mut reply);
            if of_kind.estimates && std::mem::take(&mut db.cx.handed_over) {
                // It is executed in the usual way, and handed over there.
                break;
            }
            n += 1;
            if let Err(fail) = outcome {
                bump(&self.worker.stats.commands[usize::from(p.id)].failed, 1);
                self.worker.answer_error_to(engine, session, Some(p.id), &fail, &mut reply);
            }
            if !db.cx.ready.is_empty() {
                // Waiters for the keys that this command has changed come before the next command, and
                // before any command that arrives meanwhile.
                db.into_hold();
                self.serve_and_release(engine);
                break;
            }
            if of_kind.by_reply && reply.out().len().saturating_sub(before) >= LONG_REPLY {
                // The command may have taken long, and so may the next one.
                self.long = p.id;
                break;
            }
        }
        n
    }

    /// Serves those who wait for what has changed in the shards that are held, and releases these.
    fn serve_and_release(&mut self, engine: &Engine) {
        self.cx.budget = Budget::UNLIMITED;
        self.serve_ready(engine);
        engine.keyspace.release(&mut self.cx);
        self.serve_ready(engine);
    }

    /// Executes the commands at the start of a group that publish, as long as that takes little time.
    fn run_publish(
        &mut self,
        engine: &Engine,
        session: &Session,
        kind: ChannelKind,
        (input, group, spans): (&[u8], &[ParsedCommand], &[Span]),
        owned: &mut [Vec<u8>],
        out: &mut Out,
    ) -> usize {
        // Messages that a subscriber publishes to itself come behind each reply.
        if session.outbox.is_some() || kind == ChannelKind::Channel && engine.pubsub.has_patterns()
        {
            return 0;
        }
        let mut reply = Reply::new(out, session.proto);
        let mut args = Args::new(input, &[], owned);
        let mut n = 0;
        for p in group.iter().take_while(|p| p.id == group[0].id) {
            args.turn_to(&spans[p.first as usize..][..p.argc as usize]);
            let receivers = pubsub::deliver(engine, &mut self.pubsub, kind, p.hash, &mut args);
            reply.int(receivers as i64);
            n += 1;
            if receivers > FEW_RECEIVERS || self.pubsub.crowded.is_some() {
                break;
            }
        }
        n
    }

    /// Executes the commands at the start of a group that subscribe.
    fn run_subscribe(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        cmd: &Cmd,
        (input, group, spans): (&[u8], &[ParsedCommand], &[Span]),
        owned: &mut [Vec<u8>],
        out: &mut Out,
    ) -> usize {
        let Run::Session(run) = cmd.run else { return 0 };
        let mut reply = Reply::new(out, session.proto);
        let mut args = Args::new(input, &[], owned);
        // Messages sent to it before come first, as they do for all commands.
        self.take_outbox(session, reply.out());
        let mut n = 0;
        for p in group.iter().take_while(|p| p.id == group[0].id) {
            args.turn_to(&spans[p.first as usize..][..p.argc as usize]);
            let mut call = Call { engine, thread: self, session };
            if let Err(fail) = run(&mut call, &mut args, &mut reply) {
                bump(&self.worker.stats.commands[usize::from(p.id)].failed, 1);
                self.worker.answer_error(engine, &fail, &mut reply);
            }
            self.take_outbox(session, reply.out());
            n += 1;
            // In RESP2 it may run no other commands after this.
            if session.attention || session.closing {
                break;
            }
        }
        n
    }
}

/// Which command of a run is to blame for its time: the one at whose reply the run ended, or the one
/// with the most arguments.
#[cold]
fn suspect(run: &[ParsedCommand]) -> &ParsedCommand {
    let last = &run[run.len() - 1];
    run.iter().rev().max_by_key(|p| p.argc).filter(|p| p.argc > last.argc).unwrap_or(last)
}

/// If the commands at the start of a group use one value, the argument that names a part of it; 0 otherwise.
#[inline]
fn shared_part(table: &Table, group: &[ParsedCommand]) -> u8 {
    match group {
        [first, second, ..] if first.hash == second.hash && first.id != NO_COMMAND => {
            table.get(first.id).part
        }
        _ => 0,
    }
}

/// Hints the processor to load the members or fields that commands about one value are about: they
/// are argument `part` of the commands at the start of `group` that share their key.
#[inline(never)]
fn prefetch_parts(
    db: &mut Db<'_>,
    input: &[u8],
    group: &[ParsedCommand],
    spans: &[Span],
    owned: &mut [Vec<u8>],
    part: u8,
) {
    let (first, part) = (&group[0], usize::from(part));
    let mut parts = [Named { name: &[], hash: 0 }; GROUP];
    let mut n = 0;
    for p in group.iter().take_while(|p| p.hash == first.hash).take(GROUP) {
        if part < p.argc as usize
            && let Some(name) = spans[p.first as usize + part].bytes(input)
        {
            parts[n] = Named { name, hash: stdx::hash::hash64(name) };
            n += 1;
        }
    }
    let spans = &spans[first.first as usize..][..first.argc as usize];
    let args = Args::new(input, spans, owned);
    let key = Key { bytes: &args[1], hash: first.hash };
    db.move_to(key.hash, usize::from(first.near));
    db.prefetch_parts(key, &parts[..n]);
}

/// Why parsing of a group ended.
enum Stop {
    /// The group is full, or something must be answered before going on.
    Full,
    /// Up to this offset the input is parsed; then this is next.
    At(usize, Next),
    /// What follows is no request; the text says why.
    Invalid(ProtocolError),
}
