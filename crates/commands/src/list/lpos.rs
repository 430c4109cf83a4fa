//! LPOS: <https://redis.io/docs/latest/commands/lpos/>

use data::list::{Elem, Needle, View};
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static LPOS: DataCommand = DataCommand {
    row: Row {
        name: "lpos",
        group: Group::List,
        since: "6.0.6",
        arity: -3,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N) where N is the number of elements that are looked at.",
        summary: "Returns the indexes of elements of a list that have a value.",
        syntax: "LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        transcript: r#"
> RPUSH k a b c 1 2 3 c c
(integer) 8
> LPOS k c
(integer) 2
> LPOS k c RANK 2
(integer) 6
> LPOS k c RANK -1
(integer) 7
> LPOS k c COUNT 2
1) (integer) 2
2) (integer) 6
> LPOS k c RANK -1 COUNT 2
1) (integer) 7
2) (integer) 6
> LPOS k c RANK 2 COUNT 0
1) (integer) 6
2) (integer) 7
> LPOS k c COUNT 0 MAXLEN 2
(empty array)
> LPOS k c MAXLEN 3
(integer) 2
> LPOS k 3
(integer) 5
> LPOS k x
(nil)
> LPOS k x COUNT 1
(empty array)
> LPOS nothing x
(nil)
> LPOS nothing x COUNT 0
(empty array)
> LPOS k c RANK 0
(error) ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list
> LPOS k c RANK x
(error) ERR value is not an integer or out of range
> LPOS k c COUNT -1
(error) ERR COUNT can't be negative
> LPOS k c MAXLEN -1
(error) ERR MAXLEN can't be negative
> LPOS k c NEAR 1
(error) ERR syntax error
> LPOS k c COUNT
(error) ERR syntax error
> SET s v
OK
> LPOS s c
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.2
> RPUSH k c
(integer) 1
> LPOS k c RANK -9223372036854775808
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// An option's number, 0 or more.
fn natural(args: &Args<'_>, i: usize, error: &'static str) -> Result<u64, Fail> {
    int(args, i).ok().and_then(|n| u64::try_from(n).ok()).ok_or(Fail::text(error))
}

/// RANK, COUNT and MAXLEN.
fn options(args: &Args<'_>) -> Result<(i64, Option<u64>, u64), Fail> {
    let (mut rank, mut count, mut most) = (1, None, 0);
    let mut i = 3;
    while i < args.len() {
        match () {
            () if i + 1 == args.len() => return Err(Fail::SYNTAX),
            () if args.is(i, "rank") => {
                rank = super::long(args, i + 1)?;
                if rank == 0 {
                    return Err(Fail::text(
                        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the \
                         second ... or use negative to start from the end of the list",
                    ));
                }
            }
            () if args.is(i, "count") => {
                count = Some(natural(args, i + 1, "ERR COUNT can't be negative")?);
            }
            () if args.is(i, "maxlen") => {
                most = natural(args, i + 1, "ERR MAXLEN can't be negative")?;
            }
            () => return Err(Fail::SYNTAX),
        }
        i += 2;
    }
    Ok((rank, count, most))
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (rank, count, most) = options(args)?;
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let Some(e) = db.read_as(key, Kind::List)? else {
        match count {
            Some(_) => reply.array(0),
            None => reply.null(),
        }
        return Ok(());
    };
    let (view, needle) = (View::of(&e), Needle::new(&args[2]));
    let len = view.len();
    let wanted = match count {
        Some(0) => u64::MAX,
        Some(n) => n,
        None => 1,
    };
    let tried = budget.parts(&e, len, super::CHEAPER) / super::TRIES;
    let (mut skip, mut seen) = (rank.unsigned_abs() - 1, 0);
    let mut found = Vec::new();
    let mut look = |elem: Elem<'_>| {
        if needle.is(elem) {
            if skip > 0 {
                skip -= 1;
            } else {
                found.push(seen);
            }
        }
        seen += 1;
        (found.len() as u64) < wanted && (most == 0 || (seen as u64) < most) && seen < tried
    };
    if rank > 0 {
        view.each(0, &mut look);
    } else {
        view.each_back(len - 1, &mut look);
    }
    let all = seen == len || (found.len() as u64) >= wanted || most > 0 && seen as u64 >= most;
    if !all {
        db.hand_over(1);
        return Ok(());
    }
    let index = |n: usize| if rank > 0 { n } else { len - 1 - n } as i64;
    match (count, found.first()) {
        (Some(_), _) => {
            reply.array(found.len());
            found.into_iter().for_each(|n| reply.int(index(n)));
        }
        (None, Some(n)) => reply.int(index(*n)),
        (None, None) => reply.null(),
    }
    Ok(())
}
