//! GEORADIUSBYMEMBER: <https://redis.io/docs/latest/commands/georadiusbymember/>

use resp::{Args, Reply};
use store::Db;

use super::search::{self, Form, Keyed};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, FindKeys, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GEORADIUSBYMEMBER: DataCommand = DataCommand {
    row: Row {
        name: "georadiusbymember",
        group: Group::Geo,
        since: "3.2.0",
        arity: -5,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS)),
            KeySpec::after(
                "STORE",
                5,
                FindKeys::Range { last: 0, step: 1, limit: 0 },
                KeyFlags::OW.or(KeyFlags::UPDATE),
            ),
            KeySpec::after(
                "STOREDIST",
                5,
                FindKeys::Range { last: 0, step: 1, limit: 0 },
                KeyFlags::OW.or(KeyFlags::UPDATE),
            ),
        ],
        history: &[
            ("6.2.0", "Added the `ANY` option for `COUNT`."),
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
        complexity: "O(N+log(M)) where N is the number of places in the cells around the area and M the size of the set.",
        summary: "Finds places within a distance of another.",
        syntax: r#"GEORADIUSBYMEMBER key member radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE storekey | STOREDIST storedistkey]"#,
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.24151 38.788135 edge2
(integer) 4
> GEORADIUSBYMEMBER sicily Palermo 200 km
1) "Palermo"
2) "edge1"
3) "Catania"
> GEORADIUSBYMEMBER sicily Palermo 200 km WITHDIST WITHCOORD WITHHASH ASC
1) 1) "Palermo"
   2) "0.0000"
   3) (integer) 3479099956230698
   4) 1) "13.36138933897018433"
      2) "38.11555639549629859"
2) 1) "edge1"
   2) "91.4007"
   3) (integer) 3479273021651468
   4) 1) "12.7584877610206604"
      2) "38.78813451624225195"
3) 1) "Catania"
   2) "166.2742"
   3) (integer) 3479447370796909
   4) 1) "15.08726745843887329"
      2) "37.50266842333162032"
> GEORADIUSBYMEMBER sicily Palermo 300 mi COUNT 2 DESC
1) "edge2"
2) "Catania"
> GEORADIUSBYMEMBER sicily Palermo 1000 km COUNT 1 ANY
1) "Palermo"
> GEORADIUSBYMEMBER nothing Palermo 200 km
(empty array)
> GEORADIUSBYMEMBER sicily Palermo -1 km
(error) ERR radius cannot be negative
> GEORADIUSBYMEMBER sicily Palermo one km
(error) ERR need numeric radius
> GEORADIUSBYMEMBER sicily Palermo 1 yard
(error) ERR unsupported unit provided. please use M, KM, FT, MI
> GEORADIUSBYMEMBER sicily Palermo 1 km FROMMEMBER a
(error) ERR syntax error
> GEORADIUSBYMEMBER sicily Palermo 200 km STORE d
(integer) 3
> ZRANGE d 0 -1
1) "Palermo"
2) "edge1"
3) "Catania"
> GEORADIUSBYMEMBER sicily Palermo 200 km STOREDIST d COUNT 1 DESC
(integer) 1
> ZRANGE d 0 -1
1) "Catania"
> GEORADIUSBYMEMBER nothing Palermo 200 km STORE d
(integer) 0
> EXISTS d
(integer) 0
> GEORADIUSBYMEMBER sicily Palermo 200 km STORE d WITHDIST
(error) ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options
> GEORADIUSBYMEMBER sicily nowhere 1 km
(error) ERR could not decode requested zset member
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    search::run(db, args, reply, 1, Form::Member(Some(const { &Keyed(&GEORADIUSBYMEMBER.row) })))
}
