//! Trees as operations: a flat list for a machine with a stack, one for the template and one for each block.

mod expr;
mod part;
mod stmt;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ast::{Compare, Math};
use crate::builtin::{Filter, Function, Test};
use crate::error::{Error, Place, Result};
use crate::part::PartKind;

/// A name, by its number in an engine.
pub(crate) type Name = u32;

/// A name, where a reference to it is small.
pub struct Word {
    pub(crate) text: Box<str>,
    /// Without a variable of this name it is a function's.
    pub(crate) is_function: bool,
}

/// The names of an engine.
pub(crate) struct Names {
    /// Those of the host's functions.
    functions: HashSet<Box<str>>,
    numbers: HashMap<Box<str>, Name>,
    texts: Vec<Word>,
    /// How many parts of templates there are.
    parts: u32,
}

impl Names {
    /// Those of the host's functions alone.
    pub(crate) fn new(functions: &[&str]) -> Self {
        let functions = functions.iter().map(|name| Box::from(*name)).collect();
        Self { functions, numbers: HashMap::new(), texts: Vec::new(), parts: 0 }
    }

    /// The number of a name.
    pub(crate) fn number(&mut self, name: &str) -> Name {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.texts.len() as Name;
        self.numbers.insert(name.into(), number);
        let is_function = Function::of(name).is_some() || self.functions.contains(name);
        self.texts.push(Word { text: name.into(), is_function });
        number
    }

    /// The number of a name that was seen before.
    pub(crate) fn find(&self, name: &str) -> Option<Name> {
        self.numbers.get(name).copied()
    }

    /// The name.
    pub(crate) fn text(&self, name: Name) -> &str {
        &self.texts[name as usize].text
    }

    /// The name, where a reference to it is small.
    pub(crate) fn word(&self, name: Name) -> &Word {
        &self.texts[name as usize]
    }
}

/// How many arguments of a call are on the stack: first those without names, then those with names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Args {
    /// [`Args::COLLECTED`]: they were collected aside.
    pub(crate) pos: u16,
    /// A list of names, from 1; 0: none have names.
    pub(crate) named: u16,
}

impl Args {
    /// See [`Op::ArgsNew`].
    pub(crate) const COLLECTED: u16 = u16::MAX;
}

/// An operation. What it takes is on top of the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Writes a text of the template.
    Raw(u32),
    /// Writes a value, escaped.
    Emit,
    /// Writes the attribute of a variable, escaped.
    EmitAttr(Name, Name),
    Str(u32),
    Int(i64),
    Big(u32),
    Float(f64),
    Bool(bool),
    None,
    Undefined,
    Load(Name),
    Store(Name),
    Attr(Name),
    SetAttr(Name),
    Item,
    Slice,
    List(u32),
    Tuple(u32),
    Map(u32),
    /// A list of so many values as the number on top says.
    Counted,
    /// Puts the number on top below the value that it counts, and adds one: see [`Op::Counted`].
    Count,
    /// So many values of a list, of which the first is on top.
    Unpack(u32),
    Math(Math),
    Concat,
    Not,
    Neg,
    Compare(Compare),
    /// Leaves the second value below the answer.
    CompareKeep(Compare),
    Jump(u32),
    JumpIfFalse(u32),
    /// Jumps with the value, or drops it.
    JumpIfFalseKeep(u32),
    JumpIfTrueKeep(u32),
    /// Begins a loop over the items of a value, with the variable `loop` or without.
    PushLoop {
        with_loop: bool,
        recursive: bool,
    },
    /// The next item, or jumps at the end.
    Iterate(u32),
    WasEmpty,
    PopLoop,
    PushFrame,
    PopFrame,
    Capture,
    Discard,
    EndCapture,
    PushEscape,
    PopEscape,
    Filter(Filter, Args),
    Test(Test, Args),
    /// A filter or a test that there is not.
    Unknown(u32),
    Call(Name, Args),
    Method(Name, Args),
    CallValue(Args),
    /// `super()`, as a value or written.
    Super(bool),
    /// `loop(items)`, written.
    Recurse,
    CallBlock(Name),
    Extends,
    Include(bool),
    /// The names that were assigned, as a module.
    Export,
    Macro(u32),
    Enclose(Name),
    Return,
    IsUndefined,
    Dup,
    Pop,
    Swap,
    /// Begins to collect arguments; the value on top is the first one, if so.
    ArgsNew(bool),
    ArgPos,
    ArgMany,
    ArgNamed(Name),
    ArgManyNamed,
    /// A part of the page begins, which the host may have kept: see [`PartSpec`].
    Part(u32),
    PartEnd(u32),
}

/// A template's name and text.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A macro that operations define.
pub(crate) struct MacroSpec {
    pub(crate) name: Name,
    pub(crate) args: Box<[Name]>,
    pub(crate) start: u32,
    /// It uses `caller`.
    pub(crate) caller: bool,
}

/// What a loop or a turn of one writes, if it depends on nothing but some variables and what it calls.
pub(crate) struct PartSpec {
    pub(crate) kind: PartKind,
    /// Its number in the engine.
    pub(crate) number: u32,
    /// Variables that it may read.
    pub(crate) names: Box<[Name]>,
    /// It is a turn, and reads where in the loop it is.
    pub(crate) uses_loop: bool,
    /// The operation behind it.
    pub(crate) end: u32,
}

/// Operations, and what they need.
pub(crate) struct Code {
    pub(crate) source: Arc<Source>,
    pub(crate) ops: Vec<Op>,
    /// Where in the text each operation comes from.
    places: Vec<u32>,
    pub(crate) texts: Vec<Box<str>>,
    pub(crate) bigs: Vec<i128>,
    pub(crate) named: Vec<Box<[Box<str>]>>,
    pub(crate) macros: Vec<MacroSpec>,
    pub(crate) parts: Vec<PartSpec>,
    /// A block that must be given by a template that extends.
    pub(crate) required: bool,
}

impl Code {
    fn new(source: &Arc<Source>) -> Self {
        Self {
            source: Arc::clone(source),
            ops: Vec::new(),
            places: Vec::new(),
            texts: Vec::new(),
            bigs: Vec::new(),
            named: Vec::new(),
            macros: Vec::new(),
            parts: Vec::new(),
            required: false,
        }
    }

    /// The place of an operation.
    pub(crate) fn place(&self, pc: usize) -> Place {
        let at = self.places.get(pc).copied().unwrap_or_default();
        Place::of(&self.source.name, &self.source.text, at as usize)
    }
}

/// A template.
pub(crate) struct Template {
    pub(crate) main: Code,
    pub(crate) blocks: Vec<(Name, Code)>,
}

/// Compiles a template.
///
/// # Errors
/// It has an error.
pub(crate) fn compile(name: &str, text: &str, names: &mut Names) -> Result<Template> {
    let body = crate::parser::parse(name, text)?;
    let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
    let mut compiler = Compiler {
        names,
        code: Code::new(&source),
        at: 0,
        blocks: Vec::new(),
        scopes: Vec::new(),
        error: None,
    };
    compiler.body(&body);
    match compiler.error {
        Some(e) => Err(e),
        None => Ok(Template { main: compiler.code, blocks: compiler.blocks }),
    }
}

/// What a `continue` or `break` must leave.
enum Scope {
    Loop { iterate: u32, breaks: Vec<u32> },
    Frame,
    Capture,
    Escape,
}

struct Compiler<'n> {
    names: &'n mut Names,
    code: Code,
    /// Where in the text the next operation comes from.
    at: usize,
    blocks: Vec<(Name, Code)>,
    scopes: Vec<Scope>,
    /// The first thing that was too much.
    error: Option<Error>,
}

impl Compiler<'_> {
    fn add(&mut self, op: Op) -> u32 {
        self.code.ops.push(op);
        self.code.places.push(self.at as u32);
        self.code.ops.len() as u32 - 1
    }

    fn op(&mut self, op: Op) {
        self.add(op);
    }

    fn here(&self) -> u32 {
        self.code.ops.len() as u32
    }

    /// Lets a jump go to the next operation.
    fn land(&mut self, jump: u32) {
        let here = self.here();
        match &mut self.code.ops[jump as usize] {
            Op::Jump(to)
            | Op::JumpIfFalse(to)
            | Op::JumpIfFalseKeep(to)
            | Op::JumpIfTrueKeep(to)
            | Op::Iterate(to) => *to = here,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        self.code.texts.push(text.into());
        self.code.texts.len() as u32 - 1
    }
}
