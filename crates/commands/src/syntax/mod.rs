//! The argument tree of COMMAND DOCS, derived from a command's syntax line.
//!
//! The line is what people read (`GETEX key [EX seconds | PERSIST]`), so it is
//! written once and the tree that client tools want follows from it:
//!
//! ```text
//! [x]                  optional                 KEEPTTL     a token: no lower-case letter
//! [a | b]  <a | b>     one of (optional; not)   "any text"  a token, literally
//! x [x ...]            x is multiple            EX seconds  an argument with a token
//! k v [k v ...]        a block that is multiple LIMIT a b   a block with a token
//! T x [T x ...]        multiple with its token  name:type   the type, if not as usual
//!                                               name#2      belongs to key specification 2
//! ```
//!
//! A type follows from the argument's name through [`usual_type`]. Key
//! arguments take the key specifications in order; the last one serves the
//! rest. Lines are constants: `laws::check_rows` finds a malformed one.

mod names;
mod parse;

pub use names::usual_type;
use parse::Node;

/// One argument, or a group of them, as COMMAND DOCS describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Lower case; a group's name is made from its members.
    pub name: String,
    /// The kind of value that it accepts, or of group that it is.
    pub kind: ArgType,
    /// The word that precedes it, or that it is.
    pub token: Option<String>,
    /// May be left out.
    pub optional: bool,
    /// May be repeated.
    pub multiple: bool,
    /// When the argument is repeated, so is its token.
    pub multiple_token: bool,
    /// The key specification that finds this argument.
    pub key_spec: Option<usize>,
    /// The members of a block or the alternatives of a oneof.
    pub arguments: Vec<Arg>,
}

/// What an argument accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Redis's and say it")]
pub enum ArgType {
    String,
    Integer,
    Double,
    Key,
    Pattern,
    UnixTime,
    PureToken,
    OneOf,
    Block,
}

impl ArgType {
    /// The spelling in COMMAND DOCS.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Key => "key",
            Self::Pattern => "pattern",
            Self::UnixTime => "unix-time",
            Self::PureToken => "pure-token",
            Self::OneOf => "oneof",
            Self::Block => "block",
        }
    }

    /// The type of a single argument, from its name.
    fn of_name(name: &str) -> Option<Self> {
        [Self::String, Self::Integer, Self::Double, Self::Key, Self::Pattern, Self::UnixTime]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Whether it groups other arguments.
    #[must_use]
    pub const fn is_group(self) -> bool {
        matches!(self, Self::OneOf | Self::Block)
    }
}

/// Derives the arguments of the command `name` (`config|get`) from its syntax
/// line; `key_specs` is how many key specifications its row has.
///
/// # Errors
/// The mistake in the line, for the author of the row.
pub fn arguments(name: &str, line: &str, key_specs: usize) -> Result<Vec<Arg>, String> {
    let mut args = lower(&parse::parse(without_name(name, line)?)?)?;
    let mut keys = 0;
    assign_key_specs(&mut args, key_specs, &mut keys)?;
    Ok(args)
}

/// The line as the documentation shows it: without `:type` and `#spec`.
#[must_use]
pub fn display(line: &str) -> String {
    let word = |word: &str| {
        let core = word.trim_matches(['[', ']', '<', '>']);
        if core.is_empty() || core.starts_with('"') {
            return word.to_owned();
        }
        word.replacen(core, names::split(core).0, 1)
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The fewest arguments a call can have after the command's name, and whether
/// every call has exactly that many.
#[must_use]
pub fn required(args: &[Arg]) -> (usize, bool) {
    args.iter().fold((0, true), |(sum, fixed), arg| {
        let (count, same) = arg.required();
        if arg.optional { (sum, false) } else { (sum + count, fixed && same && !arg.multiple) }
    })
}

impl Arg {
    fn required(&self) -> (usize, bool) {
        let token = usize::from(self.token.is_some());
        match self.kind {
            ArgType::PureToken => (1, true),
            ArgType::Block => {
                let (count, fixed) = required(&self.arguments);
                (token + count, fixed)
            }
            ArgType::OneOf => {
                let each = || self.arguments.iter().map(|arg| required(std::slice::from_ref(arg)));
                let least = each().map(|(count, _)| count).min().unwrap_or(0);
                (token + least, each().all(|(count, fixed)| fixed && count == least))
            }
            _ => (token + 1, true),
        }
    }

    fn leaf(name: &str, kind: ArgType) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            token: None,
            optional: false,
            multiple: false,
            multiple_token: false,
            key_spec: None,
            arguments: Vec::new(),
        }
    }

    /// One argument that stands for `args`: itself if it is one, else a block.
    fn block(mut args: Vec<Self>) -> Self {
        if args.len() == 1
            && let Some(only) = args.pop()
        {
            return only;
        }
        let name = names::of_block(&args);
        Self { arguments: args, ..Self::leaf(&name, ArgType::Block) }
    }

    /// A token before `args`: attached to a single one, else to their block.
    fn with_token(token: &str, args: Vec<Self>) -> Self {
        if args.is_empty() {
            let name = names::of_token(token);
            return Self { token: Some(token.into()), ..Self::leaf(&name, ArgType::PureToken) };
        }
        let one = args.len() == 1;
        let mut arg = Self::block(args);
        if !one || arg.kind == ArgType::OneOf {
            arg.name = names::of_token(token);
        }
        // A choice of tokens keeps its own; its block carries the outer one.
        if arg.token.is_some() {
            arg = Self {
                arguments: vec![arg],
                ..Self::leaf(&names::of_token(token), ArgType::Block)
            };
        }
        arg.token = Some(token.to_owned());
        arg
    }
}

/// Turns a sequence of nodes into arguments.
fn lower(nodes: &[Node]) -> Result<Vec<Arg>, String> {
    // Each argument with the node at which it began, for `x y [x y ...]`.
    let mut args: Vec<(usize, Arg)> = Vec::new();
    let mut at = 0;
    while let Some(node) = nodes.get(at) {
        let begin = at;
        at += 1;
        let arg = match node {
            Node::Token(token) => {
                at = token_reach(nodes, begin);
                Arg::with_token(token, lower(&nodes[begin + 1..at])?)
            }
            Node::Word(word) => {
                let (name, kind, spec) = names::split(word);
                let kind = kind.unwrap_or_else(|| usual_type(name));
                Arg { key_spec: spec, ..Arg::leaf(name, kind) }
            }
            Node::Optional(alternatives) => Arg { optional: true, ..lower_group(alternatives)? },
            Node::Choice(alternatives) => lower_group(alternatives)?,
            Node::Repeat(alternatives) => {
                let [again] = alternatives.as_slice() else {
                    return Err("a repetition of alternatives repeats nothing before it".into());
                };
                let from =
                    begin.checked_sub(again.len()).filter(|&from| nodes[from..begin] == **again);
                let first = from.and_then(|from| args.iter().position(|(start, _)| *start == from));
                let Some(first) = first else {
                    return Err(format!(
                        "a repetition does not repeat what precedes it: {again:?}"
                    ));
                };
                let start = args[first].0;
                let repeated: Vec<Arg> =
                    args.split_off(first).into_iter().map(|(_, arg)| arg).collect();
                let token = repeated.len() == 1 && matches!(nodes[start], Node::Token(_));
                let arg = Arg::block(repeated);
                args.push((start, Arg { multiple: true, multiple_token: token, ..arg }));
                continue;
            }
        };
        args.push((begin, arg));
    }
    Ok(args.into_iter().map(|(_, arg)| arg).collect())
}

/// Where the arguments of the token at `begin` end: at the next token, option
/// or end, or at a repetition of the token itself.
fn token_reach(nodes: &[Node], begin: usize) -> usize {
    let belongs = |node: &Node| match node {
        Node::Word(_) | Node::Choice(_) => true,
        Node::Repeat(alternatives) => {
            !alternatives.first().is_some_and(|again| again.first() == nodes.get(begin))
        }
        Node::Token(_) | Node::Optional(_) => false,
    };
    let count = nodes[begin + 1..].iter().take_while(|node| belongs(node)).count();
    begin + 1 + count
}

/// A group in brackets: a sequence, or one of several.
fn lower_group(alternatives: &[Vec<Node>]) -> Result<Arg, String> {
    if let [only] = alternatives {
        return Ok(Arg::block(lower(only)?));
    }
    // `a | b [a | b ...]`: the whole choice may be repeated.
    let mut alternatives = alternatives.to_vec();
    let mut multiple = false;
    if let Some(last) = alternatives.last_mut()
        && let Some(Node::Repeat(again)) = last.last()
        && again.len() > 1
    {
        let again = again.clone();
        last.pop();
        if again != alternatives {
            return Err("a repetition differs from the alternatives around it".into());
        }
        multiple = true;
    }
    let arguments = alternatives
        .iter()
        .map(|seq| Ok(Arg::block(lower(seq)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let name = names::of_choice(&arguments);
    Ok(Arg { multiple, arguments, ..Arg::leaf(&name, ArgType::OneOf) })
}

/// Gives every key argument its key specification, in order.
fn assign_key_specs(args: &mut [Arg], specs: usize, next: &mut usize) -> Result<(), String> {
    for arg in args {
        if let Some(spec) = arg.key_spec {
            if spec >= specs {
                return Err(format!("{}: there is no key specification {spec}", arg.name));
            }
        } else if arg.kind == ArgType::Key && specs > 0 {
            arg.key_spec = Some((*next).min(specs - 1));
            *next += 1;
        }
        assign_key_specs(&mut arg.arguments, specs, next)?;
    }
    Ok(())
}

/// The line after the command's name.
fn without_name<'a>(name: &str, line: &'a str) -> Result<&'a str, String> {
    let words = name.to_ascii_uppercase().replace('|', " ");
    match line.strip_prefix(words.as_str()) {
        Some(rest) if rest.is_empty() || rest.starts_with(' ') => Ok(rest),
        _ => Err(format!("the syntax line does not begin with {words}")),
    }
}

#[cfg(test)]
mod tests;
