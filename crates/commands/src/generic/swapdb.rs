//! SWAPDB: <https://redis.io/docs/latest/commands/swapdb/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int32;
use crate::row::{Acl, Flags, Group, Row, Scope};

pub(crate) static SWAPDB: DataCommand = DataCommand {
    row: Row {
        name: "swapdb",
        group: Group::Server,
        since: "4.0.0",
        arity: 3,
        flags: Flags::WRITE.or(Flags::FAST),
        acl: Acl::KEYSPACE.or(Acl::DANGEROUS),
        scope: Scope::All,
        complexity: "O(1) for the data; O(N) where N is the number of clients that watch or wait for keys of the two.",
        summary: "Exchanges two databases.",
        syntax: "SWAPDB index1 index2",
        transcript: r#"
> SET k v
OK
> SWAPDB 0 1
OK
> EXISTS k
(integer) 0
> SWAPDB 1 0
OK
> GET k
"v"
> SWAPDB 0 0
OK
> SWAPDB 44 55
(error) ERR DB index is out of range
> SWAPDB -1 0
(error) ERR DB index is out of range
> SWAPDB a 55
(error) ERR invalid first DB index
> SWAPDB 44 b
(error) ERR invalid second DB index
> SWAPDB 0 2147483648
(error) ERR invalid second DB index
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let first = int32(args, 1).map_err(|_| Fail::text("ERR invalid first DB index"))?;
    let second = int32(args, 2).map_err(|_| Fail::text("ERR invalid second DB index"))?;
    let index = |n| usize::try_from(n).ok().filter(|n| *n < db.databases());
    let (Some(a), Some(b)) = (index(first), index(second)) else {
        return Err(Fail::DB_RANGE);
    };
    db.swap(a, b);
    db.dirty(1);
    reply.ok();
    Ok(())
}
