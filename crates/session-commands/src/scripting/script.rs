//! SCRIPT: <https://redis.io/docs/latest/commands/script-load/> and its siblings.

use commands::row::{Acl, Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::scripting::{cache, drop_machines};
use engine::{Call, SessionCommand, SessionFn, container};
use lua::Machine;
use resp::{Args, Reply};

pub(super) static SCRIPT: SessionCommand = SessionCommand {
    row: Row {
        name: "script",
        group: Group::Scripting,
        since: "2.6.0",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Commands about the script cache.",
        subcommands: &[&DEBUG.row, &EXISTS.row, &FLUSH.row, &HELP.row, &KILL.row, &LOAD.row],
        ..Row::DEFAULT
    },
    run: container,
    subs: &[&DEBUG, &EXISTS, &FLUSH, &HELP, &KILL, &LOAD],
};

const fn sub(row: Row, run: SessionFn) -> SessionCommand {
    let row = Row { group: Group::Scripting, acl: Acl::SCRIPTING, scope: Scope::None, ..row };
    SessionCommand { row, run, subs: &[] }
}

static LOAD: SessionCommand = sub(
    Row {
        name: "script|load",
        since: "2.6.0",
        traits: Traits::KEEPS_TEXT,
        arity: 3,
        flags: Flags::NOSCRIPT.or(Flags::STALE),
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        complexity: "O(N) with N being the length in bytes of the script body.",
        summary: "Puts a script into the cache and answers its SHA-1.",
        syntax: "SCRIPT LOAD script",
        transcript: r#"
> SCRIPT LOAD "return 1"
"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
> SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db
1) (integer) 1
> SCRIPT LOAD "not lua"
~ (error) ERR Error compiling script (new function): user_script:1: *
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let script = call.thread.load_script(call.engine, &args[2])?;
        reply.bulk(&script.name);
        Ok(())
    },
);

static EXISTS: SessionCommand = sub(
    Row {
        name: "script|exists",
        since: "2.6.0",
        arity: -3,
        flags: Flags::NOSCRIPT,
        tips: &["request_policy:all_shards", "response_policy:agg_logical_and"],
        complexity: "O(N) with N being the number of scripts to check (so checking a single \
                     script is an O(1) operation).",
        summary: "Tells of each SHA-1 whether the cache has a script with it.",
        syntax: "SCRIPT EXISTS sha1 [sha1 ...]",
        transcript: r#"
> SCRIPT EXISTS ffffffffffffffffffffffffffffffffffffffff nonsense
1) (integer) 0
2) (integer) 0
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        reply.array(args.len() - 2);
        for sha in args.iter_from(2) {
            let there = cache::parse(sha).and_then(|d| call.engine.scripts.cache.get(&d));
            reply.int(i64::from(there.is_some()));
        }
        Ok(())
    },
);

static FLUSH: SessionCommand = sub(
    Row {
        name: "script|flush",
        since: "2.6.0",
        traits: Traits::FORGETS_SCRIPTS,
        arity: -2,
        flags: Flags::NOSCRIPT,
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        history: &[("6.2.0", "Added the `ASYNC` and `SYNC` flushing mode modifiers.")],
        complexity: "O(N) with N being the number of scripts in cache",
        summary: "Empties the script cache.",
        syntax: "SCRIPT FLUSH [ASYNC | SYNC]",
        transcript: r#"
> SCRIPT LOAD "return 1"
"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
> SCRIPT FLUSH
OK
> SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db
1) (integer) 0
> SCRIPT FLUSH LATER
(error) ERR SCRIPT FLUSH only support SYNC|ASYNC option
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let known =
            args.len() == 2 || args.len() == 3 && (args.is(2, "sync") || args.is(2, "async"));
        if !known {
            return Err(Fail::text("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
        }
        call.engine.scripts.cache.flush();
        drop_machines(call, Machine::Scripts);
        reply.ok();
        Ok(())
    },
);

static KILL: SessionCommand = sub(
    Row {
        name: "script|kill",
        since: "2.6.0",
        traits: Traits::ENDS_SCRIPTS,
        arity: 2,
        flags: Flags::NOSCRIPT.or(Flags::ALLOW_BUSY),
        tips: &["request_policy:all_shards", "response_policy:one_succeeded"],
        complexity: "O(1)",
        summary: "Ends a script that runs for too long and has written nothing.",
        syntax: "SCRIPT KILL",
        transcript: r#"
> SCRIPT KILL
(error) NOTBUSY No scripts in execution right now.
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        call.engine.scripts.running.kill(true)?;
        reply.ok();
        Ok(())
    },
);

static DEBUG: SessionCommand = sub(
    Row {
        name: "script|debug",
        since: "3.2.0",
        arity: 3,
        flags: Flags::NOSCRIPT,
        complexity: "O(1)",
        summary: "Switches the debugger off; there is none to switch on.",
        syntax: "SCRIPT DEBUG <YES | SYNC | NO>",
        transcript: r#"
> SCRIPT DEBUG NO
OK
> SCRIPT DEBUG MAYBE
(error) ERR Use SCRIPT DEBUG YES/SYNC/NO
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        if args.is(2, "no") {
            reply.ok();
            return Ok(());
        }
        Err(Fail::text(if args.is(2, "yes") || args.is(2, "sync") {
            "ERR this server has no debugger for scripts"
        } else {
            "ERR Use SCRIPT DEBUG YES/SYNC/NO"
        }))
    },
);

static HELP: SessionCommand = sub(
    Row {
        name: "script|help",
        since: "5.0.0",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE),
        complexity: "O(1)",
        summary: "Answers what the subcommands do.",
        syntax: "SCRIPT HELP",
        transcript: "
> SCRIPT HELP
~  1) SCRIPT <subcommand> *
...
",
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        commands::help::write(
            reply,
            "SCRIPT",
            &[
                "DEBUG (YES|SYNC|NO)",
                "    Switch the debugger.",
                "EXISTS <sha1> [<sha1> ...]",
                "    Tell which scripts the cache has.",
                "FLUSH [ASYNC|SYNC]",
                "    Empty the cache.",
                "KILL",
                "    End a script that runs for too long and has written nothing.",
                "LOAD <script>",
                "    Put a script into the cache without running it.",
            ],
        );
        Ok(())
    },
);
