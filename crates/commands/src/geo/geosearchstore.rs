//! GEOSEARCHSTORE: <https://redis.io/docs/latest/commands/geosearchstore/>

use resp::{Args, Reply};
use store::Db;

use super::search::{self, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GEOSEARCHSTORE: DataCommand = DataCommand {
    row: Row {
        name: "geosearchstore",
        group: Group::Geo,
        since: "6.2.0",
        arity: -8,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::one(2, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        history: &[("7.0.0", "Added support for uppercase unit names.")],
        complexity: "O(N+log(M)) where N is the number of places in the cells around the area and M the size of the set.",
        summary: "Stores the places within an area around a place.",
        syntax: r#"GEOSEARCHSTORE destination source <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <"m" | "km" | "ft" | "mi"> | BYBOX width height <"m" | "km" | "ft" | "mi">> [ASC | DESC] [COUNT count [ANY]] [STOREDIST]"#,
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.24151 38.788135 edge2
(integer) 4
> GEOSEARCHSTORE d sicily FROMLONLAT 15 37 BYBOX 400 400 km COUNT 3
(integer) 3
> ZRANGE d 0 -1 WITHSCORES
1) "Palermo"
2) "3479099956230698"
3) "Catania"
4) "3479447370796909"
5) "edge2"
6) "3481342659049484"
> GEOSEARCHSTORE d sicily FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST
(integer) 2
> ZRANGE d 0 -1
1) "Catania"
2) "Palermo"
> GEOSEARCHSTORE d sicily FROMLONLAT 15 37 BYRADIUS 1 km
(integer) 0
> EXISTS d
(integer) 0
> SET d v
OK
> GEOSEARCHSTORE d nothing FROMMEMBER a BYRADIUS 1 km
(integer) 0
> EXISTS d
(integer) 0
> GEOSEARCHSTORE d sicily FROMLONLAT 15 37 BYRADIUS 1 km WITHDIST
(error) ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    search::run(db, args, reply, 2, Form::Store)
}
