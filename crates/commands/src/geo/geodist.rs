//! GEODIST: <https://redis.io/docs/latest/commands/geodist/>

use resp::{Args, Reply};
use store::geo::Coordinates;
use store::zset::View;
use store::{Db, Kind};

use super::{put_distance, unit};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GEODIST: DataCommand = DataCommand {
    row: Row {
        name: "geodist",
        group: Group::Geo,
        since: "3.2.0",
        arity: -4,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns the distance between two places.",
        syntax: r#"GEODIST key member1 member2 ["m" | "km" | "ft" | "mi"]"#,
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
(integer) 2
> GEODIST sicily Palermo Catania
"166274.1516"
> GEODIST sicily Palermo Catania km
"166.2742"
> GEODIST sicily Palermo Catania MI
"103.3182"
> GEODIST sicily Palermo Catania ft
"545518.8700"
> GEODIST sicily Palermo Palermo
"0.0000"
> GEODIST sicily Palermo nowhere
(nil)
> GEODIST nothing a b
(nil)
> GEODIST sicily Palermo Catania yards
(error) ERR unsupported unit provided. please use M, KM, FT, MI
> GEODIST sicily Palermo Catania m m
(error) ERR syntax error
> SET s v
OK
> GEODIST s a b
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let unit = match args.len() {
        4 => 1.0,
        5 => unit(args, 4)?,
        _ => return Err(Fail::SYNTAX),
    };
    let key = db.first_key(&args[1]);
    let found = db.read_as(key, Kind::ZSet)?;
    let place = |i: usize| {
        let e = found.as_ref()?;
        View::of(e).score(&args[i]).map(Coordinates::of_score)
    };
    match (place(2), place(3)) {
        (Some(a), Some(b)) => put_distance(reply, a.distance(b) / unit),
        _ => reply.null(),
    }
    Ok(())
}
