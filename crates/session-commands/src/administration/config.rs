//! CONFIG: <https://redis.io/docs/latest/commands/config-set/>
//!
//! The options themselves are the crate `config`'s, the consequences of a change `engine::change`'s.

use commands::row::{Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use config::{Caller, Id};
use engine::{Attention, Engine};
use engine::{Call, SessionCommand};
use replicator::Replicator;
use resp::{Args, Reply};

pub(crate) static CONFIG: SessionCommand = SessionCommand {
    row: Row {
        name: "config",
        group: Group::Server,
        since: "2.0.0",
        arity: -2,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Reads and changes the configuration.",
        subcommands: &[&GET.row, &HELP.row, &RESETSTAT.row, &REWRITE.row, &SET.row],
        ..Row::DEFAULT
    },
    run: engine::container,
    subs: &[&GET, &HELP, &RESETSTAT, &REWRITE, &SET],
};

static GET: SessionCommand = super::command(
    Row {
        name: "config|get",
        group: Group::Server,
        since: "2.0.0",
        arity: -3,
        flags: super::ADMIN,
        history: &[("7.0.0", "Added the ability to pass multiple pattern parameters in one call")],
        scope: Scope::None,
        complexity: "O(N) when N is the number of configuration parameters provided",
        summary: "Answers the values of the options whose names match.",
        syntax: "CONFIG GET parameter [parameter ...]",
        transcript: r#"
> CONFIG GET maxmemory-policy
1) "maxmemory-policy"
2) "noeviction"
> CONFIG GET nosuch
(empty array)
# resp: 3
> CONFIG GET maxmemory-sample?
1# "maxmemory-samples" => "5"
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let found = call.engine.config.get(&args.to_slices(2));
        reply.map(found.len());
        for (name, value) in found {
            reply.bulk(name);
            reply.bulk(value);
        }
        Ok(())
    },
);

static SET: SessionCommand = super::command(
    Row {
        name: "config|set",
        group: Group::Server,
        since: "2.0.0",
        arity: -4,
        traits: Traits::SETS_OPTIONS,
        flags: super::ADMIN,
        // The values of sensitive options.
        secrets: Some(|argv, i| i >= 3 && i % 2 == 1 && config::is_sensitive(argv.get(i - 1))),
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        history: &[("7.0.0", "Added the ability to set multiple parameters in one call.")],
        scope: Scope::None,
        complexity: "O(N) when N is the number of configuration parameters provided",
        summary: "Changes options: all that are named, or none if one is refused.",
        syntax: "CONFIG SET parameter value [parameter value ...]",
        transcript: r#"
> CONFIG SET maxmemory-samples 5 lfu-decay-time 1
OK
> CONFIG SET maxmemory-samples many
~ (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory-samples') - *
> CONFIG SET nosuch 1
(error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
> CONFIG SET databases 4
(error) ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config
> CONFIG SET maxmemory-samples 5 lfu-decay-time
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    set,
);

fn set(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() % 2 == 1 {
        return Err(Fail::SYNTAX);
    }
    let pairs: Vec<(&[u8], &[u8])> =
        (2..args.len()).step_by(2).map(|i| (&args[i], &args[i + 1])).collect();
    let caller = Caller {
        local: call.session.client.endpoint.loopback,
        loading: call.engine.attention.get() & Attention::LOADING != 0,
        owner: false,
    };
    let changed = engine::change(call.engine, call.thread, &pairs, caller)
        .map_err(|e| Fail::new(e.to_string()))?;
    if changed.contains(&Id::MinReplicasMaxLag) {
        // Other replicas are good now.
        Replicator::of(call.engine).replicas.count(call.engine);
    }
    reply.ok();
    Ok(())
}

static REWRITE: SessionCommand = super::command(
    Row {
        name: "config|rewrite",
        group: Group::Server,
        since: "2.8.0",
        arity: 2,
        flags: super::ADMIN,
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Writes the options as they are now into the configuration file.",
        syntax: "CONFIG REWRITE",
        untranscribed: "changes the file that the server was started with",
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        rewrite(call.engine, false, "Rewriting config file")?;
        reply.ok();
        Ok(())
    },
);

/// Rewrites the configuration file; `force` writes defaults too. `what` begins the error's text.
pub(super) fn rewrite(engine: &Engine, force: bool, what: &str) -> Outcome {
    let Some(path) = &engine.info.config_file else {
        return Err(Fail::text("ERR The server is running without a config file"));
    };
    let users = engine::acl::lines(engine);
    if let Err(e) = config::rewrite(&engine.config, path, Some(&users), force) {
        engine::log!(engine.log, Warning, "CONFIG REWRITE failed: {}: {}", path.display(), e);
        return Err(Fail::new(format!("ERR {what}: {}", config::os_text(&e))));
    }
    engine::log!(engine.log, Notice, "CONFIG REWRITE wrote {}", path.display());
    Ok(())
}

static RESETSTAT: SessionCommand = super::command(
    Row {
        name: "config|resetstat",
        group: Group::Server,
        since: "2.0.0",
        arity: 2,
        flags: super::ADMIN,
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Starts the counters of INFO anew.",
        syntax: "CONFIG RESETSTAT",
        transcript: r#"
# resp: 3
> CONFIG RESETSTAT
OK
> INFO commandstats
~ # Commandstats
~ cmdstat_config|resetstat:calls=1,usec=*,usec_per_call=*,rejected_calls=0,failed_calls=0
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        call.engine.reset_stats();
        reply.ok();
        Ok(())
    },
);

static HELP: SessionCommand = super::command(
    Row {
        name: "config|help",
        group: Group::Server,
        since: "5.0.0",
        arity: 2,
        flags: super::ANYTIME,
        scope: Scope::None,
        complexity: "O(1)",
        summary: "Shows what CONFIG can do.",
        syntax: "CONFIG HELP",
        transcript: r#"
> CONFIG HELP
~  1) CONFIG <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "GET <pattern> [<pattern> ...]",
            "    Answers the options that match the glob-like <pattern>, with their values.",
            "SET <option> <value> [<option> <value> ...]",
            "    Changes options: all of them or none.",
            "RESETSTAT",
            "    Starts the counters that INFO shows anew.",
            "REWRITE",
            "    Writes the present options into the configuration file.",
        ];
        commands::help::write(reply, "CONFIG", LINES);
        Ok(())
    },
);
