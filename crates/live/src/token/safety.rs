//! The URL of a JWKS document may have names in double braces, which a token's own issuer and audience fill in. So
//! the patterns of these claims may only let in what they spell out: otherwise a token could name the server that
//! its key comes from.

use crate::pattern::translate;
use regex_syntax::ast::{Ast, GroupKind, parse::Parser};

/// The names in double braces in a URL.
pub(super) fn placeholders(url: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = url;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        names.push(name);
        rest = after;
    }
    names
}

/// The URL with the names filled in; those without a value become empty.
pub(super) fn fill(url: &str, values: &[(String, String)]) -> String {
    let mut filled = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        filled.push_str(before);
        let value = values.iter().rfind(|(known, _)| known == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Checks that the groups of a pattern that go into the URL can only match what they spell out.
pub(super) fn check(url: &str, option: &str, pattern: &str) -> Result<(), String> {
    let names = placeholders(url);
    if names.is_empty() {
        return Ok(());
    }
    let ast = Parser::new()
        .parse(&translate(pattern))
        .map_err(|_| format!("`{option}` is no pattern"))?;
    match has_open_group(&ast, &names) {
        Some(name) => Err(format!(
            "the group {name:?} of `{option}` is part of the URL of the keys, and may match more than it spells \
             out: list the values, as in (?P<{name}>first|second)"
        )),
        None => Ok(()),
    }
}

/// The first group among `names` that can match more than it spells out.
fn has_open_group(ast: &Ast, names: &[&str]) -> Option<String> {
    let inner: Vec<&Ast> = match ast {
        Ast::Group(group) => {
            let name = match &group.kind {
                GroupKind::CaptureName { name, .. } => name.name.as_str(),
                _ => "",
            };
            if names.contains(&name) && !name.is_empty() && !is_spelled_out(&group.ast) {
                return Some(name.to_owned());
            }
            vec![&group.ast]
        }
        Ast::Repetition(repetition) => vec![&repetition.ast],
        Ast::Concat(concat) => concat.asts.iter().collect(),
        Ast::Alternation(alternation) => alternation.asts.iter().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().find_map(|ast| has_open_group(ast, names))
}

fn is_spelled_out(ast: &Ast) -> bool {
    match ast {
        Ast::Empty(_) | Ast::Literal(_) => true,
        Ast::Group(group) => is_spelled_out(&group.ast),
        Ast::Concat(concat) => concat.asts.iter().all(is_spelled_out),
        Ast::Alternation(alternation) => alternation.asts.iter().all(is_spelled_out),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{check, fill, placeholders};

    #[test]
    fn only_lists_of_values_may_choose_the_server() {
        let host = "https://{{host}}/jwks.json";
        for (url, pattern, is_safe) in [
            ("https://example.com/jwks.json", "^(?P<host>.+)$", true),
            (host, "^https://(?P<other>.+)$", true),
            (host, r"^(?P<host>a\.example\.com|b\.example\.com)$", true),
            (host, "^(?P<host>|a)$", true),
            (host, "^(?P<host>(a|b)c)$", true),
            (host, "^(?P<host>.+)$", false),
            (host, "^(?P<host>[a-z]+)$", false),
            (host, r"^(?P<host>\w)$", false),
            (host, "^(?P<host>a?)$", false),
            (host, "^(?P<host>a{3})$", false),
            (host, "^(x(?P<host>.))$", false),
        ] {
            assert_eq!(check(url, "issuer_regex", pattern).is_ok(), is_safe, "{url} {pattern}");
        }
    }

    #[test]
    fn names_are_filled_in() {
        assert_eq!(placeholders("https://{{a}}.x/{{b}}/{{c"), ["a", "b"]);
        let values = [("a".to_owned(), "1".to_owned())];
        assert_eq!(fill("https://{{a}}.x/{{b}}/k", &values), "https://1.x//k");
    }
}
