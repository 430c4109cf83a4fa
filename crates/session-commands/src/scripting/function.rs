//! FUNCTION: <https://redis.io/docs/latest/commands/function-load/> and its siblings.

use std::sync::Arc;

use commands::row::{Acl, Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::Engine;
use engine::commit;
use engine::scripting::library::Library;
use engine::scripting::{drop_machines, payload};
use engine::{Call, SessionCommand, SessionFn, container};
use lua::Machine;
use resp::{Args, Reply};
use stdx::carried::carry;
use store::Db;

pub(super) static FUNCTION: SessionCommand = SessionCommand {
    row: Row {
        name: "function",
        group: Group::Scripting,
        since: "7.0.0",
        arity: -2,
        traits: Traits::FUNCTIONS,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Commands about libraries of functions.",
        subcommands: &[
            &DELETE.row,
            &DUMP.row,
            &FLUSH.row,
            &HELP.row,
            &KILL.row,
            &LIST.row,
            &LOAD.row,
            &RESTORE.row,
            &STATS.row,
        ],
        ..Row::DEFAULT
    },
    run: container,
    subs: &[&DELETE, &DUMP, &FLUSH, &HELP, &KILL, &LIST, &LOAD, &RESTORE, &STATS],
};

const fn sub(row: Row, run: SessionFn) -> SessionCommand {
    let row = Row {
        group: Group::Scripting,
        since: "7.0.0",
        acl: Acl::SCRIPTING,
        scope: Scope::None,
        ..row
    };
    SessionCommand { row, run, subs: &[] }
}

const ALL_SUCCEEDED: &[&str] = &["request_policy:all_shards", "response_policy:all_succeeded"];

#[cold]
fn wrong_count(args: &Args<'_>) -> Fail {
    let sub = carry(&args[1]).into_owned();
    Fail::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try FUNCTION HELP."
    ))
}

/// Changes the libraries, which is a change of the data set. Its journal form is the command itself, so
/// that no other client may change them until that is noted: everything is locked meanwhile, as by a
/// transaction around it.
fn change<R>(
    call: &mut Call<'_>,
    args: &Args<'_>,
    change: impl FnOnce(&mut Call<'_>) -> Result<R, Fail>,
) -> Result<R, Fail> {
    let engine = call.engine;
    let holds = !call.thread.in_transaction && !engine.keyspace.is_single();
    if holds {
        engine.keyspace.hold(&mut call.thread.cx, None);
    }
    let outcome = change(call);
    if outcome.is_ok() {
        let mut db = Db::unlocked(&engine.keyspace, 0, &mut call.thread.cx);
        db.dirty(1);
        if engine.stream.is_on() {
            let words: Vec<&[u8]> = args.iter_from(0).collect();
            db.rewrite(&words);
        }
        commit(engine, &mut call.thread.pubsub, &mut db);
    }
    if holds {
        engine.keyspace.release(&mut call.thread.cx);
    }
    outcome
}

static LOAD: SessionCommand = sub(
    Row {
        name: "function|load",
        arity: -3,
        flags: Flags::NOSCRIPT.or(Flags::WRITE).or(Flags::DENYOOM),
        tips: ALL_SUCCEEDED,
        complexity: "O(1) (considering compilation time is redundant)",
        summary: "Loads a library.",
        syntax: "FUNCTION LOAD [REPLACE] function-code",
        transcript: r##"
> FUNCTION LOAD "#!lua name=mylib\nredis.register_function('f', function() return 1 end)"
"mylib"
> FUNCTION LOAD "#!lua name=mylib\nredis.register_function('f', function() return 2 end)"
(error) ERR Library 'mylib' already exists
> FUNCTION LOAD "#!lua name=mylib\nnot lua"
(error) ERR Library 'mylib' already exists
> FUNCTION LOAD REPLACE "#!lua name=mylib\nredis.register_function('f', function() return 2 end)"
"mylib"
> FCALL f 0
(integer) 2
> FUNCTION LOAD "#!lua name=other\nredis.register_function('f', function() return 2 end)"
(error) ERR Function f already exists
> FUNCTION LOAD "return 1"
(error) ERR Missing library metadata
> FUNCTION LOAD "#!lua name=none\nlocal x = 1"
(error) ERR No functions registered
> FUNCTION LOAD "#!python name=x\npass"
(error) ERR Engine 'python' not found
> FUNCTION DELETE mylib
OK
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let mut replace = false;
        let last = args.len() - 1;
        for word in args.iter_from(2).take(last - 2) {
            if !word.eq_ignore_ascii_case(b"replace") {
                let word = carry(word);
                return Err(Fail::new(format!("ERR Unknown option given: {word}")));
            }
            replace = true;
        }
        let engine = call.engine;
        let name =
            change(call, args, |call| call.thread.load_library(engine, &args[last], replace))?;
        reply.bulk(name);
        Ok(())
    },
);

static DELETE: SessionCommand = sub(
    Row {
        name: "function|delete",
        arity: 3,
        flags: Flags::NOSCRIPT.or(Flags::WRITE),
        tips: ALL_SUCCEEDED,
        complexity: "O(1)",
        summary: "Deletes a library and its functions.",
        syntax: "FUNCTION DELETE library-name",
        transcript: r##"
> FUNCTION DELETE nosuch
(error) ERR Library not found
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        change(call, args, |call| match call.engine.scripts.shelf.remove(&args[2]) {
            true => Ok(()),
            false => Err(Fail::text("ERR Library not found")),
        })?;
        reply.ok();
        Ok(())
    },
);

/// With more functions than that, a flush in the background counts as work for later.
const LAZY: usize = 64;

static FLUSH: SessionCommand = sub(
    Row {
        name: "function|flush",
        arity: -2,
        flags: Flags::NOSCRIPT.or(Flags::WRITE),
        tips: ALL_SUCCEEDED,
        complexity: "O(N) where N is the number of functions deleted",
        summary: "Deletes all libraries.",
        syntax: "FUNCTION FLUSH [ASYNC | SYNC]",
        transcript: r##"
> FUNCTION FLUSH
OK
> FUNCTION FLUSH SYNC
OK
> FUNCTION FLUSH LATER
(error) ERR FUNCTION FLUSH only supports SYNC|ASYNC option
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        if args.len() > 3 {
            return Err(wrong_count(args));
        }
        if args.len() == 3 && !args.is(2, "sync") && !args.is(2, "async") {
            return Err(Fail::text("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"));
        }
        let mut functions = 0;
        change(call, args, |call| {
            call.engine.scripts.shelf.change(|all| {
                functions = std::mem::take(all).functions.len();
                Ok(())
            })
        })?;
        drop_machines(call, Machine::Functions);
        if args.is(2, "async") && functions > LAZY {
            // Threads drop their machines when they next look: the functions, and the interpreters that
            // ran them.
            call.engine.keyspace.count_freed_apart(functions as u64 + 1);
        }
        reply.ok();
        Ok(())
    },
);

static LIST: SessionCommand = sub(
    Row {
        name: "function|list",
        arity: -2,
        flags: Flags::NOSCRIPT,
        tips: &["nondeterministic_output_order"],
        complexity: "O(N) where N is the number of functions",
        summary: "Answers what libraries there are, and their functions.",
        syntax: "FUNCTION LIST [LIBRARYNAME library-name-pattern] [WITHCODE]",
        transcript: r##"
> FUNCTION LOAD "#!lua name=mylib\nredis.register_function{function_name='f', callback=function() return 1 end, description='one', flags={'no-writes'}}"
"mylib"
> FUNCTION LIST LIBRARYNAME my*
1) 1) "library_name"
   2) "mylib"
   3) "engine"
   4) "LUA"
   5) "functions"
   6) 1) 1) "name"
         2) "f"
         3) "description"
         4) "one"
         5) "flags"
         6) 1) no-writes
> FUNCTION LIST LIBRARYNAME other WITHCODE
(empty array)
> FUNCTION LIST EVERYTHING
(error) ERR Unknown argument EVERYTHING
> FUNCTION DELETE mylib
OK
"##,
        ..Row::DEFAULT
    },
    list,
);

fn list(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (mut code, mut pattern) = (false, None);
    let mut i = 2;
    while i < args.len() {
        if !code && args.is(i, "withcode") {
            code = true;
        } else if pattern.is_none() && args.is(i, "libraryname") {
            i += 1;
            let given = args.get(i);
            pattern =
                Some(given.ok_or(Fail::text("ERR library name argument was not given"))?.to_vec());
        } else {
            let word = carry(&args[i]);
            return Err(Fail::new(format!("ERR Unknown argument {word}")));
        }
        i += 1;
    }
    let all = call.engine.scripts.shelf.read();
    let wanted =
        |l: &&Arc<Library>| pattern.as_ref().is_none_or(|p| stdx::glob::matches(p, &l.name, true));
    let libraries: Vec<_> = all.by_name.values().filter(wanted).collect();
    reply.array(libraries.len());
    for l in libraries {
        reply.map(if code { 4 } else { 3 });
        reply.bulk("library_name");
        reply.bulk(&l.name);
        reply.bulk("engine");
        reply.bulk("LUA");
        reply.bulk("functions");
        reply.array(l.functions.len());
        for f in &l.functions {
            reply.map(3);
            reply.bulk("name");
            reply.bulk(&f.name);
            reply.bulk("description");
            match &f.description {
                Some(d) => reply.bulk(d),
                None => reply.null(),
            }
            reply.bulk("flags");
            let flags = || lua::Flags::NAMES.iter().filter(|(_, flag)| f.flags.has(*flag));
            reply.set(flags().count());
            flags().for_each(|(name, _)| reply.simple(name));
        }
        if code {
            reply.bulk("library_code");
            reply.bulk(&l.code);
        }
    }
    Ok(())
}

static STATS: SessionCommand = sub(
    Row {
        name: "function|stats",
        traits: Traits::TELLS_OF_SCRIPTS,
        arity: 2,
        flags: Flags::NOSCRIPT.or(Flags::ALLOW_BUSY),
        tips: &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
        complexity: "O(1)",
        summary: "Answers which function runs for too long, and how many functions there are.",
        syntax: "FUNCTION STATS",
        transcript: r##"
> FUNCTION FLUSH
OK
> FUNCTION STATS
1) "running_script"
2) (nil)
3) "engines"
4) 1) "LUA"
   2) 1) "libraries_count"
      2) (integer) 0
      3) "functions_count"
      4) (integer) 0
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        write_stats(call.engine, reply)
    },
);

/// The reply of FUNCTION STATS.
pub(super) fn write_stats(engine: &Engine, reply: &mut Reply<'_>) -> Outcome {
    let slow = engine.scripts.running.slow_function()?;
    reply.map(2);
    reply.bulk("running_script");
    match slow {
        None => reply.null(),
        Some(about) => {
            reply.map(3);
            reply.bulk("name");
            reply.bulk(&about.name);
            reply.bulk("command");
            reply.array(about.command.len());
            about.command.iter().for_each(|a| reply.bulk(a));
            reply.bulk("duration_ms");
            let ns = engine.clock.monotonic_ns().saturating_sub(about.start);
            reply.int((ns / 1_000_000) as i64);
        }
    }
    let all = engine.scripts.shelf.read();
    reply.bulk("engines");
    reply.map(1);
    reply.bulk("LUA");
    reply.map(2);
    reply.bulk("libraries_count");
    reply.int(all.by_name.len() as i64);
    reply.bulk("functions_count");
    reply.int(all.functions.len() as i64);
    Ok(())
}

static KILL: SessionCommand = sub(
    Row {
        name: "function|kill",
        traits: Traits::ENDS_SCRIPTS,
        arity: 2,
        flags: Flags::NOSCRIPT.or(Flags::ALLOW_BUSY),
        tips: &["request_policy:all_shards", "response_policy:one_succeeded"],
        complexity: "O(1)",
        summary: "Ends a function that runs for too long and has written nothing.",
        syntax: "FUNCTION KILL",
        transcript: r##"
> FUNCTION KILL
(error) NOTBUSY No scripts in execution right now.
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        call.engine.scripts.running.kill(false)?;
        reply.ok();
        Ok(())
    },
);

static DUMP: SessionCommand = sub(
    Row {
        name: "function|dump",
        arity: 2,
        flags: Flags::NOSCRIPT,
        complexity: "O(N) where N is the number of functions",
        summary: "Answers all libraries as bytes that FUNCTION RESTORE takes.",
        syntax: "FUNCTION DUMP",
        transcript: r##"
> FUNCTION FLUSH
OK
> FUNCTION DUMP
~ "*"
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let all = call.engine.scripts.shelf.read();
        reply.bulk(payload::write(all.by_name.values().map(|l| l.code.as_slice())));
        Ok(())
    },
);

static RESTORE: SessionCommand = sub(
    Row {
        name: "function|restore",
        arity: -3,
        flags: Flags::NOSCRIPT.or(Flags::WRITE).or(Flags::DENYOOM),
        tips: ALL_SUCCEEDED,
        complexity: "O(N) where N is the number of functions on the payload",
        summary: "Loads the libraries that FUNCTION DUMP has answered.",
        syntax: "FUNCTION RESTORE serialized-value [FLUSH | APPEND | REPLACE]",
        transcript: r##"
> FUNCTION RESTORE nonsense
(error) ERR DUMP payload version or checksum are wrong
> FUNCTION RESTORE nonsense SOMEHOW
(error) ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.
"##,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        if args.len() > 4 {
            return Err(wrong_count(args));
        }
        let is = |word| args.is(3, word);
        let (flush, replace) = (is("flush"), is("replace"));
        if args.len() == 4 && !flush && !replace && !is("append") {
            return Err(Fail::text(
                "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            ));
        }
        let codes = payload::read(&args[2])?;
        let engine = call.engine;
        change(call, args, |call| call.thread.restore_libraries(engine, &codes, flush, replace))?;
        reply.ok();
        Ok(())
    },
);

static HELP: SessionCommand = sub(
    Row {
        name: "function|help",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE),
        complexity: "O(1)",
        summary: "Answers what the subcommands do.",
        syntax: "FUNCTION HELP",
        transcript: "
> FUNCTION HELP
~  1) FUNCTION <subcommand> *
...
",
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        commands::help::write(
            reply,
            "FUNCTION",
            &[
                "LOAD [REPLACE] <FUNCTION CODE>",
                "    Load a library.",
                "DELETE <LIBRARY NAME>",
                "    Delete a library.",
                "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
                "    Show libraries and their functions.",
                "STATS",
                "    Show the function that runs for too long, and how many there are.",
                "KILL",
                "    End a function that runs for too long and has written nothing.",
                "FLUSH [ASYNC|SYNC]",
                "    Delete all libraries.",
                "DUMP",
                "    Show all libraries as bytes that RESTORE takes.",
                "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
                "    Load the libraries of a payload:",
                "    * FLUSH: instead of all that there are.",
                "    * APPEND: if none of them exists.",
                "    * REPLACE: instead of those with the same names.",
            ],
        );
        Ok(())
    },
);
