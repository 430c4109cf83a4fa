//! ZINCRBY: <https://redis.io/docs/latest/commands/zincrby/>

use resp::{Args, Reply};
use store::Db;
use store::zset::How;

use super::{add, score};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZINCRBY: DataCommand = DataCommand {
    row: Row {
        name: "zincrby",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: 4,
        traits: Traits::SCORE_FIRST,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(log(N)) where N is the size of the set.",
        summary: "Adds to the score of a member.",
        syntax: "ZINCRBY key increment member",
        transcript: r#"
> ZINCRBY z 2 a
"2"
> ZINCRBY z 0.5 a
"2.5"
> ZINCRBY z -10 a
"-7.5"
> ZINCRBY z inf a
"inf"
> ZINCRBY z -inf a
(error) ERR resulting score is not a number (NaN)
> ZINCRBY z one a
(error) ERR value is not a valid float
> ZINCRBY z nx a
(error) ERR syntax error
> ZINCRBY z nan a
(error) ERR value is not a valid float
> ZRANGE z 0 -1 WITHSCORES
1) "a"
2) "inf"
# reset
# resp: 3
> ZINCRBY z 2.5 a
(double) 2.5
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    // Redis reads it as ZADD's arguments: a word that is an option there is no number that is missing.
    if ["nx", "xx", "ch", "incr", "gt", "lt"].iter().any(|option| args.is(2, option)) {
        return Err(Fail::SYNTAX);
    }
    let scores = [score(args, 2)?];
    let how = How { incr: true, ..How::default() };
    let args = &*args;
    add(db, db.first_key(&args[1]), &scores, |_| &args[3], how, false, reply)
}
