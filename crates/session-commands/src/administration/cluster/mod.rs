//! CLUSTER, ASKING, READONLY, READWRITE: <https://redis.io/docs/latest/commands/?group=cluster>
//!
//! All refuse every request, as Redis does without `cluster-enabled`: clients look for that to learn
//! that they talk to a single server. Subcommands exist all the same, since their arity, their flags
//! and COMMAND's answers do not depend on that.

mod sub;

use commands::row::{Acl, Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static CLUSTER: SessionCommand = SessionCommand {
    row: Row {
        name: "cluster",
        group: Group::Cluster,
        since: "3.0.0",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Looks at a cluster, and changes it.",
        subcommands: sub::ROWS,
        ..Row::DEFAULT
    },
    run: engine::container,
    subs: sub::ALL,
};

/// The common part of the rows of commands over a connection to a node.
const CONNECTION: Row = Row {
    group: Group::Cluster,
    since: "3.0.0",
    arity: 1,
    flags: Flags::FAST.or(super::ANYTIME),
    acl: Acl::CONNECTION,
    scope: Scope::None,
    complexity: "O(1)",
    ..Row::DEFAULT
};

pub(crate) static ASKING: SessionCommand = super::command(
    Row {
        name: "asking",
        flags: Flags::FAST,
        summary: "Lets the next command use a slot that is being moved to this node.",
        syntax: "ASKING",
        transcript: r#"
> ASKING
(error) ERR This instance has cluster support disabled
"#,
        ..CONNECTION
    },
    refuse,
);

pub(crate) static READONLY: SessionCommand = super::command(
    Row {
        name: "readonly",
        summary: "Lets the connection read from a replica of a cluster.",
        syntax: "READONLY",
        transcript: r#"
> READONLY
(error) ERR This instance has cluster support disabled
"#,
        ..CONNECTION
    },
    refuse,
);

pub(crate) static READWRITE: SessionCommand = super::command(
    Row {
        name: "readwrite",
        summary: "Takes READONLY back.",
        syntax: "READWRITE",
        transcript: r#"
> READWRITE
(error) ERR This instance has cluster support disabled
"#,
        ..CONNECTION
    },
    refuse,
);

fn refuse(_: &mut Call<'_>, _: &mut Args<'_>, _: &mut Reply<'_>) -> Outcome {
    Err(Fail::text("ERR This instance has cluster support disabled"))
}
