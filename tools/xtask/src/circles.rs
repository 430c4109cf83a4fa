//! Circles of files that import each other, per crate: the largest one may only shrink.
//!
//! A file imports another one when a path in it that begins with `crate` or `super` leads there.
//! Names that a module only passes on (`pub use`) lead to their origin, so that a crate's root
//! closes no false circle. A module that names its own children does not import them. Code inside
//! `#[cfg(test)] mod … { … }`, and files called `tests`, do not count. The largest circles of today
//! stand in `tools/xtask/circles.txt`.

use crate::{Result, paths};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The path of the file with the numbers, from the root.
const FILE: &str = "tools/xtask/circles.txt";

/// A module's path without the crate: `a::b` is `["a", "b"]`, the root is empty.
type Module = Vec<String>;

/// Files of a crate by module, with their text.
type Files = BTreeMap<Module, String>;

/// Compares the circles of all crates with the file; prints them, and returns the findings.
pub(crate) fn check(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let allowed = parse(&paths::read(&root.join(FILE))?)?;
    let mut crates: BTreeMap<String, Files> = BTreeMap::new();
    for file in files {
        let Some((name, module)) = module_of(file) else { continue };
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        crates.entry(name.to_owned()).or_default().insert(module, text);
    }
    let circles: BTreeMap<String, Vec<String>> =
        crates.iter().map(|(name, files)| (name.clone(), largest(files))).collect();
    for (name, circle) in circles.iter().filter(|(_, circle)| circle.len() > 1) {
        let before = allowed.get(name).copied().unwrap_or(1);
        println!("circle: {name} {before} → {} files", circle.len());
    }
    Ok(compare(&allowed, &circles))
}

/// Lines `crate number`; a line that begins with `#` is a comment.
fn parse(text: &str) -> Result<BTreeMap<String, usize>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed = lines.map(|line| {
        let (name, number) = line.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    });
    parsed.collect::<Option<_>>().ok_or_else(|| format!("{FILE}: a line is not `crate number`"))
}

fn compare(
    allowed: &BTreeMap<String, usize>,
    circles: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, circle) in circles {
        let (before, now) = (allowed.get(name).copied().unwrap_or(1), circle.len());
        if now > before {
            let files = circle.join(", ");
            wrong.push(format!(
                "in {name}, {now} files import each other in a circle, more than {before}: {files}"
            ));
        } else if now < before {
            wrong
                .push(format!("the circle of {name} has shrunk: write {now} in place of {before}"));
        }
    }
    for name in allowed.keys().filter(|name| !circles.contains_key(*name)) {
        wrong.push(format!("there is no crate {name}"));
    }
    wrong
}

/// Crate and module of a source file: `crates/a/src/b/mod.rs` is `("a", ["b"])`.
fn module_of(file: &str) -> Option<(&str, Module)> {
    let packages = file.strip_prefix("crates/").or_else(|| file.strip_prefix("tools/"))?;
    let (name, path) = packages.split_once("/src/")?;
    let path = path.strip_suffix(".rs")?;
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        // A binary is a crate of its own; its file is small.
        if path == "main" {
            return None;
        }
        module.pop();
    }
    (!module.iter().any(|m| m == "tests")).then_some((name, module))
}

/// One path, and whether it is imported under its last name (or another one) here.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    path: Vec<String>,
    /// The name it has here, if it came by `use`.
    import: Option<String>,
}

/// Identifiers, `::` and single characters; no comments, strings or lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let bytes: Vec<char> = text.chars().collect();
    let (mut i, mut all) = (0, Vec::new());
    let at = |i: usize| bytes.get(i).copied().unwrap_or('\0');
    while i < bytes.len() {
        match bytes[i] {
            '/' if at(i + 1) == '/' => {
                while i < bytes.len() && bytes[i] != '\n' {
                    i += 1;
                }
            }
            '/' if at(i + 1) == '*' => {
                while i < bytes.len() && !(bytes[i] == '*' && at(i + 1) == '/') {
                    i += 1;
                }
                i += 2;
            }
            'r' if at(i + 1) == '"' || at(i + 1) == '#' && matches!(at(i + 2), '"' | '#') => {
                let hashes = (i + 1..).take_while(|j| at(*j) == '#').count();
                i += hashes + 2;
                let ends = |i: usize| at(i) == '"' && (1..=hashes).all(|n| at(i + n) == '#');
                while i < bytes.len() && !ends(i) {
                    i += 1;
                }
                i += hashes + 1;
            }
            '"' => {
                i += 1;
                while i < bytes.len() && bytes[i] != '"' {
                    i += if bytes[i] == '\\' { 2 } else { 1 };
                }
                i += 1;
            }
            '\'' if at(i + 1) == '\\' => {
                i += 3;
                while i < bytes.len() && bytes[i] != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            c if c.is_alphanumeric() || c == '_' => {
                let from = i;
                while at(i).is_alphanumeric() || at(i) == '_' {
                    i += 1;
                }
                all.push(bytes[from..i].iter().collect());
            }
            ':' if at(i + 1) == ':' => {
                all.push("::".to_owned());
                i += 2;
            }
            c => {
                if !c.is_whitespace() {
                    all.push(c.to_string());
                }
                i += 1;
            }
        }
    }
    all
}

/// Where the brace of a test module is whose attribute begins at `i`.
fn test_module(tokens: &[String], i: usize) -> Option<usize> {
    let starts = |at: usize, words: &[&str]| {
        tokens.get(at..at + words.len()).is_some_and(|t| t.iter().zip(words).all(|(a, b)| a == b))
    };
    if !starts(i, &["#", "[", "cfg", "("]) {
        return None;
    }
    let end = i + tokens[i..].iter().position(|t| t == "]")?;
    let is_test =
        tokens[i..end].iter().any(|t| t == "test") && !tokens[i..end].iter().any(|t| t == "not");
    let brace = end + 3;
    (is_test && starts(end + 1, &["mod"]) && starts(brace, &["{"])).then_some(brace)
}

/// The tokens without `#[cfg(test)] mod name { … }`, also where the condition is `all(test, …)`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let (mut i, mut kept) = (0, Vec::new());
    while i < tokens.len() {
        let Some(body) = test_module(tokens, i) else {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        };
        i = body;
        let mut depth = 0;
        while i < tokens.len() {
            depth += i32::from(tokens[i] == "{") - i32::from(tokens[i] == "}");
            i += 1;
            if depth == 0 {
                break;
            }
        }
    }
    kept
}

/// All paths of a file that begin with `crate`, `super` or, in an import, `self`.
fn paths_of(text: &str) -> Vec<Named> {
    let tokens = without_tests(&tokens(text));
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if tokens[i] == "use" {
            i = tree(&tokens, i + 1, &[], &mut found);
        } else if matches!(tokens[i].as_str(), "crate" | "super")
            && tokens.get(i + 1).is_some_and(|t| t == "::")
        {
            let mut path = vec![tokens[i].clone()];
            while tokens.get(i + 1).is_some_and(|t| t == "::")
                && tokens.get(i + 2).is_some_and(|t| t.starts_with(is_word))
            {
                path.push(tokens[i + 2].clone());
                i += 2;
            }
            found.push(Named { path, import: None });
            i += 1;
        } else {
            i += 1;
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// One branch of an import; returns where it ends.
fn tree(tokens: &[String], mut i: usize, before: &[String], found: &mut Vec<Named>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(i).map(String::as_str) {
            Some("::") => i += 1,
            Some("{") => {
                i += 1;
                while tokens.get(i).is_some_and(|t| t != "}") {
                    i = tree(tokens, i, &path, found);
                    i += usize::from(tokens.get(i).is_some_and(|t| t == ","));
                }
                return i + 1;
            }
            Some("*") => {
                found.push(Named { path, import: None });
                return i + 1;
            }
            Some("as") => {
                let import = tokens.get(i + 1).cloned();
                found.push(Named { path, import });
                return i + 2;
            }
            // `a::{self, b}` imports `a`.
            Some("self") if !path.is_empty() => i += 1,
            Some(word) if word.starts_with(is_word) => {
                path.push(word.to_owned());
                i += 1;
            }
            _ => {
                let import = path.last().cloned();
                found.push(Named { path, import });
                return i.max(1);
            }
        }
    }
}

/// Where a path leads, seen from a module: the file that has the item.
fn target(
    files: &Files,
    imports: &BTreeMap<&Module, BTreeMap<&str, &[String]>>,
    from: &Module,
    path: &[String],
    depth: usize,
) -> Option<Module> {
    let mut at = from.clone();
    let mut rest = path;
    let mut relative = true;
    while let Some((first, tail)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            _ => break,
        }
        relative = false;
        rest = tail;
    }
    for (i, name) in rest.iter().enumerate() {
        let mut child = at.clone();
        child.push(name.clone());
        if files.contains_key(&child) {
            at = child;
            continue;
        }
        if let Some(to) = imports.get(&at).and_then(|names| names.get(name.as_str()))
            && depth < 8
        {
            let whole: Vec<String> = to.iter().chain(&rest[i + 1..]).cloned().collect();
            return target(files, imports, &at, &whole, depth + 1);
        }
        // A path that begins with neither is of another crate, unless it begins with a child.
        if relative && i == 0 {
            return None;
        }
        break;
    }
    files.contains_key(&at).then_some(at)
}

/// The largest set of files of which each imports each, directly or through others, by name.
fn largest(files: &Files) -> Vec<String> {
    let named: BTreeMap<&Module, Vec<Named>> =
        files.iter().map(|(module, text)| (module, paths_of(text))).collect();
    let imports: BTreeMap<&Module, BTreeMap<&str, &[String]>> = named
        .iter()
        .map(|(module, all)| {
            let by_name =
                all.iter().filter_map(|n| Some((n.import.as_deref()?, n.path.as_slice())));
            (*module, by_name.collect())
        })
        .collect();
    let mut edges: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, all) in &named {
        let to = all
            .iter()
            .filter(|n| matches!(n.path[..], [ref a, ..] if a == "crate" || a == "super"));
        let to = to.filter_map(|n| target(files, &imports, module, &n.path, 0));
        edges.insert(module, to.filter(|to| to != *module).collect());
    }
    // Files are few: a file reached by those that it reaches is in its circle.
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        edges.keys().map(|module| (*module, reach(&edges, module))).collect();
    let circle = |module: &Module| -> Vec<String> {
        let others = reached.get(module).into_iter().flatten();
        let others = others.filter(|to| reached.get(*to).is_some_and(|back| back.contains(module)));
        others.map(|m| if m.is_empty() { "lib".to_owned() } else { m.join("::") }).collect()
    };
    let circles = edges.keys().map(|module| circle(module));
    let largest = circles.max_by_key(Vec::len).unwrap_or_default();
    if largest.is_empty() { vec!["(none)".to_owned()] } else { largest }
}

fn reach<'a>(
    edges: &'a BTreeMap<&Module, BTreeSet<Module>>,
    from: &Module,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = edges.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(edges.get(module).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::{Files, Module, compare, largest, module_of, parse, paths_of};
    use std::collections::BTreeMap;

    fn files(all: &[(&str, &str)]) -> Files {
        let module = |path: &str| -> Module {
            path.split("::").filter(|m| !m.is_empty()).map(str::to_owned).collect()
        };
        all.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect()
    }

    #[test]
    fn a_circle_is_found_through_imports_paths_and_what_the_root_passes_on() {
        let circle = files(&[
            ("", "mod a; mod b; mod c; pub use b::{B, D as E};"),
            ("a", "use crate::{E, other::X};"),
            ("b", "fn b() { crate::c::f() }"),
            ("c", "pub mod d; use super::a::{self, A};"),
            ("c::d", "use super::f;"),
        ]);
        assert_eq!(largest(&circle), ["a", "b", "c"]);
    }

    #[test]
    fn a_tree_is_no_circle() {
        let tree = files(&[
            ("", "mod a; mod b; pub use a::A;"),
            ("a", "use crate::b::B; // use crate::a::A\n const S: &str = \"crate::b\";"),
            (
                "b",
                "#[cfg(test)] mod tests { use crate::a::A; } fn f() { let _ = r#\"crate::a\"#; } \
                 #[cfg(all(test, loom))] mod model { use crate::a::A; }",
            ),
        ]);
        assert_eq!(largest(&tree), ["(none)"]);
    }

    #[test]
    fn paths() {
        let found = paths_of("use crate::a::{b, c::D as E, f::*}; x(super::g::H::new());");
        let found: Vec<_> =
            found.iter().map(|n| (n.path.join("::"), n.import.as_deref())).collect();
        let expected = [
            ("crate::a::b", Some("b")),
            ("crate::a::c::D", Some("E")),
            ("crate::a::f", None),
            ("super::g::H::new", None),
        ];
        let expected: Vec<_> = expected.map(|(p, n)| (p.to_owned(), n)).into_iter().collect();
        assert_eq!(found, expected);
        assert_eq!(module_of("crates/a/src/b/mod.rs"), Some(("a", vec!["b".to_owned()])));
        assert_eq!(module_of("crates/a/src/lib.rs"), Some(("a", vec![])));
        assert_eq!(module_of("crates/a/src/b/tests.rs"), None);
    }

    #[test]
    fn it_may_only_shrink_and_the_file_follows() {
        let allowed = parse("# largest\na 2\nb 3\n").expect("a file");
        let circles = |a: usize| -> BTreeMap<String, Vec<String>> {
            [("a", a), ("b", 3)].map(|(n, len)| (n.to_owned(), vec!["x".to_owned(); len])).into()
        };
        assert_eq!(compare(&allowed, &circles(2)), [""; 0]);
        assert!(compare(&allowed, &circles(3))[0].contains("more than 2: x, x, x"));
        assert!(compare(&allowed, &circles(1))[0].contains("write 1 in place of 2"));
        assert!(parse("a b\n").is_err());
    }
}
