//! Which escaping a template has.

/// How values are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// Not at all.
    None,
    /// For texts and attributes of HTML and XML.
    Html,
    /// As JSON.
    Json,
}
