//! `cargo xtask gen`: the reference pages and the client's commands, written by the binary they describe.

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
    all_current &= client(&apus, check)?;
    Ok(!check || all_current)
}

/// The commands of `apus-client`; files there that are not written are left alone.
fn client(apus: &Path, check: bool) -> Result<bool> {
    let dir = paths::root().join("crates/client/src/commands");
    let text = output(Command::new(apus).arg("client-sources"))?;
    let mut all_current = true;
    for file in text.split("=== ").skip(1) {
        let (name, text) = file.split_once('\n').ok_or("a file without a name")?;
        let path = dir.join(name);
        let is_current = is_current(&path, text);
        all_current &= is_current;
        if check && !is_current {
            println!(
                "{} is not what the command table says; run `cargo xtask gen`",
                path.display()
            );
        } else if !check && !is_current {
            std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
            paths::write(&path, text)?;
            println!("crates/client/src/commands/{name} (changed)");
        }
    }
    Ok(all_current)
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
