//! AUTH: <https://redis.io/docs/latest/commands/auth/>

use commands::row::{Flags, Group, Row, Scope};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use crate::engine::Engine;
use crate::session::Session;
use crate::table::{Call, SessionCommand};

/// The user that every connection starts as, and the only one there is.
pub(super) const DEFAULT_USER: &str = "default";

const WRONGPASS: Fail = Fail::text("WRONGPASS invalid username-password pair or user is disabled.");
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

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (user, password) = match args.len() {
        2 if !call.engine.needs_password() => return Err(NO_PASSWORD),
        2 => (DEFAULT_USER.as_bytes(), &args[1]),
        3 => (&args[1], &args[2]),
        _ => return Err(Fail::SYNTAX),
    };
    authenticate(call.engine, call.session, user, password)?;
    reply.ok();
    Ok(())
}

/// Lets the session in if the password is that of the user. A failure leaves it as it was: who is
/// already in stays in.
pub(super) fn authenticate(
    engine: &Engine,
    session: &mut Session,
    user: &[u8],
    password: &[u8],
) -> Outcome {
    // The password is looked at even for an unknown user, so that time does not tell them apart.
    let right = engine.password_is(password) || !engine.needs_password();
    if user != DEFAULT_USER.as_bytes() || !right {
        return Err(WRONGPASS);
    }
    session.set_authenticated(true);
    session.client.names.write().user = DEFAULT_USER.into();
    Ok(())
}
