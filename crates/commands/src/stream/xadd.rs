//! XADD: <https://redis.io/docs/latest/commands/xadd/>

use data::stream::{BYTES_MAX, Id, Log, NodeLimits, Stream};
use resp::{Args, Reply};
use store::{Class, Db, Entry, Kind};

use super::trim::{self, NewId, Options};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XADD: DataCommand = DataCommand {
    row: Row {
        name: "xadd",
        group: Group::Stream,
        since: "5.0.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))
            .notes("UPDATE instead of INSERT because of the optional trimming feature")],
        tips: &["nondeterministic_output"],
        history: &[
            (
                "6.2.0",
                "Added the `NOMKSTREAM` option, `MINID` trimming strategy and the `LIMIT` option.",
            ),
            ("7.0.0", "Added support for the `<ms>-*` explicit ID form."),
        ],
        complexity: "O(1); with trimming, O(N) where N is the number of entries that go.",
        summary: "Adds an entry to a stream, which is created if it is missing.",
        syntax: "XADD key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]",
        transcript: r#"
> XADD s 1-1 name Ada born 1815
"1-1"
> XADD s 1-* name Alan born 1912
"1-2"
> XADD s 2 name Grace
"2-0"
> XADD s * name Edsger
~ "*-0"
> XLEN s
(integer) 4
> XRANGE s 1-1 2
1) 1) "1-1"
   2) 1) "name"
      2) "Ada"
      3) "born"
      4) "1815"
2) 1) "1-2"
   2) 1) "name"
      2) "Alan"
      3) "born"
      4) "1912"
3) 1) "2-0"
   2) 1) "name"
      2) "Grace"
> XADD s 1-5 a b
(error) ERR The ID specified in XADD is equal or smaller than the target stream top item
> XADD t 0-0 a b
(error) ERR The ID specified in XADD must be greater than 0-0
> XADD t NOMKSTREAM * a b
(nil)
> EXISTS t
(integer) 0
> XADD t MAXLEN 2 1-1 a 1
"1-1"
> XADD t MAXLEN = 2 1-2 a 2
"1-2"
> XADD t MAXLEN 2 1-3 a 3
"1-3"
> XLEN t
(integer) 2
> XADD t MINID 1-3 1-4 a 4
"1-4"
> XLEN t
(integer) 2
> XADD t MAXLEN ~ 1 1-5 a 5
"1-5"
> XLEN t
(integer) 3
> XADD t 18446744073709551615-18446744073709551615 a b
"18446744073709551615-18446744073709551615"
> XADD t * a b
(error) ERR The stream has exhausted the last possible ID, unable to add more items
> XADD t 5-5 a
(error) ERR wrong number of arguments for 'xadd' command
> XADD t 5-x a b
(error) ERR Invalid stream ID specified as stream command argument
> XADD t MAXLEN 2 MINID 1 5-5 a b
(error) ERR syntax error, MAXLEN and MINID options at the same time are not compatible
> XADD t MAXLEN 2 LIMIT 3 5-5 a b
(error) ERR syntax error, LIMIT cannot be used without the special ~ option
> XADD t LIMIT 0 5-5 a b
(error) ERR syntax error, LIMIT cannot be used without the special ~ option
> XADD t LIMIT 3 5-5 a b
(error) ERR syntax error, LIMIT cannot be used without specifying a trimming strategy
> XADD t MAXLEN -1 5-5 a b
(error) ERR The MAXLEN argument must be >= 0.
> SET k v
OK
> XADD k * a b
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// The ID of the new entry.
fn choose(log: &Log, id: NewId, now: i64) -> Result<Id, Fail> {
    let last = log.last;
    if last == Id::MAX {
        return Err(Fail::text(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let chosen = match id {
        NewId::Auto => {
            let ms = u64::try_from(now).unwrap_or(0);
            if ms > last.ms { Some(Id::new(ms, 0)) } else { last.next() }
        }
        NewId::AutoSeq(ms) if ms == last.ms => last.seq.checked_add(1).map(|seq| Id { ms, seq }),
        NewId::AutoSeq(ms) => Some(Id::new(ms, 0)),
        NewId::Given(id) => Some(id),
    };
    chosen.filter(|id| *id > last).ok_or(Fail::text(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item",
    ))
}

struct Added {
    id: Id,
    trimmed: u64,
    /// The trimming of the journal form, if there is any.
    exact: Option<Vec<Vec<u8>>>,
}

fn add(
    stream: &mut Stream,
    args: &Args<'_>,
    options: &Options,
    limits: NodeLimits,
    now: i64,
    journal: bool,
) -> Result<Added, Fail> {
    let id = choose(&stream.log, options.id, now)?;
    let texts = args.iter_from(options.id_at + 1);
    stream.log.append(id, texts, limits);
    let trimmed = options.trimming.map_or(0, |trimming| trimming.apply(stream));
    let exact = options.trimming.filter(|_| journal).map(|t| t.exact(stream, trimmed));
    Ok(Added { id, trimmed, exact })
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let options = trim::parse(db, args, true)?;
    let given = args.len().saturating_sub(options.id_at + 1);
    if given < 2 || given % 2 == 1 {
        return Err(Fail::arity("xadd"));
    }
    if options.id == NewId::Given(Id::MIN) {
        return Err(Fail::text("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let (key, now, limits) = (db.first_key(&args[1]), db.now(), super::limits(db));
    let large = args.bytes() > BYTES_MAX
        && args.iter_from(options.id_at + 1).map(<[u8]>::len).sum::<usize>() > BYTES_MAX;
    let too_large = Fail::text("ERR Elements are too large to be stored");
    let journal = db.cx.effects.observed;
    let added = match db.write_as(key, Kind::Stream)? {
        Some(_) if large => return Err(too_large),
        Some(mut e) => add(super::of_mut(e.node_mut())?, args, &options, limits, now, journal)?,
        None if options.no_mkstream => {
            reply.null();
            return Ok(());
        }
        None if large => return Err(too_large),
        None => {
            let mut stream = Stream::default();
            let added = add(&mut stream, args, &options, limits, now, journal)?;
            db.create(key, Entry::big(key.bytes, stream, None, 0));
            added
        }
    };
    db.changed(key.bytes, Class::Stream, "xadd");
    if added.trimmed > 0 {
        db.event(Class::Stream, "xtrim", key.bytes);
    }
    if journal {
        let id = added.id.to_string();
        let mut form: Vec<&[u8]> = vec![b"XADD", key.bytes];
        form.extend(added.exact.iter().flatten().map(Vec::as_slice));
        form.push(id.as_bytes());
        form.extend(args.iter_from(options.id_at + 1));
        db.rewrite(&form);
    }
    super::reply::id(reply, added.id);
    Ok(())
}
