//! ACL GETUSER: <https://redis.io/docs/latest/commands/acl-getuser/>

use ::acl::selector::Selector;
use commands::Outcome;
use commands::row::Row;
use resp::{Args, Reply};

use super::{ADMIN, BASE, SECRETS, sub};
use engine::{Call, SessionCommand};

pub(super) static GETUSER: SessionCommand = sub(
    Row {
        name: "acl|getuser",
        arity: 3,
        flags: ADMIN,
        secrets: SECRETS,
        history: &[
            ("6.2.0", "Added Pub/Sub channel patterns."),
            (
                "7.0.0",
                "Added selectors and changed the format of key and channel patterns from a list to \
                 their rule representation.",
            ),
        ],
        complexity: "O(N). Where N is the number of password, command and pattern rules that the user has.",
        summary: "A user's flags, passwords (as SHA-256) and permissions.",
        syntax: "ACL GETUSER username",
        transcript: r#"
> ACL GETUSER nobody
(nil)
> ACL SETUSER alice on >secret ~a:* %R~b:* +get (+set ~c &news)
OK
# resp: 3
# only: redis>=7.2
> ACL GETUSER alice
1# "flags" =>
   1~ "on"
   2~ "sanitize-payload"
2# "passwords" => 1) "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
3# "commands" => "-@all +get"
4# "keys" => "~a:* %R~b:*"
5# "channels" => ""
6# "selectors" =>
   1) 1# "commands" => "-@all +set"
      2# "keys" => "~c"
      3# "channels" => "&news"
# reset
> ACL DELUSER alice
...
"#,
        ..BASE
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Some(user) = call.engine.acl.user(&args[2]) else {
        reply.null();
        return Ok(());
    };
    let rules = user.rules();
    reply.map(6);
    reply.bulk("flags");
    let flags = rules.flags();
    reply.set(flags.len());
    flags.iter().for_each(|f| reply.bulk(f));
    reply.bulk("passwords");
    let hashes = rules.hashes();
    reply.array(hashes.len());
    hashes.iter().for_each(|h| reply.bulk(h));
    put(&rules.root, reply);
    reply.bulk("selectors");
    reply.array(rules.more.len());
    for s in &rules.more {
        reply.map(3);
        put(s, reply);
    }
    Ok(())
}

/// The three fields of a selector.
fn put(s: &Selector, reply: &mut Reply<'_>) {
    let fields = [
        ("commands", s.commands.describe()),
        ("keys", s.describe_keys()),
        ("channels", s.describe_channels()),
    ];
    for (name, words) in fields {
        reply.bulk(name);
        reply.bulk(words.join(&b' '));
    }
}
