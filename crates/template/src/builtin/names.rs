//! The names of filters, tests and functions.

/// Names of builtins, by what they are.
macro_rules! builtins {
    ($(#[$doc:meta])* $kind:ident { $($name:ident: $($text:literal)|+,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $kind { $($name,)* }

        impl $kind {
            /// The one with this name.
            pub(crate) fn of(name: &str) -> Option<Self> {
                Some(match name {
                    $($($text)|+ => Self::$name,)*
                    _ => return None,
                })
            }
        }
    };
}

builtins! {
    /// Filters.
    Filter {
        Safe: "safe",
        Escape: "escape" | "e",
        Lower: "lower",
        Upper: "upper",
        Title: "title",
        Capitalize: "capitalize",
        Replace: "replace",
        Length: "length" | "count",
        Dictsort: "dictsort",
        Items: "items",
        Reverse: "reverse",
        Trim: "trim",
        Join: "join",
        Split: "split",
        Lines: "lines",
        Default: "default" | "d",
        Round: "round",
        Abs: "abs",
        Int: "int",
        Float: "float",
        Attr: "attr",
        First: "first",
        Last: "last",
        Min: "min",
        Max: "max",
        Sort: "sort",
        List: "list",
        String: "string",
        Bool: "bool",
        Batch: "batch",
        Slice: "slice",
        Sum: "sum",
        Indent: "indent",
        Select: "select",
        Reject: "reject",
        Selectattr: "selectattr",
        Rejectattr: "rejectattr",
        Map: "map",
        Groupby: "groupby",
        Unique: "unique",
        Chain: "chain",
        Zip: "zip",
        Pprint: "pprint",
        Format: "format",
        Tojson: "tojson",
        Urlencode: "urlencode",
        FromJson: "from_json",
    }
}

builtins! {
    /// Tests.
    Test {
        Undefined: "undefined",
        Defined: "defined",
        None: "none",
        Safe: "safe" | "escaped",
        Boolean: "boolean",
        Odd: "odd",
        Even: "even",
        Divisibleby: "divisibleby",
        Number: "number",
        Integer: "integer" | "int",
        Float: "float",
        String: "string",
        Sequence: "sequence",
        Iterable: "iterable",
        Mapping: "mapping",
        Startingwith: "startingwith",
        Endingwith: "endingwith",
        Lower: "lower",
        Upper: "upper",
        Sameas: "sameas",
        Eq: "eq" | "equalto" | "==",
        Ne: "ne" | "!=",
        Lt: "lt" | "lessthan" | "<",
        Le: "le" | "<=",
        Gt: "gt" | "greaterthan" | ">",
        Ge: "ge" | ">=",
        In: "in",
        True: "true",
        False: "false",
        OfFilters: "filter",
        OfTests: "test",
    }
}

builtins! {
    /// Functions.
    Function {
        Range: "range",
        Dict: "dict",
        Namespace: "namespace",
        Debug: "debug",
    }
}
