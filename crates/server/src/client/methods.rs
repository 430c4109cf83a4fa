//! The methods of one group of commands.

use super::table::constant;
use super::{HEADER, camel};
use commands::row::Row;
use commands::syntax::{Arg, ArgType, arguments, display};

/// Commands that are no request with one reply; a client has other ways for them.
const WITHOUT: &[&str] = &[
    "monitor",
    "psubscribe",
    "psync",
    "punsubscribe",
    "replconf",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "sync",
    "unsubscribe",
];

/// Words of Rust's, and names that requests have themselves.
const TAKEN: &[&str] = &[
    "as",
    "async",
    "await",
    "break",
    "const",
    "continue",
    "crate",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "fn",
    "for",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "type",
    "unsafe",
    "use",
    "where",
    "while",
    "abstract",
    "do",
    "final",
    "macro",
    "override",
    "priv",
    "try",
    "typeof",
    "unsized",
    "virtual",
    "yield",
    "arg",
    "to",
    "key",
    "into_command",
    "gen",
];

fn identifier(name: &str) -> String {
    let name: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let name = name.trim_matches('_').to_owned();
    let is_number = name.starts_with(|c: char| c.is_ascii_digit());
    match name.as_str() {
        "" => "value".into(),
        _ if is_number => format!("n{name}"),
        _ => name,
    }
}

/// A name of a method, which may be no keyword nor a method that requests have.
fn method(name: &str) -> String {
    let name = identifier(name);
    if TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}

pub(super) fn source(group: &str, rows: &[&Row]) -> String {
    let mut text = format!(
        "{HEADER}\nuse super::table;\nuse crate::arg::Arg;\nuse crate::request::{{Request, Target}};\n\n\
         /// The commands of the group {group}.\npub trait {}Commands: Target {{\n",
        camel(group)
    );
    let mut markers = String::new();
    let mut options = String::new();
    let mut first = true;
    for row in rows.iter().filter(|row| !WITHOUT.contains(&row.name)) {
        let args = arguments(row.name, row.syntax, row.keys.len())
            .unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let command = Methods::of(row, &args);
        if !std::mem::take(&mut first) {
            text += "\n";
        }
        text += &command.method;
        if !command.options.is_empty() {
            let marker = camel(row.name);
            let name = shown(row);
            markers +=
                &format!("    /// Of {name}.\n    #[derive(Debug)]\n    pub enum {marker} {{}}\n");
            options += &format!(
                "\n/// Options of {name}.\nimpl Request<'_, options::{marker}> {{\n{}}}\n",
                command.options.join("\n")
            );
        }
    }
    text += &format!("}}\n\nimpl<T: Target + ?Sized> {}Commands for T {{}}\n", camel(group));
    text += &options;
    text += "\npub(super) mod options {\n    //! The commands of this group that have options.\n\n";
    if markers.is_empty() {
        // An import of nothing is no mistake.
        text += "    #[doc(hidden)]\n    #[derive(Debug)]\n";
        text += &format!("    pub enum NoOptionsOf{} {{}}\n", camel(group));
    }
    text + &markers + "}\n"
}

fn shown(row: &Row) -> String {
    row.name.to_ascii_uppercase().replace('|', " ")
}

/// What becomes of one command.
struct Methods {
    method: String,
    options: Vec<String>,
}

/// A method's parameters, and the statements that write them.
#[derive(Default)]
struct Signature {
    params: Vec<String>,
    body: Vec<String>,
}

impl Methods {
    fn of(row: &Row, args: &[Arg]) -> Self {
        let (mut signature, mut options) = (Signature::default(), Vec::new());
        let mut names = Vec::new();
        let mut at = 0;
        let mut into = ".with";
        while let Some(arg) = args.get(at) {
            at += 1;
            let counted =
                args.get(at).filter(|next| is_count(arg) && next.multiple && next.token.is_none());
            if let Some(next) = counted {
                signature.counted(next, into);
                at += 1;
            } else if arg.optional {
                option(arg, &mut names, &mut options);
                // What follows stands behind the options.
                into = ".with_last";
            } else {
                signature.required(arg, into);
            }
        }
        let marker = if options.is_empty() {
            "Request<'_>".to_owned()
        } else {
            format!("Request<'_, options::{}>", camel(row.name))
        };
        let mut text =
            format!("    /// {}\n    ///\n    /// `{}`\n", summary(row), display(row.syntax));
        if !row.deprecated_since.is_empty() {
            text +=
                &format!("    ///\n    /// Redis has had better since {}.\n", row.deprecated_since);
        }
        let params: String = signature.params.iter().map(|p| format!(", {p}")).collect();
        text += &format!("    fn {}(&self{params}) -> {marker} {{\n", method(row.name));
        text += &format!("        Request::of(self.target(), &table::{})", constant(row.name));
        text += &signature.body.concat();
        text += "\n    }\n";
        Self { method: text, options }
    }
}

/// One line; brackets are no links.
fn summary(row: &Row) -> String {
    row.summary.replace('[', "\\[").replace('<', "\\<").replace('*', "\\*")
}

fn is_count(arg: &Arg) -> bool {
    matches!(arg.name.as_str(), "numkeys" | "numfields" | "numids" | "count-of-keys")
}

fn plural(arg: &Arg) -> String {
    let name = identifier(&arg.name);
    match arg.multiple {
        true if name.ends_with('s') || name.ends_with("data") => name,
        true if name.ends_with("entry") => format!("{}ies", name.trim_end_matches('y')),
        true => format!("{name}s"),
        false => name,
    }
}

impl Signature {
    fn param(&mut self, name: &str, kind: &str) -> String {
        let mut name = name.to_owned();
        if TAKEN.contains(&name.as_str()) && name != "key" && name != "arg" && name != "to" {
            name.push('_');
        }
        let base = name.clone();
        let mut n = 2;
        while self.params.iter().any(|param| param.split(':').next() == Some(name.as_str())) {
            name = format!("{base}{n}");
            n += 1;
        }
        self.params.push(format!("{name}: {kind}"));
        name
    }

    /// A list with its length in front of it.
    fn counted(&mut self, list: &Arg, into: &str) {
        let name = self.param(&plural(list), "impl Arg");
        self.body.push(format!("{into}_counted({name})"));
    }

    fn required(&mut self, arg: &Arg, into: &str) {
        if let (Some(token), false) = (&arg.token, arg.multiple_token) {
            self.body.push(format!("{into}({token:?})"));
        }
        match arg.kind {
            ArgType::PureToken => {}
            ArgType::Block if !arg.multiple => self.members(&arg.arguments, into),
            ArgType::Block | ArgType::OneOf => {
                let name = self.param(&plural(arg), "impl Arg");
                self.body.push(format!("{into}({name})"));
            }
            _ => {
                let name = self.param(&plural(arg), "impl Arg");
                self.body.push(format!("{into}({name})"));
            }
        }
    }

    /// The members of a block; those that may be left out are `Option`, `bool` or `()`.
    fn members(&mut self, members: &[Arg], into: &str) {
        let mut at = 0;
        while let Some(arg) = members.get(at) {
            at += 1;
            if let Some(next) = members.get(at).filter(|next| is_count(arg) && next.multiple) {
                self.counted(next, into);
                at += 1;
                continue;
            }
            match (&arg.token, arg.optional) {
                (Some(token), true) if arg.kind == ArgType::PureToken => {
                    let name = self.param(&identifier(token), "bool");
                    self.body.push(format!("{into}({name}.then_some({token:?}))"));
                }
                (Some(token), true) => {
                    let name = self.param(&identifier(token), "Option<impl Arg>");
                    self.body.push(format!("{into}({name}.map(|value| ({token:?}, value)))"));
                }
                (None, true) => {
                    let name = self.param(&plural(arg), "impl Arg");
                    self.body.push(format!("{into}({name})"));
                }
                (_, false) => self.required(arg, into),
            }
        }
    }
}

/// The methods of what may be left out.
fn option(arg: &Arg, names: &mut Vec<String>, out: &mut Vec<String>) {
    if arg.kind == ArgType::OneOf && arg.token.is_none() {
        // Alternatives without a word are one value in several forms.
        let has_words = arg.arguments.iter().all(|arg| first_word(arg).is_some());
        if has_words {
            arg.arguments.iter().for_each(|arg| option(arg, names, out));
            return;
        }
    }
    let mut signature = Signature::default();
    match (&arg.token, arg.kind) {
        (Some(token), ArgType::PureToken) => signature.body.push(format!(".with({token:?})")),
        _ => signature.required(arg, ".with"),
    }
    let word = first_word(arg).map_or_else(|| plural(arg), |word| (*word).to_owned());
    let mut name = method(&word);
    // More arguments of any kind are what `arg` is for.
    if name == "arg_" || identifier(&word) == "args" {
        name = "args".into();
    }
    while names.contains(&name) {
        name.push('_');
    }
    names.push(name.clone());
    let doc = match first_word(arg) {
        Some(word) => format!("`{word}`"),
        None => format!("The argument `{}`", arg.name),
    };
    let params: String = signature.params.iter().map(|p| format!(", {p}")).collect();
    let body = signature.body.concat();
    let text = format!(
        "    /// {doc}.\n    pub fn {name}(self{params}) -> Self {{\n        self{body}\n    }}\n"
    );
    out.push(text);
}

/// The word with which an option begins.
fn first_word(arg: &Arg) -> Option<&String> {
    match (&arg.token, arg.kind) {
        (Some(token), _) if token != "\"\"" => Some(token),
        (None, ArgType::Block) => {
            arg.arguments.first().filter(|arg| !arg.optional).and_then(first_word)
        }
        _ => None,
    }
}
