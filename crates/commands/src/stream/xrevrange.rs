//! XREVRANGE: <https://redis.io/docs/latest/commands/xrevrange/>

use crate::command::DataCommand;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static XREVRANGE: DataCommand = DataCommand {
    row: Row {
        name: "xrevrange",
        group: Group::Stream,
        since: "5.0.0",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("6.2.0", "Added exclusive ranges.")],
        complexity: "O(log M + N) where M is the number of nodes and N the number of entries \
                     returned.",
        summary: "Returns the entries of a stream within a range of IDs, the last one first.",
        syntax: "XREVRANGE key end:string start:string [COUNT count]",
        transcript: r#"
> XADD s 1-1 n 1
"1-1"
> XADD s 1-2 n 2
"1-2"
> XADD s 2-1 n 3
"2-1"
> XREVRANGE s + - COUNT 2
1) 1) "2-1"
   2) 1) "n"
      2) "3"
2) 1) "1-2"
   2) 1) "n"
      2) "2"
> XREVRANGE s (2-1 1
1) 1) "1-2"
   2) 1) "n"
      2) "2"
2) 1) "1-1"
   2) 1) "n"
      2) "1"
> XREVRANGE s - +
(empty array)
> XREVRANGE nothing + -
(empty array)
> XREVRANGE s + -1
(error) ERR Invalid stream ID specified as stream command argument
> SET k v
OK
> XREVRANGE k + -
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run: |db, args, reply| {
        let (start, end) = (super::interval_start(&args[3])?, super::interval_end(&args[2])?);
        super::xrange::range(db, args, reply, start, end, true)
    },
    subs: &[],
};
