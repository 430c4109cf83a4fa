//! XDELEX: <https://redis.io/docs/latest/commands/xdelex/>

use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XDELEX: DataCommand = DataCommand {
    row: Row {
        name: "xdelex",
        group: Group::Stream,
        since: "8.2.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(log N) for each entry and group, where N is the number of nodes.",
        summary: "Deletes entries of a stream, with or without what groups know of them.",
        syntax: "XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
        transcript: r#"
# only: redis>=8.2
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XADD s 3-0 a 3
"3-0"
> XADD s 4-0 a 4
"4-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g c COUNT 3 STREAMS s >
...
> XACK s g 1-0
(integer) 1
# Acknowledged; pending; not delivered yet; not there.
> XDELEX s ACKED IDS 4 1-0 2-0 4-0 9-9
1) (integer) 1
2) (integer) 2
3) (integer) 2
4) (integer) -1
> XDELEX s IDS 1 2-0
1) (integer) 1
> XPENDING s g - + 10 c
...
> XDELEX s delref IDS 2 3-0 3-0
1) (integer) 1
2) (integer) -1
> XLEN s
(integer) 1
> XDELEX nothing KEEPREF IDS 2 1-0 2-0
1) (integer) -1
2) (integer) -1
> XDELEX s IDS 0 1-0
(error) ERR Number of IDs must be a positive integer
> XDELEX s IDS 2 1-0
(error) ERR The `numids` parameter must match the number of arguments
> XDELEX s IDS 1 1-0 2-0
(error) ERR syntax error
> XDELEX s IDS x 1-0
(error) ERR value is not an integer or out of range
> XDELEX s KEEPREF DELREF IDS 1 1-0
(error) ERR syntax error
> XDELEX s IDS 1 bad
(error) ERR Invalid stream ID specified as stream command argument
> XDELEX s IDS 1
(error) ERR wrong number of arguments for 'xdelex' command
> SET k v
OK
> XDELEX k IDS 1 1-0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (policy, ids) = super::policy::parse(args, 2)?;
    let key = db.key(&args[1]);
    let Some(mut e) = db.write_as(key, Kind::Stream)? else {
        reply.array(ids.len());
        ids.iter().for_each(|_| reply.int(-1));
        return Ok(());
    };
    let stream = super::of_mut(e.node_mut())?;
    let mut gone = 0;
    reply.array(ids.len());
    for id in ids {
        let outcome = policy.delete(stream, id);
        gone += u64::from(outcome == 1);
        reply.int(outcome);
    }
    super::policy::deleted(db, key, gone, 0);
    Ok(())
}
