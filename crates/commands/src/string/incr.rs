//! INCR: <https://redis.io/docs/latest/commands/incr/>

use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, parse_i64};
use store::{Class, Content, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};
use crate::runs::CommandRun;

pub(crate) static INCR: DataCommand = DataCommand {
    row: Row {
        name: "incr",
        group: Group::String,
        arity: 2,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Adds one to the integer value of a key, which counts as 0 if it is missing.",
        syntax: "INCR key",
        transcript: r#"
> INCR visits
(integer) 1
> INCR visits
(integer) 2
> SET big 17179869184
OK
> INCR big
(integer) 17179869185
> SET big 9223372036854775807
OK
> INCR big
(error) ERR increment or decrement would overflow
> SET text " 11"
OK
> INCR text
(error) ERR value is not an integer or out of range
> SET text "11 "
OK
> INCR text
(error) ERR value is not an integer or out of range
> INCR visits 2
(error) ERR wrong number of arguments for 'incr' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    add(db, &args[1], 1, reply)
}

/// [`run`] for integers that are there.
pub(crate) fn execute_run(db: &mut Db<'_>, run: &CommandRun<'_>, reply: &mut Reply<'_>) -> usize {
    let n = run.each(db, |db, [_, key]| {
        db.fast_path_to_change(key, |e| {
            let number = (e.kind() == Kind::String).then(|| e.node_mut().int_mut()).flatten();
            let Some(number) = number else { return false };
            let Some(sum) = number.checked_add(1) else { return false };
            *number = sum;
            reply.int(sum);
            true
        })
    });
    db.cx.counters.dirty += n as u64;
    n
}

/// Adds `by` to the integer at `name`: serves INCR, DECR, INCRBY and DECRBY.
pub(super) fn add(db: &mut Db<'_>, name: &[u8], by: i64, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(name);
    let sum = match db.write_str(key)? {
        Some(mut e) => {
            if let Some(n) = e.node_mut().int_mut() {
                *n = n.checked_add(by).ok_or(Fail::OVERFLOW)?;
                *n
            } else {
                // A string after APPEND may read as an integer without being stored as one.
                let n = parse_i64(super::bytes(&e, &mut [0; I64_LEN_MAX]));
                let n = n.ok_or(Fail::NOT_INTEGER)?.checked_add(by).ok_or(Fail::OVERFLOW)?;
                let deadline = e.deadline();
                e.replace_with(|e| e.set(Content::Int(n), deadline));
                n
            }
        }
        None => {
            db.add(key, Content::Int(by), None);
            by
        }
    };
    db.changed(name, Class::String, "incrby");
    reply.int(sum);
    Ok(())
}
