//! The effects that a command noted, as one line of text.

use resp::Proto;
use transcript::{Reply, split_args};

use super::{Arrival, Server};

/// Runs a line in database 0 and returns its reply.
pub(crate) fn run(server: &mut Server, line: &str) -> Reply {
    let args = split_args(line).expect("a command line");
    server.call(0, &args, Proto::V2, Arrival::Buffer).expect("a data command").reply
}

/// The effects of the last command in one line: dirty, fields that expired `-db:key.field`, events
/// `name@db:key`, journal form.
pub(crate) fn effects(server: &Server) -> String {
    let e = &server.cx.effects;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut said = vec![e.dirty.to_string()];
    let lost = e.dropped_fields.iter();
    said.extend(lost.map(|(db, key, field)| format!("-{db}:{}.{}", text(key), text(field))));
    said.extend(e.events.iter().map(|e| format!("{}@{}:{}", e.name, e.db, text(&e.key))));
    if !e.rewritten.is_empty() {
        let form: Vec<_> = e.rewritten.iter().map(|arg| text(arg)).collect();
        said.push(format!("as {}", form.join(" ")));
    }
    said.join(" ")
}

/// Runs the lines on a fresh server and compares the effects of the last one; `NOW+n` in the
/// expectation stands for a Unix time in milliseconds.
#[track_caller]
pub(crate) fn check(lines: &[&str], expected: &str) {
    let mut server = Server::new();
    lines.iter().for_each(|line| drop(run(&mut server, line)));
    let mut expected = expected.to_owned();
    if let Some(at) = expected.find("NOW+") {
        let digits = expected[at + 4..].bytes().take_while(u8::is_ascii_digit).count();
        let after: i64 = expected[at + 4..at + 4 + digits].parse().expect("a number");
        let time = (server.cx.now + after).to_string();
        expected.replace_range(at..at + 4 + digits, &time);
    }
    assert_eq!(effects(&server), expected, "{lines:?}");
}
