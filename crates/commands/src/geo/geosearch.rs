//! GEOSEARCH: <https://redis.io/docs/latest/commands/geosearch/>

use resp::{Args, Reply};
use store::Db;

use super::search::{self, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GEOSEARCH: DataCommand = DataCommand {
    row: Row {
        name: "geosearch",
        group: Group::Geo,
        since: "6.2.0",
        arity: -7,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("7.0.0", "Added support for uppercase unit names.")],
        complexity: "O(N+log(M)) where N is the number of places in the cells around the area and M the size of the set.",
        summary: "Finds places within an area around a place.",
        syntax: r#"GEOSEARCH key <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <"m" | "km" | "ft" | "mi"> | BYBOX width height <"m" | "km" | "ft" | "mi">> [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]"#,
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.24151 38.788135 edge2
(integer) 4
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC
1) "Catania"
2) "Palermo"
> GEOSEARCH sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST
1) 1) "Catania"
   2) "56.4413"
   3) 1) "15.08726745843887329"
      2) "37.50266842333162032"
2) 1) "Palermo"
   2) "190.4424"
   3) 1) "13.36138933897018433"
      2) "38.11555639549629859"
3) 1) "edge2"
   2) "279.7403"
   3) 1) "17.24151045083999634"
      2) "38.78813451624225195"
4) 1) "edge1"
   2) "279.7405"
   3) 1) "12.7584877610206604"
      2) "38.78813451624225195"
> GEOSEARCH sicily FROMMEMBER Palermo BYRADIUS 200 km DESC WITHHASH
1) 1) "Catania"
   2) (integer) 3479447370796909
2) 1) "edge1"
   2) (integer) 3479273021651468
3) 1) "Palermo"
   2) (integer) 3479099956230698
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 300 mi COUNT 2 WITHDIST
1) 1) "Catania"
   2) "35.0711"
2) 1) "Palermo"
   2) "118.3357"
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1000 km COUNT 1 ANY
1) "Palermo"
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 ft
(empty array)
> GEOSEARCH nothing FROMMEMBER a BYRADIUS 1 km
(empty array)
> GEOSEARCH sicily FROMMEMBER nowhere BYRADIUS 1 km
(error) ERR could not decode requested zset member
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 km ANY
(error) ERR the ANY argument requires COUNT argument
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 km COUNT 0
(error) ERR COUNT must be > 0
> GEOSEARCH sicily BYRADIUS 1 km ASC DESC
(error) ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCH
> GEOSEARCH sicily FROMLONLAT 15 37 ASC DESC WITHDIST
(error) ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH
> GEOSEARCH sicily FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 km
(error) ERR syntax error
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 km BYBOX 1 1 km
(error) ERR syntax error
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS one km
(error) ERR need numeric radius
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS -1 km
(error) ERR radius cannot be negative
> GEOSEARCH sicily FROMLONLAT 15 37 BYBOX 1 one km
(error) ERR need numeric height
> GEOSEARCH sicily FROMLONLAT 15 37 BYBOX -1 1 km
(error) ERR height or width cannot be negative
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 yard
(error) ERR unsupported unit provided. please use M, KM, FT, MI
> GEOSEARCH sicily FROMLONLAT 15 99 BYRADIUS 1 km
(error) ERR invalid longitude,latitude pair 15.000000,99.000000
> GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 1 km STORE d
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    search::run(db, args, reply, 1, Form::Options)
}
