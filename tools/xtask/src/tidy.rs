//! Habits that a compiler does not check. Each check is a function of text, with a test
//! that shows it fail.

use crate::process::{self, cargo};
use crate::{Result, circles, paths, prose};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::Command;

/// Longest source file under `crates/` and `tools/`: a longer one is too much to keep in mind.
const LINES_MAX: usize = 1_000;

/// Files that may be longer, each with its reason beside it. Keep it short.
const LONG_FILES: &[&str] = &[];

/// Longest function outside of tests, from the line of its name to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// Files that tell commands apart by their names, each with its reason beside it. Keep it short.
const BY_NAME: &[&str] = &[
    // An append-only file of Redis: SELECT, MULTI and EXEC are its structure.
    "crates/durable/src/journal/aof.rs",
    // The journal's records of changes to libraries: they have commands' own names, which no option renames.
    "crates/engine/src/scripting/load.rs",
    // Where a topic may be stored: `memory` is a place.
    "crates/engine/src/topics/place.rs",
    // The same structure in files, and in a primary's stream.
    "crates/server/src/check.rs",
    "crates/replicator/src/whole.rs",
    // Words that are also names of commands: keys of replies in transcripts, options, types, states and events.
    "crates/session-commands/src/acl/getuser.rs",
    "crates/session-commands/src/acl/log.rs",
    "crates/session-commands/src/administration/debug/protocol.rs",
    "crates/session-commands/src/administration/info/general.rs",
    "crates/session-commands/src/administration/latency/doctor.rs",
    "crates/session-commands/src/connection/hello.rs",
    "crates/session-commands/src/migrate.rs",
    // READONLY is an error code there.
    "crates/server/src/web/call.rs",
    // What clients cannot call in the usual way is not the server's to know.
    "crates/server/src/client/methods.rs",
    "crates/server/src/client/table.rs",
];

/// Where any comparison with a command's name, or with a word that is one, is a mistake: in the code of the server, but
/// for the commands of data.
const NAMELESS: &[&str] = &[
    "crates/engine/src/",
    "crates/acl/src/",
    "crates/observe/src/",
    "crates/pubsub/src/",
    "crates/durable/src/",
    "crates/replicator/src/",
    "crates/session-commands/src/",
    "crates/server/src/check.rs",
    "crates/server/src/http/",
    "crates/server/src/live/",
    "crates/server/src/net/",
    "crates/server/src/web/",
];

/// Texts that no file may contain. They are cut in two here, so that this file does not.
const FORBIDDEN: &[(&str, &str)] = &[
    // A lock file that names one registry host cannot be used behind a mirror.
    (concat!("registry.", "npmjs.org"), "names a package registry"),
    (concat!("registry.", "yarnpkg.com"), "names a package registry"),
    (concat!("proxy.", "golang.org"), "names a package registry"),
    (concat!("sum.", "golang.org"), "names a package registry"),
    (concat!("pypi.", "org"), "names a package registry"),
    (concat!("files.", "pythonhosted.org"), "names a package registry"),
    (concat!("index.", "crates.io"), "names a package registry"),
    (concat!("static.", "crates.io"), "names a package registry"),
    (concat!("crates.io", "-index"), "names a package registry"),
    // Paths of one machine mean nothing on another.
    (concat!("/wo", "rk/"), "names a path of one machine"),
    (concat!("/ro", "ot/"), "names a path of one machine"),
    (concat!("/tmp/", "peers"), "names a path of one machine"),
    (concat!("/tmp/", "suite"), "names a path of one machine"),
];

/// Words that do not say who acts: the client, the reader, the thread (STYLE.md).
const UNNAMED: &[&str] = &["whoever", "Whoever", "somebody", "Somebody"];

/// A finding, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    file: String,
    /// From 1; 0 is the file as a whole.
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// All findings in the files of the repository at `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>> {
    let list = process::output(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root),
    )?;
    let mut findings = Vec::new();
    let mut names = BTreeSet::new();
    for file in list.lines().filter(|file| has_rows(file)) {
        // Listed but deleted: not a file of ours.
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        names.extend(names_of(&text).map(str::to_owned));
    }
    for file in list.lines() {
        // Listed but deleted, or a link: not a file of ours.
        let Ok(bytes) = std::fs::read(root.join(file)) else {
            continue;
        };
        if bytes.contains(&0) {
            continue; // Binary.
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => {
                findings.extend(check_file(file, text));
                findings.extend(check_words_of_commands(file, text, &names));
            }
            Err(_) => findings.push(finding(file, 0, "is neither UTF-8 nor binary")),
        }
    }
    let files: Vec<String> = list.lines().map(str::to_owned).collect();
    findings.extend(check_modules(&files));
    let wrong = circles::check(root, &files)?;
    findings
        .extend(wrong.into_iter().map(|message| finding("tools/xtask/circles.txt", 0, message)));
    let wrong = prose::check(root, &files)?;
    findings.extend(wrong.into_iter().map(|message| finding(prose::FILE, 0, message)));
    match paths::read(&root.join(DIAGRAM)) {
        Ok(text) => findings.extend(check_diagram(&text, &workspace_arrows()?)),
        Err(_) => findings.push(finding(DIAGRAM, 0, "is missing")),
    }
    Ok(findings)
}

fn finding(file: &str, line: usize, message: impl Into<String>) -> Finding {
    Finding { file: file.to_owned(), line, message: message.into() }
}

/// A module with files of its own is the file `mod.rs` among them: one style, and a directory is a module.
fn check_modules(files: &[String]) -> Vec<Finding> {
    let dirs: BTreeSet<&str> = files.iter().filter_map(|f| Some(f.rsplit_once('/')?.0)).collect();
    let beside = |file: &&String| file.strip_suffix(".rs").is_some_and(|dir| dirs.contains(dir));
    let text = "stands beside the directory of its module; it is mod.rs within it";
    files.iter().filter(beside).map(|file| finding(file, 0, text)).collect()
}

/// All checks that look at one file alone.
fn check_file(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = check_whitespace(file, text);
    findings.extend(check_length(file, text));
    findings.extend(check_functions(file, text));
    findings.extend(check_words(file, text));
    findings.extend(check_subjects(file, text));
    findings.extend(check_names(file, text));
    if file.ends_with("Cargo.toml") {
        findings.extend(check_manifest(file, text));
    }
    findings
}

fn check_whitespace(file: &str, text: &str) -> Vec<Finding> {
    // gofmt indents with tabs.
    let tabs = file.ends_with(".go") || file.ends_with("go.mod");
    let mut findings = Vec::new();
    for (i, line) in text.split('\n').enumerate() {
        if line.ends_with('\r') {
            findings.push(finding(file, i + 1, "ends in CR LF"));
        } else if line.ends_with([' ', '\t']) {
            findings.push(finding(file, i + 1, "ends in whitespace"));
        }
        if line.contains('\t') && !tabs {
            findings.push(finding(file, i + 1, "contains a tab"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(finding(file, 0, "does not end with a line break"));
    }
    if text.ends_with("\n\n") {
        findings.push(finding(file, 0, "ends with an empty line"));
    }
    findings
}

fn check_length(file: &str, text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    let of_ours = file.starts_with("crates/") || file.starts_with("tools/");
    let is_source = of_ours && file.ends_with(".rs");
    (is_source && lines > LINES_MAX && !LONG_FILES.contains(&file)).then(|| {
        finding(file, 0, format!("has {lines} lines, more than {LINES_MAX}: split it by role"))
    })
}

/// Reads the layout that rustfmt gives: a function ends with the first brace that stands as far in as its first line.
fn check_functions(file: &str, text: &str) -> Vec<Finding> {
    let of_ours = ["crates/", "tools/"].iter().any(|at| file.starts_with(at));
    if !of_ours || !file.contains("/src/") || !file.ends_with(".rs") || is_test(file) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let lines: Vec<&str> = outside_tests(text).lines().collect();
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends = |l: &&str| {
            let rest = l.strip_prefix(indent).unwrap_or_default();
            rest.starts_with('}') || (!rest.starts_with(' ') && rest.ends_with(';'))
        };
        let after = lines[i + 1..].iter().position(ends).map_or(0, |n| n + 1);
        let length = if line.ends_with([';', '}']) { 1 } else { after + 1 };
        if length > FUNCTION_LINES_MAX {
            let message = format!(
                "begins a function of {length} lines, more than {FUNCTION_LINES_MAX}: split it by steps"
            );
            findings.push(finding(file, i + 1, message));
        }
    }
    findings
}

/// Whether a file consists of tests.
fn is_test(file: &str) -> bool {
    file.contains("/tests/") || file.ends_with("tests.rs") || file.ends_with("test.rs")
}

/// A file's code, without the tests at its end.
fn outside_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// Whether a line begins a function: `fn` behind words that may stand before it.
fn begins_function(line: &str) -> bool {
    let before = ["async", "const", "default", "extern", "pub", "unsafe"];
    let is_before = |word: &str| {
        before.contains(&word)
            || word.starts_with("pub(")
            || word.starts_with('"')
            || word.ends_with(')')
    };
    line.split_whitespace().find(|word| !is_before(word)) == Some("fn")
}

fn check_words(file: &str, text: &str) -> Vec<Finding> {
    if file == "Cargo.lock" || file.ends_with("/Cargo.lock") {
        return Vec::new(); // Cargo's own format.
    }
    let mut findings = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for (word, why) in FORBIDDEN {
            if line.contains(word) {
                findings.push(finding(file, i + 1, format!("{why}: {word}")));
            }
        }
    }
    findings
}

/// What we write names its subjects. (Tests of clients, and the rule itself, are left alone.)
fn check_subjects(file: &str, text: &str) -> Vec<Finding> {
    let of_ours = ["crates/", "docs/", "tools/"].iter().any(|at| file.starts_with(at))
        || (file.ends_with(".md") && !file.contains('/'));
    let is_rule = file == "STYLE.md" || file == "tools/xtask/src/tidy.rs";
    if !of_ours || is_rule || !(file.ends_with(".rs") || file.ends_with(".md")) {
        return Vec::new();
    }
    let unnamed = |line: &str| {
        line.split(|c: char| !c.is_alphabetic())
            .find(|word| UNNAMED.contains(word))
            .map(str::to_owned)
    };
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(i, line)| Some((i, unnamed(line)?)))
        .map(|(i, word)| finding(file, i + 1, format!("says {word}: name who acts")))
        .collect()
}

/// Every fact that behaviour depends on is a field of the command's row: no code compares its name, since a
/// second command of the kind would be forgotten.
fn check_names(file: &str, text: &str) -> Vec<Finding> {
    if !file.starts_with("crates/") || !file.contains("/src/") || BY_NAME.contains(&file) {
        return Vec::new();
    }
    let code = outside_tests(text);
    let mut findings = Vec::new();
    for (i, line) in code.lines().enumerate() {
        for (at, _) in line.match_indices("row.name") {
            let after = &line[at + "row.name".len()..];
            // The owner of the row: `cmd.`, `engine.table.get(id).`
            let owner = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
            let before = line[..at].trim_end_matches(owner);
            let compared = [" == \"", " != \"", ".starts_with(\"", ".ends_with(\""];
            let chosen = ["match ", "matches!(", ".contains(&"];
            if compared.iter().any(|c| after.starts_with(c))
                || chosen.iter().any(|c| before.ends_with(c))
            {
                let message = "compares a command's name; make it a field of the row (`Traits`)";
                findings.push(finding(file, i + 1, message));
            }
        }
    }
    findings
}

/// Whether a source file may contain rows of commands.
fn has_rows(file: &str) -> bool {
    ["crates/commands/src/", "crates/session-commands/src/"].iter().any(|at| file.starts_with(at))
}

/// The names in the rows of a file. (The row that others fill their fields from has an empty one.)
fn names_of(text: &str) -> impl Iterator<Item = &str> {
    let names = text.lines().filter_map(|l| l.trim().strip_prefix("name: \"")?.strip_suffix("\","));
    names.filter(|name| !name.is_empty())
}

/// Code outside of the commands of data does not compare words with commands' names either, which renamed commands would
/// escape.
fn check_words_of_commands(file: &str, text: &str, names: &BTreeSet<String>) -> Vec<Finding> {
    if !NAMELESS.iter().any(|at| file.starts_with(at)) || BY_NAME.contains(&file) {
        return Vec::new();
    }
    let code = outside_tests(text);
    let mut findings = Vec::new();
    for (i, line) in code.lines().enumerate().filter(|(_, line)| !line.trim().starts_with("//")) {
        for (n, literal) in line.split('"').enumerate().filter(|(n, _)| n % 2 == 1) {
            let before = line.split('"').nth(n - 1).unwrap_or_default();
            let before = before.trim_end_matches(['b', '*', '&']);
            let after = line.split('"').nth(n + 1).unwrap_or_default();
            let compared = [" == ", " != ", "is(0, ", "is(1, ", "eq_ignore_ascii_case(", "| "];
            let chosen = [" =>", " |"].iter().any(|c| after.starts_with(c));
            if names.contains(&literal.to_ascii_lowercase())
                && (chosen || compared.iter().any(|c| before.ends_with(c)))
            {
                let message = format!(
                    "compares with the command's name {literal}; make it a field of the row (`Traits`)"
                );
                findings.push(finding(file, i + 1, message));
            }
        }
    }
    findings
}

/// A dependency earns its line: each one has its reason in a comment right above it. A
/// crate of the workspace needs none, nor one that only refers to the workspace's line.
fn check_manifest(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_dependencies = false;
    let mut above = "";
    for (i, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            in_dependencies = line.trim_end().ends_with("dependencies]");
            if line.contains("dependencies.") {
                let message = "gives a dependency a table; write it on one line";
                findings.push(finding(file, i + 1, message));
            }
        } else if in_dependencies
            && line.contains('=')
            && line.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '"' || c == '_')
            && !line.contains("path = ")
            && !line.contains("workspace = true")
            && !above.starts_with('#')
        {
            let name = line.split(['=', '.']).next().unwrap_or_default().trim();
            let message = format!("the dependency {name} has no reason in a comment above it");
            findings.push(finding(file, i + 1, message));
        }
        above = line;
    }
    findings
}

/// For every crate of the workspace, those of its crates that it depends on.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The normal dependencies between the crates of the workspace, from cargo.
fn workspace_arrows() -> Result<Arrows> {
    // `cargo tree` rather than `cargo metadata`: its lines need no JSON parser.
    let tree = process::output(&mut cargo(&[
        "tree",
        "--workspace",
        "--edges=normal",
        "--target=all",
        "--all-features",
        "--depth=1",
        "--prefix=depth",
        "--no-dedupe",
        "--quiet",
        "--format= {p}",
    ]))?;
    Ok(tree_arrows(&tree))
}

/// Reads lines like `0 apus v0.1.0 (…)` and, below it, `1 engine v0.1.0 (…)`.
fn tree_arrows(tree: &str) -> Arrows {
    let mut all = Arrows::new();
    let mut current = String::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("0"), Some(name)) => {
                current = name.to_owned();
                all.entry(current.clone()).or_default();
            }
            (Some("1"), Some(name)) => {
                all.entry(current.clone()).or_default().insert(name.to_owned());
            }
            _ => {}
        }
    }
    let members: BTreeSet<String> = all.keys().cloned().collect();
    for to in all.values_mut() {
        to.retain(|name| members.contains(name));
    }
    all
}

/// The file with the dependencies between crates.
const DIAGRAM: &str = "docs/design/crates.md";

/// The fenced block of [`DIAGRAM`] with lines `name → dependency, dependency` (or
/// `name →` for none) must say what Cargo.toml files say.
fn check_diagram(text: &str, actual: &Arrows) -> Vec<Finding> {
    let Some((first, drawn)) = diagram(text) else {
        return vec![finding(DIAGRAM, 0, "has no fenced block with lines `crate → dependency, …`")];
    };
    let list = |names: &BTreeSet<String>| match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let mut findings = Vec::new();
    for (name, to) in actual {
        match drawn.get(name) {
            None => findings.push(finding(DIAGRAM, first, format!("the diagram lacks {name}"))),
            Some(drawn) if drawn != to => {
                let (drawn, actual) = (list(drawn), list(to));
                let message = format!("{name} → {drawn} is drawn, but it depends on {actual}");
                findings.push(finding(DIAGRAM, first, message));
            }
            Some(_) => {}
        }
    }
    for name in drawn.keys().filter(|name| !actual.contains_key(*name)) {
        let message = format!("the diagram has {name}, which is no crate of the workspace");
        findings.push(finding(DIAGRAM, first, message));
    }
    findings
}

/// The first line of the diagram and the dependencies that it draws.
fn diagram(text: &str) -> Option<(usize, Arrows)> {
    let mut block: Option<(usize, Arrows)> = None;
    let mut fenced = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            if fenced && block.as_ref().is_some_and(|(_, arrows)| !arrows.is_empty()) {
                return block;
            }
            fenced = !fenced;
            block = Some((i + 2, Arrows::new()));
        } else if fenced && let Some((name, to)) = line.split_once('→') {
            let name = name.trim().to_owned();
            let to = to.split(',').map(str::trim).filter(|to| !to.is_empty());
            let (_, arrows) = block.get_or_insert_default();
            arrows.entry(name).or_default().extend(to.map(str::to_owned));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{
        FUNCTION_LINES_MAX, LINES_MAX, check_diagram, check_file, check_modules,
        check_words_of_commands, diagram, names_of, tree_arrows,
    };

    /// The messages of all findings in a file.
    fn messages(file: &str, text: &str) -> Vec<String> {
        check_file(file, text).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn names_of_commands_are_not_compared() {
        let file = "crates/engine/src/a.rs";
        for line in [
            "cmd.row.name == \"exec\"",
            "engine.table.get(id).row.name != \"exec\"",
            "!cmd.row.name.starts_with(\"client|\")",
            "match row.name {",
            "matches!(cmd.row.name, \"a\" | \"b\")",
            "[\"a\", \"b\"].contains(&cmd.row.name)",
        ] {
            let found = messages(file, &format!("{line}\n"));
            assert!(found.len() == 1 && found[0].contains("compares a command's name"), "{line}");
            assert_eq!(messages(file, &format!("#[cfg(test)]\nmod tests {{\n{line}\n")), [""; 0]);
        }
        assert_eq!(messages(file, "Fail::arity(cmd.row.name)\n"), [""; 0]);
    }

    #[test]
    fn words_are_not_compared_with_names_of_commands() {
        let names = names_of("    Row {\n        name: \"exec\",\n").map(str::to_owned).collect();
        let found = |file, line| check_words_of_commands(file, line, &names).len();
        let file = "crates/engine/src/a.rs";
        for line in [
            "args.is(0, \"exec\")",
            "name.eq_ignore_ascii_case(b\"EXEC\")",
            "name == \"exec\"",
            "\"exec\" => true,",
            "matches!(name, \"get\" | \"exec\")",
        ] {
            assert_eq!(found(file, line), 1, "{line}");
            for file in ["crates/replicator/src/a.rs", "crates/session-commands/src/a.rs"] {
                assert_eq!(found(file, line), 1, "{line}");
            }
            assert_eq!(found("crates/commands/src/a.rs", line), 0);
        }
        assert_eq!(names_of("name: \"\",\n").count(), 0);
        for line in ["// is \"exec\" =>", "args.is(0, \"post\")", "unit.command(b\"exec\", 1)"] {
            assert_eq!(found(file, line), 0, "{line}");
        }
    }

    #[test]
    fn tidy_files_have_no_findings() {
        assert_eq!(messages("crates/a/src/lib.rs", "fn a() {}\n\nfn b() {}\n"), [""; 0]);
        assert_eq!(messages("a.go", "func a() {\n\treturn\n}\n"), [""; 0]);
        assert_eq!(messages("empty", ""), [""; 0]);
    }

    #[test]
    fn a_module_is_in_its_directory() {
        let files = ["src/a.rs", "src/a/b.rs", "src/c/mod.rs", "src/c/d.rs", "src/e.rs"];
        let found = check_modules(&files.map(str::to_owned));
        assert_eq!(found.iter().map(|f| &f.file[..]).collect::<Vec<_>>(), ["src/a.rs"]);
    }

    #[test]
    fn whitespace() {
        assert_eq!(messages("a.rs", "a \n"), ["a.rs:1: ends in whitespace"]);
        assert_eq!(messages("a.rs", "a\r\n"), ["a.rs:1: ends in CR LF"]);
        assert_eq!(messages("a.rs", "a\n\tb\n"), ["a.rs:2: contains a tab"]);
        assert_eq!(messages("a.rs", "a"), ["a.rs:0: does not end with a line break"]);
        assert_eq!(messages("a.rs", "a\n\n"), ["a.rs:0: ends with an empty line"]);
    }

    #[test]
    fn length() {
        let long = "a\n".repeat(LINES_MAX + 1);
        assert_eq!(messages("crates/a/src/lib.rs", &long).len(), 1);
        assert_eq!(messages("crates/a/src/lib.rs", &long[2..]).len(), 0);
        assert_eq!(messages("docs/commands.md", &long).len(), 0);
    }

    #[test]
    fn functions() {
        let of = |lines: usize| {
            format!(
                "impl A {{\n    pub(crate) async fn a() {{\n{}    }}\n\n    fn b();\n}}\n",
                "        b();\n".repeat(lines - 2)
            )
        };
        let file = "crates/a/src/lib.rs";
        let message =
            "crates/a/src/lib.rs:2: begins a function of 71 lines, more than 70: split it by steps";
        assert_eq!(messages(file, &of(FUNCTION_LINES_MAX + 1)), [message]);
        assert_eq!(messages(file, &of(FUNCTION_LINES_MAX)), [""; 0]);
        for file in ["crates/a/src/tests.rs", "crates/a/tests/b.rs", "crates/a/src/tests/c.rs"] {
            assert_eq!(messages(file, &of(FUNCTION_LINES_MAX + 1)), [""; 0], "{file}");
        }
        let within = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", of(FUNCTION_LINES_MAX + 1));
        assert_eq!(messages(file, &within), [""; 0]);
        assert_eq!(messages(file, &format!("    fn a();\n{}", "// b\n".repeat(99))), [""; 0]);
    }

    #[test]
    fn words() {
        for word in super::FORBIDDEN {
            let text = format!("ok\nsee {}x\n", word.0);
            assert_eq!(messages("a.md", &text).len(), 1, "{word:?}");
            assert_eq!(messages("Cargo.lock", &text).len(), 0);
        }
        assert_eq!(messages("a.md", "net/work and crates.io\n").len(), 0);
    }

    #[test]
    fn subjects_are_named() {
        for file in ["crates/a/src/a.rs", "docs/a.md", "README.md"] {
            let found = messages(file, "A key.\nWhoever reads it, and somebody's client.\n");
            assert_eq!(found, [format!("{file}:2: says Whoever: name who acts")]);
        }
        assert_eq!(messages("STYLE.md", "not *whoever*\n"), [""; 0]);
        assert_eq!(messages("docs/a.md", "REDIRECT SOMEBODY\n"), [""; 0]);
    }

    #[test]
    fn manifests() {
        let good = "[workspace.dependencies]\nown = { path = \"own\" }\n# Because.\nmio = \"1\"\n\
            [dependencies]\nmio.workspace = true\n[profile.dev]\ndebug = true\n";
        assert_eq!(messages("Cargo.toml", good), [""; 0]);
        let bad = "[workspace.dependencies]\n# Because.\nmio = \"1\"\nlibc = { version = \"0\" }\n";
        let message = "Cargo.toml:4: the dependency libc has no reason in a comment above it";
        assert_eq!(messages("Cargo.toml", bad), [message]);
        for section in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"] {
            let bad = format!("[{section}]\nlibc = \"0\"\n");
            assert_eq!(messages("crates/a/Cargo.toml", &bad).len(), 1, "{section}");
        }
        assert_eq!(messages("Cargo.toml", "[dependencies.libc]\nversion = \"0\"\n").len(), 1);
    }

    #[test]
    fn the_diagram_is_what_cargo_says() {
        let actual = tree_arrows(
            "0 apus v0.1.0 (/a)\n1 engine v0.1.0 (/b)\n1 mio v1.0.0\n\n\
             0 engine v0.1.0 (/b)\n\n0 stdx v0.1.0 (/c)\n",
        );
        let check = |block: &str| {
            let text = format!("# Map\n```\nother\n```\n\n```text\n{block}```\n");
            let findings = check_diagram(&text, &actual);
            findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
        };
        assert_eq!(check("apus   → engine\nengine →\nstdx →\n"), [""; 0]);
        assert_eq!(check("apus → engine\nengine →\n"), ["the diagram lacks stdx"]);
        assert_eq!(
            check("apus →\nengine → stdx\nstdx →\nold →\n"),
            [
                "apus → nothing is drawn, but it depends on engine",
                "engine → stdx is drawn, but it depends on nothing",
                "the diagram has old, which is no crate of the workspace",
            ]
        );
        assert_eq!(check_diagram("no block, a → b\n", &actual).len(), 1);
        assert_eq!(diagram("```\na → b, c\n```\n").map(|(line, _)| line), Some(2));
    }
}
