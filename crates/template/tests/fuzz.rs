//! Random templates: the same bytes as minijinja, or both refuse. `TEMPLATE_FUZZ` is the number of templates,
//! `TEMPLATE_SEED` where to begin.

mod common;

use common::difference;

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.next(all.len())]
    }
}

const ATOMS: &[&str] = &[
    "1",
    "0",
    "-3",
    "2.5",
    "1e20",
    "7",
    "true",
    "none",
    "''",
    "'a'",
    "'<b>'",
    "\"it's\"",
    "'grün'",
    "name",
    "html",
    "n",
    "zero",
    "neg",
    "f",
    "t",
    "no",
    "empty",
    "list",
    "words",
    "nested",
    "map",
    "users",
    "text",
    "mixed",
    "undef",
    "x",
    "y",
    "range(4)",
    "[]",
    "{}",
    "()",
    "users[0]",
    "map.b",
    "[1, 'a', none]",
    "{'k': 1, 'a': [2]}",
    "(1, 2)",
    "('<i>'|safe)",
    "9223372036854775807",
    "ns.a",
];
const BINARY: &[&str] = &[
    "+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and",
    "or", "**",
];
const FILTERS: &[&str] = &[
    "upper",
    "lower",
    "title",
    "capitalize",
    "length",
    "e",
    "safe",
    "trim",
    "list",
    "string",
    "int",
    "float",
    "abs",
    "round",
    "round(1)",
    "first",
    "last",
    "min",
    "max",
    "sort",
    "sort(reverse=true)",
    "reverse",
    "unique",
    "sum",
    "join",
    "join(', ')",
    "join('<')",
    "default('d')",
    "d(1, true)",
    "tojson",
    "tojson(2)",
    "pprint",
    "items",
    "dictsort",
    "batch(2)",
    "batch(3, 'x')",
    "slice(2)",
    "slice(3, 0)",
    "select",
    "reject",
    "select('odd')",
    "reject('string')",
    "map('upper')",
    "map(attribute='name')",
    "map('length')",
    "groupby('age')",
    "urlencode",
    "indent(2)",
    "indent(1, true, true)",
    "replace('a', 'b')",
    "replace('<', '>', 1)",
    "split",
    "split(',')",
    "lines",
    "bool",
    "attr('a')",
    "chain([1])",
    "zip([1, 2, 3])",
    "format(1)",
    "format('a', 2)",
    "selectattr('age')",
    "rejectattr('active')",
    "sort(attribute='name')",
    "max(attribute='age')",
    "sum(attribute='age')",
    "int(3)",
    "float(1.5)",
    "count",
    "unique(case_sensitive=true)",
];
const TESTS: &[&str] = &[
    "defined",
    "undefined",
    "none",
    "odd",
    "even",
    "number",
    "integer",
    "float",
    "string",
    "sequence",
    "iterable",
    "mapping",
    "lower",
    "upper",
    "boolean",
    "true",
    "false",
    "safe",
    "divisibleby(3)",
    "eq 1",
    "ne('a')",
    "in [1, 2]",
    "startingwith 'a'",
    "sameas 1",
    "gt 2",
    "not none",
    "not defined",
];

fn expr(r: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return r.of(ATOMS).to_owned();
    }
    let inner = |r: &mut Random| expr(r, depth - 1);
    match r.next(14) {
        0 | 1 => r.of(ATOMS).to_owned(),
        2..=4 => format!("{} {} {}", inner(r), r.of(BINARY), inner(r)),
        5..=7 => format!("{}|{}", inner(r), r.of(FILTERS)),
        8 => format!("({}) is {}", inner(r), r.of(TESTS)),
        9 => format!("({} if {} else {})", inner(r), inner(r), inner(r)),
        10 => {
            format!("({})[{}]", inner(r), r.of(&["0", "-1", "'a'", "1:", ":2", "::-1", "::2", "9"]))
        }
        11 => format!("({})|{}", inner(r), r.of(FILTERS)),
        12 => format!("{}({})", r.of(&["not ", "-", ""]), inner(r)),
        _ => format!("[{}, {}]", inner(r), inner(r)),
    }
}

fn body(r: &mut Random, depth: usize) -> String {
    let n = 1 + r.next(3);
    (0..n).map(|_| stmt(r, depth)).collect()
}

fn stmt(r: &mut Random, depth: usize) -> String {
    let e = |r: &mut Random| {
        let depth = r.next(3);
        expr(r, depth)
    };
    if depth == 0 {
        return format!("{{{{ {} }}}}", e(r));
    }
    let body = |r: &mut Random| body(r, depth - 1);
    let (open, close) = (r.of(&["{%", "{%-", "{%", "{%+"]), r.of(&["%}", "-%}", "%}"]));
    match r.next(16) {
        0 => r
            .of(&[" text ", "\n", "  \n ", "<b>", "{ % }", "{# c #}", " {#- c -#} ", "é"])
            .to_owned(),
        1..=4 => format!("{{{{ {} }}}}", e(r)),
        5 => format!("{open} if {} {close}{}{{% else %}}{}{{% endif %}}", e(r), body(r), body(r)),
        6 => format!("{open} for x in {} {close}{}{{% endfor %}}", e(r), body(r)),
        7 => format!(
            "{open} for x in {} if {} {close}{{{{ loop.index }}}}{}{{% else %}}none{open} endfor {close}",
            e(r),
            e(r),
            body(r)
        ),
        8 => format!("{open} set x = {} {close}", e(r)),
        9 => format!("{open} set y {close}{}{{% endset %}}", body(r)),
        10 => format!("{open} with x = {}, y = {} {close}{}{{% endwith %}}", e(r), e(r), body(r)),
        11 => format!("{open} filter {} {close}{}{{% endfilter %}}", r.of(FILTERS), body(r)),
        12 => format!(
            "{open} macro m(x, y={}) {close}{}{{% endmacro %}}{{{{ m({}) }}}}",
            e(r),
            body(r),
            e(r)
        ),
        13 => format!(
            "{{% set ns = namespace(a={}) %}}{{% set ns.a = {} %}}{{{{ ns.a }}}}",
            e(r),
            e(r)
        ),
        14 => format!(
            "{open} autoescape {} {close}{}{{% endautoescape %}}",
            r.of(&["true", "false", "'json'"]),
            body(r)
        ),
        _ => format!("{{% for a, b in {} %}}{}{{% endfor %}}", e(r), body(r)),
    }
}

/// Where the two differ on purpose; see docs/pages.md.
fn is_meant(template: &str, difference: &str) -> bool {
    // A namespace in a namespace; sums with more than 127 bits; functions as values.
    difference.contains("a namespace cannot hold")
        // What cannot be chained is found by minijinja when it is looked at.
        || (template.contains("chain(") && difference.contains("is not iterable"))
        || difference.contains("no result that can be shown")
        || (template.contains("namespace") && difference.contains("namespace("))
}

#[test]
fn random_templates() {
    let number = |name: &str, default: u64| -> u64 {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, seed) = (number("TEMPLATE_FUZZ", 3000), number("TEMPLATE_SEED", 1));
    std::panic::set_hook(Box::new(|_| {}));
    let mut differences = Vec::new();
    let mut pages = 0u64;
    for i in 0..count {
        let mut r = Random((seed + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            r.next(2);
        }
        let template = body(&mut r, 2);
        let name = r.of(&["t.txt", "t.html", "t.json"]);
        pages += u64::from(common::ours(&[(name, &template)]).is_ok());
        if let Some(found) = difference(&[(name, &template)])
            && !is_meant(&template, &found)
        {
            differences.push(format!("seed {}: {found}", seed + i));
        }
    }
    let _ = std::panic::take_hook();
    let shown: String = differences.iter().take(10).cloned().collect();
    assert!(differences.is_empty(), "{} of {count} differ:\n{shown}", differences.len());
    // Most templates must be more than an error, or nothing is shown.
    assert!(pages > count / 5, "{pages} of {count} are pages");
}
