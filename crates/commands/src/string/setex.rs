//! SETEX: <https://redis.io/docs/latest/commands/setex/>

use resp::{Args, Reply};
use store::{Db, Ttl};

use crate::command::{DataCommand, Outcome};
use crate::parse::{TimeUnit, deadline};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SETEX: DataCommand = DataCommand {
    row: Row {
        name: "setex",
        group: Group::String,
        since: "2.0.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "2.6.12",
        replaced_by: "`SET` with the `EX` option",
        complexity: "O(1)",
        summary: "Sets the string value of a key, with a time to live in seconds.",
        syntax: "SETEX key seconds value",
        transcript: r#"
> SETEX k 100 v
OK
> TTL k
(integer) 100
# reset
> SETEX k 100 v
OK
> GET k
"v"
> SETEX k 0 v
(error) ERR invalid expire time in 'setex' command
> SETEX k -10 v
(error) ERR invalid expire time in 'setex' command
> SETEX k 9223372036854775807 v
(error) ERR invalid expire time in 'setex' command
> SETEX k soon v
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    set_for(db, args, TimeUnit::Seconds, "setex", reply)
}

/// Sets argument 1 to argument 3 for the time in argument 2: serves SETEX and PSETEX.
pub(super) fn set_for(
    db: &mut Db<'_>,
    args: &mut Args<'_>,
    unit: TimeUnit,
    command: &str,
    reply: &mut Reply<'_>,
) -> Outcome {
    let at = deadline(args, 2, unit, db.now(), command)?;
    let taken = super::take_large(db, args, 3);
    let key = db.first_key(&args[1]);
    db.set(key, super::stored(taken, &args[3]), Ttl::At(at));
    super::set::note_expiring(db, key, &args[3], at);
    reply.ok();
    Ok(())
}
