//! XDEL: <https://redis.io/docs/latest/commands/xdel/>

use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XDEL: DataCommand = DataCommand {
    row: Row {
        name: "xdel",
        group: Group::Stream,
        since: "5.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(log N) for each entry, where N is the number of nodes.",
        summary: "Deletes entries of a stream.",
        syntax: "XDEL key id [id ...]",
        transcript: r#"
> XADD s 1-0 a 1
"1-0"
> XADD s 1-1 a 2
"1-1"
> XADD s 2-0 a 3
"2-0"
> XDEL s 1-1 5-5 1-1
(integer) 1
> XRANGE s - +
1) 1) "1-0"
   2) 1) "a"
      2) "1"
2) 1) "2-0"
   2) 1) "a"
      2) "3"
> XDEL s 1 2 bad
(error) ERR Invalid stream ID specified as stream command argument
> XDEL s 1 2
(integer) 2
> EXISTS s
(integer) 1
> XADD s 1-5 a b
(error) ERR The ID specified in XADD is equal or smaller than the target stream top item
> XDEL nothing bad
(integer) 0
> SET k v
OK
> XDEL k 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let Some(mut e) = db.write_as(key, Kind::Stream)? else {
        reply.int(0);
        return Ok(());
    };
    let ids = super::ids(args, 2)?;
    let log = &mut super::of_mut(e.node_mut())?.log;
    let gone = ids.into_iter().filter(|id| log.delete(*id)).count();
    if gone > 0 {
        db.event(Class::Stream, "xdel", key.bytes);
        db.dirty(gone as u64);
    }
    reply.int(gone as i64);
    Ok(())
}
