//! GEOPOS: <https://redis.io/docs/latest/commands/geopos/>

use resp::{Args, Reply};
use store::geo::Coordinates;
use store::zset::View;
use store::{Db, Kind};

use super::put_place;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GEOPOS: DataCommand = DataCommand {
    row: Row {
        name: "geopos",
        group: Group::Geo,
        since: "3.2.0",
        arity: -2,
        traits: Traits::BY_REPLY,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1) for each member asked for.",
        summary: "Returns the coordinates of places.",
        syntax: "GEOPOS key [member [member ...]]",
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
(integer) 2
> GEOPOS sicily Palermo nowhere Catania
1) 1) "13.36138933897018433"
   2) "38.11555639549629859"
2) (nil)
3) 1) "15.08726745843887329"
   2) "37.50266842333162032"
> GEOPOS sicily
(empty array)
> GEOPOS nothing a
1) (nil)
> ZADD scores -2 a
(integer) 1
> GEOPOS scores a
1) 1) "180"
   2) "85.0511287799999991"
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
            Some(place) => put_place(reply, place),
            None => reply.null_array(),
        }
    }
    Ok(())
}
