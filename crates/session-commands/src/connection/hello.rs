//! HELLO: <https://redis.io/docs/latest/commands/hello/>

use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use resp::{Args, Proto, Reply};
use stdx::carried::carry;

use super::auth::{authenticate, refused};
use super::client::name::checked_name;
use super::early;
use engine::COMPAT_VERSION;
use engine::Client;
use engine::Engine;
use engine::{Call, SessionCommand, Stuck};

const NOT_INTEGER: Fail = Fail::text("ERR Protocol version is not an integer or out of range");
const NOPROTO: Fail = Fail::text("NOPROTO unsupported protocol version");
const NOAUTH: Fail = Fail::text(
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
     <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
     RESP protocol version at the same time",
);

pub(crate) static HELLO: SessionCommand = SessionCommand {
    row: Row {
        name: "hello",
        group: Group::Connection,
        since: "6.0.0",
        arity: -1,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::NO_AUTH)
            .or(Flags::SENTINEL)
            .or(Flags::ALLOW_BUSY),
        // User and password, behind AUTH.
        secrets: Some(|argv, i| {
            (2..i).any(|at| argv.get(at).eq_ignore_ascii_case(b"auth") && i <= at + 2)
        }),
        history: &[(
            "6.2.0",
            "`protover` made optional; when called without arguments the command reports the \
             current connection's context.",
        )],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Says which server this is, and chooses the protocol.",
        syntax: "HELLO [protover [AUTH username password] [SETNAME clientname]]",
        transcript: r#"
> HELLO
 1) "server"
 2) "redis"
 3) "version"
~  4) "7.*"
 5) "proto"
 6) (integer) 2
 7) "id"
~  8) (integer) *
 9) "mode"
10) "standalone"
11) "role"
12) "master"
13) "modules"
14) (empty array)
> HELLO 4
(error) NOPROTO unsupported protocol version
> HELLO 1
(error) NOPROTO unsupported protocol version
> HELLO three
(error) ERR Protocol version is not an integer or out of range
> HELLO 2 NAME x
(error) ERR Syntax error in HELLO option 'NAME'
> HELLO 2 SETNAME
(error) ERR Syntax error in HELLO option 'SETNAME'
> HELLO 2 AUTH default
(error) ERR Syntax error in HELLO option 'AUTH'
> HELLO 2 SETNAME "a b"
(error) ERR Client names cannot contain spaces, newlines or special characters.
> HELLO 2 AUTH nobody x SETNAME me
(error) WRONGPASS invalid username-password pair or user is disabled.
> CLIENT GETNAME
(nil)
> HELLO 2 AUTH default x SETNAME me
...
> CLIENT GETNAME
"me"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// The arguments of a HELLO.
#[derive(Default)]
struct Wish {
    proto: Option<Proto>,
    /// Arguments that are user and password.
    auth: Option<(usize, usize)>,
    name: Option<String>,
}

fn wish(args: &Args<'_>) -> Result<Wish, Fail> {
    let proto = match args.get(1) {
        None => None,
        Some(word) => Some(match stdx::num::parse_i64(word).ok_or(NOT_INTEGER)? {
            2 => Proto::V2,
            3 => Proto::V3,
            _ => return Err(NOPROTO),
        }),
    };
    let mut wish = Wish { proto, ..Wish::default() };
    let mut i = 2;
    while i < args.len() {
        let more = args.len() - 1 - i;
        if args.is(i, "auth") && more >= 2 {
            wish.auth = Some((i + 1, i + 2));
            i += 3;
        } else if args.is(i, "setname") && more >= 1 {
            wish.name = Some(checked_name(&args[i + 1])?);
            i += 2;
        } else {
            let option = carry(&args[i]);
            return Err(Fail::new(format!("ERR Syntax error in HELLO option '{option}'")));
        }
    }
    Ok(wish)
}

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Wish { proto, auth, name } = wish(args)?;
    if let Some((user, password)) = auth {
        authenticate(call, &args[user], &args[password], &args[0])?;
    }
    if call.session.needs_auth(call.engine) {
        return Err(NOAUTH);
    }
    if let Some(name) = name {
        call.session.client.set_name(name);
    }
    if let Some(proto) = proto {
        call.thread.set_proto(call.session, proto);
        reply.set_proto(proto);
    }
    introduce(reply, call.session.proto, call.session.client.id);
    Ok(())
}

/// HELLO of a client whose thread is stuck.
pub(super) fn while_stuck(
    engine: &Engine,
    client: &Client,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    let Wish { proto, auth, name } = wish(args)?;
    if let Some((user, password)) = auth {
        let (user, password) = (&args[user], &args[password]);
        let Some(found) = engine.acl.authenticate(user, password) else {
            return Err(refused(engine, client, user, &args[0]));
        };
        early::enter(client, &found, true);
    }
    if !client.authenticated.load(Relaxed) && !engine.acl.is_open() {
        return Err(NOAUTH);
    }
    if let Some(name) = name {
        client.set_name(name);
    }
    if let Some(proto) = proto {
        client.receiver.set_proto(proto);
        reply.set_proto(proto);
    }
    introduce(reply, client.receiver.proto(), client.id);
    Ok(Stuck::Noted)
}

fn introduce(reply: &mut Reply<'_>, proto: Proto, id: u64) {
    reply.map(7);
    reply.bulk("server");
    // Clients look for this name before they trust the version.
    reply.bulk("redis");
    reply.bulk("version");
    reply.bulk(COMPAT_VERSION);
    reply.bulk("proto");
    reply.int(if proto == Proto::V3 { 3 } else { 2 });
    reply.bulk("id");
    reply.int(id as i64);
    reply.bulk("mode");
    reply.bulk("standalone");
    reply.bulk("role");
    reply.bulk("master");
    reply.bulk("modules");
    reply.array(0);
}
