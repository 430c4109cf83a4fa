//! XACK: <https://redis.io/docs/latest/commands/xack/>

use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XACK: DataCommand = DataCommand {
    row: Row {
        name: "xack",
        group: Group::Stream,
        since: "5.0.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(log N) for each ID, where N is the number of pending entries.",
        summary: "Tells a consumer group that entries have been processed.",
        syntax: "XACK key group id [id ...]",
        transcript: r#"
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g c STREAMS s >
...
> XACK s g 1-0 3-0 1-0
(integer) 1
> XPENDING s g
1) (integer) 1
2) "2-0"
3) "2-0"
4) 1) 1) "c"
      2) "1"
> XACK s g 2-0 x
(error) ERR Invalid stream ID specified as stream command argument
> XACK s other 2-0
(integer) 0
> XACK nothing g 2-0
(integer) 0
> SET k v
OK
> XACK k g 1-0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let mut acknowledged = 0;
    if let Some(mut e) = db.write_as(key, Kind::Stream)?
        && let Some((mut group, _)) = super::of_mut(e.node_mut())?.group_mut(&args[2])
    {
        let ids = super::ids(args, 3)?;
        acknowledged = ids.into_iter().filter(|id| group.forget(*id)).count();
    }
    db.dirty(acknowledged as u64);
    reply.int(acknowledged as i64);
    Ok(())
}
