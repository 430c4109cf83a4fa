//! PFCOUNT: <https://redis.io/docs/latest/commands/pfcount/>

use data::hll::{self, REGISTERS};
use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PFCOUNT: DataCommand = DataCommand {
    row: Row {
        name: "pfcount",
        group: Group::HyperLogLog,
        since: "2.8.9",
        arity: -2,
        flags: Flags::READONLY.or(Flags::MAY_REPLICATE),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RW.or(KeyFlags::ACCESS)).notes(
            "RW because it may change the internal representation of the key, \
             and propagate to replicas",
        )],
        complexity: "O(1) for one key, which is computed once and noted; O(N) for N keys.",
        summary: "Returns about how many different elements were added to one or several \
                  HyperLogLogs.",
        syntax: "PFCOUNT key [key ...]",
        transcript: r#"
> PFADD a foo bar zap
(integer) 1
> PFCOUNT a
(integer) 3
# The number is noted in the value until it changes.
> GET a
"HYLL\x01\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\\\xb3\x90B\a\x84HX\x80X\xe7"
> PFADD b zap zap foo x
(integer) 1
> PFCOUNT a b nothing
(integer) 4
> PFCOUNT nothing
(integer) 0
> SET t text
OK
> PFCOUNT t
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
> PFCOUNT a t
(error) WRONGTYPE Key is not a valid HyperLogLog string value.
> SADD s a
(integer) 1
> PFCOUNT s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> PFADD bad a
(integer) 1
> APPEND bad "\x00"
(integer) 22
> PFCOUNT bad
(error) INVALIDOBJ Corrupted HLL object detected
> PFCOUNT a bad
(error) INVALIDOBJ Corrupted HLL object detected
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() > 2 {
        let mut registers = [0; REGISTERS];
        for name in args.iter_from(1) {
            let key = db.key(name);
            if let Some(e) = db.read(key) {
                super::with(&e, |value, _| hll::merge(value, &mut registers))??;
            }
        }
        reply.int(hll::count_registers(&registers) as i64);
        return Ok(());
    }
    let key = db.first_key(&args[1]);
    let Some(mut e) = db.read(key) else {
        reply.int(0);
        return Ok(());
    };
    if let Some(cached) = super::with(&e, |value, _| hll::cached(value))? {
        reply.int(cached as i64);
        return Ok(());
    }
    let count = super::with(&e, |value, _| hll::count(value))??;
    if let Some(place) = super::bytes_mut(e.node_mut()) {
        hll::note(place, count);
    }
    // An effect of a read: the stored value differs from the one that clients, replicas and the journal have.
    db.changed(key.bytes, Class::Silent, "");
    reply.int(count as i64);
    Ok(())
}
