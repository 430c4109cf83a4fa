//! GETSET: <https://redis.io/docs/latest/commands/getset/>

use resp::{Args, Reply};
use store::{Class, Db, Ttl};

use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GETSET: DataCommand = DataCommand {
    row: Row {
        name: "getset",
        group: Group::String,
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`SET` with the `GET` option",
        complexity: "O(1)",
        summary: "Sets the string value of a key and returns the one before.",
        syntax: "GETSET key value",
        transcript: r#"
> GETSET k v
(nil)
> GETSET k w
"v"
> GET k
"w"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let taken = super::take_large(db, args, 2);
    let key = db.first_key(&args[1]);
    match db.read_str(key)? {
        Some(e) => super::reply_value(&e, reply),
        None => reply.null(),
    }
    db.set(key, super::stored(taken, &args[2]), Ttl::Clear);
    db.rewrite(&[b"SET", key.bytes, &args[2]]);
    db.changed(key.bytes, Class::String, "set");
    Ok(())
}
