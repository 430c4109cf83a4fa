//! ACL SETUSER: <https://redis.io/docs/latest/commands/acl-setuser/>

use ::acl::has_blank;
use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{ADMIN, BASE, EVERYWHERE, SECRETS, sub};
use engine::acl::change;
use engine::{Call, SessionCommand};

pub(super) static SETUSER: SessionCommand = sub(
    Row {
        name: "acl|setuser",
        arity: -3,
        flags: ADMIN,
        secrets: SECRETS,
        tips: EVERYWHERE,
        history: &[
            ("6.2.0", "Added Pub/Sub channel patterns."),
            ("7.0.0", "Added selectors and key based permissions."),
        ],
        complexity: "O(N). Where N is the number of rules provided.",
        summary: "Makes a user, or changes one: all of the rules are applied, or none.",
        syntax: "ACL SETUSER username [rule [rule ...]]",
        transcript: r#"
> ACL SETUSER alice on >secret ~cached:* +@read -@dangerous
OK
> AUTH alice wrong
(error) WRONGPASS invalid username-password pair or user is disabled.
> AUTH alice secret
OK
> GET cached:1
(nil)
> GET other
~ (error) NOPERM *
> RESET
RESET
# One rule that is wrong, and nothing has changed.
> ACL SETUSER alice +set +nosuch
(error) ERR Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL
> ACL SETUSER alice what
(error) ERR Error in ACL SETUSER modifier 'what': Syntax error
> ACL SETUSER alice allkeys ~x
(error) ERR Error in ACL SETUSER modifier '~x': Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns
> ACL SETUSER alice (~a +get ~b
(error) ERR Unmatched parenthesis in acl selector starting at '(~a'.
> ACL SETUSER alice <none
(error) ERR Error in ACL SETUSER modifier '<none': The password you are trying to remove from the user does not exist
> ACL SETUSER "a b" on
(error) ERR Usernames can't contain spaces or null characters
> AUTH alice secret
OK
> MGET cached:1 cached:2
1) (nil)
2) (nil)
> RESET
RESET
> ACL DELUSER alice
(integer) 1
"#,
        ..BASE
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if has_blank(&args[2]) {
        return Err(Fail::text("ERR Usernames can't contain spaces or null characters"));
    }
    let words = args.to_slices(3);
    change::set(call, &args[2], &words).map_err(|e| Fail::new(format!("ERR {e}")))?;
    reply.ok();
    Ok(())
}
