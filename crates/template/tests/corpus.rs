//! Templates whose pages must be the same as minijinja's, byte for byte; or both refuse.

mod common;

use common::difference;

/// Templates stand in files of the folder `cases`, one a line; `\n` is a line end, `\s` a blank. A line that begins with
/// `##` is a heading.
fn all(cases: &str) {
    let mut differences = Vec::new();
    let mut count = 0;
    for line in cases.lines().filter(|line| !line.is_empty() && !line.starts_with("##")) {
        let text = line.replace("\\n", "\n").replace("\\s", " ");
        // Each expression also alone, since an error hides what follows.
        let parts: Vec<&str> = text.split("}} {{").collect();
        let last = parts.len() - 1;
        let part = |(i, part): (usize, &&str)| {
            let (start, end) = (if i > 0 { "{{" } else { "" }, if i < last { "}}" } else { "" });
            format!("{start}{part}{end}")
        };
        let mut cases: Vec<String> = parts.iter().enumerate().map(part).collect();
        if last > 0 {
            cases.push(text.clone());
        }
        for (case, name) in
            cases.iter().flat_map(|case| ["t.txt", "t.html", "t.json"].map(|name| (case, name)))
        {
            count += 1;
            differences.extend(difference(&[(name, case)]));
        }
    }
    let shown = differences.iter().take(40).cloned().collect::<String>();
    assert!(differences.is_empty(), "{} of {count} differ:\n{shown}", differences.len());
}

#[test]
fn expressions() {
    all(include_str!("cases/expressions.txt"));
}

#[test]
fn filters() {
    all(include_str!("cases/filters.txt"));
}

#[test]
fn tests_of_values() {
    all(include_str!("cases/tests.txt"));
}

#[test]
fn statements() {
    all(include_str!("cases/statements.txt"));
}

#[test]
fn white_space() {
    all(include_str!("cases/whitespace.txt"));
}

#[test]
fn errors() {
    all(include_str!("cases/errors.txt"));
}

/// Several templates: `=== name` begins one, `=====` a case. The first template of a case is rendered.
#[test]
fn several_templates() {
    let mut differences = Vec::new();
    for case in include_str!("cases/several.txt").split("=====\n") {
        let mut templates: Vec<(&str, String)> = Vec::new();
        for part in case.split("=== ").skip(1) {
            let (name, text) = part.split_once('\n').expect("a name");
            templates.push((name, text.to_owned()));
        }
        let templates: Vec<(&str, &str)> =
            templates.iter().map(|(name, text)| (*name, &**text)).collect();
        differences.extend(difference(&templates));
    }
    assert!(differences.is_empty(), "{}", differences.concat());
}
