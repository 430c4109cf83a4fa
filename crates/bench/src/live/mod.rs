//! `apus bench live`: subscribers of live channels on any server that speaks Centrifugo's JSON protocol over WebSocket,
//! Apus or Centrifugo; what is delivered, how long it takes, whether something is missing or comes twice, and what
//! connections, deliveries and recoveries cost the server.
//!
//! ```text
//! options ─► run: gather ─► load ─► storm, on one thread: crowd (subscribers), publisher
//!             └─► report (medians, ratios), json
//! ```

mod crowd;
mod frame;
mod message;
mod options;
mod publisher;
mod report;
mod run;
mod wire;

use std::process::ExitCode;

use options::Options;
use run::Run;

/// Runs `apus bench live` with the arguments that follow these words. The exit code is 0, 1 when a server could not be
/// driven, or lost or repeated messages, 2 for a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(Some(o)) => o,
        Ok(None) => return crate::print(options::HELP),
        Err(e) => {
            eprintln!("apus bench live: {e}");
            return ExitCode::from(2);
        }
    };
    match bench(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("apus bench live: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything was delivered once.
fn bench(o: &Options) -> Result<bool, String> {
    // Some for the program itself.
    crate::kv::sys::raise_file_limit((o.subscribers + o.publishers) as u64 + 64);
    let mut runs: Vec<Vec<Run>> = o.places.iter().map(|_| Vec::new()).collect();
    for rep in 0..o.reps {
        for n in 0..o.places.len() {
            // Each server begins in turn, so that noise affects every server equally.
            let at = (n + rep) % o.places.len();
            runs[at].push(run::run(o, &o.places[at])?);
        }
    }
    let figures: Vec<report::Figures> = runs.iter().map(|r| report::Figures::of(o, r)).collect();
    crate::print(&report::text(o, &figures));
    if let Some(path) = &o.json {
        std::fs::write(path, report::json(o, &figures)).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(figures.iter().all(report::Figures::is_whole))
}
