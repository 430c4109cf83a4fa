//! LMOVEM: <https://redis.io/docs/latest/commands/lmovem/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LMOVEM: DataCommand = DataCommand {
    row: Row {
        name: "lmovem",
        group: Group::List,
        since: "8.10.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        complexity: "O(N) where N is the number of elements moved.",
        summary: "Takes elements from one end of a list and adds them at one end of another or the same.",
        syntax: "LMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> [<COUNT count | EXACTLY exactly> <OBO | BULK>]",
        transcript: r#"
# only: redis>=8.10
> RPUSH a 1 2 3 4 5 6 7
(integer) 7
> LMOVEM a b LEFT RIGHT
1) "1"
# One by one, as with LMOVE.
> LMOVEM a b LEFT LEFT COUNT 2 OBO
1) "3"
2) "2"
> LRANGE b 0 -1
1) "3"
2) "2"
3) "1"
# All at once, in their order.
> LMOVEM a b RIGHT RIGHT EXACTLY 2 BULK
1) "6"
2) "7"
> LRANGE b 0 -1
1) "3"
2) "2"
3) "1"
4) "6"
5) "7"
> LMOVEM a b RIGHT LEFT EXACTLY 3 OBO
(nil)
> LMOVEM a b RIGHT LEFT COUNT 3 OBO
1) "4"
2) "5"
> EXISTS a
(integer) 0
> LMOVEM a b RIGHT LEFT
(nil)
# In the same list.
> LMOVEM b b LEFT LEFT COUNT 3 OBO
1) "3"
2) "5"
3) "4"
> LMOVEM b b LEFT LEFT COUNT 9 BULK
1) "3"
2) "5"
3) "4"
4) "2"
5) "1"
6) "6"
7) "7"
> LMOVEM b c LEFT LEFT COUNT 0 OBO
(error) ERR count should be greater than 0
> LMOVEM b c LEFT LEFT COUNT 1
(error) ERR syntax error
> LMOVEM b c LEFT LEFT COUNT 1 OTHER
(error) ERR syntax error
> LMOVEM b c LEFT UP
(error) ERR syntax error
> SET s v
OK
> LMOVEM b s LEFT LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LMOVEM s b LEFT LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, to) = (super::end(args, 3)?, super::end(args, 4)?);
    let how = super::HowMany::parse(args, 5)?;
    let (source, destination) = (db.first_key(&args[1]), db.key(&args[2]));
    if super::move_many(db, source, destination, (from, to), how, reply)?.is_none() {
        reply.null_array();
    }
    Ok(())
}
