//! Finds a command in the table by its name.

use crate::commands::table::TABLE;
use crate::spec::{FirstKey, Flags, RequestPolicy, ResponsePolicy, Spec};

/// What is known of a command that the table does not have: nothing.
static UNKNOWN: Spec = Spec {
    name: "",
    encoded: b"",
    words: 0,
    flags: Flags(0),
    first_key: FirstKey::None,
    request: RequestPolicy::Default,
    response: ResponsePolicy::Default,
};

/// The row of a command, of the subcommand if the name has one.
pub(crate) fn find(name: &str) -> &'static Spec {
    let mut words = name.split_ascii_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let order = |spec: &&Spec| {
        let (name, sub) = spec.name.split_once(' ').unwrap_or((spec.name, ""));
        compare(name, first).then_with(|| compare(sub, second.unwrap_or_default()))
    };
    let find = |order: &dyn Fn(&&Spec) -> std::cmp::Ordering| {
        TABLE.binary_search_by(order).ok().map(|i| TABLE[i])
    };
    find(&order).or_else(|| find(&|spec: &&Spec| compare(spec.name, first))).unwrap_or(&UNKNOWN)
}

/// Compares a name of the table with one in any case.
fn compare(name: &str, other: &str) -> std::cmp::Ordering {
    name.bytes().cmp(other.bytes().map(|byte| byte.to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::{compare, find};
    use crate::commands::table::TABLE;

    #[test]
    fn the_table_is_sorted_as_it_is_searched() {
        for spec in TABLE {
            assert_eq!(find(spec.name).name, spec.name);
            assert_eq!(find(&spec.name.to_ascii_lowercase()).name, spec.name);
        }
        assert_eq!(find("nothing").name, "");
        assert_eq!(find("SET anything").name, "SET");
        assert!(compare("GET", "get").is_eq());
    }
}
