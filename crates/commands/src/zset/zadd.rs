//! ZADD: <https://redis.io/docs/latest/commands/zadd/>

use resp::{Args, Reply};
use store::Db;
use store::zset::How;

use super::{add, score};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZADD: DataCommand = DataCommand {
    row: Row {
        name: "zadd",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: -4,
        traits: Traits::SCORE_FIRST,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[
            ("2.4.0", "Accepts multiple elements."),
            ("3.0.2", "Added the `XX`, `NX`, `CH` and `INCR` options."),
            ("6.2.0", "Added the `GT` and `LT` options."),
        ],
        complexity: "O(log(N)) for each member, where N is the size of the set.",
        summary: "Adds members to a sorted set, or changes their scores.",
        syntax: "ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
        transcript: r#"
> ZADD z 1 one 2 two 2.5 half
(integer) 3
> ZADD z 3 one
(integer) 0
> ZADD z CH 4 one 4 four
(integer) 2
> ZRANGE z 0 -1 WITHSCORES
1) "two"
2) "2"
3) "half"
4) "2.5"
5) "four"
6) "4"
7) "one"
8) "4"
> ZADD z NX 9 one 5 five
(integer) 1
> ZADD z XX CH 10 two 10 ten
(integer) 1
> ZADD z GT CH 1 one 11 two
(integer) 1
> ZADD z LT CH 1 one 12 two
(integer) 1
> ZADD z GT CH 7 seven
(integer) 1
> ZADD z INCR 1.5 one
"2.5"
> ZADD z NX INCR 1 one
(nil)
> ZADD z XX INCR 1 nobody
(nil)
> ZADD z GT INCR -1 one
(nil)
> ZADD nothing XX 1 a
(integer) 0
> ZADD nothing XX INCR 1 a
(nil)
> EXISTS nothing
(integer) 0
# Scores of one size are ordered by their members.
> ZADD y 0 b 0 a 0 c -inf z +inf y
(integer) 5
> ZRANGE y 0 -1 WITHSCORES
 1) "z"
 2) "-inf"
 3) "a"
 4) "0"
 5) "b"
 6) "0"
 7) "c"
 8) "0"
 9) "y"
10) "inf"
> ZADD y INCR -inf y
(error) ERR resulting score is not a number (NaN)
> ZADD y nan x
(error) ERR value is not a valid float
> ZADD y 1 x one y
(error) ERR value is not a valid float
> ZADD y NX XX 1 x
(error) ERR XX and NX options at the same time are not compatible
> ZADD y NX GT 1 x
(error) ERR GT, LT, and/or NX options at the same time are not compatible
> ZADD y GT LT 1 x
(error) ERR GT, LT, and/or NX options at the same time are not compatible
> ZADD y INCR 1 x 2 y
(error) ERR INCR option supports a single increment-element pair
> ZADD y 1 x 2
(error) ERR syntax error
> ZADD y NX CH INCR
(error) ERR syntax error
> SET s v
OK
> ZADD s 1 a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> OBJECT ENCODING z
"listpack"
> ZADD long 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
(integer) 1
> OBJECT ENCODING long
"skiplist"
# reset
# resp: 3
> ZADD z INCR 1.5 a
(double) 1.5
> ZADD z XX INCR 1 b
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (mut how, mut ch) = (How::default(), false);
    let mut first = 2;
    while let Some(word) = args.get(first) {
        // Most calls have no options, and no option begins like a number.
        match word.first() {
            Some(b'n' | b'N') if args.is(first, "nx") => how.nx = true,
            Some(b'x' | b'X') if args.is(first, "xx") => how.xx = true,
            Some(b'c' | b'C') if args.is(first, "ch") => ch = true,
            Some(b'i' | b'I') if args.is(first, "incr") => how.incr = true,
            Some(b'g' | b'G') if args.is(first, "gt") => how.gt = true,
            Some(b'l' | b'L') if args.is(first, "lt") => how.lt = true,
            _ => break,
        }
        first += 1;
    }
    let rest = args.len().saturating_sub(first);
    if rest == 0 || rest % 2 != 0 {
        return Err(Fail::SYNTAX);
    }
    if how.nx && how.xx {
        return Err(Fail::text("ERR XX and NX options at the same time are not compatible"));
    }
    if how.nx && (how.gt || how.lt) || how.gt && how.lt {
        return Err(Fail::text(
            "ERR GT, LT, and/or NX options at the same time are not compatible",
        ));
    }
    if how.incr && rest > 2 {
        return Err(Fail::text("ERR INCR option supports a single increment-element pair"));
    }
    let (one, many);
    let scores: &[f64] = if rest == 2 {
        one = [score(args, first)?];
        &one
    } else {
        many = (0..rest / 2).map(|i| score(args, first + 2 * i)).collect::<Result<Vec<_>, _>>()?;
        &many
    };
    let args = &*args;
    add(db, db.first_key(&args[1]), scores, |i| &args[first + 1 + 2 * i], how, ch, reply)
}
