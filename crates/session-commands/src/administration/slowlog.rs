//! SLOWLOG: <https://redis.io/docs/latest/commands/slowlog-get/>

use commands::row::{Flags, Group, Row, Scope};
use commands::{Fail, Outcome, parse};
use resp::{Args, Reply};

use crate::administration::{ANYTIME, command};
use engine::container;
use engine::{Call, SessionCommand};

/// These are allowed in scripts, unlike other administrative commands.
const ADMIN: Flags = Flags::ADMIN.or(ANYTIME);

pub(crate) static SLOWLOG: SessionCommand = SessionCommand {
    row: Row {
        name: "slowlog",
        group: Group::Server,
        since: "2.2.12",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Looks at the commands that took long.",
        subcommands: &[&GET.row, &LEN.row, &RESET.row, &HELP.row],
        ..Row::DEFAULT
    },
    run: container,
    subs: &[&GET, &LEN, &RESET, &HELP],
};

static GET: SessionCommand = command(
    Row {
        name: "slowlog|get",
        group: Group::Server,
        since: "2.2.12",
        arity: -2,
        flags: ADMIN,
        tips: &["request_policy:all_nodes", "nondeterministic_output"],
        history: &[("4.0.0", "Added client IP address, port and name to the reply.")],
        scope: Scope::None,
        complexity: "O(N) where N is the number of entries returned",
        summary: "Answers the newest entries of the slow log, 10 unless told otherwise.",
        syntax: "SLOWLOG GET [count]",
        transcript: r#"
> SLOWLOG RESET
OK
> SLOWLOG GET
(empty array)
> SLOWLOG GET -2
(error) ERR count should be greater than or equal to -1
> SLOWLOG GET 1 2
(error) ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.
"#,
        ..Row::DEFAULT
    },
    get,
);

fn get(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    const RANGE: Fail = Fail::text("ERR count should be greater than or equal to -1");
    let count = match args.len() {
        2 => 10,
        3 => match parse::int(args, 2).map_err(|_| RANGE)? {
            -1 => usize::MAX,
            n => usize::try_from(n).map_err(|_| RANGE)?,
        },
        _ => {
            let word = String::from_utf8_lossy(&args[1][..args[1].len().min(128)]);
            return Err(Fail::new(format!(
                "ERR unknown subcommand or wrong number of arguments for '{word}'. \
                 Try SLOWLOG HELP."
            )));
        }
    };
    let entries = call.engine.slowlog.newest(count);
    reply.array(entries.len());
    for e in entries {
        reply.array(6);
        reply.int(e.id as i64);
        reply.int(e.at);
        reply.int(e.micros as i64);
        reply.array(e.args.len());
        for arg in &e.args {
            reply.bulk(arg);
        }
        reply.bulk(&e.peer);
        reply.bulk(&e.name);
    }
    Ok(())
}

static LEN: SessionCommand = command(
    Row {
        name: "slowlog|len",
        group: Group::Server,
        since: "2.2.12",
        arity: 2,
        flags: ADMIN,
        tips: &["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Counts the entries of the slow log.",
        syntax: "SLOWLOG LEN",
        transcript: r#"
> SLOWLOG RESET
OK
> SLOWLOG LEN
(integer) 0
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        reply.int(call.engine.slowlog.len() as i64);
        Ok(())
    },
);

static RESET: SessionCommand = command(
    Row {
        name: "slowlog|reset",
        group: Group::Server,
        since: "2.2.12",
        arity: 2,
        flags: ADMIN,
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        scope: Scope::None,
        complexity: "O(N) where N is the number of entries in the slowlog",
        summary: "Empties the slow log.",
        syntax: "SLOWLOG RESET",
        transcript: r#"
> SLOWLOG RESET
OK
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        call.engine.slowlog.reset();
        reply.ok();
        Ok(())
    },
);

static HELP: SessionCommand = command(
    Row {
        name: "slowlog|help",
        group: Group::Server,
        since: "6.2.0",
        arity: 2,
        flags: ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what SLOWLOG can do.",
        syntax: "SLOWLOG HELP",
        transcript: r#"
> SLOWLOG HELP
~  1) SLOWLOG <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "GET [<count>]",
            "    Answers the newest <count> entries (10 unless told; -1 for all), each with its",
            "    number, Unix time, microseconds, arguments, client address and client name.",
            "LEN",
            "    Counts the entries.",
            "RESET",
            "    Forgets all entries.",
        ];
        commands::help::write(reply, "SLOWLOG", LINES);
        Ok(())
    },
);
