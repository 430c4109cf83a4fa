//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group stream.
pub trait StreamCommands: Target {
    /// Tells a consumer group that entries have been processed.
    ///
    /// `XACK key group id [id ...]`
    fn xack(&self, key: impl Arg, group: impl Arg, ids: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XACK).with(key).with(group).with(ids)
    }

    /// Acknowledges entries of a stream for a group, and deletes them.
    ///
    /// `XACKDEL key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]`
    fn xackdel(&self, key: impl Arg, group: impl Arg, ids: impl Arg) -> Request<'_, options::Xackdel> {
        Request::of(self.target(), &table::XACKDEL).with(key).with(group).with_last("IDS").with_last_counted(ids)
    }

    /// Adds an entry to a stream, which is created if it is missing.
    ///
    /// `XADD key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]`
    fn xadd(&self, key: impl Arg, id_selector: impl Arg, field_values: impl Arg) -> Request<'_, options::Xadd> {
        Request::of(self.target(), &table::XADD).with(key).with_last(id_selector).with_last(field_values)
    }

    /// Gives entries that are pending for long to another consumer of their group.
    ///
    /// `XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]`
    fn xautoclaim(&self, key: impl Arg, group: impl Arg, consumer: impl Arg, min_idle_time: impl Arg, start: impl Arg) -> Request<'_, options::Xautoclaim> {
        Request::of(self.target(), &table::XAUTOCLAIM).with(key).with(group).with(consumer).with(min_idle_time).with(start)
    }

    /// Gives pending entries to another consumer of their group.
    ///
    /// `XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]`
    fn xclaim(&self, key: impl Arg, group: impl Arg, consumer: impl Arg, min_idle_time: impl Arg, ids: impl Arg) -> Request<'_, options::Xclaim> {
        Request::of(self.target(), &table::XCLAIM).with(key).with(group).with(consumer).with(min_idle_time).with(ids)
    }

    /// Deletes entries of a stream.
    ///
    /// `XDEL key id [id ...]`
    fn xdel(&self, key: impl Arg, ids: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XDEL).with(key).with(ids)
    }

    /// Deletes entries of a stream, with or without what groups know of them.
    ///
    /// `XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]`
    fn xdelex(&self, key: impl Arg, ids: impl Arg) -> Request<'_, options::Xdelex> {
        Request::of(self.target(), &table::XDELEX).with(key).with_last("IDS").with_last_counted(ids)
    }

    /// Makes a consumer group.
    ///
    /// `XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]`
    fn xgroup_create(&self, key: impl Arg, group: impl Arg, id_or_new_id: impl Arg) -> Request<'_, options::XgroupCreate> {
        Request::of(self.target(), &table::XGROUP_CREATE).with(key).with(group).with(id_or_new_id)
    }

    /// Makes a consumer of a group.
    ///
    /// `XGROUP CREATECONSUMER key group consumer`
    fn xgroup_createconsumer(&self, key: impl Arg, group: impl Arg, consumer: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XGROUP_CREATECONSUMER).with(key).with(group).with(consumer)
    }

    /// Removes a consumer of a group, and forgets what is pending with it.
    ///
    /// `XGROUP DELCONSUMER key group consumer`
    fn xgroup_delconsumer(&self, key: impl Arg, group: impl Arg, consumer: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XGROUP_DELCONSUMER).with(key).with(group).with(consumer)
    }

    /// Removes a consumer group.
    ///
    /// `XGROUP DESTROY key group`
    fn xgroup_destroy(&self, key: impl Arg, group: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XGROUP_DESTROY).with(key).with(group)
    }

    /// Describes the subcommands.
    ///
    /// `XGROUP HELP`
    fn xgroup_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::XGROUP_HELP)
    }

    /// Sets behind which ID a consumer group reads on.
    ///
    /// `XGROUP SETID key group <id | $> [ENTRIESREAD entries-read]`
    fn xgroup_setid(&self, key: impl Arg, group: impl Arg, id_or_new_id: impl Arg) -> Request<'_, options::XgroupSetid> {
        Request::of(self.target(), &table::XGROUP_SETID).with(key).with(group).with(id_or_new_id)
    }

    /// Lists the consumers of a group.
    ///
    /// `XINFO CONSUMERS key group`
    fn xinfo_consumers(&self, key: impl Arg, group: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XINFO_CONSUMERS).with(key).with(group)
    }

    /// Lists the consumer groups of a stream.
    ///
    /// `XINFO GROUPS key`
    fn xinfo_groups(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XINFO_GROUPS).with(key)
    }

    /// Describes the subcommands.
    ///
    /// `XINFO HELP`
    fn xinfo_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::XINFO_HELP)
    }

    /// Tells about a stream.
    ///
    /// `XINFO STREAM key [FULL [COUNT count]]`
    fn xinfo_stream(&self, key: impl Arg) -> Request<'_, options::XinfoStream> {
        Request::of(self.target(), &table::XINFO_STREAM).with(key)
    }

    /// Returns the number of entries of a stream.
    ///
    /// `XLEN key`
    fn xlen(&self, key: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::XLEN).with(key)
    }

    /// Returns what is pending in a consumer group.
    ///
    /// `XPENDING key group [[IDLE min-idle-time] start end count [consumer]]`
    fn xpending(&self, key: impl Arg, group: impl Arg) -> Request<'_, options::Xpending> {
        Request::of(self.target(), &table::XPENDING).with(key).with(group)
    }

    /// Returns the entries of a stream within a range of IDs.
    ///
    /// `XRANGE key start end [COUNT count]`
    fn xrange(&self, key: impl Arg, start: impl Arg, end: impl Arg) -> Request<'_, options::Xrange> {
        Request::of(self.target(), &table::XRANGE).with(key).with(start).with(end)
    }

    /// Returns the entries of streams behind given IDs, and waits for some if asked to.
    ///
    /// `XREAD [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]`
    fn xread(&self, keys: impl Arg, ids: impl Arg) -> Request<'_, options::Xread> {
        Request::of(self.target(), &table::XREAD).with_last("STREAMS").with_last(keys).with_last(ids)
    }

    /// Returns entries of streams that no consumer of a group was given yet, or what is pending with a consumer, and waits for some if asked to.
    ///
    /// `XREADGROUP GROUP group consumer [COUNT count] [MAXCOUNT maxcount] [MAXSIZE maxsize] [BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key [key ...] id [id ...]`
    fn xreadgroup(&self, group: impl Arg, consumer: impl Arg, keys: impl Arg, ids: impl Arg) -> Request<'_, options::Xreadgroup> {
        Request::of(self.target(), &table::XREADGROUP).with("GROUP").with(group).with(consumer).with_last("STREAMS").with_last(keys).with_last(ids)
    }

    /// Returns the entries of a stream within a range of IDs, the last one first.
    ///
    /// `XREVRANGE key end start [COUNT count]`
    fn xrevrange(&self, key: impl Arg, end: impl Arg, start: impl Arg) -> Request<'_, options::Xrevrange> {
        Request::of(self.target(), &table::XREVRANGE).with(key).with(end).with(start)
    }

    /// Sets the last ID of a stream, as replication does.
    ///
    /// `XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]`
    fn xsetid(&self, key: impl Arg, last_id: impl Arg) -> Request<'_, options::Xsetid> {
        Request::of(self.target(), &table::XSETID).with(key).with(last_id)
    }

    /// Removes entries from the front of a stream.
    ///
    /// `XTRIM key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]`
    fn xtrim(&self, key: impl Arg, strategy: impl Arg, threshold: impl Arg) -> Request<'_, options::Xtrim> {
        Request::of(self.target(), &table::XTRIM).with(key).with(strategy).with_last(threshold)
    }
}

impl<T: Target + ?Sized> StreamCommands for T {}

/// Options of XACKDEL.
impl Request<'_, options::Xackdel> {
    /// `KEEPREF`.
    pub fn keepref(self) -> Self {
        self.with("KEEPREF")
    }

    /// `DELREF`.
    pub fn delref(self) -> Self {
        self.with("DELREF")
    }

    /// `ACKED`.
    pub fn acked(self) -> Self {
        self.with("ACKED")
    }
}

/// Options of XADD.
impl Request<'_, options::Xadd> {
    /// `NOMKSTREAM`.
    pub fn nomkstream(self) -> Self {
        self.with("NOMKSTREAM")
    }

    /// `KEEPREF`.
    pub fn keepref(self) -> Self {
        self.with("KEEPREF")
    }

    /// `DELREF`.
    pub fn delref(self) -> Self {
        self.with("DELREF")
    }

    /// `ACKED`.
    pub fn acked(self) -> Self {
        self.with("ACKED")
    }

    /// The argument `strategy_operator_threshold_count`.
    pub fn strategy_operator_threshold_count(self, strategy: impl Arg, operator: impl Arg, threshold: impl Arg, limit: Option<impl Arg>) -> Self {
        self.with(strategy).with(operator).with(threshold).with(limit.map(|value| ("LIMIT", value)))
    }
}

/// Options of XAUTOCLAIM.
impl Request<'_, options::Xautoclaim> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }

    /// `JUSTID`.
    pub fn justid(self) -> Self {
        self.with("JUSTID")
    }
}

/// Options of XCLAIM.
impl Request<'_, options::Xclaim> {
    /// `IDLE`.
    pub fn idle(self, ms: impl Arg) -> Self {
        self.with("IDLE").with(ms)
    }

    /// `TIME`.
    pub fn time(self, unix_time_milliseconds: impl Arg) -> Self {
        self.with("TIME").with(unix_time_milliseconds)
    }

    /// `RETRYCOUNT`.
    pub fn retrycount(self, count: impl Arg) -> Self {
        self.with("RETRYCOUNT").with(count)
    }

    /// `FORCE`.
    pub fn force(self) -> Self {
        self.with("FORCE")
    }

    /// `JUSTID`.
    pub fn justid(self) -> Self {
        self.with("JUSTID")
    }

    /// `LASTID`.
    pub fn lastid(self, lastid: impl Arg) -> Self {
        self.with("LASTID").with(lastid)
    }
}

/// Options of XDELEX.
impl Request<'_, options::Xdelex> {
    /// `KEEPREF`.
    pub fn keepref(self) -> Self {
        self.with("KEEPREF")
    }

    /// `DELREF`.
    pub fn delref(self) -> Self {
        self.with("DELREF")
    }

    /// `ACKED`.
    pub fn acked(self) -> Self {
        self.with("ACKED")
    }
}

/// Options of XGROUP CREATE.
impl Request<'_, options::XgroupCreate> {
    /// `MKSTREAM`.
    pub fn mkstream(self) -> Self {
        self.with("MKSTREAM")
    }

    /// `ENTRIESREAD`.
    pub fn entriesread(self, entries_read: impl Arg) -> Self {
        self.with("ENTRIESREAD").with(entries_read)
    }
}

/// Options of XGROUP SETID.
impl Request<'_, options::XgroupSetid> {
    /// `ENTRIESREAD`.
    pub fn entriesread(self, entries_read: impl Arg) -> Self {
        self.with("ENTRIESREAD").with(entries_read)
    }
}

/// Options of XINFO STREAM.
impl Request<'_, options::XinfoStream> {
    /// `FULL`.
    pub fn full(self, count: Option<impl Arg>) -> Self {
        self.with("FULL").with(count.map(|value| ("COUNT", value)))
    }
}

/// Options of XPENDING.
impl Request<'_, options::Xpending> {
    /// The argument `min-idle-time_start_end_count_consumer`.
    pub fn min_idle_time_start_end_count_consumer(self, idle: Option<impl Arg>, start: impl Arg, end: impl Arg, count: impl Arg, consumer: impl Arg) -> Self {
        self.with(idle.map(|value| ("IDLE", value))).with(start).with(end).with(count).with(consumer)
    }
}

/// Options of XRANGE.
impl Request<'_, options::Xrange> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of XREAD.
impl Request<'_, options::Xread> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }

    /// `MAXCOUNT`.
    pub fn maxcount(self, maxcount: impl Arg) -> Self {
        self.with("MAXCOUNT").with(maxcount)
    }

    /// `MAXSIZE`.
    pub fn maxsize(self, maxsize: impl Arg) -> Self {
        self.with("MAXSIZE").with(maxsize)
    }

    /// `BLOCK`.
    pub fn block(self, milliseconds: impl Arg) -> Self {
        self.with("BLOCK").with(milliseconds)
    }
}

/// Options of XREADGROUP.
impl Request<'_, options::Xreadgroup> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }

    /// `MAXCOUNT`.
    pub fn maxcount(self, maxcount: impl Arg) -> Self {
        self.with("MAXCOUNT").with(maxcount)
    }

    /// `MAXSIZE`.
    pub fn maxsize(self, maxsize: impl Arg) -> Self {
        self.with("MAXSIZE").with(maxsize)
    }

    /// `BLOCK`.
    pub fn block(self, milliseconds: impl Arg) -> Self {
        self.with("BLOCK").with(milliseconds)
    }

    /// `CLAIM`.
    pub fn claim(self, min_idle_time: impl Arg) -> Self {
        self.with("CLAIM").with(min_idle_time)
    }

    /// `NOACK`.
    pub fn noack(self) -> Self {
        self.with("NOACK")
    }
}

/// Options of XREVRANGE.
impl Request<'_, options::Xrevrange> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of XSETID.
impl Request<'_, options::Xsetid> {
    /// `ENTRIESADDED`.
    pub fn entriesadded(self, entries_added: impl Arg) -> Self {
        self.with("ENTRIESADDED").with(entries_added)
    }

    /// `MAXDELETEDID`.
    pub fn maxdeletedid(self, max_deleted_id: impl Arg) -> Self {
        self.with("MAXDELETEDID").with(max_deleted_id)
    }
}

/// Options of XTRIM.
impl Request<'_, options::Xtrim> {
    /// `=`.
    pub fn value(self) -> Self {
        self.with("=")
    }

    /// `~`.
    pub fn value_(self) -> Self {
        self.with("~")
    }

    /// `LIMIT`.
    pub fn limit(self, count: impl Arg) -> Self {
        self.with("LIMIT").with(count)
    }

    /// `KEEPREF`.
    pub fn keepref(self) -> Self {
        self.with("KEEPREF")
    }

    /// `DELREF`.
    pub fn delref(self) -> Self {
        self.with("DELREF")
    }

    /// `ACKED`.
    pub fn acked(self) -> Self {
        self.with("ACKED")
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of XACKDEL.
    #[derive(Debug)]
    pub enum Xackdel {}
    /// Of XADD.
    #[derive(Debug)]
    pub enum Xadd {}
    /// Of XAUTOCLAIM.
    #[derive(Debug)]
    pub enum Xautoclaim {}
    /// Of XCLAIM.
    #[derive(Debug)]
    pub enum Xclaim {}
    /// Of XDELEX.
    #[derive(Debug)]
    pub enum Xdelex {}
    /// Of XGROUP CREATE.
    #[derive(Debug)]
    pub enum XgroupCreate {}
    /// Of XGROUP SETID.
    #[derive(Debug)]
    pub enum XgroupSetid {}
    /// Of XINFO STREAM.
    #[derive(Debug)]
    pub enum XinfoStream {}
    /// Of XPENDING.
    #[derive(Debug)]
    pub enum Xpending {}
    /// Of XRANGE.
    #[derive(Debug)]
    pub enum Xrange {}
    /// Of XREAD.
    #[derive(Debug)]
    pub enum Xread {}
    /// Of XREADGROUP.
    #[derive(Debug)]
    pub enum Xreadgroup {}
    /// Of XREVRANGE.
    #[derive(Debug)]
    pub enum Xrevrange {}
    /// Of XSETID.
    #[derive(Debug)]
    pub enum Xsetid {}
    /// Of XTRIM.
    #[derive(Debug)]
    pub enum Xtrim {}
}
