//! GEOADD: <https://redis.io/docs/latest/commands/geoadd/>

use resp::{Args, Reply};
use store::Db;
use store::geo::Coordinates;
use store::zset::How;

use super::coordinates;
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};
use crate::zset;

pub(crate) static GEOADD: DataCommand = DataCommand {
    row: Row {
        name: "geoadd",
        group: Group::Geo,
        since: "3.2.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("6.2.0", "Added the `CH`, `NX` and `XX` options.")],
        complexity: "O(log(N)) for each place, where N is the size of the set.",
        summary: "Adds places to a sorted set.",
        syntax: "GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
(integer) 2
> GEOADD sicily 13.361389 38.115556 Palermo
(integer) 0
> GEOADD sicily CH 13.5 38.115556 Palermo
(integer) 1
> GEOADD sicily NX CH 13.6 38 Palermo 14 37 Enna
(integer) 1
> GEOADD sicily XX CH 13.6 38 Palermo 14 37 Nowhere
(integer) 1
> ZRANGE sicily 0 -1 WITHSCORES
1) "Enna"
2) "3476101302610854"
3) "Palermo"
4) "3479098943557231"
5) "Catania"
6) "3479447370796909"
> GEOADD sicily 181 38 a
(error) ERR invalid longitude,latitude pair 181.000000,38.000000
> GEOADD sicily 13 86 a
(error) ERR invalid longitude,latitude pair 13.000000,86.000000
> GEOADD sicily one 38 a
(error) ERR value is not a valid float
> GEOADD sicily 13 38
(error) ERR wrong number of arguments for 'geoadd' command
> GEOADD sicily 13 38 a 14
(error) ERR syntax error
> GEOADD sicily NX XX 13 38 a
(error) ERR syntax error
> GEOADD sicily NX XX CH
(error) ERR syntax error
> SET s v
OK
> GEOADD s 13 38 a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (mut how, mut ch, mut first) = (How::default(), false, 2);
    while first < args.len() {
        match () {
            () if args.is(first, "nx") => how.nx = true,
            () if args.is(first, "xx") => how.xx = true,
            () if args.is(first, "ch") => ch = true,
            () => break,
        }
        first += 1;
    }
    let rest = args.len() - first;
    if rest == 0 || !rest.is_multiple_of(3) || how.nx && how.xx {
        return Err(Fail::SYNTAX);
    }
    let scores: Vec<f64> = (0..rest / 3)
        .map(|i| coordinates(args, first + 3 * i).map(Coordinates::score))
        .collect::<Result<_, _>>()?;
    let args = &*args;
    zset::add(db, db.first_key(&args[1]), &scores, |i| &args[first + 3 * i + 2], how, ch, reply)
}
