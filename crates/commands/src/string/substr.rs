//! SUBSTR: <https://redis.io/docs/latest/commands/substr/>
//!
//! The name that GETRANGE had at first.

use crate::command::DataCommand;
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SUBSTR: DataCommand = DataCommand {
    row: Row {
        name: "substr",
        group: Group::String,
        arity: 4,
        traits: Traits::BY_REPLY,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "2.0.0",
        replaced_by: "`GETRANGE`",
        complexity: "O(N) where N is the length of the part returned.",
        summary: "Returns a part of the string value of a key.",
        syntax: "SUBSTR key start end",
        transcript: r#"
> SET phrase "Hello World"
OK
> SUBSTR phrase 0 3
"Hell"
> SUBSTR phrase -4 -1
"orld"
> SUBSTR phrase 0 -1
"Hello World"
> SUBSTR phrase 5 3
""
> SUBSTR phrase 5 5000
" World"
> SUBSTR phrase -5000 10000
"Hello World"
> SUBSTR phrase -1 -100
""
> SUBSTR phrase 20 30
""
> SUBSTR nothing 0 -1
""
> SUBSTR phrase a 1
(error) ERR value is not an integer or out of range
> SET n -1234
OK
> SUBSTR n 1 2
"12"
> SUBSTR n 0 9223372036854775807
"-1234"
# reset
# only: redis>=7.4
> SET phrase "Hello World"
OK
> SUBSTR phrase 0 -100
""
> SUBSTR phrase -100 -99
""
"#,
        ..Row::DEFAULT
    },
    run: super::getrange::run,
    subs: &[],
};
