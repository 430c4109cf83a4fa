//! GEORADIUS_RO: <https://redis.io/docs/latest/commands/georadius_ro/>

use resp::{Args, Reply};
use store::Db;

use super::search::{self, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GEORADIUS_RO: DataCommand = DataCommand {
    row: Row {
        name: "georadius_ro",
        group: Group::Geo,
        since: "3.2.10",
        arity: -6,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[
            ("6.2.0", "Added the `ANY` option for `COUNT`."),
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` with the `BYRADIUS` argument",
        complexity: "O(N+log(M)) where N is the number of places in the cells around the area and M the size of the set.",
        summary: "Finds places within a distance of coordinates.",
        syntax: r#"GEORADIUS_RO key longitude latitude radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]"#,
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.24151 38.788135 edge2
(integer) 4
> GEORADIUS_RO sicily 15 37 200 km
1) "Palermo"
2) "Catania"
> GEORADIUS_RO sicily 15 37 200 km WITHDIST WITHCOORD WITHHASH ASC
1) 1) "Catania"
   2) "56.4413"
   3) (integer) 3479447370796909
   4) 1) "15.08726745843887329"
      2) "37.50266842333162032"
2) 1) "Palermo"
   2) "190.4424"
   3) (integer) 3479099956230698
   4) 1) "13.36138933897018433"
      2) "38.11555639549629859"
> GEORADIUS_RO sicily 15 37 300 mi COUNT 2 DESC
1) "edge1"
2) "edge2"
> GEORADIUS_RO sicily 15 37 1000 km COUNT 1 ANY
1) "Palermo"
> GEORADIUS_RO nothing 15 37 200 km
(empty array)
> GEORADIUS_RO sicily 15 37 -1 km
(error) ERR radius cannot be negative
> GEORADIUS_RO sicily 15 37 one km
(error) ERR need numeric radius
> GEORADIUS_RO sicily 15 37 1 yard
(error) ERR unsupported unit provided. please use M, KM, FT, MI
> GEORADIUS_RO sicily 15 37 1 km FROMMEMBER a
(error) ERR syntax error
> GEORADIUS_RO sicily 15 37 200 km STORE d
(error) ERR syntax error
> GEORADIUS_RO sicily 190 37 1 km
(error) ERR invalid longitude,latitude pair 190.000000,37.000000
> GEORADIUS_RO sicily one 37 1 km
(error) ERR value is not a valid float
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    search::run(db, args, reply, 1, Form::Coordinates(None))
}
