//! KEYS: <https://redis.io/docs/latest/commands/keys/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::generic::pattern::Pattern;
use crate::row::{Acl, Flags, Group, Row, Scope, Traits};

pub(crate) static KEYS: DataCommand = DataCommand {
    row: Row {
        name: "keys",
        group: Group::Generic,
        arity: 2,
        flags: Flags::READONLY,
        acl: Acl::DANGEROUS,
        traits: Traits::WALKS_KEYSPACE.or(Traits::SORTED_FOR_SCRIPTS),
        tips: &["request_policy:all_shards", "nondeterministic_output_order"],
        scope: Scope::Each,
        complexity: "O(N) where N is the number of keys in the database.",
        summary: "Lists the keys that match a pattern.",
        syntax: "KEYS pattern",
        transcript: r#"
> SET hello 1
OK
> SET hallo 2
OK
> SET "h*llo" 3
OK
> KEYS hello
1) "hello"
> KEYS "hal*"
1) "hallo"
> KEYS "h[a-b]llo"
1) "hallo"
> KEYS "h[^a*]llo"
1) "hello"
> KEYS "h\\*llo"
1) "h*llo"
> KEYS "x*"
(empty array)
> KEYS "*"
~ 1) "h?llo"
~ 2) "h?llo"
~ 3) "h?llo"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// Whether KEYS has to look at all keys to find those that match this pattern.
pub fn needs_walk(pattern: &[u8]) -> bool {
    !matches!(Pattern::new(pattern), Pattern::Exact(_))
}

/// KEYS for one shard: appends the keys that match. Returns how many match, and how many were looked at.
pub fn keys_of_shard(
    db: &mut Db<'_>,
    shard: usize,
    pattern: &[u8],
    reply: &mut Reply<'_>,
) -> (usize, usize) {
    let pattern = Pattern::new(pattern);
    let mut n = 0;
    let seen = db.for_each_in(shard, |e| {
        if pattern.fits(e.key()) {
            reply.bulk(e.key());
            n += 1;
        }
    });
    (n, seen)
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let pattern = Pattern::new(&args[1]);
    let start = reply.begin();
    let mut n = 0;
    if let Pattern::Exact(name) = pattern {
        let key = db.key(name);
        if db.lives(key) {
            reply.bulk(name);
            n = 1;
        }
    } else {
        db.for_each(|e| {
            if pattern.fits(e.key()) {
                reply.bulk(e.key());
                n += 1;
            }
        });
    }
    reply.end_array(start, n);
    Ok(())
}
