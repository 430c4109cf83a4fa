//! SETRANGE: <https://redis.io/docs/latest/commands/setrange/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SETRANGE: DataCommand = DataCommand {
    row: Row {
        name: "setrange",
        group: Group::String,
        since: "2.2.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(M) where M is the length of the value; O(N) in addition if a string of N bytes has to move.",
        summary: "Overwrites a part of the string value of a key, which is created if it is missing.",
        syntax: "SETRANGE key offset value",
        transcript: r#"
> SET phrase "Hello World"
OK
> SETRANGE phrase 6 Redis
(integer) 11
> GET phrase
"Hello Redis"
> SETRANGE new 1 foo
(integer) 4
> GET new
"\x00foo"
> SETRANGE new 6 bar
(integer) 9
> GET new
"\x00foo\x00\x00bar"
> SETRANGE new 0 ""
(integer) 9
> SETRANGE nothing 5 ""
(integer) 0
> GET nothing
(nil)
> SET n 1234
OK
> SETRANGE n 0 2
(integer) 4
> SETRANGE n 5 2
(integer) 6
> GET n
"2234\x002"
> SETRANGE n -1 x
(error) ERR offset is out of range
> SETRANGE n one x
(error) ERR value is not an integer or out of range
> SETRANGE n 536870908 world
(error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
> SETRANGE n 9223372036854775807 A
(error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let offset = usize::try_from(parse::int(args, 2)?).map_err(|_| OFFSET)?;
    let value = &args[3];
    let (key, max) = (db.first_key(&args[1]), db.cx.string_max);
    let mut found = db.write_str(key)?;
    let old = found.as_deref().map_or(0, super::length);
    if value.is_empty() {
        reply.int(old as i64);
        return Ok(());
    }
    super::check_length(max, offset, value.len())?;
    let end = offset + value.len();
    let within = found.as_mut().and_then(|e| e.node_mut().inline_mut()?.get_mut(offset..end));
    if let Some(part) = within {
        part.copy_from_slice(value);
    } else {
        db.edit(key, |bytes| {
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[offset..end].copy_from_slice(value);
        });
    }
    db.changed(key.bytes, Class::String, "setrange");
    reply.int(old.max(end) as i64);
    Ok(())
}

const OFFSET: Fail = Fail::text("ERR offset is out of range");
