//! Records become commands again.
//!
//! The whole keyspace is locked throughout, so that no command takes a lock. Each record runs at the
//! time at which it ran first: keys that had expired then have expired again. Records come some at a
//! time, and their keys are prefetched.

use commands::Fail;
use commands::row::Traits;
use engine::{Engine, Run, Table, replay_data};
use persist::journal::segment::Change;
use resp::{Args, Out, Proto, Reply, Span};
use store::{Context, Db, Key, NodeSpot, Spot};
use stream::Commands;

use super::scripts::{Replayer, Target};

/// See the module's text.
pub(super) struct Player<'a> {
    engine: &'a Engine,
    cx: &'a mut Context,
    /// Commands under their own names, whatever they were renamed to.
    table: Table,
    /// The last command's name and number: they come in runs.
    last: (Vec<u8>, u16),
    spans: Vec<Span>,
    parsed: Vec<Parsed>,
    owned: Vec<Vec<u8>>,
    out: Out,
    /// Scripts that a file of Redis has.
    scripts: Replayer,
    /// Commands that were run.
    pub(super) commands: u64,
    /// Commands that were refused, and the first refusal.
    pub(super) refused: (u64, Option<String>),
    /// After how many commands it has last unlocked the keyspace, if it does.
    last_yield: Option<u64>,
}

/// Commands between two moments in which others may look at the keyspace: about a millisecond, against
/// which locking every shard is little.
const YIELD_EVERY: u64 = 4096;
/// Commands whose keys are prefetched together.
const AHEAD: usize = 32;

struct Parsed {
    record: usize,
    time: i64,
    db: usize,
    id: u16,
    /// Where its first argument begins in the payload; its spans count from there.
    from: usize,
    first: usize,
    argc: usize,
    hash: u64,
}

impl<'a> Player<'a> {
    /// A player over a keyspace that `cx` has locked. With `yields` it unlocks it from time to time.
    pub(super) fn new(engine: &'a Engine, cx: &'a mut Context, yields: bool) -> Self {
        cx.may_block = false;
        cx.client = 0;
        cx.no_touch = false;
        cx.keep_expired = false;
        Self {
            engine,
            cx,
            table: engine.table.with_own_names(),
            last: (Vec::new(), 0),
            spans: Vec::new(),
            parsed: Vec::new(),
            owned: Vec::new(),
            out: Out::default(),
            scripts: Replayer::default(),
            commands: 0,
            refused: (0, None),
            last_yield: yields.then_some(0),
        }
    }

    /// Lets others look at the keyspace for a moment, if it is time.
    fn yield_point(&mut self) {
        let Some(since) = &mut self.last_yield else { return };
        if self.commands - *since < YIELD_EVERY {
            return;
        }
        *since = self.commands;
        self.engine.keyspace.release(self.cx);
        self.engine.keyspace.hold(self.cx, None);
    }

    /// The context of the commands.
    pub(super) fn cx(&mut self) -> &mut Context {
        self.cx
    }

    /// Whether others may look at the keyspace from time to time.
    pub(super) fn yields(&self) -> bool {
        self.last_yield.is_some()
    }

    /// Runs records. An error names the record by its position, and says why.
    pub(super) fn play(&mut self, changes: &[Change<'_>]) -> Result<(), (usize, String)> {
        self.yield_point();
        self.spans.clear();
        self.owned.clear();
        self.parsed.clear();
        for (record, change) in changes.iter().enumerate() {
            self.parse(record, change.payload).map_err(|why| (record, why))?;
        }
        if self.parsed.len() > 1 {
            self.fetch_ahead();
        }
        let Self { engine, cx, table, spans, parsed, owned, out, .. } = self;
        let mut db = Db::lock_all(&engine.keyspace, 0, cx);
        for p in parsed.iter() {
            let payload = changes.get(p.record).and_then(|c| c.payload.get(p.from..));
            let payload = payload.unwrap_or_default();
            let spans = spans.get(p.first..p.first + p.argc).unwrap_or_default();
            db.cx.set_now(p.time);
            db.select(p.db);
            let cmd = table.get(p.id);
            let mut args = Args::new(payload, spans, owned);
            if cmd.traits.has(Traits::FUNCTIONS) {
                engine.replay_function(&args).map_err(|why| (p.record, why))?;
                continue;
            }
            let Run::Data(run) = cmd.run else {
                let name = cmd.row.name;
                return Err((p.record, format!("{name} is not a command that changes data")));
            };
            let mut reply = Reply::new(out, Proto::V2);
            self.commands += 1;
            if let Err(Fail(why)) = replay_data(&mut db, run, &mut args, &mut reply) {
                self.refused.0 += 1;
                self.refused.1.get_or_insert_with(|| format!("{}: {why}", cmd.row.name));
            }
            out.clear();
        }
        drop(db);
        self.cx.overdue.clear();
        self.cx.ready.clear();
        Ok(())
    }

    /// Prefetches the buckets of the parsed commands' keys, and then their entries, each in a loop of hints alone.
    fn fetch_ahead(&self) {
        let (ks, pin) = (&self.engine.keyspace, store::epoch::pin());
        for group in self.parsed.chunks(AHEAD) {
            let mut spots = [Spot::NONE; AHEAD];
            for (spot, p) in spots.iter_mut().zip(group).filter(|(_, p)| p.hash != 0) {
                *spot = ks.spot(p.db, p.hash, &pin);
            }
            spots.iter().for_each(|spot| spot.prefetch_bucket());
            let mut nodes = [NodeSpot::NONE; AHEAD];
            for ((node, spot), p) in nodes.iter_mut().zip(&spots).zip(group) {
                *node = spot.node(p.hash);
            }
            nodes.iter().for_each(|node| node.prefetch());
        }
    }

    fn parse(&mut self, record: usize, payload: &[u8]) -> Result<(), String> {
        let malformed = |_| "the record is malformed".to_owned();
        let mut commands = Commands::new(payload).map_err(malformed)?;
        loop {
            let first = self.spans.len();
            let spans = &mut self.spans;
            let owned = &mut self.owned;
            let mut from = None;
            let next = commands.next(|at, len| {
                let from = *from.get_or_insert(at);
                spans.push(Span::within(at - from, len).unwrap_or_else(|| {
                    owned.push(payload.get(at..at + len).unwrap_or_default().to_vec());
                    Span::owned(owned.len() - 1)
                }));
            });
            let Some(command) = next.map_err(malformed)? else { return Ok(()) };
            let from = from.unwrap_or_default();
            let spans = &self.spans[first..];
            let args = Args::new(payload.get(from..).unwrap_or_default(), spans, &mut self.owned);
            if command.db >= self.engine.keyspace.databases() {
                return Err(format!(
                    "it belongs to database {}; there are {} (option `databases`)",
                    command.db,
                    self.engine.keyspace.databases()
                ));
            }
            let id = find(&self.table, &mut self.last, &args)?;
            let cmd = self.table.get(id);
            if !cmd.arity_fits(args.len()) {
                return Err(format!("{} has a wrong number of arguments", cmd.row.name));
            }
            let mut hash = 0;
            if cmd.one_key {
                hash = Key::new(&args[1]).hash;
            }
            self.parsed.push(Parsed {
                record,
                time: commands.time,
                db: command.db,
                id,
                from,
                first,
                argc: command.argc,
                hash,
            });
        }
    }

    /// Runs one command of a file of Redis's in database `db`.
    pub(super) fn play_one(&mut self, db: usize, words: Vec<Vec<u8>>) -> Result<(), String> {
        self.yield_point();
        let mut owned = words;
        let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
        let mut args = Args::new(&[], &spans, &mut owned);
        let id = find(&self.table, &mut self.last, &args)?;
        let cmd = self.table.get(id);
        if !cmd.arity_fits(args.len()) {
            return Err(format!("{} has a wrong number of arguments", cmd.row.name));
        }
        if cmd.traits.has(Traits::FUNCTIONS) {
            return self.engine.replay_function(&args);
        }
        let name = cmd.row.name;
        let outcome = match cmd.run {
            Run::Data(run) => {
                let mut view = Db::lock_all(&self.engine.keyspace, db, self.cx);
                replay_data(&mut view, run, &mut args, &mut Reply::new(&mut self.out, Proto::V2))
            }
            Run::Session(_) => {
                let Self { engine, cx, table, .. } = self;
                let target = Target { engine, table, cx, db };
                self.scripts.play(name, target, &args).map_err(|why| advise(&why))?
            }
        };
        self.commands += 1;
        if let Err(fail) = outcome {
            self.refused.0 += 1;
            self.refused.1.get_or_insert_with(|| format!("{name}: {}", fail.0));
        }
        self.out.clear();
        self.cx.overdue.clear();
        self.cx.ready.clear();
        Ok(())
    }
}

/// The advice for a file with a command that cannot be replayed.
fn advise(why: &str) -> String {
    format!("{why} (BGREWRITEAOF of the Redis that wrote the file leaves only data in it):")
}

fn find(table: &Table, last: &mut (Vec<u8>, u16), args: &Args<'_>) -> Result<u16, String> {
    let name = &args[0];
    if name == last.0.as_slice() {
        return Ok(last.1);
    }
    let unknown = || {
        let name = String::from_utf8_lossy(name.get(..64).unwrap_or(name)).into_owned();
        format!("Unknown command '{name}'")
    };
    let top = table.find(name).ok_or_else(unknown)?;
    if !table.get(top).row.subcommands.is_empty() {
        return args.get(1).and_then(|sub| table.find_sub(top, sub)).ok_or_else(unknown);
    }
    *last = (name.to_vec(), top);
    Ok(top)
}
