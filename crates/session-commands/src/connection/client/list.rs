//! CLIENT LIST and CLIENT INFO: <https://redis.io/docs/latest/commands/client-list/>

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};
use stdx::carried::carry;

use super::{BASE, COMMON, sub};
use engine::{Call, Client, Peer, SessionCommand};

pub(super) static LIST: SessionCommand = sub(
    Row {
        name: "client|list",
        since: "2.4.0",
        arity: -2,
        flags: COMMON.or(Flags::ADMIN),
        tips: &["nondeterministic_output"],
        history: &[
            ("2.8.12", "Added unique client `id` field."),
            ("5.0.0", "Added optional `TYPE` filter."),
            ("6.0.0", "Added `user` field."),
            (
                "6.2.0",
                "Added `argv-mem`, `tot-mem`, `laddr` and `redir` fields and the optional `ID` \
                 filter.",
            ),
            ("7.0.0", "Added `resp`, `multi-mem`, `rbs` and `rbp` fields."),
            ("7.0.3", "Added `ssub` field."),
        ],
        complexity: "O(N) where N is the number of client connections",
        summary: "A line for each connection.",
        syntax: "CLIENT LIST [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
        transcript: r#"
> CLIENT LIST TYPE normal
~ "id=* addr=* laddr=* fd=* name= age=* idle=* flags=* db=0 *cmd=client|list user=default *
> CLIENT LIST TYPE pubsub
""
> CLIENT LIST TYPE odd
(error) ERR Unknown client type 'odd'
> CLIENT LIST ID
(error) ERR syntax error
> CLIENT LIST ID x
(error) ERR Invalid client ID
> CLIENT LIST ID 1000000 0 -1
""
> CLIENT LIST ALL
(error) ERR syntax error
"#,
        ..BASE
    },
    list,
);

pub(super) static INFO: SessionCommand = sub(
    Row {
        name: "client|info",
        since: "6.2.0",
        arity: 2,
        tips: &["nondeterministic_output"],
        summary: "This connection's line of CLIENT LIST.",
        syntax: "CLIENT INFO",
        transcript: r#"
> CLIENT SETNAME me
OK
> CLIENT INFO
~ "id=* addr=* laddr=* fd=* name=me age=* idle=* flags=* db=0 *cmd=client|info user=default *
> CLIENT INFO x
(error) ERR wrong number of arguments for 'client|info' command
"#,
        ..BASE
    },
    info,
);

/// The types of TYPE. MONITOR does not change the type of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientKind {
    Normal,
    PubSub,
    Replica,
    Primary,
}

impl ClientKind {
    /// The type of a connection.
    pub(super) fn of(client: &Client) -> Self {
        match client.peer() {
            Peer::Replica | Peer::ReplicaCopy => Self::Replica,
            Peer::Primary => Self::Primary,
            Peer::Client if client.receiver.subscribed.load(Relaxed) => Self::PubSub,
            Peer::Client => Self::Normal,
        }
    }

    /// The type that argument `i` names.
    pub(super) fn parse(args: &Args<'_>, i: usize) -> Result<Self, Fail> {
        if args.is(i, "normal") {
            Ok(Self::Normal)
        } else if args.is(i, "pubsub") {
            Ok(Self::PubSub)
        } else if args.is(i, "slave") || args.is(i, "replica") {
            Ok(Self::Replica)
        } else if args.is(i, "master") {
            Ok(Self::Primary)
        } else {
            let word = carry(&args[i]);
            Err(Fail::new(format!("ERR Unknown client type '{word}'")))
        }
    }
}

fn list(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let clients = &call.engine.clients;
    let shown: Vec<Arc<Client>> = match args.len() {
        2 => clients.all(),
        4 if args.is(2, "type") => {
            let kind = ClientKind::parse(args, 3)?;
            clients.all().into_iter().filter(|c| ClientKind::of(c) == kind).collect()
        }
        n if n > 3 && args.is(2, "id") => {
            let mut ids = Vec::with_capacity(n - 3);
            for word in args.iter_from(3) {
                let id = stdx::num::parse_i64(word).ok_or(Fail::text("ERR Invalid client ID"))?;
                ids.extend(u64::try_from(id));
            }
            ids.into_iter().filter_map(|id| clients.get(id)).collect()
        }
        _ => return Err(Fail::SYNTAX),
    };
    let mut text = String::with_capacity(shown.len() * 400);
    note_arguments(call, args);
    // A killed connection is gone for all clients, though its thread may not have noticed yet.
    for client in shown.iter().filter(|c| !c.closing.load(Relaxed)) {
        engine::push_client_line(&mut text, call.engine, call.thread.cx.now, client);
    }
    reply.verbatim("txt", text);
    Ok(())
}

fn info(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    note_arguments(call, args);
    let mut text = String::with_capacity(400);
    engine::push_client_line(&mut text, call.engine, call.thread.cx.now, &call.session.client);
    reply.verbatim("txt", text);
    Ok(())
}

/// Of all commands, only the one that is running has arguments in memory, and only these two look.
fn note_arguments(call: &Call<'_>, args: &Args<'_>) {
    call.session.client.args_bytes.store(args.bytes() as u64, Relaxed);
}
