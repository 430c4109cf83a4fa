//! APUS.TOPKEYS: the keys that make the work at present, without a request beforehand.

use commands::row::{Flags, Group, Row, Scope};
use commands::{Fail, Outcome, parse};
use observe::topkeys::By;
use resp::{Args, Reply};

use super::{ANYTIME, command};
use engine::{Call, SessionCommand};

/// The most keys in an answer: as many as every thread counts.
const COUNT_MAX: i64 = 128;

pub(crate) static TOPKEYS: SessionCommand = command(
    Row {
        name: "apus.topkeys",
        group: Group::Server,
        since: "7.4.0",
        arity: -1,
        flags: Flags::ADMIN.or(Flags::NOSCRIPT).or(ANYTIME),
        tips: &["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"],
        scope: Scope::None,
        complexity: "O(N) where N is the number of counted keys, a few hundred per thread",
        summary: "Answers the keys with most commands, bytes or time over the last minute or so.",
        syntax: "APUS.TOPKEYS [HITS | BYTES | CPU] [COUNT count]",
        transcript: r#"
# only: apus
> CONFIG RESETSTAT
OK
> SET fruit apple
OK
> APUS.TOPKEYS HITS COUNT 1
...
> APUS.TOPKEYS COUNT 0
(error) ERR COUNT must be between 1 and 128
> APUS.TOPKEYS LATENCY
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let (by, count) = asked(args)?;
        let (unit, divisor) = match by {
            By::Hits => ("hits-per-second", 1.0),
            By::Bytes => ("bytes-per-second", 1.0),
            By::Cpu => ("cpu-usec-per-second", 1000.0),
        };
        let keys = call.engine.top_keys(by, count);
        reply.array(keys.len());
        for k in keys {
            reply.map(4);
            reply.bulk("key");
            // A shortened key is marked as such, as in the slow log.
            if k.key.len() < k.len {
                let mut key = k.key;
                let more = k.len - key.len();
                key.extend_from_slice(format!("... ({more} more bytes)").as_bytes());
                reply.bulk(key);
            } else {
                reply.bulk(k.key);
            }
            reply.bulk("db");
            reply.int(k.db as i64);
            reply.bulk(unit);
            // More digits would pretend to know more than samples do.
            reply.double((k.per_second / divisor * 1000.0).round() / 1000.0);
            reply.bulk("percent");
            reply.double((k.share * 100.0).round() / 100.0);
        }
        Ok(())
    },
);

fn asked(args: &Args<'_>) -> Result<(By, usize), Fail> {
    let (mut by, mut count, mut i) = (None, 10, 1);
    while i < args.len() {
        let words = [("hits", By::Hits), ("bytes", By::Bytes), ("cpu", By::Cpu)];
        if by.is_none()
            && let Some((_, asked)) = words.iter().find(|(word, _)| args.is(i, word))
        {
            by = Some(*asked);
            i += 1;
        } else if args.is(i, "count") && i + 1 < args.len() {
            const RANGE: Fail = Fail::text("ERR COUNT must be between 1 and 128");
            match parse::int(args, i + 1) {
                Ok(n @ 1..=COUNT_MAX) => count = n as usize,
                _ => return Err(RANGE),
            }
            i += 2;
        } else {
            return Err(Fail::SYNTAX);
        }
    }
    Ok((by.unwrap_or(By::Hits), count))
}
