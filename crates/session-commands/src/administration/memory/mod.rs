//! MEMORY: <https://redis.io/docs/latest/commands/memory-stats/>

mod doctor;
mod figures;
mod stats;
mod usage;

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::{Call, SessionCommand};
pub(super) use figures::Figures;
use resp::{Args, Reply};

const TIPS: &[&str] =
    &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];

pub(crate) static MEMORY: SessionCommand = SessionCommand {
    row: Row {
        name: "memory",
        group: Group::Server,
        since: "4.0.0",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Looks at where memory goes.",
        subcommands: &[
            &doctor::DOCTOR.row,
            &HELP.row,
            &MALLOC_STATS.row,
            &PURGE.row,
            &stats::STATS.row,
            &usage::USAGE.row,
        ],
        ..Row::DEFAULT
    },
    run: engine::container,
    subs: &[&doctor::DOCTOR, &HELP, &MALLOC_STATS, &PURGE, &stats::STATS, &usage::USAGE],
};

static MALLOC_STATS: SessionCommand = super::command(
    Row {
        name: "memory|malloc-stats",
        group: Group::Server,
        since: "4.0.0",
        arity: 2,
        flags: Flags::NONE,
        tips: TIPS,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows the statistics of the allocator: what is in use, and what it occupies.",
        syntax: "MEMORY MALLOC-STATS",
        transcript: r#"
> MEMORY MALLOC-STATS
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let text = format!(
            "allocator: mimalloc\nin use: {} bytes\npeak: {} bytes\nresident: {} bytes\n",
            stdx::mem::used(),
            stdx::mem::peak(),
            engine::process::rss()
        );
        reply.verbatim("txt", text);
        Ok(())
    },
);

static PURGE: SessionCommand = super::command(
    Row {
        name: "memory|purge",
        group: Group::Server,
        since: "4.0.0",
        arity: 2,
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        scope: Scope::None,
        complexity: "O(N) where N is the number of the allocator's pages.",
        summary: "Asks every thread to give the memory it has freed back to the system.",
        syntax: "MEMORY PURGE",
        transcript: r#"
> MEMORY PURGE
OK
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        // A thread's free memory is its own: each gives its own back after this batch.
        for w in call.engine.workers() {
            w.mailbox.post(engine::Message::Purge);
        }
        reply.ok();
        Ok(())
    },
);

static HELP: SessionCommand = super::command(
    Row {
        name: "memory|help",
        group: Group::Server,
        since: "4.0.0",
        arity: 2,
        flags: super::ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what MEMORY can do.",
        syntax: "MEMORY HELP",
        transcript: r#"
> MEMORY HELP
~  1) MEMORY <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "DOCTOR",
            "    Reports on problems with memory.",
            "MALLOC-STATS",
            "    Shows what the allocator counts.",
            "PURGE",
            "    Asks for free memory to be returned to the system.",
            "STATS",
            "    Answers where memory goes.",
            "USAGE <key> [SAMPLES <count>]",
            "    Answers the bytes that <key> takes. Of large collections, <count> elements are",
            "    measured (default: 5, 0 for all).",
        ];
        commands::help::write(reply, "MEMORY", LINES);
        Ok(())
    },
);
