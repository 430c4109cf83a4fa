//! Deadlines in runs: where they are is told in `small`.

use crate::packed::{Item, Packed, START};

/// The entry's tag when its run has deadlines.
pub(crate) const EX: u8 = 1;

/// The deadline of a field, of which 0 is none.
pub(super) fn deadline(item: Item<'_>) -> Option<i64> {
    match item {
        Item::Int(d) if d > 0 => Some(d),
        _ => None,
    }
}

/// The earliest deadline of a run that has them.
pub(crate) fn earliest(run: &[u8]) -> Option<i64> {
    let run = Packed::new(run);
    let (_, at) = run.at(START)?;
    let (_, at) = run.at(at)?;
    deadline(run.at(at)?.0)
}
