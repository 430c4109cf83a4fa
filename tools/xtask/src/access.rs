//! `cargo xtask access`: the permissions of users on Apus and on a real redis-server, compared by
//! the `differential` crate.

use crate::process::{self, Server};
use crate::report::Part;
use crate::{Result, setup};
use differential::{Servers, access};
use std::path::Path;
use std::process::Command;

const NAME: &str = "access";

/// Differences that are shown.
const SHOWN: usize = 20;

pub(crate) fn run() -> Result<Part> {
    setup::redis()?;
    on_servers(&process::apus(false)?)
}

/// As a part of the test command.
pub(crate) fn for_tests(apus: &Path) -> Part {
    if let Err(why) = setup::redis() {
        return Part::left_out(NAME, why);
    }
    on_servers(apus).unwrap_or_else(|message| Part::new(NAME).conclude(Err(message)))
}

/// Each call is one test.
fn on_servers(apus: &Path) -> Result<Part> {
    let redis = Server::start(Command::new("redis-server"))?;
    let mut command = Command::new(apus);
    command.arg("serve");
    let apus = Server::start(command)?;
    let servers = Servers { redis: redis.address.clone(), apus: apus.address.clone() };
    let found = access::compare(&servers)?;
    let mut part = Part { passed: found.same, ..Part::new(NAME) };
    for difference in found.differences.iter().take(SHOWN) {
        println!("{difference}");
        part.fail(difference.clone());
    }
    part.failed = found.differences.len() as u64;
    println!("{} calls compared, {} differ", found.same + part.failed, part.failed);
    Ok(part.conclude(Ok(true)))
}
