//! XREADGROUP: <https://redis.io/docs/latest/commands/xreadgroup/>

use data::stream::{self, ConsumerId, GroupMut, Id, Log, Pending};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use super::journal::{Journal, Of};
use super::read::{self, Budget, Request};
use super::xread::{self, end};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{BeginSearch, FindKeys, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XREADGROUP: DataCommand = DataCommand {
    row: Row {
        name: "xreadgroup",
        group: Group::Stream,
        since: "5.0.0",
        arity: -7,
        flags: Flags::WRITE.or(Flags::BLOCKING),
        keys: &[KeySpec {
            notes: "",
            flags: KeyFlags::RO.or(KeyFlags::ACCESS),
            begin: BeginSearch::Keyword { word: "STREAMS", start: 4 },
            find: FindKeys::Range { last: -1, step: 1, limit: 2 },
        }],
        get_keys: Some(read::keys),
        complexity: "For each stream: O(log M + N) where M is the number of its nodes and N the \
                     number of entries returned; with CLAIM also O(P log P) where P is the number of pending \
                     entries.",
        summary: "Returns entries of streams that no consumer of a group was given yet, or what is \
                  pending with a consumer, and waits for some if asked to.",
        history: &[
            ("8.4.0", "Added the `CLAIM` option."),
            ("8.10.0", "Added the `MAXCOUNT` and `MAXSIZE` options."),
        ],
        syntax: "XREADGROUP GROUP group consumer [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]",
        transcript: r#"
> XADD s 1-0 n 1
"1-0"
> XADD s 2-0 n 2
"2-0"
> XADD s 3-0 n 3
"3-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g Ada COUNT 2 STREAMS s >
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
      2) 1) "2-0"
         2) 1) "n"
            2) "2"
> XREADGROUP GROUP g Alan STREAMS s >
1) 1) "s"
   2) 1) 1) "3-0"
         2) 1) "n"
            2) "3"
> XREADGROUP GROUP g Alan STREAMS s >
(nil)
# What is pending, again.
> XDEL s 1-0
(integer) 1
> XREADGROUP GROUP g Ada STREAMS s 0
1) 1) "s"
   2) 1) 1) "1-0"
         2) (nil)
      2) 1) "2-0"
         2) 1) "n"
            2) "2"
> XREADGROUP GROUP g Ada STREAMS s 2
1) 1) "s"
   2) (empty array)
> XPENDING s g - + 10 Ada
1) 1) "1-0"
   2) "Ada"
~    3) (integer) *
   4) (integer) 1
2) 1) "2-0"
   2) "Ada"
~    3) (integer) *
   4) (integer) 2
> XADD s 4-0 n 4
"4-0"
# Not to be acknowledged. The consumer exists from now on.
> XREADGROUP GROUP g Grace NOACK STREAMS s >
1) 1) "s"
   2) 1) 1) "4-0"
         2) 1) "n"
            2) "4"
> XPENDING s g - + 10 Grace
(empty array)
# A group may be called anything.
> XGROUP CREATE s STREAMS $
OK
> XREADGROUP COUNT 1 GROUP STREAMS STREAMS STREAMS s >
(nil)
> XREADGROUP GROUP other c STREAMS s >
(error) NOGROUP No such key 's' or consumer group 'other' in XREADGROUP with GROUP option
> XREADGROUP GROUP g c STREAMS s nothing > >
(error) NOGROUP No such key 'nothing' or consumer group 'g' in XREADGROUP with GROUP option
> XREADGROUP GROUP g c STREAMS s $
(error) ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.
> XREADGROUP GROUP g c STREAMS s x
(error) ERR Invalid stream ID specified as stream command argument
> XREADGROUP NOACK NOACK NOACK STREAMS s >
(error) ERR Missing GROUP option for XREADGROUP
> XREADGROUP GROUP g c COUNT x STREAMS s >
(error) ERR value is not an integer or out of range
> SET k v
OK
> XREADGROUP GROUP g c STREAMS k >
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.4
> XREADGROUP GROUP g c STREAMS s t >
(error) ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified.
# reset
# only: redis>=8.4
> XADD s 1-0 n 1
"1-0"
> XADD s 2-0 n 2
"2-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g Ada COUNT 1 STREAMS s >
...
# What is pending with anybody for long enough comes first, with its idle time and how often it was delivered.
> XREADGROUP GROUP g Alan CLAIM 0 STREAMS s >
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
~          3) (integer) *
         4) (integer) 1
      2) 1) "2-0"
         2) 1) "n"
            2) "2"
         3) (integer) 0
         4) (integer) 0
> XPENDING s g - + 10
1) 1) "1-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 2
2) 1) "2-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 1
> XREADGROUP GROUP g Ada CLAIM 3600000 STREAMS s >
(nil)
# Also where there is nothing new; COUNT is of both together. Of those delivered at the same time the
# one with the lowest ID comes first.
> XREADGROUP GROUP g Ada COUNT 1 CLAIM 0 STREAMS s >
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
~          3) (integer) *
         4) (integer) 2
> XREADGROUP GROUP g Ada CLAIM -1 STREAMS s >
(error) ERR min-idle-time must be a positive integer
> XREADGROUP GROUP g Ada CLAIM x STREAMS s >
(error) ERR min-idle-time is not an integer or out of range
# reset
# only: redis>=8.10
> XADD s 1-0 n 1
"1-0"
> XADD t 2-0 n 2
"2-0"
> XGROUP CREATE s g 0
OK
> XGROUP CREATE t g 0
OK
> XREADGROUP GROUP g Ada MAXCOUNT 1 STREAMS s t > >
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
> XPENDING t g
1) (integer) 0
2) (nil)
3) (nil)
4) (nil)
# reset
# resp: 3
> XADD s 1-0 n 1
"1-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g c STREAMS s >
1# "s" =>
   1) 1) "1-0"
      2) 1) "n"
         2) "1"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// How often a waiter looks, at most, for entries that are pending with other consumers.
const LOOK_AGAIN_MS: i64 = 100;

/// The entries that a call asks of a stream.
enum Wanted {
    /// Entries that no consumer was given.
    New,
    /// Entries pending with the consumer, behind an ID.
    Pending(Id),
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let request = Request::parse(args, db.now(), true)?;
    let (group, consumer) = (&args[request.group], &args[request.group + 1]);
    let mut from = Vec::with_capacity(request.n);
    for i in 0..request.n {
        from.push(check(db, &args[request.key(i)], group, &args[request.id(i)])?);
    }
    let mut journal = Journal::new(db);
    let (mark, mut served) = (reply.begin(), 0);
    let now = db.wall();
    let mut budget = request.budget(reply);
    // When a pending entry will be idle for long enough, in the present state.
    let mut again = i64::MAX;
    for (i, from) in from.iter().enumerate() {
        if !budget.next_stream(reply) {
            break;
        }
        let name = &args[request.key(i)];
        let key = db.key(name);
        let Some(mut e) = db.write_as(key, Kind::Stream)? else { continue };
        let Some((mut group_mut, log)) = super::of_mut(e.node_mut())?.group_mut(group) else {
            continue;
        };
        let mut of = journal.of(name, group, consumer);
        let (id, created) = group_mut.find_or_add(consumer, now);
        if created {
            of.created();
        }
        let delivery = Delivery { group: group_mut, log, of, id, now };
        let done = delivery.serve(&request, (from, name, consumer), &mut budget, reply);
        again = again.min(done.again);
        served += usize::from(done.served);
        // To Redis, reading pending entries again is no change; the journal has it all the same.
        db.dirty(done.claimed as u64 + u64::from(done.moved));
        if created {
            db.changed(name, Class::Stream, "xgroup-createconsumer");
        }
    }
    journal.write(db);
    if served > 0 {
        end(reply, mark, served);
        return Ok(());
    }
    match request.block {
        None => reply.null_array(),
        Some(deadline) => {
            let again = Some(again).filter(|at| *at < i64::MAX);
            let block = store::Block { again, ..request.wait(args, deadline, true, None) };
            crate::parse::block(db, block, reply);
        }
    }
    Ok(())
}

/// A stream whose entries a consumer is given.
struct Delivery<'a> {
    group: GroupMut<'a>,
    log: &'a Log,
    of: Of<'a>,
    /// The consumer.
    id: ConsumerId,
    /// Unix milliseconds.
    now: i64,
}

/// What became of the delivery from one stream.
struct Done {
    /// The reply has the stream.
    served: bool,
    /// Entries that were pending with other consumers.
    claimed: usize,
    /// The group has moved on.
    moved: bool,
    /// When a pending entry will be idle for long enough, in Unix milliseconds.
    again: i64,
}

impl Delivery<'_> {
    /// Serves what a call wants of the stream with this name.
    fn serve(
        mut self,
        request: &Request,
        (from, name, consumer): (&Wanted, &[u8], &[u8]),
        budget: &mut Budget,
        reply: &mut Reply<'_>,
    ) -> Done {
        let mut done = Done { served: false, claimed: 0, moved: false, again: i64::MAX };
        let claims = match (from, request.claim) {
            (Wanted::New, Some(min_idle)) => {
                let claims = idle(&self.group, self.log, self.now, min_idle, budget.most());
                if claims.is_empty() {
                    done.again = next_idle(&self.group, self.log, self.now, min_idle);
                }
                claims
            }
            _ => Vec::new(),
        };
        let is_new = matches!(from, Wanted::New);
        let fresh = is_new && self.log.last_entry().is_some_and(|last| last > self.group.last);
        self.group.note(self.id, self.now, fresh && !request.no_ack || !claims.is_empty());
        if !is_new || fresh || !claims.is_empty() {
            done.served = true;
            xread::stream(reply, name);
            let inner = reply.begin();
            let n = match from {
                Wanted::New => {
                    done.claimed = self.claims(claims, budget, reply);
                    let new = if fresh { self.fresh(request, budget, reply) } else { 0 };
                    done.moved = new > 0;
                    done.claimed + new
                }
                Wanted::Pending(after) => {
                    let ids = own_ids(&self.group, consumer, *after, budget.most());
                    self.again(ids, budget, reply)
                }
            };
            reply.end_array(inner, n);
        }
        self.of.end(&self.group, done.moved);
        done
    }

    /// Serves entries that were pending for long enough. Returns how many.
    fn claims(
        &mut self,
        claims: Vec<(Id, Pending)>,
        budget: &mut Budget,
        reply: &mut Reply<'_>,
    ) -> usize {
        let mut n = 0;
        for (entry, pending) in claims {
            let Some(found) = self.log.get(entry).filter(|_| budget.has_more(reply)) else { break };
            let since = self.now.saturating_sub(pending.time);
            super::reply::delivered(reply, &found, since, pending.count);
            self.assign(entry, pending.count.saturating_add(1));
            budget.served();
            n += 1;
        }
        n
    }

    /// Serves entries that no consumer was given. Returns how many.
    fn fresh(&mut self, request: &Request, budget: &mut Budget, reply: &mut Reply<'_>) -> usize {
        let mut n = 0;
        let mut entries = self.log.range(self.group.last.next().unwrap_or(Id::MAX), Id::MAX);
        while budget.has_more(reply) {
            let Some(entry) = entries.next() else { break };
            advance(&mut self.group, self.log, entry.id);
            match request.claim {
                None => super::reply::entry(reply, &entry),
                Some(_) => super::reply::delivered(reply, &entry, 0, 0),
            }
            if !request.no_ack {
                self.assign(entry.id, 1);
            }
            budget.served();
            n += 1;
        }
        n
    }

    /// Serves entries that are pending with the consumer once more. Returns how many.
    fn again(&mut self, ids: Vec<Id>, budget: &mut Budget, reply: &mut Reply<'_>) -> usize {
        let mut n = 0;
        for entry in ids {
            if !budget.has_more(reply) {
                break;
            }
            budget.served();
            n += 1;
            super::reply::entry_or_null(reply, self.log, entry);
            if self.log.get(entry).is_some() {
                let count = self.group.get(entry).map_or(1, |pending| pending.count);
                let count = count.saturating_add(1);
                self.group.set_delivery(entry, self.now, count);
                self.of.claimed(entry, self.now, count);
            }
        }
        n
    }

    /// An entry is pending with the consumer from now on.
    fn assign(&mut self, entry: Id, count: u64) {
        self.group.assign(entry, Pending { time: self.now, count, consumer: self.id });
        self.of.claimed(entry, self.now, count);
    }
}

/// Checks everything about one stream that can be wrong.
fn check(db: &mut Db<'_>, name: &[u8], group: &[u8], id: &[u8]) -> Result<Wanted, Fail> {
    let key = db.key(name);
    let e = db.read_as(key, Kind::Stream)?;
    let found = e.as_ref().map(|e| super::of(e)).transpose()?.and_then(|s| s.group(group));
    if found.is_none() {
        let (key, group) = (crate::fail::quoted(name), crate::fail::quoted(group));
        return Err(Fail::new(format!(
            "NOGROUP No such key '{key}' or consumer group '{group}' in XREADGROUP with GROUP \
             option"
        )));
    }
    match id {
        b"$" | b"+" => Err(Fail::new(format!(
            "ERR The {0} ID is meaningless in the context of XREADGROUP: you want to read the \
             history of this consumer by specifying a proper ID, or use the > ID to get new \
             messages. The {0} ID would just return an empty result set.",
            id[0] as char,
        ))),
        b">" => Ok(Wanted::New),
        // Redis uses the greatest ID for `>` internally.
        _ => super::id(id).map(|id| if id == Id::MAX { Wanted::New } else { Wanted::Pending(id) }),
    }
}

/// Moves the group on to an entry that is being delivered, and counts it as read as long as
/// nothing was deleted that would have to be counted, too.
fn advance(group: &mut GroupMut<'_>, log: &Log, id: Id) {
    group.read = match group.read {
        Some(read) if !log.has_gap_after(group.last) => Some(read.saturating_add(1)),
        _ => log.read_up_to(id),
    };
    group.last = id;
}

/// Entries that are pending with any consumer for at least `min_idle` milliseconds and were not deleted: in
/// the order of delivery, `max` of them at most.
fn idle(
    group: &stream::Group,
    log: &Log,
    now: i64,
    min_idle: i64,
    max: usize,
) -> Vec<(Id, Pending)> {
    let is_idle = |pending: &Pending| now.saturating_sub(pending.time) >= min_idle;
    let all = group.pending(Id::MIN).filter(|(_, pending)| is_idle(pending));
    let mut all: Vec<(Id, Pending)> = all.map(|(id, pending)| (id, *pending)).collect();
    all.sort_by_key(|(id, pending)| (pending.time, *id));
    all.into_iter().filter(|(id, _)| log.get(*id).is_some()).take(max).collect()
}

/// When an entry will be pending for `min_idle` milliseconds. Where none is pending, one may be by then.
fn next_idle(group: &stream::Group, log: &Log, now: i64, min_idle: i64) -> i64 {
    let mut first = None;
    for (id, pending) in group.pending(Id::MIN) {
        if first.is_none_or(|first| pending.time < first) && log.get(id).is_some() {
            first = Some(pending.time);
        }
    }
    match first {
        Some(time) => time.saturating_add(min_idle),
        None => now.saturating_add(min_idle.max(LOOK_AGAIN_MS)),
    }
}

/// The IDs pending with a consumer behind an ID, `max` at most.
fn own_ids(group: &GroupMut<'_>, consumer: &[u8], after: Id, max: usize) -> Vec<Id> {
    let Some(start) = after.next() else { return Vec::new() };
    let found = group.find(consumer).and_then(|id| group.consumer(id));
    found.map_or_else(Vec::new, |consumer| consumer.pending(start).take(max).collect())
}
