//! `apus bench kv`: drives any RESP server and reports what it did, and at what cost.

mod client;
mod dist;
mod drive;
mod frames;
mod histogram;
mod options;
mod pace;
mod reel;
mod report;
mod run;
mod sys;
mod tests;

use options::Options;
use report::Row;
use std::process::ExitCode;

/// Runs `apus bench kv` with the arguments that follow these words.
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
fn bench(o: &Options) -> Result<ExitCode, String> {
    let mut pids = Vec::new();
    for target in &o.targets {
        target.connect(&o.login)?;
        pids.push(o.server_pid.or_else(|| target.local_pid(&o.login)));
        if o.fill {
            run::fill(o, target)?;
        }
    }
    let mut rows = Vec::new();
    for test in &o.tests {
        for depth in &o.depths {
            let mut runs: Vec<Vec<run::Measured>> = vec![Vec::new(); o.targets.len()];
            for rep in 0..o.reps {
                for (i, target) in o.targets.iter().enumerate() {
                    let seed = o.seed.wrapping_add(rep as u64);
                    runs[i].push(run::run(o, target, test, *depth, pids[i], seed)?);
                }
            }
            for (target, mut runs) in o.targets.iter().zip(runs) {
                runs.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
                let median = runs.swap_remove(runs.len() / 2);
                let row = Row {
                    test: test.title.clone(),
                    depth: *depth,
                    target: target.name.clone(),
                    median,
                };
                report::row(o, &row, rows.is_empty())?;
                rows.push(row);
            }
        }
    }
    report::end(o, &rows)?;
    match rows.iter().any(|r| r.median.errors.count > 0) {
        true => Ok(ExitCode::FAILURE),
        false => Ok(ExitCode::SUCCESS),
    }
}
