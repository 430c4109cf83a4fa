//! Commands of HyperLogLogs, which are strings of a certain form.

mod pfadd;
mod pfcount;
mod pfdebug;
mod pfmerge;
mod pfselftest;

use data::hll::{self, Corrupt, Encoding};
use stdx::num::I64_LEN_MAX;
use store::{Db, Entry, Key};

use crate::command::DataCommand;
use crate::fail::Fail;
use crate::string;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &pfadd::PFADD,
    &pfcount::PFCOUNT,
    &pfdebug::PFDEBUG,
    &pfmerge::PFMERGE,
    &pfselftest::PFSELFTEST,
];

impl From<Corrupt> for Fail {
    #[cold]
    fn from(_: Corrupt) -> Self {
        Self::text("INVALIDOBJ Corrupted HLL object detected")
    }
}

/// What `f` says about the HyperLogLog in an entry.
fn with<R>(e: &Entry, f: impl FnOnce(&[u8], Encoding) -> R) -> Result<R, Fail> {
    if e.kind() != store::Kind::String {
        return Err(Fail::WRONG_TYPE);
    }
    let mut buf = [0; I64_LEN_MAX];
    let value = string::bytes(e, &mut buf);
    let encoding = hll::encoding(value)
        .ok_or(Fail::text("WRONGTYPE Key is not a valid HyperLogLog string value."))?;
    Ok(f(value, encoding))
}

/// The bytes of an entry's string, to change in place.
fn bytes_mut(e: &mut Entry) -> Option<&mut [u8]> {
    if e.shared_mut().is_some() {
        return e.shared_mut().map(Vec::as_mut_slice);
    }
    e.inline_mut()
}

/// Stores a value whose length may have changed; the deadline stays.
fn put(db: &mut Db<'_>, key: Key<'_>, value: Vec<u8>) {
    db.edit(key, |place| *place = value);
}
