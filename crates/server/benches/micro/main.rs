//! Microbenchmarks: the parser, the table, and each family of commands through the engine, without
//! a network. `cargo xtask bench` runs them for figures; `cargo test` runs them tiny, so that they
//! do not rot. A new family is one line in `families.rs`, a new part one line in `parts.rs`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod count;
mod families;
mod measure;
mod parts;

use measure::Settings;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: count::Counted = count::Counted(apus::ALLOCATOR);

const HELP: &str = "\
cargo xtask bench [OPTIONS] [NAME...]   rows whose name contains one of NAME; all without
  --keys N       keys (100000)          --depth N      commands per batch (100)
  --size N       bytes of a value (10)  --seconds S    measured per row (0.3)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|a| a == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    // Cargo says --bench under `cargo bench` alone.
    let tiny = !args.iter().any(|a| a == "--bench");
    let settings = match Settings::parse(&args, tiny) {
        Ok(settings) => settings,
        Err(e) => {
            eprintln!("{e}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    println!(
        "{:8} {:28} {:>9} {:>9} {:>7} {:>8}",
        "", "per operation", "ns best", "ns median", "allocs", "bytes"
    );
    let mut left_out = Vec::new();
    let mut measured = 0;
    let parts = parts::ALL.iter().map(|(group, name, run)| (*group, *name, run(&settings, name)));
    let families = families::ALL.iter().map(|row| (row.0, row.1, families::run(&settings, row)));
    for (group, name, cost) in parts.chain(families) {
        match cost {
            measure::Outcome::NotAsked => {}
            measure::Outcome::LeftOut(why) => left_out.push(format!("{name}: {why}")),
            measure::Outcome::Cost(c) => {
                measured += 1;
                println!(
                    "{group:8} {name:28} {:9.1} {:9.1} {:7.2} {:8.1}",
                    c.best_ns, c.median_ns, c.allocations, c.bytes
                );
            }
        }
    }
    for row in &left_out {
        println!("left out {row}");
    }
    if measured == 0 {
        eprintln!("no row has such a name");
        return ExitCode::FAILURE;
    }
    if tiny {
        println!("{measured} rows ran tiny; `cargo xtask bench` measures");
    }
    ExitCode::SUCCESS
}
