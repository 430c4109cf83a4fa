//! Filters of publications by their tags, as a subscriber sends them.
//!
//! What passes is what passes in centrifuge (internal/filter): numbers are compared as decimal fractions, exactly, and
//! what is no number never passes. A filter is checked once, when the client subscribes; after that, the work for a
//! publication is bounded by [`NODES_MAX`] and [`VALUES_MAX`].

use crate::Filter;
use std::cmp::Ordering;

/// Nodes of a filter.
pub const NODES_MAX: usize = 100;
/// Values of a comparison.
pub const VALUES_MAX: usize = 100;

/// A filter that has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Node(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare { key: String, compare: Compare },
}

#[derive(Clone, Debug, PartialEq)]
enum Compare {
    Equal(String),
    Differs(String),
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Less(String),
    AtMost(String),
    Greater(String),
    AtLeast(String),
}

impl Node {
    /// Checks a filter. None: it is malformed, or too large.
    #[must_use]
    pub fn of(filter: &Filter) -> Option<Self> {
        let mut left = NODES_MAX;
        node(filter, &mut left)
    }

    /// Whether a publication with these tags passes.
    #[must_use]
    pub fn matches(&self, tags: &[(String, String)]) -> bool {
        match &self.0 {
            Kind::And(all) => all.iter().all(|n| n.matches(tags)),
            Kind::Or(any) => any.iter().any(|n| n.matches(tags)),
            Kind::Not(node) => !node.matches(tags),
            Kind::Compare { key, compare } => {
                compare.holds(tags.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str()))
            }
        }
    }
}

impl Compare {
    fn holds(&self, value: Option<&str>) -> bool {
        // A tag that is missing counts as an empty one among several values.
        let among = |all: &[String]| all.iter().any(|one| one == value.unwrap_or(""));
        let ordered = |to: &str| value.and_then(|v| compare_decimals(v, to));
        match self {
            Self::Equal(to) => value == Some(to),
            Self::Differs(from) => value != Some(from),
            Self::In(all) => among(all),
            Self::NotIn(all) => !among(all),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::StartsWith(with) => value.is_some_and(|v| v.starts_with(with.as_str())),
            Self::EndsWith(with) => value.is_some_and(|v| v.ends_with(with.as_str())),
            Self::Contains(what) => value.is_some_and(|v| v.contains(what.as_str())),
            Self::Less(than) => ordered(than).is_some_and(Ordering::is_lt),
            Self::AtMost(most) => ordered(most).is_some_and(Ordering::is_le),
            Self::Greater(than) => ordered(than).is_some_and(Ordering::is_gt),
            Self::AtLeast(least) => ordered(least).is_some_and(Ordering::is_ge),
        }
    }
}

fn node(filter: &Filter, left: &mut usize) -> Option<Node> {
    *left = left.checked_sub(1)?;
    let mut nodes = || filter.nodes.iter().map(|n| node(n, left)).collect::<Option<Vec<_>>>();
    Some(Node(match filter.op.as_str() {
        "and" => Kind::And(nodes().filter(|n| !n.is_empty())?),
        "or" => Kind::Or(nodes().filter(|n| !n.is_empty())?),
        "not" => match <[Node; 1]>::try_from(nodes()?) {
            Ok([one]) => Kind::Not(Box::new(one)),
            Err(_) => return None,
        },
        "" => Kind::Compare { key: filter.key.clone(), compare: compare(filter)? },
        _ => return None,
    }))
}

fn compare(filter: &Filter) -> Option<Compare> {
    let named = !filter.key.is_empty();
    let value = || {
        let fits = named && !filter.val.is_empty() && filter.vals.is_empty();
        fits.then(|| filter.val.clone())
    };
    let values = || {
        let fits = named && filter.val.is_empty() && (1..=VALUES_MAX).contains(&filter.vals.len());
        fits.then(|| filter.vals.clone())
    };
    let alone = |compare| (filter.val.is_empty() && filter.vals.is_empty()).then_some(compare);
    Some(match filter.cmp.as_str() {
        "eq" => Compare::Equal(value()?),
        "neq" => Compare::Differs(value()?),
        "in" => Compare::In(values()?),
        "nin" => Compare::NotIn(values()?),
        "ex" => alone(Compare::Exists)?,
        "nex" => alone(Compare::Missing)?,
        "sw" => Compare::StartsWith(value()?),
        "ew" => Compare::EndsWith(value()?),
        "ct" => Compare::Contains(value()?),
        "lt" => Compare::Less(value()?),
        "lte" => Compare::AtMost(value()?),
        "gt" => Compare::Greater(value()?),
        "gte" => Compare::AtLeast(value()?),
        _ => return None,
    })
}

/// A decimal fraction: whether it is below zero, the digits before the point without leading zeros, those behind it
/// without trailing ones.
fn decimal(text: &str) -> Option<(bool, &str, &str)> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, part) = match digits.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (digits, ""),
    };
    let is_number =
        !whole.is_empty() && whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit());
    let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
    is_number.then_some((negative && !(whole.is_empty() && part.is_empty()), whole, part))
}

fn compare_decimals(a: &str, b: &str) -> Option<Ordering> {
    let ((a_negative, a, a_part), (b_negative, b, b_part)) = (decimal(a)?, decimal(b)?);
    let size = a.len().cmp(&b.len()).then_with(|| a.cmp(b)).then_with(|| a_part.cmp(b_part));
    Some(match (a_negative, b_negative) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Node> {
        Node::of(&serde_json::from_str(text).expect("JSON"))
    }

    #[test]
    fn filters_match_tags_and_bad_ones_are_refused() {
        let tags = [("a".to_owned(), "5".to_owned()), ("b".to_owned(), "xyz".to_owned())];
        for (text, expected) in [
            (r#"{"key":"a","cmp":"eq","val":"5"}"#, true),
            (r#"{"key":"c","cmp":"neq","val":"5"}"#, true),
            (r#"{"key":"a","cmp":"in","vals":["4","5"]}"#, true),
            (r#"{"key":"a","cmp":"nin","vals":["4","5"]}"#, false),
            (r#"{"key":"c","cmp":"nin","vals":["4"]}"#, true),
            (r#"{"key":"b","cmp":"ct","val":"y"}"#, true),
            (r#"{"key":"a","cmp":"gt","val":"4.5"}"#, true),
            (r#"{"key":"a","cmp":"lte","val":"+05.0"}"#, true),
            (r#"{"key":"a","cmp":"lt","val":"-6"}"#, false),
            (r#"{"key":"a","cmp":"lt","val":"5.00000000000000000001"}"#, true),
            (r#"{"key":"b","cmp":"gt","val":"4.5"}"#, false),
            (r#"{"key":"a","cmp":"lt","val":"inf"}"#, false),
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
            r#"{"key":"a","cmp":"eq"}"#,
            r#"{"key":"a","cmp":"eq","val":"5","vals":["5"]}"#,
            r#"{"key":"a","cmp":"in"}"#,
            r#"{"key":"a","cmp":"ex","val":"5"}"#,
            r#"{"cmp":"eq","val":"5"}"#,
            r#"{"op":"and"}"#,
            r#"{"op":"not","nodes":[]}"#,
            r#"{"op":"xor","nodes":[]}"#,
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn filters_have_bounds() {
        let leaf = r#"{"key":"a","cmp":"ex"}"#;
        let wide = |n: usize| format!(r#"{{"op":"or","nodes":[{}]}}"#, vec![leaf; n].join(","));
        assert!(of(&wide(NODES_MAX - 1)).is_some());
        assert_eq!(of(&wide(NODES_MAX)), None);
        let values = |n: usize| {
            format!(r#"{{"key":"a","cmp":"in","vals":[{}]}}"#, vec![r#""x""#; n].join(","))
        };
        assert!(of(&values(VALUES_MAX)).is_some());
        assert_eq!(of(&values(VALUES_MAX + 1)), None);
    }
}
