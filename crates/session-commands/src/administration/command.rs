//! COMMAND: <https://redis.io/docs/latest/commands/command/>
//!
//! [`commands::describe`] computes the answer from the rows; here it becomes a reply.

use commands::describe::{self, Value};
use commands::row::{Acl, Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

const FLAGS: Flags = super::ANYTIME.or(Flags::SENTINEL);

pub(crate) static COMMAND: SessionCommand = SessionCommand {
    row: Row {
        name: "command",
        group: Group::Server,
        since: "2.8.13",
        arity: -1,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        tips: &["nondeterministic_output_order"],
        scope: Scope::None,
        complexity: "O(N) where N is the total number of commands",
        summary: "Describes all commands.",
        subcommands: &[
            &COUNT.row,
            &DOCS.row,
            &GETKEYS.row,
            &GETKEYSANDFLAGS.row,
            &HELP.row,
            &INFO.row,
            &LIST.row,
        ],
        ..Row::DEFAULT
    },
    run: |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        put(&describe::command_all(call.engine.table.rows()), reply);
        Ok(())
    },
    subs: &[&COUNT, &DOCS, &GETKEYS, &GETKEYSANDFLAGS, &HELP, &INFO, &LIST],
};

/// Writes a description as a reply.
fn put(value: &Value, reply: &mut Reply<'_>) {
    match value {
        Value::Simple(text) => reply.simple(text),
        Value::Bulk(bytes) => reply.bulk(bytes),
        Value::Int(n) => reply.int(*n),
        Value::Array(items) => {
            reply.array(items.len());
            items.iter().for_each(|item| put(item, reply));
        }
        Value::Set(items) => {
            reply.set(items.len());
            items.iter().for_each(|item| put(item, reply));
        }
        Value::Map(pairs) => {
            reply.map(pairs.len());
            for (key, value) in pairs {
                put(key, reply);
                put(value, reply);
            }
        }
        Value::Nil => reply.null(),
    }
}

fn answer(value: Result<Value, &'static str>, reply: &mut Reply<'_>) -> Outcome {
    put(&value.map_err(Fail::text)?, reply);
    Ok(())
}

static COUNT: SessionCommand = super::command(
    Row {
        name: "command|count",
        group: Group::Server,
        since: "2.8.13",
        arity: 2,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Counts the commands, without their subcommands.",
        syntax: "COMMAND COUNT",
        transcript: r#"
> COMMAND COUNT
~ (integer) *
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        put(&describe::command_count(call.engine.table.rows()), reply);
        Ok(())
    },
);

static DOCS: SessionCommand = super::command(
    Row {
        name: "command|docs",
        group: Group::Server,
        since: "7.0.0",
        arity: -2,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        tips: &["nondeterministic_output_order"],
        scope: Scope::None,
        complexity: "O(N) where N is the number of commands to look up",
        summary: "Documents the named commands, or all.",
        syntax: "COMMAND DOCS [command-name [command-name ...]]",
        transcript: r#"
> COMMAND DOCS nosuch
(empty array)
> COMMAND DOCS get
1) "get"
...
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let names = args.to_slices(2);
        let names = (!names.is_empty()).then_some(names.as_slice());
        put(&describe::command_docs(call.engine.table.rows(), names), reply);
        Ok(())
    },
);

static GETKEYS: SessionCommand = super::command(
    Row {
        name: "command|getkeys",
        group: Group::Server,
        since: "2.8.13",
        arity: -3,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        scope: Scope::None,
        complexity: "O(N) where N is the number of arguments to the command",
        summary: "Finds the keys among a command's arguments.",
        syntax: "COMMAND GETKEYS command [arg [arg ...]]",
        transcript: r#"
> COMMAND GETKEYS SET a 1
1) "a"
> COMMAND GETKEYS nosuch a
(error) ERR Invalid command specified
# only: redis>=7.2
> COMMAND GETKEYS PING
(error) ERR The command has no key arguments
> COMMAND GETKEYS GET
(error) ERR Invalid number of arguments specified for command
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        answer(describe::command_getkeys(call.engine.table.rows(), &args.to_slices(2)), reply)
    },
);

static GETKEYSANDFLAGS: SessionCommand = super::command(
    Row {
        name: "command|getkeysandflags",
        group: Group::Server,
        since: "7.0.0",
        arity: -3,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        scope: Scope::None,
        complexity: "O(N) where N is the number of arguments to the command",
        summary: "Finds the keys among a command's arguments, and how it accesses them.",
        syntax: "COMMAND GETKEYSANDFLAGS command [arg [arg ...]]",
        transcript: r#"
> COMMAND GETKEYSANDFLAGS GET a
1) 1) "a"
   2) 1) RO
      2) access
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let rows = call.engine.table.rows();
        answer(describe::command_getkeysandflags(rows, &args.to_slices(2)), reply)
    },
);

static INFO: SessionCommand = super::command(
    Row {
        name: "command|info",
        group: Group::Server,
        since: "2.8.13",
        arity: -2,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        tips: &["nondeterministic_output_order"],
        history: &[("7.0.0", "Allowed to be called with no argument to get info on all commands.")],
        scope: Scope::None,
        complexity: "O(N) where N is the number of commands to look up",
        summary: "Describes the named commands, or all.",
        syntax: "COMMAND INFO [command-name [command-name ...]]",
        transcript: r#"
> COMMAND INFO nosuch
1) (nil)
> COMMAND INFO get
1)  1) "get"
    2) (integer) 2
    3) 1) readonly
       2) fast
    4) (integer) 1
    5) (integer) 1
    6) (integer) 1
    7) 1) @read
       2) @string
       3) @fast
...
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let (rows, names) = (call.engine.table.rows(), args.to_slices(2));
        let value = if names.is_empty() {
            describe::command_all(rows)
        } else {
            describe::command_info(rows, &names)
        };
        put(&value, reply);
        Ok(())
    },
);

static LIST: SessionCommand = super::command(
    Row {
        name: "command|list",
        group: Group::Server,
        since: "7.0.0",
        arity: -2,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        tips: &["nondeterministic_output_order"],
        scope: Scope::None,
        complexity: "O(N) where N is the total number of commands",
        summary: "Lists names of commands and subcommands.",
        syntax: "COMMAND LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
        transcript: r#"
> COMMAND LIST FILTERBY PATTERN getr*
1) "getrange"
> COMMAND LIST FILTERBY MODULE nosuch
(empty array)
> COMMAND LIST FILTERBY COLOUR red
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let rows = call.engine.table.rows();
        let glob = |pattern: &[u8], text: &[u8]| stdx::glob::matches(pattern, text, true);
        answer(describe::command_list(rows, &args.to_slices(2), glob), reply)
    },
);

static HELP: SessionCommand = super::command(
    Row {
        name: "command|help",
        group: Group::Server,
        since: "5.0.0",
        arity: 2,
        flags: FLAGS,
        acl: Acl::CONNECTION,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what COMMAND can do.",
        syntax: "COMMAND HELP",
        transcript: r#"
> COMMAND HELP
~  1) COMMAND <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "(no subcommand)",
            "    Describes all commands.",
            "COUNT",
            "    Counts the commands.",
            "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <glob>)]",
            "    Lists the names of all commands, or of those that pass the filter.",
            "INFO [<command> ...]",
            "    Describes commands (default: all).",
            "DOCS [<command> ...]",
            "    Documents commands (default: all).",
            "GETKEYS <command> [<arg> ...]",
            "    Finds the keys in a call of a command.",
            "GETKEYSANDFLAGS <command> [<arg> ...]",
            "    Finds the keys in a call of a command, and how they are accessed.",
        ];
        commands::help::write(reply, "COMMAND", LINES);
        Ok(())
    },
);
