//! ZSCAN: <https://redis.io/docs/latest/commands/zscan/>

use resp::{Args, Reply};
use stdx::num::{F64_LEN_MAX, fmt_f64, fmt_f64_g17};
use store::zset::View;
use store::{Db, Kind};

use super::text;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};
use crate::scan;

pub(crate) static ZSCAN: DataCommand = DataCommand {
    row: Row {
        name: "zscan",
        group: Group::SortedSet,
        since: "2.8.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_COUNT,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(1) for a call, O(N) for all of them, where N is the size of the set.",
        summary: "Lists members and scores step by step.",
        syntax: "ZSCAN key cursor [MATCH pattern] [COUNT count]",
        transcript: r#"
> ZADD z 1 a 2.5 b 3 ab
(integer) 3
> ZSCAN z 0
1) "0"
2) 1) "a"
   2) "1"
   3) "b"
   4) "2.5"
   5) "ab"
   6) "3"
> ZSCAN z 0 MATCH a*
1) "0"
2) 1) "a"
   2) "1"
   3) "ab"
   4) "3"
> ZSCAN z 0 MATCH a COUNT 1
1) "0"
2) 1) "a"
   2) "1"
> ZSCAN z 5
1) "0"
2) 1) "a"
   2) "1"
   3) "b"
   4) "2.5"
   5) "ab"
   6) "3"
> ZSCAN nothing 0
1) "0"
2) (empty array)
> ZSCAN z x
(error) ERR invalid cursor
> ZSCAN z 0 COUNT 0
(error) ERR syntax error
> ZSCAN z 0 COUNT one
(error) ERR value is not an integer or out of range
> ZSCAN z 0 MATCH
(error) ERR syntax error
> SET s v
OK
> ZSCAN s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut cursor = scan::cursor(&args[2])?;
    let key = db.first_key(&args[1]);
    let Some(e) = db.read_as(key, Kind::ZSet)? else {
        scan::reply_nothing(reply);
        return Ok(());
    };
    let o = scan::Options::parse(args, 3, scan::Of::Members)?;
    let mut found = scan::Found::default();
    let mut buf = [0; F64_LEN_MAX];
    let mut keep = |member: &[u8], score: &[u8]| {
        if o.pattern.fits(member) {
            found.push(member);
            found.push(score);
        }
    };
    match View::of(&e) {
        View::Run(_) => {
            // A small set is replied whole, with the scores as they are stored.
            cursor = 0;
            View::of(&e).for_each(|member, score| {
                text(member, |member| keep(member, fmt_f64(&mut buf, score)));
            });
        }
        View::Big(z) => {
            let (mut seen, mut steps) = (0, 0u64);
            loop {
                let next = z.scan(u32::try_from(cursor).unwrap_or(u32::MAX), |member, score| {
                    seen += 1;
                    keep(member, fmt_f64_g17(&mut buf, score));
                });
                cursor = next.map_or(0, u64::from);
                steps += 1;
                // As in Redis, empty buckets are not walked for ever.
                if cursor == 0 || seen >= o.count || steps > o.count.saturating_mul(10) {
                    break;
                }
            }
        }
    }
    found.reply(cursor, reply);
    Ok(())
}
