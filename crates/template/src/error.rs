//! What goes wrong in a template: a kind, a text, and where it was.

use std::fmt;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The template cannot be read.
    Syntax,
    /// There is no template with this name.
    NotFound,
    /// A name of an undefined value was asked for.
    Undefined,
    /// A value of this kind cannot do this.
    Operation,
    /// A value has no method with this name.
    UnknownMethod,
    /// There is no filter, test or function with this name.
    Unknown,
    /// Too many, too few or wrong arguments.
    Arguments,
    /// More steps, bytes or depth than a page may have.
    Limit,
    /// The host has refused.
    Host,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::Syntax => "syntax error",
            Self::NotFound => "template not found",
            Self::Undefined => "undefined value",
            Self::Operation => "invalid operation",
            Self::UnknownMethod => "unknown method",
            Self::Unknown => "unknown name",
            Self::Arguments => "wrong arguments",
            Self::Limit => "too much",
            Self::Host => "refused",
        }
    }
}

/// Where in a template: lines and columns count from 1, columns in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The template's name.
    pub template: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of a byte of a template's text.
    pub(crate) fn of(template: &str, source: &str, offset: usize) -> Self {
        let before = source.as_bytes().get(..offset.min(source.len())).unwrap_or_default();
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        Self { template: template.to_owned(), line, column: before.len() - start + 1 }
    }
}

/// An error of a template.
#[derive(Debug, Clone)]
pub struct Error(Box<Repr>);

#[derive(Debug, Clone)]
struct Repr {
    kind: Kind,
    text: String,
    place: Option<Place>,
    cause: Option<Error>,
}

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of this kind, with a text that says more.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self(Box::new(Repr { kind, text: text.into(), place: None, cause: None }))
    }

    /// An operation that cannot be.
    pub(crate) fn operation(text: impl Into<String>) -> Self {
        Self::new(Kind::Operation, text)
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Where it was, if that is known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The error that led to this one.
    #[must_use]
    pub fn cause(&self) -> Option<&Self> {
        self.0.cause.as_ref()
    }

    /// Says where it was, unless that is known.
    pub(crate) fn at(mut self, place: impl FnOnce() -> Place) -> Self {
        if self.0.place.is_none() {
            self.0.place = Some(place());
        }
        self
    }

    /// Says what led to it.
    pub(crate) fn because(mut self, cause: Self) -> Self {
        self.0.cause = Some(cause);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = self;
        let mut depth = 0;
        loop {
            if let Some(Place { template, line, column }) = &error.0.place {
                write!(f, "{template}:{line}:{column}: ")?;
            }
            f.write_str(error.0.kind.text())?;
            if !error.0.text.is_empty() {
                write!(f, ": {}", error.0.text)?;
            }
            match &error.0.cause {
                None => return f.write_str(&")".repeat(depth)),
                Some(cause) => {
                    f.write_str(" (")?;
                    depth += 1;
                    error = cause;
                }
            }
        }
    }
}

impl std::error::Error for Error {}
