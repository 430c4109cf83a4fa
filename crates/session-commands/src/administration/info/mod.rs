//! INFO: <https://redis.io/docs/latest/commands/info/>
//!
//! Sections and fields are those of Redis 7.4, in its order, since tools read them by name. A field
//! is true where Apus has the feature, and 0 where the feature does not exist. Each section is a
//! function that adds its lines.

mod costs;
mod general;
mod live;
mod memory;
mod stats;
mod topics;
mod web;

use std::fmt::Display;

use crate::connection::ping::{UNCONFIRMED, is_sentinel};
use commands::Outcome;
use commands::row::{Acl, Flags, Group, Row, Scope};
use engine::acks::Silence;
use engine::{Call, Engine, Session, SessionCommand, Thread};
use resp::{Args, Reply};

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

/// When a section is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// When it is asked for by name.
    Named,
    /// With `all`, too.
    All,
    /// Without arguments, too.
    Default,
}

/// Name, title, when it is shown, and the function that fills it.
type Entry = (&'static str, &'static str, Shown, fn(&mut Call<'_>, &mut Section));

/// In the order in which they are shown.
static SECTIONS: &[Entry] = &[
    ("server", "Server", Shown::Default, general::server),
    ("clients", "Clients", Shown::Default, general::clients),
    ("memory", "Memory", Shown::Default, memory::memory),
    ("persistence", "Persistence", Shown::Default, general::persistence),
    ("stats", "Stats", Shown::Default, stats::stats),
    ("replication", "Replication", Shown::Default, general::replication),
    ("cpu", "CPU", Shown::Default, general::cpu),
    ("modules", "Modules", Shown::Default, general::modules),
    ("commandstats", "Commandstats", Shown::All, stats::commands),
    ("errorstats", "Errorstats", Shown::Default, stats::errors),
    ("latencystats", "Latencystats", Shown::All, stats::latencies),
    ("cluster", "Cluster", Shown::Default, general::cluster),
    ("topics", "Topics", Shown::Default, topics::topics),
    ("live", "Live", Shown::All, live::live),
    ("web", "Web", Shown::All, web::web),
    ("keyspace", "Keyspace", Shown::Default, general::keyspace),
    ("debug", "Debug", Shown::Named, stats::debug),
    ("costs", "Costs", Shown::Named, costs::costs),
];

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let asked = |words: &[&str]| (1..args.len()).any(|i| words.iter().any(|w| args.is(i, w)));
    if call.engine.replication.acks.is_silent(Silence::Info) && is_sentinel(call) {
        return Err(UNCONFIRMED);
    }
    let all = asked(&["all", "everything"]);
    let default = args.len() == 1 || asked(&["default"]);
    let text = text(call, |name, shown| {
        (all && shown >= Shown::All) || (default && shown >= Shown::Default) || asked(&[name])
    });
    reply.verbatim("txt", text);
    Ok(())
}

/// All sections of INFO, for an observer inside the process.
pub fn info(engine: &Engine, thread: &mut Thread) -> String {
    thread.sync_clock(&engine.clock);
    let session = &mut Session::inner(engine, thread.index);
    text(&mut Call { engine, thread, session }, |_, _| true)
}

fn text(call: &mut Call<'_>, wanted: impl Fn(&str, Shown) -> bool) -> String {
    let mut text = String::new();
    for (name, title, shown, fill) in SECTIONS {
        if wanted(name, *shown) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            text.push_str(&format!("# {title}\r\n"));
            let mut section = Section(text);
            fill(call, &mut section);
            text = section.0;
        }
    }
    text
}
