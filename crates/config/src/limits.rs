//! `client-output-buffer-limit`: how much unread output a client may hold.
//!
//! Every reply asks for these, so they live in atomics. The three numbers of a
//! class are read one by one; a reader may see a change half done, which for a
//! limit does no harm.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::size::{memory, show_memory};

/// Classes of client that limits are set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientClass {
    /// Any client that is neither of the others, MONITOR included.
    Normal,
    /// A replica.
    Replica,
    /// A client that has subscribed to something.
    Pubsub,
}

impl ClientClass {
    /// All classes, in the order CONFIG GET shows them.
    pub const ALL: [ClientClass; 3] =
        [ClientClass::Normal, ClientClass::Replica, ClientClass::Pubsub];
}

/// Limits of one class; 0 sets no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes at which the client is closed at once.
    pub hard: u64,
    /// Bytes that close the client if exceeded for `soft_seconds` on end.
    pub soft: u64,
    /// Seconds for which `soft` may be exceeded.
    pub soft_seconds: u64,
}

/// Output up to this number of bytes is under every limit: Redis keeps it in a fixed buffer that it does not
/// count.
pub const FIXED_OUTPUT: usize = 16 * 1024;

impl Limits {
    /// The bytes beyond which output closes the client at once; 0 for none.
    #[inline]
    pub fn most(&self) -> usize {
        if self.hard == 0 { 0 } else { FIXED_OUTPUT.max(self.hard as usize) }
    }
}

#[derive(Default)]
pub(crate) struct LimitSlots([[AtomicU64; 3]; 3]);

impl LimitSlots {
    #[inline]
    pub(crate) fn load(&self, class: ClientClass) -> Limits {
        let [hard, soft, seconds] = &self.0[class as usize];
        Limits {
            hard: hard.load(Relaxed),
            soft: soft.load(Relaxed),
            soft_seconds: seconds.load(Relaxed),
        }
    }

    pub(crate) fn store(&self, limits: &[Limits; 3]) {
        for (slot, limits) in self.0.iter().zip(limits) {
            slot[0].store(limits.hard, Relaxed);
            slot[1].store(limits.soft, Relaxed);
            slot[2].store(limits.soft_seconds, Relaxed);
        }
    }
}

/// Names of the classes as a file has them.
pub(crate) const NAMES: [&str; 3] = ["normal", "replica", "pubsub"];

/// The index of a class among the three.
pub(crate) fn class(name: &[u8]) -> Option<usize> {
    match name.to_ascii_lowercase().as_slice() {
        b"normal" => Some(0),
        b"slave" | b"replica" => Some(1),
        b"pubsub" => Some(2),
        _ => None,
    }
}

/// Reads groups of `class hard soft seconds`; classes not named stay as they are.
pub(crate) fn parse(args: &[&[u8]], mut limits: [Limits; 3]) -> Result<[Limits; 3], String> {
    if !args.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".to_owned());
    }
    for group in args.chunks_exact(4) {
        let class = class(group[0])
            .ok_or("Invalid client class specified in buffer limit configuration.")?;
        let seconds = std::str::from_utf8(group[3]).ok().and_then(|text| text.parse::<i32>().ok());
        let (Some(hard), Some(soft), Some(soft_seconds)) =
            (memory(group[1]), memory(group[2]), seconds.and_then(|s| u64::try_from(s).ok()))
        else {
            return Err(
                "Error in hard, soft or soft_seconds setting in buffer limit configuration."
                    .to_owned(),
            );
        };
        limits[class] = Limits { hard, soft, soft_seconds };
    }
    Ok(limits)
}

/// The form of CONFIG GET: plain bytes, and the old name of replicas.
pub(crate) fn show(limits: &[Limits; 3]) -> String {
    let one =
        |(name, l): (&str, &Limits)| format!("{name} {} {} {}", l.hard, l.soft, l.soft_seconds);
    let all: Vec<_> = ["normal", "slave", "pubsub"].into_iter().zip(limits).map(one).collect();
    all.join(" ")
}

/// The form of a file, one class a line.
pub(crate) fn line(class: usize, limits: &Limits) -> String {
    let (hard, soft) = (show_memory(limits.hard), show_memory(limits.soft));
    let name = NAMES[class];
    format!("{name} {hard} {soft} {}", limits.soft_seconds)
}
