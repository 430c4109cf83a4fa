//! BLMOVEM: <https://redis.io/docs/latest/commands/blmovem/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::timeout;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BLMOVEM: DataCommand = DataCommand {
    row: Row {
        name: "blmovem",
        group: Group::List,
        since: "8.10.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::BLOCKING),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        complexity: "O(N) where N is the number of elements moved.",
        summary: "Takes elements from one end of a list and adds them at one end of another or the same. Waits until there are enough.",
        syntax: "BLMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout [<COUNT count | EXACTLY exactly> <OBO | BULK>]",
        transcript: r#"
# only: redis>=8.10
> RPUSH a 1 2 3
(integer) 3
> BLMOVEM a b RIGHT LEFT 0
1) "3"
> BLMOVEM a b LEFT RIGHT 0.1 COUNT 5 BULK
1) "1"
2) "2"
> LRANGE b 0 -1
1) "3"
2) "1"
3) "2"
> BLMOVEM b a LEFT RIGHT -1
(error) ERR timeout is negative
> BLMOVEM b a LEFT RIGHT 0 COUNT 1
(error) ERR syntax error
> SET s v
OK
> BLMOVEM b s LEFT LEFT 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=8.10
> RPUSH b 3 1 2
(integer) 3
# Nothing waits in a transaction.
> MULTI
OK
> BLMOVEM b a LEFT RIGHT 0 EXACTLY 4 OBO
QUEUED
> EXEC
1) (nil)
> LLEN b
(integer) 3
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, to) = (super::end(args, 3)?, super::end(args, 4)?);
    let deadline = timeout(args, 5, db.now())?;
    let how = super::HowMany::parse(args, 6)?;
    let (source, destination) = (db.first_key(&args[1]), db.key(&args[2]));
    match super::move_many(db, source, destination, (from, to), how, reply)? {
        Some(n) => {
            let (n, order) = (n.to_string(), if how.one_by_one { &b"OBO"[..] } else { b"BULK" });
            let words = [super::word(from), super::word(to), b"COUNT", n.as_bytes(), order];
            let [from, to, count, n, order] = words;
            db.rewrite(&[b"LMOVEM", source.bytes, destination.bytes, from, to, count, n, order]);
        }
        None => super::wait(db, args, 1..2, deadline, reply),
    }
    Ok(())
}
