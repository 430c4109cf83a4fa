//! TOPIC.READ

use std::sync::Arc;
use std::time::Duration;

use ::log::storage::Want;
use ::log::{Broker, Error, Fetched, Permit, Start};
use commands::row::{Flags, Row};
use commands::{Fail, Outcome, parse};
use resp::{Args, Reply};

use super::{BASE, READS, command, name};
use crate::pending_reply::{PendingReply, fail};
use engine::{Call, SessionCommand};

/// Records that are answered if the command does not say how many.
const COUNT: i64 = 100;
/// Bytes that are answered if the command does not say how many.
const BYTES: i64 = 16 << 20;

/// How often a reader asks for memory before it is told to try again …
const TRIES: u32 = 50;
/// … and the time between.
const PAUSE: Duration = Duration::from_millis(40);

/// The arguments of a TOPIC.READ.
struct Request {
    topic: String,
    from: From,
    count: usize,
    bytes: usize,
    blocks: bool,
}

enum From {
    Start(Start),
    /// And where it begins if the group has committed nothing; none: nowhere.
    Group(String, Option<Start>),
}

pub(super) static READ: SessionCommand = command(
    Row {
        name: "topic.read",
        arity: -3,
        flags: Flags::BLOCKING.or(BASE.flags),
        complexity: "O(N) where N is the number of records that are answered",
        summary: "Answers the offset of the first record found, and the records from there on.",
        syntax: "TOPIC.READ topic:key <offset | EARLIEST | LATEST | TIME milliseconds | GROUP group \
                 [RESET <EARLIEST | LATEST | NONE>]> \
                 [COUNT count] [BYTES bytes] [BLOCK milliseconds]",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.READ fruit -1
(error) ERR value is out of range, must be positive
> TOPIC.READ fruit 0 COUNT 0
(error) ERR value is out of range, must be positive
> TOPIC.READ fruit EARLIEST BLOCK
(error) ERR syntax error
> TOPIC.READ fruit 0 RESET EARLIEST
(error) ERR syntax error
> TOPIC.READ fruit GROUP g RESET sometimes
(error) ERR syntax error
"#,
        ..READS
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let (request, block_ms) = asked(args)?;
        let broker = call.engine.topics.open(call.engine).map_err(|e| fail(&e))?;
        if let From::Start(Start::Offset(offset)) = request.from
            && let Some(Ok(f)) = broker.read_kept(&request.topic, &request.want(offset))
        {
            return request.write(&f, (offset, false), reply);
        }
        let deadline = match block_ms {
            Some(ms @ 1..) => call.thread.cx.now.checked_add(ms),
            _ => None,
        };
        let pending = PendingReply::wait(call, ["TOPIC.READ", &request.topic], deadline)?;
        let (broker, request) = (broker.clone(), Arc::new(request));
        broker.clone().aside(Box::new(move || read(&pending, &broker, &request, None, TRIES)));
        Ok(())
    },
);

fn asked(args: &Args<'_>) -> Result<(Request, Option<i64>), Fail> {
    let topic = name(args, 1)?;
    let mut i = 3;
    let from = if args.is(2, "earliest") {
        From::Start(Start::Earliest)
    } else if args.is(2, "latest") {
        From::Start(Start::Latest)
    } else if args.is(2, "time") && args.len() > 3 {
        i = 4;
        let ms = u64::try_from(parse::int(args, 3)?).map_err(|_| Fail::NOT_POSITIVE)?;
        From::Start(Start::Time(ms.saturating_mul(1000)))
    } else if args.is(2, "group") && args.len() > 3 {
        let mut reset = Some(Start::Earliest);
        i = 4;
        if args.is(4, "reset") {
            i = 6;
            let known = [
                ("earliest", Some(Start::Earliest)),
                ("latest", Some(Start::Latest)),
                ("none", None),
            ];
            let found = known.into_iter().find(|(word, _)| args.is(5, word));
            reset = found.ok_or(Fail::SYNTAX)?.1;
        }
        From::Group(name(args, 3)?, reset)
    } else {
        let offset = u64::try_from(parse::int(args, 2)?).map_err(|_| Fail::NOT_POSITIVE)?;
        From::Start(Start::Offset(offset))
    };
    let (mut count, mut bytes, mut block) = (COUNT, BYTES, None);
    while i < args.len() {
        if i + 1 == args.len() {
            return Err(Fail::SYNTAX);
        }
        let value = parse::int(args, i + 1);
        if args.is(i, "count") {
            count = value?;
        } else if args.is(i, "bytes") {
            bytes = value?;
        } else if args.is(i, "block") {
            block = Some(value?);
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 2;
    }
    if count < 1 || bytes < 1 || block.is_some_and(|ms| ms < 0) {
        return Err(Fail::NOT_POSITIVE);
    }
    let (count, bytes) = (count as usize, bytes.min(1 << 30) as usize);
    Ok((Request { topic, from, count, bytes, blocks: block.is_some() }, block))
}

impl Request {
    fn want(&self, offset: u64) -> Want {
        // Bytes are those of records alone: the framing stored around them must not count.
        let bytes = self.bytes + 84 * (1 + self.count.min(1 << 20));
        Want::from(offset, self.count as u64, bytes)
    }

    fn write(&self, f: &Fetched, (offset, new): (u64, bool), reply: &mut Reply<'_>) -> Outcome {
        let mut found = Vec::new();
        let (mut count, mut bytes) = (self.count, self.bytes);
        for b in &f.batches {
            let all = b.records().map_err(|e| fail(&e))?;
            let skip = offset.saturating_sub(b.header.first_offset) as usize;
            let left = all.count().saturating_sub(skip);
            let some = all.some(skip, count, bytes, found.is_empty());
            let taken = some.count();
            count -= taken;
            bytes = bytes.saturating_sub(some.block().len());
            found.push(some);
            if count == 0 || taken < left {
                break;
            }
        }
        reply.array(if new { 3 } else { 2 });
        reply.int(offset as i64);
        reply.array(found.iter().map(|r| r.count()).sum());
        for records in &found {
            records.iter().for_each(|r| reply.bulk(r));
        }
        if new {
            reply.bulk("new group");
        }
        Ok(())
    }
}

/// Reads on a thread that may wait for the storage; answers, or has the connection woken when there is
/// something. Where there is no memory for the records, it retries this many times. `begin` is where,
/// and whether it is where a new group begins, once that is known.
fn read(
    pending: &PendingReply,
    broker: &Broker,
    request: &Arc<Request>,
    begin: Option<(u64, bool)>,
    tries: u32,
) {
    type Found = ((u64, bool), Fetched, Permit);
    let step = || -> Result<Option<Found>, Error> {
        let topic = &request.topic;
        let begin = match (begin, &request.from) {
            (Some(begin), _) => begin,
            (None, From::Start(start)) => (broker.start(topic, *start)?, false),
            (None, From::Group(group, reset)) => broker.start_group(topic, group, *reset)?,
        };
        let offset = begin.0;
        match broker.read_with_permit(topic, &request.want(offset)) {
            Ok((f, permit)) => return Ok(Some((begin, f, permit))),
            Err(Error::OutOfBounds { next, .. }) if offset == next => {}
            Err(Error::Busy { .. }) if tries > 0 => {
                let (pending, again) = (pending.clone(), broker.clone());
                let request = Arc::clone(request);
                let again = move || read(&pending, &again, &request, Some(begin), tries - 1);
                broker.aside_later(PAUSE, Box::new(again));
                return Ok(None);
            }
            Err(e) => return Err(e),
        }
        if request.blocks {
            let (pending2, broker2) = (pending.clone(), broker.clone());
            let request2 = Arc::clone(request);
            let wake = Box::new(move || {
                let broker3 = broker2.clone();
                let again = move || read(&pending2, &broker3, &request2, Some(begin), TRIES);
                broker2.aside(Box::new(again));
            });
            pending.keep(broker.wait(topic, offset, wake)?);
        } else {
            pending.answer(|reply| {
                reply.null_array();
                Ok(())
            });
        }
        Ok(None)
    };
    match step() {
        Ok(None) => {}
        // From there on it is the connection's output.
        Ok(Some((begin, f, _permit))) => pending.answer(|reply| request.write(&f, begin, reply)),
        Err(e) => pending.answer(|_| Err(fail(&e))),
    }
}
