//! SAVE, BGSAVE, LASTSAVE: <https://redis.io/docs/latest/commands/save/> and the pages beside it;
//! and LOAD, which Redis does not have.
//!
//! Their transcripts write no files; tests/clients/raw/test_snapshot.py does.

use commands::row::{Acl, Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use durable::load::Source;
use durable::{Durable, load, snapshots};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static COMMANDS: &[&SessionCommand] = &[&BGSAVE, &LASTSAVE, &LOAD, &SAVE];

const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT);

static SAVE: SessionCommand = SessionCommand {
    row: Row {
        name: "save",
        group: Group::Server,
        since: "1.0.0",
        arity: 1,
        traits: Traits::LOCKS_ALL,
        flags: ADMIN.or(Flags::NO_ASYNC_LOADING).or(Flags::NO_MULTI),
        scope: Scope::None,
        complexity: "O(N) where N is the total number of keys in all databases",
        summary: "Writes a snapshot to disk and answers when it is there.",
        syntax: "SAVE",
        transcript: r#"
> MULTI
OK
> SAVE
(error) ERR Command not allowed inside a transaction
> DISCARD
OK
"#,
        ..Row::DEFAULT
    },
    run: save,
    subs: &[],
};

fn save(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    snapshots::save(call.engine, call.thread)?;
    reply.ok();
    Ok(())
}

static BGSAVE: SessionCommand = SessionCommand {
    row: Row {
        name: "bgsave",
        group: Group::Server,
        since: "1.0.0",
        arity: -1,
        traits: Traits::LOCKS_ALL,
        flags: ADMIN.or(Flags::NO_ASYNC_LOADING),
        history: &[("3.2.2", "Added the `SCHEDULE` option.")],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Writes a snapshot of this moment to disk in the background.",
        syntax: "BGSAVE [SCHEDULE]",
        transcript: r#"
> BGSAVE NOW
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run: bgsave,
    subs: &[],
};

fn bgsave(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let schedule = match args.len() {
        1 => false,
        2 if args.is(1, "schedule") => true,
        _ => return Err(Fail::SYNTAX),
    };
    let durable = Durable::of(call.engine);
    let p = &durable.snapshots;
    if p.is_in_background() {
        return Err(snapshots::BUSY);
    }
    if call.thread.in_transaction || schedule && p.is_busy() {
        // Within a transaction, its later commands would be in the snapshot and its earlier ones
        // not.
        p.schedule(true);
        reply.simple("Background saving scheduled");
        return Ok(());
    }
    if durable.journal.rewrite.is_busy() {
        return Err(Fail::text(
            "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE \
             in order to schedule a BGSAVE whenever possible.",
        ));
    }
    snapshots::save_in_background(call.engine, call.thread)?;
    p.schedule(false);
    reply.simple("Background saving started");
    Ok(())
}

static LASTSAVE: SessionCommand = SessionCommand {
    row: Row {
        name: "lastsave",
        group: Group::Server,
        since: "1.0.0",
        arity: 1,
        flags: Flags::LOADING.or(Flags::STALE).or(Flags::FAST),
        acl: Acl::ADMIN.or(Acl::DANGEROUS),
        tips: &["nondeterministic_output"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers the Unix time of the last save to disk, or of the start before any.",
        syntax: "LASTSAVE",
        transcript: r#"
> LASTSAVE
~ (integer) ??????????
"#,
        ..Row::DEFAULT
    },
    run: lastsave,
    subs: &[],
};

fn lastsave(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let snapshots = &Durable::of(call.engine).snapshots;
    reply.int(snapshots.last_save(call.engine.started_ms));
    Ok(())
}

static LOAD: SessionCommand = SessionCommand {
    row: Row {
        name: "load",
        group: Group::Server,
        since: "7.4.0",
        arity: 1,
        flags: ADMIN.or(Flags::WRITE).or(Flags::NO_ASYNC_LOADING).or(Flags::NO_MULTI),
        scope: Scope::None,
        complexity: "O(N) where N is the total number of keys in the snapshot",
        summary: "Replaces all data by the snapshot on disk, once it has proved to be whole.",
        syntax: "LOAD",
        transcript: r#"
# only: apus
> MULTI
OK
> LOAD
(error) ERR Command not allowed inside a transaction
> DISCARD
OK
"#,
        ..Row::DEFAULT
    },
    run: load_file,
    subs: &[],
};

fn load_file(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (engine, thread) = (call.engine, &mut *call.thread);
    let path = snapshots::path(engine);
    load::prove(engine, &path)?;
    let failed =
        |e: std::io::Error| Fail::new(format!("ERR {} cannot be loaded: {e}", path.display()));
    durable::replace_all(engine, thread, Source::open(&path).map_err(failed)?)?;
    reply.ok();
    Ok(())
}
