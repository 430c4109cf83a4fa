//! GEOHASH: <https://redis.io/docs/latest/commands/geohash/>

use resp::{Args, Reply};
use store::geo::Coordinates;
use store::zset::View;
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GEOHASH: DataCommand = DataCommand {
    row: Row {
        name: "geohash",
        group: Group::Geo,
        since: "3.2.0",
        arity: -2,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1) for each member asked for.",
        summary: "Returns places as geohash text.",
        syntax: "GEOHASH key [member [member ...]]",
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
(integer) 2
> GEOHASH sicily Palermo nowhere Catania
1) "sqc8b49rny0"
2) (nil)
3) "sqdtr74hyu0"
> GEOHASH sicily
(empty array)
> GEOHASH nothing a
1) (nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let found = db.read_as(key, Kind::ZSet)?;
    let view = found.as_ref().map(|e| View::of(e));
    reply.array(args.len() - 2);
    for member in args.iter_from(2) {
        match view.and_then(|view| view.score(member)).map(Coordinates::of_score) {
            Some(place) => reply.bulk(place.geohash()),
            None => reply.null(),
        }
    }
    Ok(())
}
