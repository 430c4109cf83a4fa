//! The surroundings of a command besides the keys: time, policy, random, statistics, effects.
//!
//! One per thread, reused for every command. Time is an argument here, not a system call: it is
//! read once per batch, so that all commands of a batch (and of a script or transaction) agree on
//! what has expired.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use data::entry::{Entry, Kind};
use stdx::rng::Rng;

use crate::effects::Effects;
use crate::lazy::Garbage;
use crate::lock_set::{Hold, SoloToken};

/// LFU counter of a new key.
pub const LFU_INIT: u32 = 5;

/// Most keys in [`Context::overdue`].
pub const OVERDUE_MAX: usize = 1024;

/// How access to keys is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// LFU counters instead of LRU times.
    pub lfu: bool,
    /// `lfu-log-factor`.
    pub log_factor: u32,
    /// `lfu-decay-time` in minutes.
    pub decay_minutes: u32,
}

impl Default for Access {
    fn default() -> Self {
        Self { lfu: false, log_factor: 10, decay_minutes: 1 }
    }
}

/// The limits below which collections are small: the options of the same names. Encodings follow from them
/// as in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the option of the same name")]
pub struct Small {
    pub hash_max_listpack_entries: usize,
    pub hash_max_listpack_value: usize,
    /// Positive: elements; -1 to -5: 4 to 64 KiB.
    pub list_max_listpack_size: i64,
    pub set_max_intset_entries: usize,
    pub set_max_listpack_entries: usize,
    pub set_max_listpack_value: usize,
    pub zset_max_listpack_entries: usize,
    pub zset_max_listpack_value: usize,
    pub stream_node_max_bytes: usize,
    pub stream_node_max_entries: usize,
    pub hll_sparse_max_bytes: usize,
}

impl Default for Small {
    fn default() -> Self {
        Self {
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            list_max_listpack_size: -2,
            set_max_intset_entries: 512,
            set_max_listpack_entries: 128,
            set_max_listpack_value: 64,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            stream_node_max_bytes: 4096,
            stream_node_max_entries: 100,
            hll_sparse_max_bytes: 3000,
        }
    }
}

/// Plain counters of the thread; the owner of the context publishes them.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each is the INFO field of the same name; dirty is changes since the last save"
)]
pub struct Counters {
    pub keyspace_hits: u64,
    pub keyspace_misses: u64,
    pub expired_keys: u64,
    pub expired_subkeys: u64,
    pub evicted_keys: u64,
    pub expired_time_cap_reached: u64,
    pub dirty: u64,
}

/// The condition that a blocking command waits for; see [`Db::block`](crate::Db::block).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The keys, in the selected database: a change of any of them makes the command run again. None: it
    /// waits for something else (time, or the freeing of [`Context::apart`]).
    pub keys: Vec<Vec<u8>>,
    /// The type that it waits for.
    pub kind: Kind,
    /// Unix milliseconds at which it stops waiting; none: never.
    pub deadline: Option<i64>,
    /// Unix milliseconds at which it is run again although nothing has changed (XREADGROUP CLAIM, when
    /// entries have been pending for long enough); none: never.
    pub again: Option<i64>,
    /// Its reply at the deadline.
    pub empty: Empty,
    /// Whether an error of a later run is sent as the reply (XREADGROUP, when its group is gone); otherwise
    /// the command goes on waiting (BLPOP, when the key holds another type for a while).
    pub errors: bool,
    /// The arguments to run again with, if they are not its own (XREAD, to which `$` means the end
    /// as it was when it began to wait).
    pub args: Option<Vec<Vec<u8>>>,
    /// The number under which the code that answers it knows this wait ([`Block::answer_id`]); 0: none.
    pub answer_id: u64,
}

impl Block {
    /// A number for one wait. The code that will answer has it before the connection waits, and never
    /// answers another wait of that connection.
    pub fn next_answer_id() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Relaxed) + 1
    }

    /// A command that runs again as it is, when one of the keys changes.
    pub fn new(keys: Vec<Vec<u8>>, kind: Kind, deadline: Option<i64>, empty: Empty) -> Self {
        Self { keys, kind, deadline, again: None, empty, errors: false, args: None, answer_id: 0 }
    }
}

/// The reply of a blocking command that got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// `*-1`, or null in RESP3.
    NullArray,
    /// `$-1`, or null in RESP3.
    Null,
    /// An integer (WAIT).
    Int(i64),
    /// Two integers (WAITAOF).
    Ints(i64, i64),
    /// `+OK` (FLUSHALL).
    Ok,
}

/// How much of a value a command may look at where it runs. One that would look at more says so before it
/// replies or changes anything ([`Db::hand_over`](crate::Db::hand_over)), and is run elsewhere.
///
/// A byte is what a byte of a set's members costs to visit: two million of them take some ten milliseconds
/// at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(usize);

impl Budget {
    /// The command runs here, however long it takes.
    pub const UNLIMITED: Self = Self(usize::MAX);
    /// Fewer parts than this are not worth a look at how large they are.
    const FEW: usize = 512;
    /// Bytes of a part at least, however small it is: compressed or an integer.
    const PART: usize = 32;

    /// A budget of this many bytes.
    pub const fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    /// Whether it is too much to look at `n` of the `len` parts of a value, when a byte of this value costs
    /// one `cheaper`th of a byte. Constant time, and next to nothing when `n` is small.
    #[inline]
    pub fn is_exceeded(self, e: &Entry, n: usize, len: usize, cheaper: usize) -> bool {
        n >= Self::FEW && n > self.parts(e, len, cheaper)
    }

    /// How many of the `len` parts of a value a command may look at within the budget.
    #[cold]
    pub fn parts(self, e: &Entry, len: usize, cheaper: usize) -> usize {
        // All have the same size: nothing better is known at once.
        let bytes = e.bytes().max(len.saturating_mul(Self::PART));
        let n = self.0 as u128 * cheaper as u128 * len as u128 / bytes.max(1) as u128;
        usize::try_from(n).unwrap_or(usize::MAX)
    }

    /// Whether so many bytes are too much.
    #[inline]
    pub fn is_exceeded_by(self, bytes: usize) -> bool {
        bytes > self.0
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct Context {
    /// The right to a keyspace for one thread, if this context belongs to such a thread.
    pub solo: SoloToken,
    /// Shards that stay locked over several commands.
    pub(crate) hold: Hold,
    /// Number of the connection whose command runs; 0 for work that no connection asked for.
    pub client: u64,
    /// Keys (database, key) that have waiters and have changed: the caller that ran the command serves the
    /// waiters when it has unlocked its shards.
    pub ready: Vec<(usize, Vec<u8>)>,
    /// The batch's time in Unix milliseconds; 0 while nothing expires ([`set_timeless`](Self::set_timeless)).
    pub now: i64,
    /// The batch's time in Unix milliseconds, for what is compared with no deadline.
    pub wall: i64,
    /// How access is recorded.
    pub access: Access,
    /// Reads leave access times alone (CLIENT NO-TOUCH).
    pub no_touch: bool,
    /// Expired keys are hidden but not deleted (while writes are paused, and on a replica).
    pub keep_expired: bool,
    /// Nothing expires: the commands come from a primary, which says what is gone.
    timeless: bool,
    /// Seconds of the LRU clock, 24 bits; follows from the time.
    pub lru_clock: u32,
    /// Minutes of the LFU clock, 16 bits; follows from the time.
    lfu_minutes: u32,
    /// Random numbers of this thread.
    pub rng: Rng,
    /// The counts of this thread since its counters were last collected.
    pub counters: Counters,
    /// The changes of the present command.
    pub effects: Effects,
    /// Longest string a command may build, in bytes (`proto-max-bulk-len`).
    pub string_max: usize,
    /// `lazyfree-lazy-user-del` and its kin, set per command by the engine.
    pub lazy_del: bool,
    /// Values replaced by SET and the like are freed in the background when big.
    pub lazy_server_del: bool,
    /// Expired keys are freed in the background when big.
    pub lazy_expire: bool,
    /// `lazyfree-lazy-user-flush`: FLUSHALL and FLUSHDB without a word mean ASYNC.
    pub lazy_user_flush: bool,
    /// The limits below which collections are small.
    pub small: Small,
    /// Whether a command may wait: not inside a transaction or a script.
    pub may_block: bool,
    /// How much the command may look at here. A caller that lowers it runs a command elsewhere when `handed_over`
    /// is set behind it.
    pub budget: Budget,
    /// The command that just ran has done nothing, since it would have taken too long.
    pub handed_over: bool,
    /// Whether the user that runs the command may read every key, named or not. SORT asks, since its
    /// patterns reach keys that are not known beforehand.
    pub reads_all: bool,
    /// A script runs the command: results without an order are sorted, so that scripts do the same on the
    /// same data (SORT of a set by nothing).
    pub in_script: bool,
    /// The script has asked that its changes are not journaled (`redis.set_repl`).
    pub untold: bool,
    /// The wait of the command that just ran, if it waits.
    pub block: Option<Block>,
    /// The log message about the refusal of the command that just ran.
    pub remark: Option<String>,
    /// Values to free elsewhere before the command is answered.
    pub apart: Vec<Garbage>,
    /// Small integers count as shared objects (OBJECT REFCOUNT), which Redis does unless there is
    /// a `maxmemory` with an LRU or LFU policy.
    pub shared_integers: bool,
    /// Checksums of payloads are not checked (DEBUG SET-SKIP-CHECKSUM-VALIDATION).
    pub trust_checksums: bool,
    /// Expired keys (database, key) that a command of scope `Each` came across: it has no lock under which
    /// their removal could be committed. The caller that ran it looks at each of them under its lock
    /// ([`crate::Db::peek`] removes it), commits, and empties this. At most [`OVERDUE_MAX`]; active expiry
    /// finds the others.
    pub overdue: Vec<(usize, Vec<u8>)>,
}

impl Context {
    /// A context at time `now_ms` with random numbers from `rng`.
    pub fn new(now_ms: i64, rng: Rng) -> Self {
        let mut cx = Self {
            solo: SoloToken::NONE,
            hold: Hold::default(),
            client: 0,
            ready: Vec::new(),
            now: 0,
            wall: 0,
            access: Access::default(),
            no_touch: false,
            keep_expired: false,
            timeless: false,
            lru_clock: 0,
            lfu_minutes: 0,
            rng,
            counters: Counters::default(),
            effects: Effects::default(),
            string_max: 512 << 20,
            lazy_del: false,
            lazy_server_del: false,
            lazy_expire: false,
            lazy_user_flush: false,
            small: Small::default(),
            may_block: false,
            budget: Budget::UNLIMITED,
            handed_over: false,
            reads_all: true,
            in_script: false,
            untold: false,
            block: None,
            remark: None,
            apart: Vec::new(),
            shared_integers: true,
            trust_checksums: false,
            overdue: Vec::new(),
        };
        cx.set_now(now_ms);
        cx
    }

    /// Whether shards [stay locked](crate::Keyspace::hold) over several commands.
    pub fn holds(&self) -> bool {
        self.hold.0.is_some()
    }

    /// Sets the time for the following commands.
    #[inline]
    pub fn set_now(&mut self, now_ms: i64) {
        self.now = if self.timeless { 0 } else { now_ms };
        self.wall = now_ms;
        self.lru_clock = (now_ms / 1000) as u32 & 0xff_ffff;
        self.lfu_minutes = (now_ms / 60_000) as u32 & 0xffff;
    }

    /// From `now_ms` on nothing expires, or things expire again. For the thread that applies a primary's commands:
    /// a key has expired when the primary says so.
    pub fn set_timeless(&mut self, yes: bool, now_ms: i64) {
        self.timeless = yes;
        self.set_now(now_ms);
    }

    /// Notes an expired key that disturbs no command but should be removed.
    pub(crate) fn note_overdue(&mut self, db: usize, key: &[u8]) {
        if !self.keep_expired && self.overdue.len() < OVERDUE_MAX {
            self.overdue.push((db, key.to_vec()));
        }
    }

    /// The access bits of a key that is created now.
    #[inline]
    pub fn fresh_access(&self) -> u32 {
        if self.access.lfu { self.lfu_minutes << 8 | LFU_INIT } else { self.lru_clock }
    }

    /// The access bits of a key that is loaded, from the saved values: seconds since it was used, or its
    /// LFU counter. A value that the present policy does not use is ignored, as in Redis.
    pub fn access_of(&self, idle: Option<u64>, freq: Option<u8>) -> u32 {
        match (self.access.lfu, idle, freq) {
            (true, _, Some(freq)) => self.lfu_minutes << 8 | u32::from(freq),
            (false, Some(idle), _) => {
                // An LRU clock cannot express more than its own range; half of it is 97 days.
                let idle = u32::try_from(idle).unwrap_or(u32::MAX).min(0xff_ffff);
                self.lru_clock.wrapping_sub(idle) & 0xff_ffff
            }
            _ => self.fresh_access(),
        }
    }

    /// The access bits of a key that had `bits` and is accessed now.
    #[inline]
    pub fn touched(&mut self, bits: u32) -> u32 {
        if !self.access.lfu {
            return self.lru_clock;
        }
        let mut counter = self.lfu_counter(bits);
        // Redis's logarithmic counter: the chance to count shrinks as the counter grows.
        if counter < 255 {
            let base = counter.saturating_sub(LFU_INIT);
            // The factor may be as large as an `int` of C.
            let p = 1.0 / (f64::from(base) * f64::from(self.access.log_factor) + 1.0);
            if self.rng.unit_f64() < p {
                counter += 1;
            }
        }
        self.lfu_minutes << 8 | counter
    }

    /// The LFU counter as of now: one less for every `lfu-decay-time` minutes that have passed.
    pub fn lfu_counter(&self, bits: u32) -> u32 {
        self.lfu_clock().counter(bits)
    }

    /// Computes LFU counters as of the present moment, for use after the present command, too.
    pub fn lfu_clock(&self) -> LfuClock {
        LfuClock { minutes: self.lfu_minutes, decay_minutes: self.access.decay_minutes }
    }

    /// Seconds since the access that `bits` of an LRU clock record.
    pub fn idle_seconds(&self, bits: u32) -> u32 {
        self.lru_clock.wrapping_sub(bits) & 0xff_ffff
    }
}

/// A moment of the LFU clock.
#[derive(Clone, Copy, Debug)]
pub struct LfuClock {
    minutes: u32,
    decay_minutes: u32,
}

impl LfuClock {
    /// The counter in the access bits of a key at this moment.
    pub fn counter(self, bits: u32) -> u32 {
        let (then, counter) = (bits >> 8, bits & 255);
        let gone = self.minutes.wrapping_sub(then) & 0xffff;
        match gone.checked_div(self.decay_minutes) {
            Some(periods) => counter.saturating_sub(periods),
            None => counter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `lfu-log-factor` goes up to 2^31 - 1, and the counter to 255.
    #[test]
    fn no_log_factor_is_too_large() {
        let mut cx = Context::new(0, Rng::from_seed(1));
        cx.access = Access { lfu: true, log_factor: i32::MAX as u32, decay_minutes: 1 };
        for counter in 0..=255 {
            let after = cx.touched(counter) & 255;
            assert!(after == counter || after == counter + 1);
            assert!(counter <= LFU_INIT || after == counter, "it counts once in billions of times");
        }
    }
}
