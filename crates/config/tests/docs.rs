//! `docs/configuration.md` is made from the rows; this keeps it so.

/// Run with `UPDATE_DOCS=1` to write the page anew.
#[test]
fn the_page_says_what_the_rows_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = config::help::reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == page, "docs/configuration.md is old: UPDATE_DOCS=1 cargo test -p config");
}
