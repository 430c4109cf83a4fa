//! MODULE: <https://redis.io/docs/latest/commands/?group=server>. Apus loads no modules, so there
//! is a list, which is empty, and no way to make it longer.

use commands::Outcome;
use commands::row::{Flags, Group, Row, Scope};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static MODULE: SessionCommand = SessionCommand {
    row: Row {
        name: "module",
        group: Group::Server,
        since: "4.0.0",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Looks at modules.",
        subcommands: &[&LIST.row, &HELP.row],
        ..Row::DEFAULT
    },
    run: engine::container,
    subs: &[&LIST, &HELP],
};

static LIST: SessionCommand = super::command(
    Row {
        name: "module|list",
        group: Group::Server,
        since: "4.0.0",
        arity: 2,
        flags: Flags::ADMIN.or(Flags::NOSCRIPT),
        tips: &["nondeterministic_output_order"],
        scope: Scope::None,
        complexity: "O(N) where N is the number of loaded modules.",
        summary: "Lists the loaded modules.",
        syntax: "MODULE LIST",
        transcript: r#"
> MODULE LIST
(empty array)
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        reply.array(0);
        Ok(())
    },
);

static HELP: SessionCommand = super::command(
    Row {
        name: "module|help",
        group: Group::Server,
        since: "5.0.0",
        arity: 2,
        flags: super::ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what MODULE can do.",
        syntax: "MODULE HELP",
        transcript: r#"
> MODULE HELP
~ *1) MODULE <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        commands::help::write(
            reply,
            "MODULE",
            &["LIST", "    Lists the modules: none, as Apus loads none."],
        );
        Ok(())
    },
);
