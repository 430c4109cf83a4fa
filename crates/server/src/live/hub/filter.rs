//! Filters of publications by their tags, as a subscriber sends them.

use crate::live::wire::Filter;

/// Nodes of a filter, and values of a comparison.
const NODES_MAX: usize = 100;
const VALUES_MAX: usize = 100;

/// A filter that has been checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare { key: String, compare: Compare },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Compare {
    Equal(String),
    Differs(String),
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Less(f64),
    AtMost(f64),
    Greater(f64),
    AtLeast(f64),
}

impl Node {
    /// Checks a filter. None: it is malformed, or too large.
    pub(crate) fn of(filter: &Filter) -> Option<Self> {
        let mut left = NODES_MAX;
        node(filter, &mut left)
    }

    /// Whether a publication with these tags passes.
    pub(crate) fn matches(&self, tags: &[(String, String)]) -> bool {
        match self {
            Self::And(all) => all.iter().all(|n| n.matches(tags)),
            Self::Or(any) => any.iter().any(|n| n.matches(tags)),
            Self::Not(node) => !node.matches(tags),
            Self::Compare { key, compare } => {
                compare.holds(tags.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str()))
            }
        }
    }
}

impl Compare {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<f64>().ok());
        match self {
            Self::Equal(to) => value == Some(to),
            Self::Differs(from) => value != Some(from),
            Self::In(all) => value.is_some_and(|v| all.iter().any(|one| one == v)),
            Self::NotIn(all) => !value.is_some_and(|v| all.iter().any(|one| one == v)),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::StartsWith(with) => value.is_some_and(|v| v.starts_with(with.as_str())),
            Self::EndsWith(with) => value.is_some_and(|v| v.ends_with(with.as_str())),
            Self::Contains(what) => value.is_some_and(|v| v.contains(what.as_str())),
            Self::Less(than) => number().is_some_and(|n| n < *than),
            Self::AtMost(most) => number().is_some_and(|n| n <= *most),
            Self::Greater(than) => number().is_some_and(|n| n > *than),
            Self::AtLeast(least) => number().is_some_and(|n| n >= *least),
        }
    }
}

fn node(filter: &Filter, left: &mut usize) -> Option<Node> {
    *left = left.checked_sub(1)?;
    let mut nodes = || filter.nodes.iter().map(|n| node(n, left)).collect::<Option<Vec<_>>>();
    match filter.op.as_str() {
        "and" => nodes().filter(|n| !n.is_empty()).map(Node::And),
        "or" => nodes().filter(|n| !n.is_empty()).map(Node::Or),
        "not" => match nodes()?.as_slice() {
            [one] => Some(Node::Not(Box::new(one.clone()))),
            _ => None,
        },
        "" if !filter.key.is_empty() => {
            Some(Node::Compare { key: filter.key.clone(), compare: compare(filter)? })
        }
        _ => None,
    }
}

fn compare(filter: &Filter) -> Option<Compare> {
    let value = || filter.val.clone();
    let values = || {
        let fits = !filter.vals.is_empty() && filter.vals.len() <= VALUES_MAX;
        fits.then(|| filter.vals.clone())
    };
    let number = || filter.val.parse::<f64>().ok();
    Some(match filter.cmp.as_str() {
        "eq" => Compare::Equal(value()),
        "neq" => Compare::Differs(value()),
        "in" => Compare::In(values()?),
        "nin" => Compare::NotIn(values()?),
        "ex" => Compare::Exists,
        "nex" => Compare::Missing,
        "sw" => Compare::StartsWith(value()),
        "ew" => Compare::EndsWith(value()),
        "ct" => Compare::Contains(value()),
        "lt" => Compare::Less(number()?),
        "lte" => Compare::AtMost(number()?),
        "gt" => Compare::Greater(number()?),
        "gte" => Compare::AtLeast(number()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_tags_and_bad_ones_are_refused() {
        let of = |text: &str| Node::of(&serde_json::from_str(text).expect("JSON"));
        let tags = [("a".to_owned(), "5".to_owned()), ("b".to_owned(), "xyz".to_owned())];
        for (text, expected) in [
            (r#"{"key":"a","cmp":"eq","val":"5"}"#, true),
            (r#"{"key":"c","cmp":"neq","val":"5"}"#, true),
            (r#"{"key":"a","cmp":"in","vals":["4","5"]}"#, true),
            (r#"{"key":"a","cmp":"nin","vals":["4","5"]}"#, false),
            (r#"{"key":"b","cmp":"ct","val":"y"}"#, true),
            (r#"{"key":"a","cmp":"gt","val":"4.5"}"#, true),
            (r#"{"key":"b","cmp":"gt","val":"4.5"}"#, false),
            (r#"{"op":"not","nodes":[{"key":"c","cmp":"ex"}]}"#, true),
            (
                r#"{"op":"and","nodes":[{"key":"a","cmp":"ex"},{"key":"b","cmp":"sw","val":"z"}]}"#,
                false,
            ),
            (
                r#"{"op":"or","nodes":[{"key":"a","cmp":"nex"},{"key":"b","cmp":"ew","val":"z"}]}"#,
                true,
            ),
        ] {
            assert_eq!(of(text).expect(text).matches(&tags), expected, "{text}");
        }
        for bad in [
            r#"{"key":"a","cmp":"like","val":"5"}"#,
            r#"{"cmp":"eq","val":"5"}"#,
            r#"{"op":"and"}"#,
            r#"{"key":"a","cmp":"lt","val":"x"}"#,
            r#"{"op":"xor","nodes":[]}"#,
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
