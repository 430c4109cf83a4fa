//! PFADD: <https://redis.io/docs/latest/commands/pfadd/>

use data::hll::{self, Encoding};
use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PFADD: DataCommand = DataCommand {
    row: Row {
        name: "pfadd",
        group: Group::HyperLogLog,
        since: "2.8.9",
        arity: -2,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        complexity: "O(1) for each element.",
        summary: "Adds elements to a HyperLogLog, which is created if it is missing.",
        syntax: "PFADD key [element [element ...]]",
        transcript: r#"
> PFADD h a b c
(integer) 1
> PFADD h b
(integer) 0
> PFCOUNT h
(integer) 3
> GET h
"HYLL\x01\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00`\xf3\x80P\xb1\x84K\xfb\x80BZ"
> PFADD h d
(integer) 1
> PFADD empty
(integer) 1
> PFADD empty
(integer) 0
> GET empty
"HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
> OBJECT ENCODING h
"raw"
> SET t text
OK
> PFADD t a
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
> SET n 12345
OK
> PFADD n a
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
> SADD s a
(integer) 1
> PFADD s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SET bad "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00"
OK
> PFADD bad a
(error) INVALIDOBJ Corrupted HLL object detected
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let max = db.cx.small.hll_sparse_max_bytes;
    let mut updated = 0;
    let mut value = match db.write(key) {
        None => {
            updated += 1;
            Some(hll::empty())
        }
        Some(mut e) => {
            let copy = super::with(&e, |v, encoding| {
                // Registers in place cannot be refused half-way; runs can, and are short.
                (encoding == Encoding::Sparse).then(|| v.to_vec())
            })?;
            if copy.is_none()
                && let Some(place) = super::bytes_mut(e.node_mut())
            {
                updated += args.iter_from(2).filter(|a| hll::add_dense(place, a)).count();
                if updated > 0 {
                    hll::forget(place);
                }
            }
            copy
        }
    };
    if let Some(value) = &mut value {
        for element in args.iter_from(2) {
            updated += usize::from(hll::add(value, element, max)?);
        }
        if updated > 0 {
            hll::forget(value);
        }
    }
    if updated > 0 {
        if let Some(value) = value {
            super::put(db, key, value);
        }
        db.event(Class::String, "pfadd", key.bytes);
        db.dirty(updated as u64);
    }
    reply.int((updated > 0).into());
    Ok(())
}
