//! PFMERGE: <https://redis.io/docs/latest/commands/pfmerge/>

use data::hll::{self, Encoding, REGISTERS};
use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::keys::{Argv, KeyError, KeyPos};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PFMERGE: DataCommand = DataCommand {
    row: Row {
        name: "pfmerge",
        group: Group::HyperLogLog,
        since: "2.8.9",
        arity: -2,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::INSERT)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        get_keys: Some(keys),
        complexity: "O(N) where N is the number of HyperLogLogs.",
        summary: "Merges HyperLogLogs into one.",
        syntax: "PFMERGE destkey [sourcekey [sourcekey ...]]",
        transcript: r#"
> PFADD a 1 2 3
(integer) 1
> PFADD b 3 4
(integer) 1
> PFMERGE d a b nothing
OK
> PFCOUNT d
(integer) 4
> PFMERGE d d
OK
> PFMERGE new
OK
> GET new
"HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
> PFMERGE a b
OK
> PFCOUNT a
(integer) 4
> PFDEBUG ENCODING a
sparse
> PFDEBUG TODENSE b
(integer) 1
> PFMERGE a b
OK
> PFDEBUG ENCODING a
dense
> PFCOUNT a
(integer) 4
> SET t text
OK
> PFMERGE a t
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
> PFMERGE t a
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// Without sources the second specification matches no argument; the destination is still a key.
fn keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let destination = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::INSERT);
    out(KeyPos { index: 1, flags: destination });
    let source = KeyFlags::RO.or(KeyFlags::ACCESS);
    (2..argv.len()).for_each(|index| out(KeyPos { index, flags: source }));
    Ok(())
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut registers = [0; REGISTERS];
    let mut dense = false;
    for name in args.iter_from(1) {
        let key = db.key(name);
        if let Some(e) = db.read(key) {
            super::with(&e, |value, encoding| {
                dense |= encoding == Encoding::Dense;
                hll::merge(value, &mut registers)
            })??;
        }
    }
    let key = db.first_key(&args[1]);
    let max = db.cx.small.hll_sparse_max_bytes;
    let mut value = match db.write(key) {
        Some(e) => super::with(&e, |value, _| value.to_vec())?,
        None => hll::empty(),
    };
    if dense {
        value = hll::to_dense(&value)?;
    }
    hll::raise_all(&mut value, &registers, max)?;
    hll::forget(&mut value);
    super::put(db, key, value);
    db.changed(key.bytes, Class::String, "pfadd");
    reply.ok();
    Ok(())
}
