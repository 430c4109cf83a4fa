//! AUTH: <https://redis.io/docs/latest/commands/auth/>

use std::sync::Arc;

use commands::row::{Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::early;
use engine::Client;
use engine::Engine;
use engine::acl::{self, Origin};
use engine::{Call, SessionCommand, Stuck};

pub(super) const WRONGPASS: Fail =
    Fail::text("WRONGPASS invalid username-password pair or user is disabled.");
const NO_PASSWORD: Fail = Fail::text(
    "ERR AUTH <password> called without any password configured for the default user. \
     Are you sure your configuration is correct?",
);

pub(crate) static AUTH: SessionCommand = SessionCommand {
    row: Row {
        name: "auth",
        group: Group::Connection,
        arity: -2,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::NO_AUTH)
            .or(Flags::SENTINEL)
            .or(Flags::ALLOW_BUSY),
        // The user, too: with one argument too few, the password stands in its place.
        secrets: Some(|_, i| i > 0),
        history: &[("6.0.0", "Added ACL style (username and password).")],
        scope: Scope::None,
        complexity: "O(N) where N is the number of passwords defined for the user",
        summary: "Authenticates the connection.",
        syntax: "AUTH [username] password",
        transcript: r#"
# Without requirepass, the default user has no password, and any will do.
> AUTH secret
(error) ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
> AUTH default secret
OK
> AUTH nobody secret
(error) WRONGPASS invalid username-password pair or user is disabled.
> AUTH a b c
(error) ERR syntax error
> AUTH
(error) ERR wrong number of arguments for 'auth' command
# A password in force binds new connections; this one stays in.
> CONFIG SET requirepass secret
OK
> PING
PONG
> AUTH wrong
(error) WRONGPASS invalid username-password pair or user is disabled.
> AUTH secret
OK
> AUTH default secret
OK
> RESET
RESET
> PING
(error) NOAUTH Authentication required.
> AUTH secret
OK
> CONFIG SET requirepass ""
OK
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// User and password of an AUTH.
fn login<'a>(engine: &Engine, args: &'a Args<'_>) -> Result<(&'a [u8], &'a [u8]), Fail> {
    match args.len() {
        2 if engine.acl.takes_any_password() => Err(NO_PASSWORD),
        2 => Ok((acl::DEFAULT, &args[1])),
        3 => Ok((&args[1], &args[2])),
        _ => Err(Fail::SYNTAX),
    }
}

/// AUTH of a client whose thread is stuck.
pub(super) fn while_stuck(
    engine: &Engine,
    client: &Client,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Stuck, Fail> {
    let (user, password) = login(engine, args)?;
    let Some(found) = engine.acl.authenticate(user, password) else {
        return Err(refused(engine, client, user, &args[0]));
    };
    early::enter(client, &found, true);
    reply.ok();
    Ok(Stuck::Noted)
}

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (user, password) = login(call.engine, args)?;
    authenticate(call, user, password, &args[0])?;
    reply.ok();
    Ok(())
}

/// Authenticates the session as `user` if the password is that user's. A failure is logged, with
/// the `command` by its name, and does not change the session: an authenticated one stays
/// authenticated.
pub(super) fn authenticate(
    call: &mut Call<'_>,
    user: &[u8],
    password: &[u8],
    command: &[u8],
) -> Outcome {
    let (engine, session) = (call.engine, &mut *call.session);
    let Some(found) = engine.acl.authenticate(user, password) else {
        let context =
            if call.thread.in_transaction { Origin::Multi } else { acl::origin_of(session) };
        acl::note_login(engine, user, &session.client, context, command);
        return Err(WRONGPASS);
    };
    session.set_user(Arc::clone(&found));
    session.set_authenticated(true);
    // The user may have been deleted meanwhile, by a command that looked for its connections too
    // early.
    if !engine.acl.user(user).is_some_and(|now| Arc::ptr_eq(&now, &found)) {
        session.closing = true;
    }
    Ok(())
}

/// The refusal of a command that came without its password while the thread of its client is stuck.
pub(super) fn refused(engine: &Engine, client: &Client, user: &[u8], command: &[u8]) -> Fail {
    acl::note_login(engine, user, client, Origin::TopLevel, command);
    WRONGPASS
}
