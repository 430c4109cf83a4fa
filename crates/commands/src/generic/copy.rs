//! COPY: <https://redis.io/docs/latest/commands/copy/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::db_index;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static COPY: DataCommand = DataCommand {
    row: Row {
        name: "copy",
        group: Group::Generic,
        since: "6.2.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        keys: &[
            KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS)),
            KeySpec::one(2, KeyFlags::OW.or(KeyFlags::UPDATE)),
        ],
        complexity: "O(1) for a string, O(N) for a value of N parts.",
        summary: "Copies a value with its deadline to another key.",
        syntax: "COPY source destination [DB destination-db] [REPLACE]",
        transcript: r#"
> SET a 1 EX 100
OK
> COPY a b
(integer) 1
> GET b
"1"
> TTL b
(integer) 100
> COPY nothing b
(integer) 0
> SET c 3
OK
> COPY c b
(integer) 0
> COPY c b REPLACE
(integer) 1
> GET b
"3"
> TTL b
(integer) -1
> COPY a a
(error) ERR source and destination objects are the same
> COPY a a DB 1
(integer) 1
> COPY c a DB 1
(integer) 0
> COPY c a DB 1 REPLACE
(integer) 1
> GET a
"1"
> COPY a b DB 99
(error) ERR DB index is out of range
> COPY a b DB one
(error) ERR value is not an integer or out of range
> COPY a b DB
(error) ERR syntax error
> COPY a b REPLACE NOW
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, mut to, mut replace) = (db.index(), db.index(), false);
    let mut i = 3;
    while i < args.len() {
        if args.is(i, "replace") {
            replace = true;
        } else if args.is(i, "db") && i + 1 < args.len() {
            i += 1;
            to = db_index(args, i, db.databases())?;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    if from == to && args[1] == args[2] {
        return Err(Fail::SAME_OBJECT);
    }
    let (source, destination) = (db.first_key(&args[1]), db.key(&args[2]));
    // Long strings are shared until one of the two changes, so that a copy costs little even when
    // it turns out that it must not be kept.
    let Some(mut copy) = db.read(source).map(|e| e.with_key(destination.bytes)) else {
        reply.int(0);
        return Ok(());
    };
    copy.set_access(db.cx.fresh_access());
    db.select(to);
    let taken = db.write(destination).is_some();
    let done = replace || !taken;
    if done {
        if taken {
            db.displace(destination);
        }
        db.put(copy);
        db.changed(destination.bytes, Class::Generic, "copy_to");
    }
    db.select(from);
    reply.int(done.into());
    Ok(())
}
