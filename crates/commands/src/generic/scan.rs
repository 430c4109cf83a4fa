//! SCAN: <https://redis.io/docs/latest/commands/scan/>

use resp::{Args, Reply};
use store::{Db, Entry, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, Row, Scope, Traits};
use crate::scan;

pub(crate) static SCAN: DataCommand = DataCommand {
    row: Row {
        name: "scan",
        group: Group::Generic,
        since: "2.8.0",
        arity: -2,
        flags: Flags::READONLY.or(Flags::TOUCHES_ARBITRARY_KEYS),
        traits: Traits::COST_OF_COUNT,
        tips: &["nondeterministic_output", "request_policy:special", "response_policy:special"],
        history: &[("6.0.0", "Added the `TYPE` subcommand.")],
        scope: Scope::Each,
        complexity: "O(1) for a call, O(N) for all of them, where N is the number of keys.",
        summary: "Lists keys step by step.",
        syntax: "SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]",
        transcript: r#"
> SCAN 0
1) "0"
2) (empty array)
> SET a 1
OK
> SCAN 0
1) "0"
2) 1) "a"
> SET b 2
OK
> SCAN 0 MATCH a* COUNT 1000
1) "0"
2) 1) "a"
> SCAN 0 COUNT 1000 type String MATCH b
1) "0"
2) 1) "b"
> SCAN 0 TYPE list COUNT 1000
1) "0"
2) (empty array)
# A type that does not exist has no keys; Redis 8 makes it an error.
> SCAN 0 TYPE nothing COUNT 1000
1) "0"
2) (empty array)
> SCAN x
(error) ERR invalid cursor
> SCAN 18446744073709551616
(error) ERR invalid cursor
> SCAN 0 COUNT 0
(error) ERR syntax error
> SCAN 0 COUNT ten
(error) ERR value is not an integer or out of range
> SCAN 0 MATCH
(error) ERR syntax error
> SCAN 0 FROM 1
(error) ERR syntax error
# reset
# only: redis>=7.4
> SCAN 0 NOVALUES
(error) ERR NOVALUES option can only be used in HSCAN
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut cursor = scan::cursor(&args[1])?;
    let o = scan::Options::parse(args, 2, scan::Of::Keys)?;
    let is_kind = |kind: Kind, name: &[u8]| name.eq_ignore_ascii_case(kind.name().as_bytes());
    let wanted =
        |e: &Entry| o.kind.is_none_or(|name| is_kind(e.kind(), name)) && o.pattern.fits(e.key());
    let mut found = scan::Found::default();
    // As in Redis: until COUNT keys were looked at, matching or not, but no more than ten times as
    // many steps, so that a nearly empty table cannot block the worker.
    let (mut seen, mut steps) = (0, 0);
    loop {
        let (next, looked_at) = db.scan(cursor, wanted, |e| found.push(e.key()));
        cursor = next;
        seen += looked_at as u64;
        steps += 1;
        if cursor == 0 || seen >= o.count || steps > o.count.saturating_mul(10) {
            break;
        }
    }
    found.reply(cursor, reply);
    Ok(())
}
