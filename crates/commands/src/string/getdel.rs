//! GETDEL: <https://redis.io/docs/latest/commands/getdel/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GETDEL: DataCommand = DataCommand {
    row: Row {
        name: "getdel",
        group: Group::String,
        since: "6.2.0",
        arity: 2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(1)",
        summary: "Returns the string value of a key and deletes the key.",
        syntax: "GETDEL key",
        transcript: r#"
> SET token abc
OK
> GETDEL token
"abc"
> GETDEL token
(nil)
> GET token
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    match db.read_str(key)? {
        Some(e) => super::reply_value(&e, reply),
        None => {
            reply.null();
            return Ok(());
        }
    }
    db.delete(key);
    db.rewrite(&[b"DEL", key.bytes]);
    db.changed(key.bytes, Class::Generic, "del");
    Ok(())
}
