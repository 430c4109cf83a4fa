//! XACKDEL: <https://redis.io/docs/latest/commands/xackdel/>

use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XACKDEL: DataCommand = DataCommand {
    row: Row {
        name: "xackdel",
        group: Group::Stream,
        since: "8.2.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(log N) for each entry and group, where N is the number of nodes.",
        summary: "Acknowledges entries of a stream for a group, and deletes them.",
        syntax: "XACKDEL key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        transcript: r#"
# only: redis>=8.2
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XADD s 3-0 a 3
"3-0"
> XGROUP CREATE s g 0
OK
> XGROUP CREATE s h 0
OK
> XREADGROUP GROUP g c STREAMS s >
...
> XREADGROUP GROUP h c STREAMS s >
...
# The other group has yet to acknowledge it.
> XACKDEL s g ACKED IDS 2 1-0 9-9
1) (integer) 2
2) (integer) -1
> XACKDEL s h ACKED IDS 1 1-0
1) (integer) 1
> XACKDEL s g IDS 2 2-0 2-0
1) (integer) 1
2) (integer) -1
> XACK s h 2-0
(integer) 1
> XACKDEL s g DELREF IDS 1 3-0
1) (integer) 1
> XACK s h 3-0
(integer) 0
> XLEN s
(integer) 0
> XACKDEL s nobody IDS 1 1-0
1) (integer) -1
> XACKDEL nothing g IDS 1 1-0
1) (integer) -1
> XACKDEL s g IDS 0 1-0
(error) ERR Number of IDs must be a positive integer
> XACKDEL s g ACKED DELREF IDS 1 1-0
(error) ERR syntax error
> SET k v
OK
> XACKDEL k g IDS 1 1-0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (policy, ids) = super::policy::parse(args, 3)?;
    let key = db.key(&args[1]);
    let mut found = db.write_as(key, Kind::Stream)?;
    let mut stream = match &mut found {
        Some(e) => Some(super::of_mut(e.node_mut())?),
        None => None,
    };
    let (mut acknowledged, mut gone) = (0, 0);
    reply.array(ids.len());
    for id in ids {
        let Some(stream) = stream.as_deref_mut() else {
            reply.int(-1);
            continue;
        };
        if !stream.group_mut(&args[2]).is_some_and(|(mut group, _)| group.forget(id)) {
            reply.int(-1);
            continue;
        }
        acknowledged += 1;
        // An entry that was already deleted counts as gone, too.
        let outcome = policy.delete(stream, id);
        gone += u64::from(outcome == 1);
        reply.int(outcome.abs());
    }
    super::policy::deleted(db, key, gone, acknowledged);
    Ok(())
}
