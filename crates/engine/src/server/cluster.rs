//! CLUSTER: <https://redis.io/docs/latest/commands/?group=cluster>
//!
//! Refuses whatever is asked, as Redis does without `cluster-enabled`: clients look for that to
//! learn that they talk to a single server.

use commands::row::{Group, Row, Scope};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use crate::table::{Call, SessionCommand};

pub(crate) static CLUSTER: SessionCommand = super::command(
    Row {
        name: "cluster",
        group: Group::Cluster,
        since: "3.0.0",
        arity: -2,
        flags: super::ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Tells that this server is not part of a cluster.",
        syntax: "CLUSTER subcommand [arg [arg ...]]",
        transcript: r#"
> CLUSTER INFO
(error) ERR This instance has cluster support disabled
> CLUSTER
(error) ERR wrong number of arguments for 'cluster' command
"#,
        ..Row::DEFAULT
    },
    run,
);

fn run(_: &mut Call<'_>, _: &mut Args<'_>, _: &mut Reply<'_>) -> Outcome {
    Err(Fail::text("ERR This instance has cluster support disabled"))
}
