//! The trimming options that XADD and XTRIM share.

use data::stream::{Id, Stream, Trim};
use resp::Args;
use store::Db;

use super::policy::Policy;
use crate::fail::Fail;
use crate::parse::int;

const TWICE: Fail =
    Fail::text("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");

const NO_TILDE: Fail =
    Fail::text("ERR syntax error, LIMIT cannot be used without the special ~ option");

/// How to trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trimming {
    pub(super) trim: Trim,
    /// `~`: whole nodes only.
    pub(super) approximate: bool,
    /// Entries at most; 0: any number.
    limit: u64,
    /// The policy for references.
    policy: Policy,
}

/// The ID that XADD was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewId {
    /// `*`
    Auto,
    /// `ms-*`
    AutoSeq(u64),
    /// The whole ID.
    Given(Id),
}

/// The options of XADD and XTRIM.
pub(super) struct Options {
    pub(super) trimming: Option<Trimming>,
    pub(super) no_mkstream: bool,
    /// The argument that is the ID, and its value; past the end if there is none.
    pub(super) id_at: usize,
    pub(super) id: NewId,
}

/// Reads the options from argument 2 on; for XADD, up to the ID.
pub(super) fn parse(db: &Db<'_>, args: &Args<'_>, xadd: bool) -> Result<Options, Fail> {
    let mut found = None;
    let (mut limit, mut policy) = (None, None);
    let mut options =
        Options { trimming: None, no_mkstream: false, id_at: args.len(), id: NewId::Auto };
    let mut i = 2;
    while i < args.len() {
        let more = args.len() - 1 - i;
        if xadd && &args[i] == b"*" {
            options.id_at = i;
            break;
        }
        let (maxlen, minid) = (args.is(i, "maxlen"), args.is(i, "minid"));
        if (maxlen || minid) && more > 0 {
            if found.is_some() {
                return Err(TWICE);
            }
            i += 1;
            let approximate = more >= 2 && &args[i] == b"~";
            if approximate || more >= 2 && &args[i] == b"=" {
                i += 1;
            }
            let trim = if maxlen {
                let max = u64::try_from(int(args, i)?)
                    .map_err(|_| Fail::text("ERR The MAXLEN argument must be >= 0."))?;
                Trim::MaxLen(max)
            } else {
                Trim::MinId(super::id(&args[i])?)
            };
            found = Some((trim, approximate));
        } else if args.is(i, "limit") && more > 0 {
            i += 1;
            let n = u64::try_from(int(args, i)?)
                .map_err(|_| Fail::text("ERR The LIMIT argument must be >= 0."))?;
            limit = Some(n);
        } else if let Some(named) = Policy::of_option(args, i).filter(|_| policy.is_none()) {
            policy = Some(named);
        } else if xadd && args.is(i, "nomkstream") {
            options.no_mkstream = true;
        } else if xadd {
            options.id_at = i;
            options.id = new_id(&args[i])?;
            break;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    options.trimming = match (found, limit) {
        (None, Some(1..)) => {
            return Err(Fail::text(
                "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            ));
        }
        (None, _) if !xadd => {
            return Err(Fail::text(
                "ERR syntax error, XTRIM must be called with a trimming strategy",
            ));
        }
        (None, None) => None,
        (None, Some(_)) => return Err(NO_TILDE),
        (Some((_, false)), Some(_)) => return Err(NO_TILDE),
        (Some((trim, approximate)), limit) => {
            let limit = limit.unwrap_or(if approximate { default_limit(db) } else { 0 });
            let policy = policy.unwrap_or(Policy::Keep);
            Some(Trimming { trim, approximate, limit, policy })
        }
    };
    Ok(options)
}

/// A hundred nodes of entries, within bounds.
fn default_limit(db: &Db<'_>) -> u64 {
    match (db.cx.small.stream_node_max_entries as u64).saturating_mul(100) {
        0 => 10_000,
        n => n.min(1_000_000),
    }
}

fn new_id(text: &[u8]) -> Result<NewId, Fail> {
    match text.strip_suffix(b"-*") {
        Some(ms) if !ms.contains(&b'-') => match super::parse_id(ms, 0) {
            Some(id) if text.len() <= 127 => Ok(NewId::AutoSeq(id.ms)),
            _ => Err(super::INVALID_ID),
        },
        _ => super::id(text).map(NewId::Given),
    }
}

impl Trimming {
    /// Trims. Returns how many entries went.
    pub(super) fn apply(&self, stream: &mut Stream) -> u64 {
        match self.policy {
            Policy::Keep => stream.log.trim(self.trim, self.approximate, self.limit),
            Policy::Del => {
                let (log, mut ids) = (&mut stream.log, Vec::new());
                let gone = log.trim_noting(self.trim, self.approximate, self.limit, Some(&mut ids));
                ids.into_iter().for_each(|id| stream.forget(id));
                gone
            }
            Policy::Acked => self.apply_acknowledged(stream),
        }
    }

    /// Deletes, from the front, entries that no group needs, whatever nodes they are in.
    fn apply_acknowledged(&self, stream: &mut Stream) -> u64 {
        let excess = match self.trim {
            Trim::MaxLen(max) => stream.log.len().saturating_sub(max),
            Trim::MinId(_) => u64::MAX,
        };
        let most = if self.limit == 0 { excess } else { excess.min(self.limit) };
        // Entries that some group has yet to receive stay.
        let given = stream.groups().map(|group| group.last).min().unwrap_or(Id::MAX);
        let doomed: Vec<Id> = stream
            .log
            .range(Id::MIN, given)
            .map(|entry| entry.id)
            .take_while(|id| !matches!(self.trim, Trim::MinId(min) if *id >= min))
            .filter(|id| !stream.is_referenced(*id))
            .take(usize::try_from(most).unwrap_or(usize::MAX))
            .collect();
        doomed.into_iter().filter(|id| stream.log.delete(*id)).count() as u64
    }

    /// The arguments that have the effect of [`apply`](Self::apply) on a stream of the same entries,
    /// wherever the nodes begin; `gone` is the number that it returned.
    pub(super) fn exact(&self, stream: &Stream, gone: u64) -> Vec<Vec<u8>> {
        let log = &stream.log;
        let nodes = self.approximate && self.policy != Policy::Acked;
        let (word, threshold) = match self.trim {
            Trim::MaxLen(max) => ("MAXLEN", if nodes { log.len() } else { max }.to_string()),
            Trim::MinId(min) => {
                let first = if log.is_empty() { Id::MAX } else { log.first() };
                ("MINID", if nodes { first } else { min }.to_string())
            }
        };
        let mut words = vec![word.to_owned()];
        if self.policy == Policy::Acked && self.approximate && gone > 0 {
            words.extend(["~".into(), threshold, "LIMIT".into(), gone.to_string()]);
        } else {
            words.extend(["=".into(), threshold]);
        }
        if self.policy != Policy::Keep {
            words.push(self.policy.word().into());
        }
        words.into_iter().map(String::into_bytes).collect()
    }
}
