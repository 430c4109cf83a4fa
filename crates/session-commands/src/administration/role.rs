//! ROLE: <https://redis.io/docs/latest/commands/role/>

use commands::Outcome;
use commands::row::{Acl, Flags, Group, Row, Scope};
use engine::{Call, SessionCommand};
use replicator::Replicator;
use resp::{Args, Reply};

pub(crate) static ROLE: SessionCommand = super::command(
    Row {
        name: "role",
        group: Group::Server,
        since: "2.8.12",
        arity: 1,
        flags: Flags::NOSCRIPT.or(super::ANYTIME).or(Flags::FAST).or(Flags::SENTINEL),
        acl: Acl::ADMIN.or(Acl::DANGEROUS),
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Answers the server's role in replication, its offset and its replicas.",
        syntax: "ROLE",
        transcript: r#"
> ROLE
1) "master"
2) (integer) 0
3) (empty array)
"#,
        ..Row::DEFAULT
    },
    run,
);

fn run(call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let engine = call.engine;
    engine.render_changes(call.thread.worker());
    if let Some(primary) = Replicator::of(engine).following.primary() {
        reply.array(5);
        reply.bulk("slave");
        reply.bulk(&primary.host);
        reply.int(i64::from(primary.port));
        reply.bulk(primary.state());
        reply.int(if primary.is_up() { engine.replication.state().history.offset() } else { -1 });
        return Ok(());
    }
    reply.array(3);
    reply.bulk("master");
    reply.int(engine.replication.state().history.offset());
    let replicas = Replicator::of(engine).replicas.role();
    reply.array(replicas.len());
    for words in replicas {
        reply.array(words.len());
        words.iter().for_each(|word| reply.bulk(word));
    }
    Ok(())
}
