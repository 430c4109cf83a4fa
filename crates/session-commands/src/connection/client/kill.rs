//! CLIENT KILL: <https://redis.io/docs/latest/commands/client-kill/>

use std::sync::Arc;

use commands::row::{Flags, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};
use stdx::carried::carry;

use super::list::ClientKind;
use super::{BASE, COMMON, sub};
use engine::Client;
use engine::Engine;
use engine::acl::User;
use engine::{Call, SessionCommand};

pub(super) static KILL: SessionCommand = sub(
    Row {
        name: "client|kill",
        since: "2.4.0",
        arity: -3,
        flags: COMMON.or(Flags::ADMIN),
        history: &[
            ("2.8.12", "Added new filter format."),
            ("2.8.12", "`ID` option."),
            ("3.2.0", "Added `master` type in for `TYPE` option."),
            (
                "5.0.0",
                "Replaced `slave` `TYPE` with `replica`. `slave` still supported for backward \
                 compatibility.",
            ),
            ("6.2.0", "`LADDR` option."),
            ("7.4.0", "`MAXAGE` option."),
        ],
        complexity: "O(N) where N is the number of client connections",
        summary: "Closes connections.",
        syntax: "CLIENT KILL <ip:port | <ID client-id | TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB> | USER username | ADDR ip:port | LADDR ip:port | SKIPME <YES | NO> | MAXAGE maxage> [<ID client-id | TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB> | USER username | ADDR ip:port | LADDR ip:port | SKIPME <YES | NO> | MAXAGE maxage> ...]>",
        transcript: r#"
> CLIENT KILL 127.0.0.1:0
(error) ERR No such client
> CLIENT KILL
(error) ERR wrong number of arguments for 'client|kill' command
> CLIENT KILL ID 1000000
(integer) 0
> CLIENT KILL ID 0
(error) ERR client-id should be greater than 0
> CLIENT KILL ID x
(error) ERR client-id should be greater than 0
> CLIENT KILL ID 10 SKIPME
(error) ERR syntax error
> CLIENT KILL TYPE odd
(error) ERR Unknown client type 'odd'
> CLIENT KILL TYPE pubsub SKIPME no
(integer) 0
> CLIENT KILL USER nobody
(error) ERR No such user 'nobody'
> CLIENT KILL SKIPME perhaps
(error) ERR syntax error
> CLIENT KILL ADDR 127.0.0.1:0 LADDR 127.0.0.1:0
(integer) 0
# reset
# only: redis>=7.4
> CLIENT KILL MAXAGE x
(error) ERR maxage is not an integer or out of range
> CLIENT KILL MAXAGE 0
(error) ERR maxage should be greater than 0
> CLIENT KILL MAXAGE 1000000
(integer) 0
> CLIENT KILL SKIPME no MAXAGE 1000000
(integer) 0
"#,
        ..BASE
    },
    run,
);

/// Which connections to close; all that is set must apply.
struct Filter<'a> {
    addr: Option<&'a [u8]>,
    laddr: Option<&'a [u8]>,
    kind: Option<ClientKind>,
    id: Option<u64>,
    user: Option<Arc<User>>,
    age_min: i64,
    skip_me: bool,
}

impl<'a> Filter<'a> {
    fn parse(engine: &Engine, args: &'a Args<'_>) -> Result<Self, Fail> {
        let mut f = Self {
            addr: None,
            laddr: None,
            kind: None,
            id: None,
            user: None,
            age_min: 0,
            skip_me: true,
        };
        for i in (2..args.len()).step_by(2) {
            let Some(value) = args.get(i + 1) else {
                return Err(Fail::SYNTAX);
            };
            let number = stdx::num::parse_i64(value);
            if args.is(i, "id") {
                let id = number.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
                f.id = Some(id.ok_or(Fail::text("ERR client-id should be greater than 0"))?);
            } else if args.is(i, "maxage") {
                let bad = Fail::text("ERR maxage is not an integer or out of range");
                f.age_min = number.ok_or(bad)?;
                if f.age_min <= 0 {
                    return Err(Fail::text("ERR maxage should be greater than 0"));
                }
            } else if args.is(i, "type") {
                f.kind = Some(ClientKind::parse(args, i + 1)?);
            } else if args.is(i, "addr") {
                f.addr = Some(value);
            } else if args.is(i, "laddr") {
                f.laddr = Some(value);
            } else if args.is(i, "user") {
                f.user = Some(engine.acl.user(value).ok_or_else(|| {
                    let name = carry(value);
                    Fail::new(format!("ERR No such user '{name}'"))
                })?);
            } else if args.is(i, "skipme") {
                f.skip_me = match () {
                    () if args.is(i + 1, "yes") => true,
                    () if args.is(i + 1, "no") => false,
                    () => return Err(Fail::SYNTAX),
                };
            } else {
                return Err(Fail::SYNTAX);
            }
        }
        Ok(f)
    }

    fn fits(&self, client: &Client, me: u64, now_ms: i64) -> bool {
        let age = now_ms / 1000 - client.created_ms / 1000;
        self.addr.is_none_or(|a| a == client.endpoint.peer.as_bytes())
            && self.laddr.is_none_or(|a| a == client.endpoint.local.as_bytes())
            && self.kind.is_none_or(|k| k == ClientKind::of(client))
            && self.id.is_none_or(|id| id == client.id)
            && self.user.as_ref().is_none_or(|u| Arc::ptr_eq(u, &client.user.read()))
            && !(self.skip_me && client.id == me)
            && (self.age_min == 0 || age >= self.age_min)
    }
}

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let old_form = args.len() == 3;
    let filter = if old_form {
        // In this form a client may close its own connection.
        let addr = Some(&args[2]);
        Filter { addr, laddr: None, kind: None, id: None, user: None, age_min: 0, skip_me: false }
    } else {
        Filter::parse(call.engine, args)?
    };
    let (me, now) = (call.session.client.id, call.thread.cx.now);
    let mut killed = 0;
    for client in call.engine.clients.all() {
        if !filter.fits(&client, me, now) {
            continue;
        }
        if client.id == me {
            // After this reply.
            call.session.closing = true;
        } else if !call.engine.close(&client) {
            // Another command was faster; the connection's thread has yet to notice.
            continue;
        }
        killed += 1;
    }
    match (old_form, killed) {
        (true, 0) => return Err(Fail::text("ERR No such client")),
        (true, _) => reply.ok(),
        (false, n) => reply.int(n),
    }
    Ok(())
}
