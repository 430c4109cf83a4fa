//! Every subcommand in HELP and the pages exists; and every subcommand that exists is in HELP.

mod support;

use std::collections::BTreeSet;

use resp::Proto;
use support::Server;
use testing::TempDir;
use transcript::Reply;

fn lines(reply: Option<Reply>) -> Vec<String> {
    let Some(Reply::Array(lines)) = reply else { panic!("HELP is {reply:?}") };
    lines
        .into_iter()
        .map(|line| match line {
            Reply::Status(text) => String::from_utf8(text).expect("text"),
            other => panic!("a line of HELP is {other:?}"),
        })
        .collect()
}

/// The lines of HELP that name a subcommand: those between the first one and the explanations.
fn named(lines: &[String]) -> impl Iterator<Item = &str> {
    lines.iter().skip(1).map(String::as_str).filter(|l| !l.starts_with([' ', '(']))
}

fn first_word(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_ascii_lowercase()
}

#[test]
fn help_names_all_subcommands_and_no_others() {
    let mut server = Server::with_config("");
    let engine = std::sync::Arc::clone(&server.engine);
    let mut containers = 0;
    for row in engine.table.rows().filter(|row| !row.subcommands.is_empty()) {
        let own = |name: &str| name.split('|').nth(1).unwrap_or_default().to_owned();
        let there: BTreeSet<String> = row.subcommands.iter().map(|sub| own(sub.name)).collect();
        // Without cluster support CLUSTER refuses every request, as in Redis.
        if !there.contains("help") || row.name == "cluster" {
            continue;
        }
        containers += 1;
        let mut session = server.connect(Proto::V2);
        let help = lines(server.call(&mut session, &[row.name, "HELP"]));
        let said: BTreeSet<String> = named(&help).map(first_word).collect();
        assert_eq!(said, there, "{}", row.name);
    }
    assert!(containers > 10, "{containers}");
}

/// The subcommands of DEBUG, from its source: they have no rows.
fn debug_subcommands() -> BTreeSet<String> {
    let arms = include_str!("../src/administration/debug/mod.rs").lines().filter_map(|line| {
        let (name, rest) = line.trim_start().strip_prefix("(\"")?.split_once('"')?;
        rest.starts_with(", ").then(|| name.to_owned())
    });
    arms.collect()
}

#[test]
fn debug_help_names_what_debug_accepts() {
    let dir = TempDir::new();
    let config = format!("enable-debug-command yes\ndir {}", dir.path().display());
    let mut server = Server::with_config(&config);
    let mut session = server.connect(Proto::V2);
    let help = lines(server.call(&mut session, &["DEBUG", "HELP"]));
    let said: BTreeSet<String> = named(&help).map(first_word).collect();
    assert_eq!(said, debug_subcommands());
    for line in named(&help) {
        // `<a|b>` is a value, of which the first is taken; `[…]` may be left out.
        let mut words = vec!["DEBUG".to_owned()];
        let needed = line.split(' ').take_while(|word| !word.starts_with('['));
        words.extend(needed.map(|word| match word.trim_matches(['<', '>']) {
            "seconds" | "dbid" | "count" => "0".to_owned(),
            "size" => "100".to_owned(),
            "type" => "string".to_owned(),
            value => value.split('|').next().unwrap_or_default().to_owned(),
        }));
        let mut session = server.connect(Proto::V2);
        let reply = server.call(&mut session, &words);
        let unknown = matches!(&reply, Some(Reply::Error(e)) if e.starts_with(b"ERR unknown sub"));
        assert!(!unknown, "{line:?}: {reply:?}");
    }
}

#[test]
fn pages_name_no_debug_subcommand_that_is_not_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (accepted, mut found) = (debug_subcommands(), 0);
    let docs = std::fs::read_dir(root.join("docs")).expect("the pages");
    let docs = docs.map(|page| page.expect("an entry").path());
    for path in docs.chain([root.join("tests/redis-suite.md")]) {
        if path.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a page");
        for (at, _) in text.match_indices("DEBUG ") {
            // SCRIPT DEBUG and PFDEBUG are commands of their own.
            if text[..at].ends_with("SCRIPT ") || text[..at].ends_with("PF") {
                continue;
            }
            let rest = &text[at + "DEBUG ".len()..];
            let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '-');
            let word = &rest[..end.unwrap_or(rest.len())];
            if word.len() > 1 {
                found += 1;
                let known = accepted.contains(&word.to_ascii_lowercase());
                assert!(known, "{}: DEBUG {word}", path.display());
            }
        }
    }
    assert!(found > 3, "{found}");
}
