//! The examples do what they say, on each kind of server.

mod common;
#[path = "../examples/tour.rs"]
#[allow(dead_code, reason = "its own main is another program's")]
mod tour;

#[test]
fn the_tour() {
    common::on_each(&[], |server| async move {
        for protocol in ["", "?protocol=2"] {
            let url = format!("{}{protocol}", server.url());
            let seen = tour::tour(&url).await.expect("all of it");
            assert_eq!(seen, "100 hits, 1 on the board, 2 and 7 in stock, 1 fields, hello");
        }
    });
}
