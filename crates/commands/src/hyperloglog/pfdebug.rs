//! PFDEBUG: looks into a HyperLogLog.

use data::hll::{self, Encoding, Run};
use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PFDEBUG: DataCommand = DataCommand {
    row: Row {
        name: "pfdebug",
        group: Group::HyperLogLog,
        since: "2.8.9",
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::ADMIN),
        keys: &[KeySpec::one(2, KeyFlags::RW.or(KeyFlags::ACCESS))],
        doc_flags: DocFlags::SYSCMD,
        complexity: "N/A",
        summary: "Shows how a HyperLogLog is kept: GETREG, DECODE, ENCODING; TODENSE changes it.",
        syntax: "PFDEBUG subcommand key",
        transcript: r#"
> PFADD h a b c
(integer) 1
> PFDEBUG ENCODING h
sparse
> PFDEBUG decode h
"Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603"
> PFDEBUG TODENSE h
(integer) 1
> PFDEBUG TODENSE h
(integer) 0
> PFDEBUG ENCODING h
dense
> STRLEN h
(integer) 12304
> PFDEBUG DECODE h
(error) ERR HLL encoding is not sparse
> PFCOUNT h
(integer) 3
> PFDEBUG GETREG h
    1) (integer) 0
...
> PFDEBUG NONSENSE h
(error) ERR Unknown PFDEBUG subcommand 'NONSENSE'
> PFDEBUG ENCODING nothing
(error) ERR The specified key does not exist
> SET t text
OK
> PFDEBUG ENCODING t
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.key(&args[2]);
    let Some(e) = db.write(key) else {
        return Err(Fail::text("ERR The specified key does not exist"));
    };
    let encoding = super::with(&e, |_, encoding| encoding)?;
    let sparse = encoding == Encoding::Sparse;
    if args.is(1, "encoding") {
        reply.simple(if sparse { "sparse" } else { "dense" });
    } else if args.is(1, "decode") {
        if !sparse {
            return Err(Fail::text("ERR HLL encoding is not sparse"));
        }
        reply.bulk(super::with(&e, |value, _| decoded(value))?);
    } else if args.is(1, "getreg") || args.is(1, "todense") {
        let registers = super::with(&e, |value, _| hll::registers(value))??;
        let dense = super::with(&e, |value, _| hll::to_dense(value))??;
        if sparse {
            super::put(db, key, dense);
            db.changed(key.bytes, Class::Silent, "");
        }
        if args.is(1, "todense") {
            reply.int(sparse.into());
        } else {
            reply.array(registers.len());
            registers.iter().for_each(|r| reply.int((*r).into()));
        }
    } else {
        let name = crate::fail::quoted(&args[1]);
        return Err(Fail::new(format!("ERR Unknown PFDEBUG subcommand '{name}'")));
    }
    Ok(())
}

/// The runs of a sparse value as text: `z` and `Z` are short and long runs of zeros, `v:3,2` is two
/// registers of 3.
fn decoded(value: &[u8]) -> String {
    let runs = hll::runs(value).map(|run| match run {
        Run::Zeros(n) => format!("z:{n}"),
        Run::LongZeros(n) => format!("Z:{n}"),
        Run::Values(v, n) => format!("v:{v},{n}"),
    });
    runs.collect::<Vec<_>>().join(" ")
}
