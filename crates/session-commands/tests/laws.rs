//! Laws over the whole table of the server.

mod support;

use commands::row::{Flags, Row};
use resp::Proto;
use support::Server;
use transcript::Reply;

#[test]
fn rows_keep_the_laws() {
    let server = Server::with_config("");
    let broken = commands::laws::check_rows(server.engine.table.rows());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn subcommands_of_rows_and_functions_are_the_same() {
    let server = Server::with_config("");
    let all = server.engine.table.all();
    let tops = server.engine.table.rows().count();
    let named: Vec<&str> =
        server.engine.table.rows().flat_map(|row| row.subcommands).map(|row| row.name).collect();
    let run: Vec<&str> = all[tops..].iter().map(|cmd| cmd.row.name).collect();
    assert_eq!(named, run);
}

/// A call of `row` with `argc` arguments, its name included.
fn call_of(row: &Row, argc: usize) -> Vec<String> {
    let mut words: Vec<String> = row.name.split('|').map(str::to_owned).collect();
    words.resize(argc, "1".into());
    words
}

#[test]
fn a_wrong_number_of_arguments_is_refused_before_anything_happens() {
    let mut server = Server::with_config("enable-debug-command yes");
    let rows: Vec<&Row> = server.engine.table.all().iter().map(|cmd| cmd.row).collect();
    for row in rows {
        let least = usize::from(row.arity.unsigned_abs());
        let words = row.name.split('|').count();
        let mut counts = Vec::new();
        if least > words {
            counts.push(least - 1);
        }
        if row.arity > 0 {
            counts.push(least + 1);
        }
        for argc in counts {
            // A container with a word too many is its subcommand's business.
            if argc < words || (!row.subcommands.is_empty() && argc > 1) {
                continue;
            }
            let mut session = server.connect(Proto::V2);
            let reply = server.call(&mut session, &call_of(row, argc));
            let expected =
                format!("ERR wrong number of arguments for '{}' command", row.name).into_bytes();
            assert_eq!(reply, Some(Reply::Error(expected)), "{} with {argc}", row.name);
        }
    }
}

#[test]
fn refusals_are_counted_as_such() {
    let mut server = Server::with_config("");
    let mut session = server.connect(Proto::V2);
    server.show(&mut session, "GET");
    server.show(&mut session, "CONFIG GET");
    server.show(&mut session, "SLOWLOG GET x");
    server.show(&mut session, "nosuch");
    let info = server.show(&mut session, "INFO commandstats errorstats stats");
    for line in [
        "cmdstat_get:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0",
        "cmdstat_config|get:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0",
        "cmdstat_slowlog|get:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
        "errorstat_ERR:count=4",
        "total_error_replies:4",
        "total_commands_processed:1",
    ] {
        assert!(info.contains(line), "{line} in\n{info}");
    }
}

#[test]
fn without_a_password_nothing_but_the_few_is_allowed() {
    let mut server = Server::with_config("requirepass secret");
    let rows: Vec<&Row> = server.engine.table.all().iter().map(|cmd| cmd.row).collect();
    for row in rows.into_iter().filter(|row| row.subcommands.is_empty()) {
        let mut session = server.connect(Proto::V2);
        let argc = usize::from(row.arity.unsigned_abs());
        if row.flags.has(commands::row::Flags::NO_AUTH) {
            continue;
        }
        let reply = server.call(&mut session, &call_of(row, argc));
        let expected = Reply::Error(b"NOAUTH Authentication required.".to_vec());
        assert_eq!(reply, Some(expected), "{}", row.name);
    }
    // Once the password is removed, connections made before need none either.
    let mut old = server.connect(Proto::V2);
    assert!(server.show(&mut old, "GET k").contains("NOAUTH"));
    let mut admin = server.connect(Proto::V2);
    admin.set_authenticated(true);
    assert_eq!(server.show(&mut admin, "CONFIG SET requirepass ''"), "OK");
    assert_eq!(server.show(&mut old, "GET k"), "(nil)");
}

#[test]
fn what_may_run_while_a_script_is_slow_has_an_answer_without_its_thread() {
    let server = Server::with_config("");
    let all = server.engine.table.all().iter();
    let mut allowed: Vec<&str> =
        all.filter(|c| c.row.flags.has(Flags::ALLOW_BUSY)).map(|c| c.row.name).collect();
    let answers = session_commands::ALL.while_stuck.iter().copied().flatten();
    let mut answered: Vec<&str> = answers.map(|(name, _)| *name).collect();
    allowed.sort_unstable();
    answered.sort_unstable();
    assert_eq!(allowed, answered);
}

#[test]
fn what_is_handed_in_for_replayed_scripts_is_what_scripts_may_call() {
    let server = Server::with_config("");
    for (name, _) in session_commands::ALL.in_replayed_scripts.iter().copied().flatten() {
        let id = server.engine.table.find(name.as_bytes()).expect("a command of this name");
        let cmd = server.engine.table.get(id);
        assert!(matches!(cmd.run, engine::Run::Session(_)), "{name}");
        assert!(!cmd.row.flags.has(Flags::NOSCRIPT), "{name}");
    }
}
