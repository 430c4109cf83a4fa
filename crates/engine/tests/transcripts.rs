//! Replays the transcripts of all commands on connections of an engine, and checks the laws of the
//! command table over session commands too.

mod common;

use common::{Conn, Server, array, replies};
use transcript::{Step, Target, Version, check};

const TARGET: Target = Target::Apus(Version(7, 4, 0));

/// Like the comparison with a real Redis: a transcript starts on a new connection to an empty
/// server, and so does what follows a `# reset`.
#[test]
fn transcripts() {
    let table = Server::new();
    let (mut count, mut wrong, mut missing) = (0, String::new(), 0);
    for cmd in table.engine.table.all() {
        let row = cmd.row;
        if row.transcript.is_empty() {
            continue;
        }
        let steps = transcript::parse(row.transcript)
            .unwrap_or_else(|e| panic!("transcript of {}: {e}", row.name));
        let mut parts: Vec<Vec<Step>> = vec![Vec::new()];
        for step in steps {
            if step.reset {
                parts.push(Vec::new());
            }
            if step.only.includes(TARGET) {
                parts.last_mut().expect("one at least").push(step);
            }
        }
        for steps in parts.into_iter().filter(|part| !part.is_empty()) {
            // A group of commands that is not there yet.
            if steps
                .iter()
                .any(|s| s.args[0].is_ascii() && table.engine.table.find(&s.args[0]).is_none())
            {
                missing += 1;
                continue;
            }
            count += steps.len();
            replay(row.name, &steps, &mut wrong);
        }
    }
    eprintln!("{count} steps; {missing} sessions use commands that do not exist");
    assert!(count > 100);
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn replay(name: &str, steps: &[Step], wrong: &mut String) {
    let mut server = Server::new();
    let mut c: Conn = server.connect();
    if steps[0].resp == 3 {
        server.send(&mut c, "HELLO 3");
    }
    for step in steps {
        let bytes = server.feed(&mut c, &array(&step.args));
        match replies(&bytes).as_slice() {
            [one] => {
                if let Err(mismatch) = check(step, one) {
                    wrong.push_str(&format!("{name}: {mismatch}"));
                }
            }
            many => wrong.push_str(&format!("{name}: {}: {} replies\n", step.source, many.len())),
        }
    }
}

#[test]
fn rows_fulfil_the_laws() {
    let server = Server::new();
    let found = commands::laws::check_rows(server.engine.table.rows());
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    for cmd in server.engine.table.all() {
        let subs = cmd.row.subcommands;
        for sub in subs {
            let top = server.engine.table.find(cmd.row.name.as_bytes()).expect("a command");
            let id = server.engine.table.find_sub(top, sub.sub_name().as_bytes());
            let row = server.engine.table.get(id.expect("a subcommand")).row;
            assert_eq!(row.name, sub.name, "rows and functions are in the same order");
        }
    }
}
