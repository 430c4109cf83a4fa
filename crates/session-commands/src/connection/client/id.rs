//! CLIENT ID: <https://redis.io/docs/latest/commands/client-id/>

use commands::row::Row;

use super::{BASE, sub};
use engine::SessionCommand;

pub(super) static ID: SessionCommand = sub(
    Row {
        name: "client|id",
        since: "5.0.0",
        arity: 2,
        summary: "The number of this connection, which no other will ever have.",
        syntax: "CLIENT ID",
        transcript: r#"
> CLIENT ID
~ (integer) *
> CLIENT ID x
(error) ERR wrong number of arguments for 'client|id' command
"#,
        ..BASE
    },
    |call, _, reply| {
        reply.int(call.session.client.id as i64);
        Ok(())
    },
);
