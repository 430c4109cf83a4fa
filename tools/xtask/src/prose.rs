//! Habits of our prose that still occur: words that do not say who acts, and long lines. Their numbers, file by file,
//! may only shrink; those of today stand in `tools/xtask/prose.txt`.

use crate::{Result, paths};
use std::collections::BTreeMap;
use std::path::Path;

/// The path of the file with the numbers, from the root.
pub(crate) const FILE: &str = "tools/xtask/prose.txt";

/// Words that do not say who acts: the client, the reader, the thread (STYLE.md).
const UNNAMED: &[&str] = &["nobody", "anybody", "whom"];

/// Longest line of prose, in characters.
const CHARS_MAX: usize = 132;

/// How often each habit occurs in each file.
type Counts = BTreeMap<(&'static str, String), usize>;

/// Compares the habits of all files with the numbers; returns the findings.
pub(crate) fn check(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut counts = Counts::new();
    for file in files.iter().filter(|file| is_ours(file)) {
        // Listed but deleted: not a file of ours.
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        for (habit, n) in habits(file, &text) {
            counts.insert((habit, file.clone()), n);
        }
    }
    compare(&paths::read(&root.join(FILE))?, &counts)
}

fn is_ours(file: &str) -> bool {
    let is_page = file.ends_with(".md") && (file.starts_with("docs/") || !file.contains('/'));
    // `cargo xtask gen` writes them.
    let is_made = ["commands", "configuration", "live-options"];
    if is_made.into_iter().any(|page| file.strip_prefix("docs/") == Some(&format!("{page}.md"))) {
        return false;
    }
    let is_code =
        file.ends_with(".rs") && ["crates/", "tools/"].iter().any(|d| file.starts_with(d));
    // The rule itself, in both of its places.
    let is_rule = ["STYLE.md", "tools/xtask/src/prose.rs"].contains(&file);
    (is_page || is_code) && !is_rule
}

/// The habits that occur in a file: in the comments of code, in a page outside of its fenced blocks.
fn habits(file: &str, text: &str) -> impl Iterator<Item = (&'static str, usize)> {
    let is_page = file.ends_with(".md");
    let (mut unnamed, mut long, mut fenced) = (0, 0, false);
    for line in text.lines() {
        let start = line.trim_start();
        fenced ^= is_page && start.starts_with("```");
        if fenced || !(is_page || start.starts_with("//")) {
            continue;
        }
        let words = line.split(|c: char| !c.is_alphabetic());
        unnamed += words.filter(|w| UNNAMED.contains(&&*w.to_ascii_lowercase())).count();
        long += usize::from(is_page && !start.starts_with('|') && line.chars().count() > CHARS_MAX);
    }
    [("unnamed", unnamed), ("long", long)].into_iter().filter(|(_, n)| *n > 0)
}

/// `allowed` has lines `habit file number`; a line that begins with `#` is a comment.
fn compare(allowed: &str, counts: &Counts) -> Result<Vec<String>> {
    let mut before: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in allowed.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (habit, file) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let number = words.next().and_then(|n| n.parse().ok());
        let number = number.ok_or_else(|| format!("{FILE}: not `habit file number`: {line}"))?;
        before.insert((habit, file), number);
    }
    let mut wrong = Vec::new();
    for ((habit, file), now) in counts {
        let before = before.remove(&(*habit, &**file)).unwrap_or(0);
        let what = match *habit {
            "unnamed" => format!("{} in place of a name for who acts", UNNAMED.join(", ")),
            _ => format!("lines of more than {CHARS_MAX} characters"),
        };
        if *now > before {
            wrong.push(format!("{file} has {now} of these, more than {before}: {what}"));
        } else if *now < before {
            wrong.push(format!("{file} has fewer {habit}: write {now} in place of {before}"));
        }
    }
    let gone = before.keys().map(|(habit, file)| format!("{file} has no {habit}: remove its line"));
    wrong.extend(gone);
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::{CHARS_MAX, Counts, compare, habits, is_ours};

    fn of(file: &str, text: &str) -> Vec<(&'static str, usize)> {
        habits(file, text).collect()
    }

    #[test]
    fn comments_and_prose_are_counted() {
        let code =
            "// Nobody is left, and nobody's turn.\nlet nobody = \"whom\";\n    /// To whom.\n";
        assert_eq!(of("crates/a/src/a.rs", code), [("unnamed", 3)]);
        let long = "a".repeat(CHARS_MAX + 1);
        let page =
            format!("Anybody.\n{long}\n| {long}\n{}\n```text\n{long} nobody\n```\n", &long[1..]);
        assert_eq!(of("docs/a.md", &page), [("unnamed", 1), ("long", 1)]);
        assert_eq!(of("crates/a/src/a.rs", &format!("// {long}\n")), []);
    }

    #[test]
    fn files_of_others_are_not_looked_at() {
        let ours = ["docs/design/a.md", "README.md", "crates/a/tests/b.rs", "tools/a/src/b.rs"];
        assert!(ours.into_iter().all(is_ours));
        let others = ["STYLE.md", "tests/a.md", "docs/commands.md", "tools/xtask/src/prose.rs"];
        assert!(!others.into_iter().any(is_ours));
    }

    #[test]
    fn numbers_may_only_shrink() {
        let counts = Counts::from([(("unnamed", "a.md".to_owned()), 2)]);
        let found = |allowed: &str| compare(allowed, &counts).map_err(|_| ()).map(|all| all.len());
        assert_eq!(found("# Why.\nunnamed a.md 2\n"), Ok(0));
        for wrong in ["", "unnamed a.md 1\n", "unnamed a.md 3\n", "unnamed a.md 2\nlong a.md 1\n"] {
            assert_eq!(found(wrong), Ok(1), "{wrong}");
        }
        assert_eq!(found("unnamed a.md\n"), Err(()));
    }
}
