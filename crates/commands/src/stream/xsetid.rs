//! XSETID: <https://redis.io/docs/latest/commands/xsetid/>

use data::stream::Id;
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XSETID: DataCommand = DataCommand {
    row: Row {
        name: "xsetid",
        group: Group::Stream,
        since: "5.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("7.0.0", "Added the `entries_added` and `max_deleted_entry_id` arguments.")],
        complexity: "O(1)",
        summary: "Sets the last ID of a stream, as replication does.",
        syntax: "XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        transcript: r#"
> XADD s 5-0 a 1
"5-0"
> XSETID s 10
OK
> XADD s 7-0 a 2
(error) ERR The ID specified in XADD is equal or smaller than the target stream top item
> XADD s 10-* a 2
"10-1"
> XSETID s 20-0 ENTRIESADDED 7 MAXDELETEDID 15-3
OK
> XSETID s 20-0 MAXDELETEDID 20-1
(error) ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id
> XSETID s 20-0 ENTRIESADDED 1
(error) ERR The entries_added specified in XSETID is smaller than the target stream length
> XSETID s 20-0 ENTRIESADDED -1
(error) ERR entries_added must be positive
> XSETID s 20-0 MORE 1
(error) ERR syntax error
> XSETID nothing 1
(error) ERR no such key
> XADD t 5-0 a 1
"5-0"
> XSETID t 4
(error) ERR The ID specified in XSETID is smaller than the target stream top item
> SET k v
OK
> XSETID k 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.2
> XGROUP CREATE s g $ MKSTREAM
OK
> XSETID s 20-0 ENTRIESADDED 7 MAXDELETEDID 15-3
OK
> XSETID s 14
(error) ERR The ID specified in XSETID is smaller than current max_deleted_entry_id
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let id = super::id(&args[2])?;
    let (mut added, mut max_deleted) = (None, Id::MIN);
    let mut i = 3;
    while i < args.len() {
        if args.is(i, "entriesadded") && i + 1 < args.len() {
            let n = u64::try_from(int(args, i + 1)?)
                .map_err(|_| Fail::text("ERR entries_added must be positive"))?;
            added = Some(n);
        } else if args.is(i, "maxdeletedid") && i + 1 < args.len() {
            max_deleted = super::id(&args[i + 1])?;
            if id < max_deleted {
                return Err(Fail::text(
                    "ERR The ID specified in XSETID is smaller than the provided \
                     max_deleted_entry_id",
                ));
            }
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 2;
    }
    let key = db.first_key(&args[1]);
    let Some(mut e) = db.write_as(key, Kind::Stream)? else {
        return Err(Fail::NO_SUCH_KEY);
    };
    let log = &mut super::of_mut(e.node_mut())?.log;
    if id < log.max_deleted {
        return Err(Fail::text(
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        ));
    }
    if log.last_entry().is_some_and(|last| id < last) {
        return Err(Fail::text(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    if !log.is_empty() && added.is_some_and(|added| added < log.len()) {
        return Err(Fail::text(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    log.last = id;
    log.added = added.unwrap_or(log.added);
    if max_deleted != Id::MIN {
        log.max_deleted = max_deleted;
    }
    db.changed(key.bytes, Class::Stream, "xsetid");
    reply.ok();
    Ok(())
}
