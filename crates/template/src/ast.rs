//! What a template says, as a tree. Chains of operators, of `.name`, calls and filters, and of `elif` are
//! lists, so that the tree is only as deep as the text is nested.

use std::borrow::Cow;

/// A byte of the text.
pub(crate) type At = usize;

/// An expression, and where it begins.
pub(crate) struct Expr<'s> {
    pub(crate) at: At,
    pub(crate) kind: ExprKind<'s>,
}

pub(crate) enum ExprKind<'s> {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Cow<'s, str>),
    Var(&'s str),
    /// The first operand, and operators with the next ones: from left to right.
    Chain(Box<Expr<'s>>, Vec<(Binary, Expr<'s>)>),
    Compare(Box<Expr<'s>>, Vec<(Compare, Expr<'s>)>),
    /// So many `not`.
    Not(usize, Box<Expr<'s>>),
    /// So many `-`.
    Neg(usize, Box<Expr<'s>>),
    If(Box<If<'s>>),
    Path(Box<Expr<'s>>, Vec<Step<'s>>),
    List(Vec<Expr<'s>>),
    Tuple(Vec<Expr<'s>>),
    Map(Vec<(Expr<'s>, Expr<'s>)>),
}

pub(crate) struct If<'s> {
    pub(crate) test: Expr<'s>,
    pub(crate) yes: Expr<'s>,
    pub(crate) no: Option<Expr<'s>>,
}

/// An operator of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    And,
    Or,
    Math(Math),
    Concat,
}

/// The operators that take numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Math {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
}

impl Math {
    /// How it is written.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Rem => "%",
            Self::Pow => "**",
        }
    }
}

/// An operator of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

/// What follows an operand.
pub(crate) struct Step<'s> {
    pub(crate) at: At,
    pub(crate) kind: StepKind<'s>,
}

pub(crate) enum StepKind<'s> {
    Attr(&'s str),
    Item(Expr<'s>),
    Slice(Box<[Option<Expr<'s>>; 3]>),
    Call(Vec<Arg<'s>>),
    Filter(&'s str, Vec<Arg<'s>>),
    /// A test, and whether its contrary is meant.
    Test(&'s str, Vec<Arg<'s>>, bool),
}

/// An argument of a call.
pub(crate) enum Arg<'s> {
    Pos(Expr<'s>),
    Named(&'s str, Expr<'s>),
    Many(Expr<'s>),
    ManyNamed(Expr<'s>),
}

impl<'s> Arg<'s> {
    pub(crate) fn expr(&self) -> &Expr<'s> {
        let (Self::Pos(expr) | Self::Named(_, expr) | Self::Many(expr) | Self::ManyNamed(expr)) =
            self;
        expr
    }
}

/// What is assigned to.
pub(crate) enum Target<'s> {
    Name(At, &'s str),
    /// A path of names, of which the last one is set.
    Attr(At, &'s str, Vec<&'s str>),
    Many(At, Vec<Target<'s>>),
}

pub(crate) type Body<'s> = Vec<Stmt<'s>>;

/// A statement, and where it begins.
pub(crate) struct Stmt<'s> {
    pub(crate) at: At,
    pub(crate) kind: StmtKind<'s>,
}

pub(crate) enum StmtKind<'s> {
    Raw(&'s str),
    Emit(Expr<'s>),
    For(Box<For<'s>>),
    /// Conditions with bodies, and what is else.
    If(Vec<(Expr<'s>, Body<'s>)>, Body<'s>),
    With(Vec<(Target<'s>, Expr<'s>)>, Body<'s>),
    Set(Target<'s>, Expr<'s>),
    /// A target, filters, and the body.
    SetBlock(Target<'s>, Vec<Step<'s>>, Body<'s>),
    AutoEscape(Expr<'s>, Body<'s>),
    Filter(Vec<Step<'s>>, Body<'s>),
    Block {
        name: &'s str,
        required: bool,
        body: Body<'s>,
    },
    Extends(Expr<'s>),
    Include(Expr<'s>, bool),
    Import(Expr<'s>, &'s str),
    From(Expr<'s>, Vec<(&'s str, &'s str)>),
    Macro(Macro<'s>),
    /// What is called, and the body as a macro.
    Call(Expr<'s>, Macro<'s>),
    Do(Expr<'s>),
    Continue,
    Break,
}

pub(crate) struct For<'s> {
    pub(crate) target: Target<'s>,
    pub(crate) iter: Expr<'s>,
    pub(crate) filter: Option<Expr<'s>>,
    pub(crate) recursive: bool,
    pub(crate) body: Body<'s>,
    pub(crate) otherwise: Body<'s>,
}

pub(crate) struct Macro<'s> {
    pub(crate) name: &'s str,
    pub(crate) args: Vec<&'s str>,
    /// Of the last arguments.
    pub(crate) defaults: Vec<Expr<'s>>,
    pub(crate) body: Body<'s>,
}
