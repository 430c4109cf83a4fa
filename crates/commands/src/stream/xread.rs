//! XREAD: <https://redis.io/docs/latest/commands/xread/>

use data::stream::Id;
use resp::{Args, Proto, Reply};
use store::{Db, Kind};

use super::read::{self, Request};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{BeginSearch, FindKeys, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XREAD: DataCommand = DataCommand {
    row: Row {
        name: "xread",
        group: Group::Stream,
        since: "5.0.0",
        arity: -4,
        flags: Flags::READONLY.or(Flags::BLOCKING),
        keys: &[KeySpec {
            notes: "",
            flags: KeyFlags::RO.or(KeyFlags::ACCESS),
            begin: BeginSearch::Keyword { word: "STREAMS", start: 1 },
            find: FindKeys::Range { last: -1, step: 1, limit: 2 },
        }],
        get_keys: Some(read::keys),
        complexity: "For each stream: O(log M + N) where M is the number of its nodes and N the \
                     number of entries returned.",
        summary: "Returns the entries of streams behind given IDs, and waits for some if asked to.",
        syntax: "XREAD [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
        transcript: r#"
> XADD a 1-0 n 1
"1-0"
> XADD a 2-0 n 2
"2-0"
> XADD b 1-0 m 3
"1-0"
> XREAD COUNT 1 STREAMS a b 0 0
1) 1) "a"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
2) 1) "b"
   2) 1) 1) "1-0"
         2) 1) "m"
            2) "3"
> XREAD STREAMS a b nothing 1-0 1-0 0
1) 1) "a"
   2) 1) 1) "2-0"
         2) 1) "n"
            2) "2"
> XREAD STREAMS a $
(nil)
> XREAD COUNT -1 STREAMS a 2
(nil)
> XREAD STREAMS a >
(error) ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.
> XREAD STREAMS a -
(error) ERR Invalid stream ID specified as stream command argument
> XREAD NOACK STREAMS a 0
(error) ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.
> XREAD GROUP g c STREAMS a 0
(error) ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.
> XREAD COUNT 1 STREAMS
(error) ERR syntax error
> XREAD COUNT 1 a 0
(error) ERR syntax error
> XREAD BLOCK x STREAMS a 0
(error) ERR timeout is not an integer or out of range
> XREAD BLOCK -1 STREAMS a 0
(error) ERR timeout is negative
> SET k v
OK
> XREAD STREAMS k 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.4
> XREAD STREAMS a +
(nil)
> XADD a 1-0 n 1
"1-0"
> XADD a 2-0 n 2
"2-0"
> XREAD STREAMS a +
1) 1) "a"
   2) 1) 1) "2-0"
         2) 1) "n"
            2) "2"
> XREAD STREAMS a b 0
(error) ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified.
# reset
# only: redis>=8.10
> XADD a 1-0 n 1
"1-0"
> XADD a 2-0 n 2
"2-0"
> XADD b 1-0 m 3
"1-0"
# Of all streams together; a stream for which nothing is left is not named.
> XREAD MAXCOUNT 1 STREAMS a b 0 0
1) 1) "a"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
> XREAD COUNT 1 MAXCOUNT 2 STREAMS a b 0 0
1) 1) "a"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
2) 1) "b"
   2) 1) 1) "1-0"
         2) 1) "m"
            2) "3"
# The first entry is served, whatever its size.
> XREAD MAXSIZE 1 STREAMS a b 0 0
1) 1) "a"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
> XREAD MAXCOUNT 0 STREAMS a 0
(error) ERR MAXCOUNT must be a positive integer
> XREAD MAXSIZE -1 STREAMS a 0
(error) ERR MAXSIZE must be a positive integer
> XREAD COUNT 3 MAXCOUNT 2 STREAMS a 0
(error) ERR MAXCOUNT must be greater than or equal to COUNT
> XREAD CLAIM 5 STREAMS a 0
(error) ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.
# reset
# resp: 3
> XADD a 1-0 n 1
"1-0"
> XREAD STREAMS a 0
1# "a" =>
   1) 1) "1-0"
      2) 1) "n"
         2) "1"
> XREAD STREAMS a 1
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let request = Request::parse(args, db.now(), false)?;
    // The ID behind which each stream is read. Every error shows before the first reply.
    let mut after = Vec::with_capacity(request.n);
    for i in 0..request.n {
        let key = db.key(&args[request.key(i)]);
        let e = db.read_as(key, Kind::Stream)?;
        let log = e.as_ref().map(|e| super::of(e)).transpose()?.map(|stream| &stream.log);
        after.push(match &args[request.id(i)] {
            b"$" => log.map_or(Id::MIN, |log| log.last),
            b"+" => {
                log.map_or(Id::MIN, |log| log.last_entry().and_then(Id::prev).unwrap_or(log.last))
            }
            b">" => {
                return Err(Fail::text(
                    "ERR The > ID can be specified only when calling XREADGROUP using the \
                     GROUP <group> <consumer> option.",
                ));
            }
            text => super::id(text)?,
        });
    }
    let (mark, mut served) = (reply.begin(), 0);
    let mut budget = request.budget(reply);
    for (i, after) in after.iter().enumerate() {
        if !budget.next_stream(reply) {
            break;
        }
        let name = &args[request.key(i)];
        let key = db.key(name);
        let Some(e) = db.peek(key) else { continue };
        let log = &super::of(&e)?.log;
        // No ID follows the greatest one.
        let Some(start) = after.next() else { continue };
        if log.last_entry().is_none_or(|last| last < start) {
            continue;
        }
        stream(reply, name);
        let (inner, mut n) = (reply.begin(), 0);
        let mut entries = log.range(start, Id::MAX);
        while budget.has_more(reply) {
            let Some(entry) = entries.next() else { break };
            super::reply::entry(reply, &entry);
            budget.served();
            n += 1;
        }
        reply.end_array(inner, n);
        served += 1;
    }
    if served > 0 {
        end(reply, mark, served);
        return Ok(());
    }
    let Some(deadline) = request.block else {
        reply.null_array();
        return Ok(());
    };
    // `$` means the end at this time, also when the command runs again.
    let resolved = (0..request.n).any(|i| &args[request.id(i)] == b"$").then(|| {
        let mut new = args.to_vecs(0);
        for (i, after) in after.iter().enumerate() {
            if let Some(arg) = new.get_mut(request.id(i)).filter(|arg| *arg == b"$") {
                *arg = after.to_string().into_bytes();
            }
        }
        new
    });
    crate::parse::block(db, request.wait(args, deadline, false, resolved), reply);
    Ok(())
}

/// Begins the reply for one stream.
pub(super) fn stream(reply: &mut Reply<'_>, name: &[u8]) {
    if reply.proto() == Proto::V2 {
        reply.array(2);
    }
    reply.bulk(name);
}

/// Ends the reply for `n` streams.
pub(super) fn end(reply: &mut Reply<'_>, mark: resp::Mark, n: usize) {
    match reply.proto() {
        Proto::V2 => reply.end_array(mark, n),
        Proto::V3 => reply.end_map(mark, n),
    }
}
