//! `cargo xtask access`: the permissions of users on Apus and on a real redis-server, compared by
//! the `differential` crate.

use crate::process::{self, Server};
use crate::report::PartResult;
use crate::{Result, setup};
use differential::{Servers, access};
use std::path::Path;
use std::process::Command;

const NAME: &str = "access";

/// Differences that are shown.
const SHOWN: usize = 20;

pub(crate) fn run() -> Result<PartResult> {
    setup::redis()?;
    on_servers(&process::apus(false)?)
}

/// As a part of the test command.
pub(crate) fn for_tests(apus: &Path) -> PartResult {
    if let Err(why) = setup::redis() {
        return PartResult::left_out(NAME, why);
    }
    on_servers(apus).unwrap_or_else(|message| PartResult::new(NAME).conclude(Err(message)))
}

/// Each call is one test.
fn on_servers(apus: &Path) -> Result<PartResult> {
    let redis = Server::start(Command::new("redis-server"))?;
    let mut command = Command::new(apus);
    command.arg("serve");
    let apus = Server::start(command)?;
    let servers = Servers { redis: redis.address.clone(), apus: apus.address.clone() };
    let found = access::compare(&servers)?;
    let mut part = PartResult { passed: found.same, ..PartResult::new(NAME) };
    for difference in found.differences.iter().take(SHOWN) {
        println!("{difference}");
        part.fail(difference.clone());
    }
    part.failed = found.differences.len() as u64;
    println!("{} calls compared, {} differ", found.same + part.failed, part.failed);
    Ok(part.conclude(Ok(true)))
}
