//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group topic.
pub trait TopicCommands: Target {
    /// Appends records to a topic, and answers the offset of the first when they are stored.
    ///
    /// `TOPIC.APPEND topic [PRODUCER producer sequence] RECORDS record [record ...]`
    fn topic_append(&self, topic: impl Arg, records: impl Arg) -> Request<'_, options::TopicAppend> {
        Request::of(self.target(), &table::TOPIC_APPEND).with(topic).with_last("RECORDS").with_last(records)
    }

    /// Keeps the offset that a group is going to read next.
    ///
    /// `TOPIC.COMMIT topic group offset`
    fn topic_commit(&self, topic: impl Arg, group: impl Arg, offset: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_COMMIT).with(topic).with(group).with(offset)
    }

    /// Answers the offset that a group has committed.
    ///
    /// `TOPIC.COMMITTED topic group`
    fn topic_committed(&self, topic: impl Arg, group: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_COMMITTED).with(topic).with(group)
    }

    /// Creates a topic.
    ///
    /// `TOPIC.CREATE topic [setting value [setting value ...]]`
    fn topic_create(&self, topic: impl Arg) -> Request<'_, options::TopicCreate> {
        Request::of(self.target(), &table::TOPIC_CREATE).with(topic)
    }

    /// Deletes a topic and all its records.
    ///
    /// `TOPIC.DELETE topic`
    fn topic_delete(&self, topic: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_DELETE).with(topic)
    }

    /// Answers all groups of a topic and what they have committed.
    ///
    /// `TOPIC.GROUPS topic`
    fn topic_groups(&self, topic: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_GROUPS).with(topic)
    }

    /// Answers what a topic has, and its settings.
    ///
    /// `TOPIC.INFO topic`
    fn topic_info(&self, topic: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_INFO).with(topic)
    }

    /// Answers the names of all topics that the user may read, sorted.
    ///
    /// `TOPIC.LIST`
    fn topic_list(&self) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_LIST)
    }

    /// Answers the offset of the first record found, and the records from there on.
    ///
    /// `TOPIC.READ topic <offset | EARLIEST | LATEST | TIME milliseconds | GROUP group [RESET <EARLIEST | LATEST | NONE>]> [COUNT count] [BYTES bytes] [BLOCK milliseconds]`
    fn topic_read(&self, topic: impl Arg, offset_or_earliest_or_latest_or_milliseconds_or_group_block: impl Arg) -> Request<'_, options::TopicRead> {
        Request::of(self.target(), &table::TOPIC_READ).with(topic).with(offset_or_earliest_or_latest_or_milliseconds_or_group_block)
    }

    /// Changes settings of a topic.
    ///
    /// `TOPIC.SET topic setting value [setting value ...]`
    fn topic_set(&self, topic: impl Arg, setting_values: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::TOPIC_SET).with(topic).with(setting_values)
    }
}

impl<T: Target + ?Sized> TopicCommands for T {}

/// Options of TOPIC.APPEND.
impl Request<'_, options::TopicAppend> {
    /// `PRODUCER`.
    pub fn producer(self, producer: impl Arg, sequence: impl Arg) -> Self {
        self.with("PRODUCER").with(producer).with(sequence)
    }
}

/// Options of TOPIC.CREATE.
impl Request<'_, options::TopicCreate> {
    /// The argument `setting_value`.
    pub fn setting_values(self, setting_values: impl Arg) -> Self {
        self.with(setting_values)
    }
}

/// Options of TOPIC.READ.
impl Request<'_, options::TopicRead> {
    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }

    /// `BYTES`.
    pub fn bytes(self, bytes: impl Arg) -> Self {
        self.with("BYTES").with(bytes)
    }

    /// `BLOCK`.
    pub fn block(self, milliseconds: impl Arg) -> Self {
        self.with("BLOCK").with(milliseconds)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of TOPIC.APPEND.
    #[derive(Debug)]
    pub enum TopicAppend {}
    /// Of TOPIC.CREATE.
    #[derive(Debug)]
    pub enum TopicCreate {}
    /// Of TOPIC.READ.
    #[derive(Debug)]
    pub enum TopicRead {}
}
