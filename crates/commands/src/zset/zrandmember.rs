//! ZRANDMEMBER: <https://redis.io/docs/latest/commands/zrandmember/>

use resp::{Args, Reply};
use std::collections::HashSet;
use stdx::rng::Rng;
use store::zset::View;
use store::{Db, Kind};

use super::{Pairs, put_member};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::{self, int};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZRANDMEMBER: DataCommand = DataCommand {
    row: Row {
        name: "zrandmember",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(N) where N is the number of members returned.",
        summary: "Returns random members of a sorted set.",
        syntax: "ZRANDMEMBER key [count [WITHSCORES]]",
        transcript: r#"
> ZADD z 1 a
(integer) 1
> ZRANDMEMBER z
"a"
> ZRANDMEMBER z 5
1) "a"
> ZRANDMEMBER z -3 WITHSCORES
1) "a"
2) "1"
3) "a"
4) "1"
5) "a"
6) "1"
> ZRANDMEMBER z 0
(empty array)
> ZRANDMEMBER nothing
(nil)
> ZRANDMEMBER nothing 5
(empty array)
> ZRANDMEMBER z one
(error) ERR value is not an integer or out of range
> ZRANDMEMBER z 1 WITHVALUES
(error) ERR syntax error
> ZRANDMEMBER z 1 WITHSCORES x
(error) ERR syntax error
> ZRANDMEMBER z -9223372036854775808
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
> ZRANDMEMBER z 9223372036854775807 WITHSCORES
(error) ERR value is out of range
# reset
# resp: 3
> ZADD z 1 a
(integer) 1
> ZRANDMEMBER z 1 WITHSCORES
1) 1) "a"
   2) (double) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// The count, if there is one, and whether WITHSCORES is there.
fn options(args: &Args<'_>) -> Result<(Option<i64>, bool), Fail> {
    if args.len() < 3 {
        return Ok((None, false));
    }
    let n = int(args, 2)?;
    if n == i64::MIN {
        return Err(Fail::new(format!(
            "ERR value is out of range, value must between {} and {}",
            -i64::MAX,
            i64::MAX
        )));
    }
    let with_scores = args.len() == 4 && args.is(3, "withscores");
    if args.len() > 4 || args.len() == 4 && !with_scores {
        return Err(Fail::SYNTAX);
    }
    if with_scores && n.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(Fail::text("ERR value is out of range"));
    }
    Ok((Some(n), with_scores))
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (count, with_scores) = options(args)?;
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    // The random numbers and the keys are in the same context, so the draw gets a generator of its own.
    let mut rng = Rng::from_seed(db.cx.rng.next_u64());
    let found = db.read_as(key, Kind::ZSet)?;
    let Some(e) = found.filter(|_| count != Some(0)) else {
        if count.is_some() {
            reply.array(0);
        } else {
            reply.null();
        }
        return Ok(());
    };
    let view = View::of(&e);
    let len = view.len();
    let Some(count) = count else {
        if let Some((member, _)) = view.at(rng.index(len)) {
            put_member(reply, member);
        }
        return Ok(());
    };
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let distinct = count > 0;
    let n = if distinct { wanted.min(len) } else { parse::repeated(count.unsigned_abs(), reply)? };
    if budget.is_exceeded(&e, n, len, 1) {
        db.hand_over(1);
        return Ok(());
    }
    let pairs = Pairs::begin(reply, n, with_scores);
    if n == len && distinct {
        view.for_each(|member, score| pairs.put(reply, member, score));
        return Ok(());
    }
    // A run is walked once, not once for every member asked for.
    let mut all = Vec::new();
    if let View::Run(_) = view {
        view.for_each(|member, score| all.push((member, score)));
    }
    let one = |reply: &mut Reply<'_>, rank: usize| {
        let found = all.get(rank).copied().or_else(|| view.at(rank));
        if let Some((member, score)) = found {
            pairs.put(reply, member, score);
        }
    };
    if distinct {
        distinct_ranks(&mut rng, len, n).into_iter().for_each(|rank| one(reply, rank));
    } else {
        reply.repeat(n, |reply| one(reply, rng.index(len)));
    }
    Ok(())
}

/// `n` different ranks below `len`, by Floyd's method: as many steps as ranks.
fn distinct_ranks(rng: &mut Rng, len: usize, n: usize) -> HashSet<usize> {
    let mut ranks = HashSet::with_capacity(n);
    for last in len - n..len {
        if !ranks.insert(rng.index(last + 1)) {
            ranks.insert(last);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    #[test]
    fn distinct_ranks_are_distinct_and_fair() {
        let mut rng = stdx::rng::Rng::from_seed(1);
        let mut seen = [0u32; 10];
        for _ in 0..2000 {
            let ranks = super::distinct_ranks(&mut rng, 10, 3);
            assert_eq!(ranks.len(), 3);
            ranks.into_iter().for_each(|rank| seen[rank] += 1);
        }
        assert!(seen.iter().all(|n| (480..720).contains(n)), "{seen:?}");
    }
}
