//! `cargo xtask gen`: the reference pages, written by the binary they describe.

use crate::process::{self, output};
use crate::{Result, paths};
use std::path::Path;
use std::process::Command;

const PAGES: [&str; 2] = ["commands", "configuration"];

/// Writes the pages; with `--check`, only says whether they are current.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("gen takes nothing but --check".into()),
    };
    let apus = process::apus(false)?;
    let dir = paths::root().join("docs");
    let mut all_current = true;
    for page in PAGES {
        let text = output(Command::new(&apus).args(["docs", page]))?;
        let path = dir.join(format!("{page}.md"));
        let is_current = is_current(&path, &text);
        all_current &= is_current;
        if check && !is_current {
            println!("docs/{page}.md is not what the binary says; run `cargo xtask gen`");
        } else if !check {
            std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
            paths::write(&path, &text)?;
            println!("docs/{page}.md{}", if is_current { "" } else { " (changed)" });
        }
    }
    Ok(!check || all_current)
}

fn is_current(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|old| old == text)
}

#[cfg(test)]
mod tests {
    use super::is_current;

    #[test]
    fn a_page_that_differs_or_is_missing_is_not_current() {
        let dir = testing::TempDir::new();
        let path = dir.join("page.md");
        assert!(!is_current(&path, "a\n"));
        std::fs::write(&path, "a\n").expect("written");
        assert!(is_current(&path, "a\n"));
        assert!(!is_current(&path, "b\n"));
    }
}
