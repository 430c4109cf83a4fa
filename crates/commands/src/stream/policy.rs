//! The policy for references to deleted entries: KEEPREF, DELREF and ACKED of Redis 8.2.

use data::stream::{Id, Stream};
use resp::Args;
use store::{Class, Db, Key};

use crate::fail::Fail;
use crate::parse::int;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// References stay, and dangle.
    Keep,
    /// References are deleted, too.
    Del,
    /// Entries stay that some group has yet to receive or to acknowledge.
    Acked,
}

impl Policy {
    /// The policy that argument `i` names.
    pub(super) fn of_option(args: &Args<'_>, i: usize) -> Option<Self> {
        let names = [("keepref", Self::Keep), ("delref", Self::Del), ("acked", Self::Acked)];
        names.into_iter().find(|(name, _)| args.is(i, name)).map(|(_, policy)| policy)
    }

    /// Its name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Keep => "KEEPREF",
            Self::Del => "DELREF",
            Self::Acked => "ACKED",
        }
    }

    /// Deletes an entry. Returns what XDELEX and XACKDEL reply: 1 if it is gone, 2 if it has to stay,
    /// -1 if there is none.
    pub(super) fn delete(self, stream: &mut Stream, id: Id) -> i64 {
        if self == Self::Acked && stream.log.get(id).is_some() && stream.is_referenced(id) {
            return 2;
        }
        if self == Self::Del {
            stream.forget(id);
        }
        if stream.log.delete(id) { 1 } else { -1 }
    }
}

/// Notes that entries are gone and others were acknowledged, at the end of XDELEX and XACKDEL.
pub(super) fn deleted(db: &mut Db<'_>, key: Key<'_>, gone: u64, acknowledged: u64) {
    if gone > 0 {
        db.event(Class::Stream, "xdel", key.bytes);
    }
    db.dirty(gone + acknowledged);
}

/// Reads `[KEEPREF | DELREF | ACKED] IDS numids id [id ...]` from argument `from` on.
pub(super) fn parse(args: &Args<'_>, from: usize) -> Result<(Policy, Vec<Id>), Fail> {
    let (mut policy, mut ids) = (None, None);
    let mut i = from;
    while i < args.len() {
        if let Some(named) = Policy::of_option(args, i).filter(|_| policy.is_none()) {
            policy = Some(named);
            i += 1;
        } else if ids.is_none() && args.is(i, "ids") && i + 1 < args.len() {
            let n = usize::try_from(int(args, i + 1)?).ok().filter(|n| *n > 0);
            let n = n.ok_or(Fail::text("ERR Number of IDs must be a positive integer"))?;
            let end = (i + 2).checked_add(n).filter(|end| *end <= args.len()).ok_or(Fail::text(
                "ERR The `numids` parameter must match the number of arguments",
            ))?;
            let listed = (i + 2..end).map(|at| super::id(&args[at]));
            ids = Some(listed.collect::<Result<Vec<_>, _>>()?);
            i = end;
        } else {
            return Err(Fail::SYNTAX);
        }
    }
    Ok((policy.unwrap_or(Policy::Keep), ids.ok_or(Fail::SYNTAX)?))
}
