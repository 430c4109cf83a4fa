//! INFO: <https://redis.io/docs/latest/commands/info/>
//!
//! Sections and fields are those of Redis 7.4, in its order, since tools read them by name. A field
//! is true where Apus has the thing, and 0 where the thing does not exist. Each section is a
//! function that adds its lines.

mod general;
mod memory;
mod stats;

use std::fmt::Display;

use commands::Outcome;
use commands::row::{Acl, Flags, Group, Row, Scope};
use resp::{Args, Reply};

use crate::table::{Call, SessionCommand};

pub(crate) static INFO: SessionCommand = super::command(
    Row {
        name: "info",
        group: Group::Server,
        arity: -1,
        flags: super::ANYTIME.or(Flags::SENTINEL),
        acl: Acl::DANGEROUS,
        tips: &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
        history: &[("7.0.0", "Added support for taking multiple section arguments.")],
        scope: Scope::Each,
        complexity: "O(1)",
        summary: "Tells about the server: facts, figures and counters, by section.",
        syntax: "INFO [section [section ...]]",
        transcript: r##"
> INFO nosuch
""
> SET k v
OK
# resp: 3
> INFO keyspace cluster
~ # Cluster
cluster_enabled:0

~ # Keyspace
~ db0:keys=1,expires=0,avg_ttl=0*
> INFO server
~ # Server
~ redis_version:*
...
"##,
        ..Row::DEFAULT
    },
    run,
);

/// The lines of a section.
struct Section(String);

impl Section {
    /// Adds a field.
    fn put(&mut self, name: &str, value: impl Display) {
        use std::fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }

    /// Adds fields of features that do not exist here.
    fn zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.put(name, 0));
    }
}

/// Name, title, whether it is shown without arguments, and the function that fills it.
type Entry = (&'static str, &'static str, bool, fn(&mut Call<'_>, &mut Section));

/// In the order in which they are shown.
static SECTIONS: &[Entry] = &[
    ("server", "Server", true, general::server),
    ("clients", "Clients", true, general::clients),
    ("memory", "Memory", true, memory::memory),
    ("persistence", "Persistence", true, general::persistence),
    ("stats", "Stats", true, stats::stats),
    ("replication", "Replication", true, general::replication),
    ("cpu", "CPU", true, general::cpu),
    ("modules", "Modules", true, general::modules),
    ("commandstats", "Commandstats", false, stats::commands),
    ("errorstats", "Errorstats", true, stats::errors),
    ("latencystats", "Latencystats", false, stats::latencies),
    ("cluster", "Cluster", true, general::cluster),
    ("keyspace", "Keyspace", true, general::keyspace),
];

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let asked = |words: &[&str]| (1..args.len()).any(|i| words.iter().any(|w| args.is(i, w)));
    let all = asked(&["all", "everything"]);
    let default = args.len() == 1 || asked(&["default"]);
    let mut text = String::new();
    for (name, title, is_default, fill) in SECTIONS {
        if all || (default && *is_default) || asked(&[name]) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            text.push_str(&format!("# {title}\r\n"));
            let mut section = Section(text);
            fill(call, &mut section);
            text = section.0;
        }
    }
    reply.verbatim("txt", text);
    Ok(())
}
