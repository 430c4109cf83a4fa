//! PFSELFTEST: checks the HyperLogLog implementation.

use data::hll::{self, Encoding, REGISTERS};
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{DocFlags, Flags, Group, Row, Scope};

pub(crate) static PFSELFTEST: DataCommand = DataCommand {
    row: Row {
        name: "pfselftest",
        group: Group::HyperLogLog,
        since: "2.8.9",
        arity: 1,
        flags: Flags::ADMIN,
        scope: Scope::None,
        doc_flags: DocFlags::SYSCMD,
        complexity: "N/A: adds a million elements.",
        summary: "Checks that HyperLogLogs count right.",
        syntax: "PFSELFTEST",
        transcript: "> PFSELFTEST\nOK",
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// Elements that are added. Redis adds ten times as many, and answers no client for seconds.
const ELEMENTS: u64 = 1_000_000;

fn run(db: &mut Db<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let sparse_max = db.cx.small.hll_sparse_max_bytes;
    let seed = db.cx.rng.next_u64();
    let mut usual = hll::empty();
    let mut dense = hll::to_dense(&usual)?;
    let error = 1.04 / (REGISTERS as f64).sqrt();
    let mut checkpoint = 1;
    for i in 1..=ELEMENTS {
        let element = (i ^ seed).to_le_bytes();
        hll::add_dense(&mut dense, &element);
        hll::add(&mut usual, &element, sparse_max)?;
        if i != checkpoint {
            continue;
        }
        if i < sparse_max as u64 / 2 && hll::encoding(&usual) != Some(Encoding::Sparse) {
            return Err(Fail::text("ERR TESTFAILED sparse encoding not used"));
        }
        let count = hll::count(&dense)?;
        if hll::count(&usual)? != count || hll::registers(&usual)? != hll::registers(&dense)? {
            return Err(Fail::text("ERR TESTFAILED dense/sparse disagree"));
        }
        // Collisions among ten elements are more likely than the error of many suggests.
        let most = if i == 10 { 1 } else { (error * 6.0 * i as f64).ceil() as u64 };
        if count.abs_diff(i) > most {
            let off = count.abs_diff(i);
            let text = format!("ERR TESTFAILED Too big error. card:{i} abserr:{off}");
            return Err(Fail::new(text));
        }
        checkpoint *= 10;
    }
    reply.ok();
    Ok(())
}
