//! CLIENT HELP: <https://redis.io/docs/latest/commands/client-help/>

use commands::row::{Flags, Row};

use super::{BASE, sub};
use engine::SessionCommand;

/// A line per subcommand or option; indented lines explain the one before.
const LINES: &[&str] = &[
    "CACHING (YES|NO)",
    "    Track the keys of the next command, or do not (OPTIN and OPTOUT tracking).",
    "GETNAME",
    "    The name of this connection.",
    "GETREDIR",
    "    The client that receives this connection's invalidations; -1 without tracking.",
    "ID",
    "    The number of this connection.",
    "INFO",
    "    This connection's line of CLIENT LIST.",
    "KILL <ip:port>",
    "    Close the connection from this address.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Close the connections to which all options apply:",
    "    ADDR <ip:port>, LADDR <ip:port>: remote and local address (<path>:0 for a Unix socket).",
    "    ID <client-id>, USER <username>, TYPE (NORMAL|MASTER|REPLICA|PUBSUB).",
    "    MAXAGE <seconds>: connected for at least as long.",
    "    SKIPME (YES|NO): spare this connection (the default is YES).",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB) | ID <client-id> ...]",
    "    A line per connection.",
    "NO-EVICT (ON|OFF)",
    "    Spare this connection when clients use too much memory.",
    "NO-TOUCH (ON|OFF)",
    "    Leave LRU and LFU of the keys that this connection's commands use alone.",
    "PAUSE <timeout> [WRITE|ALL]",
    "    Hold back all commands, or those that write, for some milliseconds.",
    "REPLY (ON|OFF|SKIP)",
    "    Send replies, none, or none to the next command.",
    "SETINFO (LIB-NAME|LIB-VER) <value>",
    "    Tell which client library this is.",
    "SETNAME <name>",
    "    Name this connection; an empty name removes it.",
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]",
    "    Send invalidations for keys that this client may have cached.",
    "TRACKINGINFO",
    "    The state of tracking for this connection.",
    "UNBLOCK <client-id> [TIMEOUT|ERROR]",
    "    End the wait of a blocked client.",
    "UNPAUSE",
    "    End CLIENT PAUSE.",
];

pub(super) static HELP: SessionCommand = sub(
    Row {
        name: "client|help",
        since: "5.0.0",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE).or(Flags::SENTINEL),
        summary: "Describes the subcommands.",
        syntax: "CLIENT HELP",
        transcript: r#"
> CLIENT HELP
~ *CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
...
> CLIENT HELP x
(error) ERR wrong number of arguments for 'client|help' command
"#,
        ..BASE
    },
    |_, _, reply| {
        commands::help::write(reply, "CLIENT", LINES);
        Ok(())
    },
);
