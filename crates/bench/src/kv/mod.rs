//! `apus bench kv`: drives any RESP server and reports what it did, and at what cost.
//!
//! ```text
//! options ─► run ─► drive (a thread each): reel, pace ─► sockets ─► frames or responses ─► histogram
//!             └─► summary (medians, ratios) ─► report, json, plot
//! ```

pub(crate) mod client;
mod dist;
mod drive;
pub(crate) mod frames;
pub(crate) mod histogram;
pub(crate) mod json;
pub(crate) mod options;
mod pace;
pub(crate) mod plot;
pub(crate) mod reel;
pub(crate) mod report;
pub(crate) mod responses;
mod run;
mod summary;
pub(crate) mod sys;
pub(crate) mod tests;
pub(crate) mod tls;

use options::Options;
use reel::Template;
use run::{Job, Measured};
use std::process::ExitCode;
use summary::{Row, Summary};

/// Runs `apus bench kv` with the arguments that follow these words. The exit code is 0, 1 when a
/// server could not be driven or answered with errors, 2 for a wrong command line.
pub fn main(args: &[String]) -> ExitCode {
    match Options::parse(args) {
        Err(e) => {
            eprintln!("apus bench kv: {e}");
            ExitCode::from(2)
        }
        Ok(o) if o.help => report::print(options::HELP),
        Ok(o) => match bench(&o) {
            Ok(code) => code,
            Err(e) => {
                eprintln!("apus bench kv: {e}");
                ExitCode::FAILURE
            }
        },
    }
}

/// Runs every test at every depth on every target in turn, and again for every repetition, so
/// that what disturbs the machine for a while disturbs all targets alike.
pub(crate) fn bench(o: &Options) -> Result<ExitCode, String> {
    // Some for the program itself.
    sys::raise_file_limit(o.connections as u64 + 64);
    let mut pids = Vec::new();
    for target in &o.targets {
        let named = o.pids.iter().find(|(name, _)| *name == target.name).map(|(_, pid)| *pid);
        if !o.http {
            target.check()?;
        }
        let asked = || if o.http { None } else { target.local_pid() };
        pids.push(named.or(o.server_pid).or_else(asked));
    }
    if let Some(test) = &o.fill {
        for target in &o.targets {
            run::fill(o, target, test)?;
        }
    }
    let runs_all = o.tests.len() * o.depths.len() * o.reps * o.targets.len();
    let mut runs_begun = 0;
    let mut rows = Vec::new();
    for test in &o.tests {
        let names: Vec<String> = test.templates.iter().map(Template::title).collect();
        for depth in &o.depths {
            let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); o.targets.len()];
            for rep in 0..o.reps {
                for turn in 0..o.targets.len() {
                    // There and back, so that none is always the first.
                    let i = if rep % 2 == 0 { turn } else { o.targets.len() - 1 - turn };
                    let target = &o.targets[i];
                    runs_begun += 1;
                    let on = if target.name.is_empty() { "" } else { " on " };
                    let label = format!(
                        "[{runs_begun}/{runs_all}] {} P={depth}{on}{}",
                        test.title, target.name
                    );
                    let seed = o.seed.wrapping_add(rep as u64);
                    let pid = pids[i];
                    let job = Job { target, test, depth: *depth, pid, seed, label: &label };
                    runs[i].push(run::run(o, &job)?);
                }
            }
            for (target, runs) in o.targets.iter().zip(runs) {
                let row = Row {
                    test: test.title.clone(),
                    depth: *depth,
                    target: target.name.clone(),
                    address: target.address.to_string(),
                    summary: Summary::of(&runs, &names, o.rate),
                };
                report::row(o, &row, rows.is_empty());
                rows.push(row);
            }
        }
    }
    report::end(o, &rows)?;
    match rows.iter().any(|r| r.summary.errors.count > 0) {
        true => Ok(ExitCode::FAILURE),
        false => Ok(ExitCode::SUCCESS),
    }
}
