//! Load generators for servers, Apus or others. They know the wire and nothing of the server's
//! insides, so that what they measure is what any client would see.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

pub mod http;
pub mod kv;
pub mod live;
pub mod log;
pub mod pubsub;
pub mod words;

/// Prints; a reader that has seen enough (`| head`) is not an error.
fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            eprintln!("apus bench: standard output: {e}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// A missing value, where it is not known yet whether there is such an option.
fn or_no_option(missing: String) -> String {
    format!("{missing}, or there is no such option; --help lists the options")
}

/// The number that an option has as its value.
fn number(name: &str, value: &str, least: u64, most: u64) -> Result<u64, String> {
    let n = value.parse().ok().filter(|n| (least..=most).contains(n));
    n.ok_or_else(|| format!("{name} must be a whole number from {least} to {most}, not '{value}'"))
}
