//! What an option is: a row of the table that the loader, the environment's names and the reference are made from.

/// An option, or a group of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its name within its group.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
    /// Its value if it is not there, or there and zero, as in Centrifugo; empty: zero.
    pub(super) default: &'static str,
    /// Whether it does something here.
    pub(super) status: Status,
    /// What it is for.
    pub(super) doc: &'static str,
    /// It is an addition of Apus or a feature of Centrifugo PRO.
    pub(super) origin: Origin,
}

/// What an option holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// True or false.
    Bool,
    /// An integer.
    Int,
    /// A text.
    Text,
    /// Texts.
    Texts,
    /// A time in Go's form.
    Duration,
    /// Texts by name.
    Map,
    /// Options.
    Group(&'static [Row]),
    /// A list of groups.
    List(&'static [Row]),
    /// Anything: names within are not known here.
    Any,
}

/// Whether an option does something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It does nothing, and why. A note says so if it is set.
    Listed(&'static str),
    /// The server does not start with it, and why.
    Refused(&'static str),
    /// As its group; without one that says otherwise it does what it does in Centrifugo.
    AsGroup,
    /// It does what it does in Centrifugo, although its group does nothing.
    Counts,
}

/// Whose option it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Centrifugo's.
    Centrifugo,
    /// Centrifugo PRO's.
    Pro,
    /// An addition.
    Apus,
}

/// A row of a kind.
pub(super) const fn row(name: &'static str, kind: Kind, doc: &'static str) -> Row {
    Row { name, kind, default: "", status: Status::AsGroup, doc, origin: Origin::Centrifugo }
}

pub(super) const fn bool(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Bool, doc)
}

pub(super) const fn int(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Int, doc)
}

pub(super) const fn text(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Text, doc)
}

pub(super) const fn texts(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Texts, doc)
}

pub(super) const fn duration(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Duration, doc)
}

pub(super) const fn map(name: &'static str, doc: &'static str) -> Row {
    row(name, Kind::Map, doc)
}

pub(super) const fn group(name: &'static str, rows: &'static [Row]) -> Row {
    row(name, Kind::Group(rows), "")
}

pub(super) const fn list(name: &'static str, rows: &'static [Row], doc: &'static str) -> Row {
    row(name, Kind::List(rows), doc)
}

pub(super) const fn any(name: &'static str) -> Row {
    row(name, Kind::Any, "")
}

impl Row {
    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = text;
        self
    }

    pub(super) const fn listed(mut self, why: &'static str) -> Self {
        self.status = Status::Listed(why);
        self
    }

    pub(super) const fn refused(mut self, why: &'static str) -> Self {
        self.status = Status::Refused(why);
        self
    }

    pub(super) const fn counts(mut self) -> Self {
        self.status = Status::Counts;
        self
    }

    pub(super) const fn pro(mut self) -> Self {
        self.origin = Origin::Pro;
        self
    }

    pub(super) const fn apus(mut self) -> Self {
        self.origin = Origin::Apus;
        self
    }
}
