//! HMSET: <https://redis.io/docs/latest/commands/hmset/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HMSET: DataCommand = DataCommand {
    row: Row {
        name: "hmset",
        group: Group::Hash,
        since: "2.0.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "4.0.0",
        replaced_by: "`HSET` with multiple field-value pairs",
        complexity: "O(N), where N is the number of fields being set.",
        summary: "Sets fields of a hash to values.",
        syntax: "HMSET key field value [field value ...]",
        transcript: r#"
> HMSET user name Ann age 41
OK
> HGET user age
"41"
> HMSET user name Ann age
(error) ERR wrong number of arguments for 'hmset' command
> SET text v
OK
> HMSET text f v
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::set_pairs(db, args, "hmset")?;
    reply.ok();
    Ok(())
}
