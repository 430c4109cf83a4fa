//! The reference of options: Markdown, from the rows that the loader uses.

/// The page's part.
#[must_use]
pub fn reference() -> String {
    String::new()
}
