//! GEORADIUSBYMEMBER_RO: <https://redis.io/docs/latest/commands/georadiusbymember_ro/>

use resp::{Args, Reply};
use store::Db;

use super::search::{self, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static GEORADIUSBYMEMBER_RO: DataCommand = DataCommand {
    row: Row {
        name: "georadiusbymember_ro",
        group: Group::Geo,
        since: "3.2.10",
        arity: -5,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[
            ("6.2.0", "Added the `ANY` option for `COUNT`."),
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
        complexity: "O(N+log(M)) where N is the number of places in the cells around the area and M the size of the set.",
        summary: "Finds places within a distance of another.",
        syntax: r#"GEORADIUSBYMEMBER_RO key member radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]"#,
        transcript: r#"
> GEOADD sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.24151 38.788135 edge2
(integer) 4
> GEORADIUSBYMEMBER_RO sicily Palermo 200 km
1) "Palermo"
2) "edge1"
3) "Catania"
> GEORADIUSBYMEMBER_RO sicily Palermo 200 km WITHDIST WITHCOORD WITHHASH ASC
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
> GEORADIUSBYMEMBER_RO sicily Palermo 300 mi COUNT 2 DESC
1) "edge2"
2) "Catania"
> GEORADIUSBYMEMBER_RO sicily Palermo 1000 km COUNT 1 ANY
1) "Palermo"
> GEORADIUSBYMEMBER_RO nothing Palermo 200 km
(empty array)
> GEORADIUSBYMEMBER_RO sicily Palermo -1 km
(error) ERR radius cannot be negative
> GEORADIUSBYMEMBER_RO sicily Palermo one km
(error) ERR need numeric radius
> GEORADIUSBYMEMBER_RO sicily Palermo 1 yard
(error) ERR unsupported unit provided. please use M, KM, FT, MI
> GEORADIUSBYMEMBER_RO sicily Palermo 1 km FROMMEMBER a
(error) ERR syntax error
> GEORADIUSBYMEMBER_RO sicily Palermo 200 km STORE d
(error) ERR syntax error
> GEORADIUSBYMEMBER_RO sicily nowhere 1 km
(error) ERR could not decode requested zset member
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    search::run(db, args, reply, 1, Form::Member(None))
}
