//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group server.
pub trait ServerCommands: Target {
    /// Names the categories, or the commands of one.
    ///
    /// `ACL CAT [category]`
    fn acl_cat(&self) -> Request<'_, options::AclCat> {
        Request::of(self.target(), &table::ACL_CAT)
    }

    /// Deletes users, and closes their connections.
    ///
    /// `ACL DELUSER username [username ...]`
    fn acl_deluser(&self, usernames: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ACL_DELUSER).with(usernames)
    }

    /// Says whether a user might run a command, and runs nothing.
    ///
    /// `ACL DRYRUN username command [arg [arg ...]]`
    fn acl_dryrun(&self, username: impl Arg, command: impl Arg) -> Request<'_, options::AclDryrun> {
        Request::of(self.target(), &table::ACL_DRYRUN).with(username).with(command)
    }

    /// Draws a password from the operating system's randomness.
    ///
    /// `ACL GENPASS [bits]`
    fn acl_genpass(&self) -> Request<'_, options::AclGenpass> {
        Request::of(self.target(), &table::ACL_GENPASS)
    }

    /// A user's flags, passwords (as SHA-256) and permissions.
    ///
    /// `ACL GETUSER username`
    fn acl_getuser(&self, username: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::ACL_GETUSER).with(username)
    }

    /// Shows what ACL can do.
    ///
    /// `ACL HELP`
    fn acl_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::ACL_HELP)
    }

    /// All users, each as a line of a configuration file.
    ///
    /// `ACL LIST`
    fn acl_list(&self) -> Request<'_> {
        Request::of(self.target(), &table::ACL_LIST)
    }

    /// Takes the users from the ACL file: all of them, or none if anything is wrong.
    ///
    /// `ACL LOAD`
    fn acl_load(&self) -> Request<'_> {
        Request::of(self.target(), &table::ACL_LOAD)
    }

    /// What was refused lately, the newest first.
    ///
    /// `ACL LOG [count | RESET]`
    fn acl_log(&self) -> Request<'_, options::AclLog> {
        Request::of(self.target(), &table::ACL_LOG)
    }

    /// Writes the users into the ACL file.
    ///
    /// `ACL SAVE`
    fn acl_save(&self) -> Request<'_> {
        Request::of(self.target(), &table::ACL_SAVE)
    }

    /// Makes a user, or changes one: all of the rules are applied, or none.
    ///
    /// `ACL SETUSER username [rule [rule ...]]`
    fn acl_setuser(&self, username: impl Arg) -> Request<'_, options::AclSetuser> {
        Request::of(self.target(), &table::ACL_SETUSER).with(username)
    }

    /// The names of all users.
    ///
    /// `ACL USERS`
    fn acl_users(&self) -> Request<'_> {
        Request::of(self.target(), &table::ACL_USERS)
    }

    /// The user of this connection.
    ///
    /// `ACL WHOAMI`
    fn acl_whoami(&self) -> Request<'_> {
        Request::of(self.target(), &table::ACL_WHOAMI)
    }

    /// Answers the keys with most commands, bytes or time over the last minute or so.
    ///
    /// `APUS.TOPKEYS [HITS | BYTES | CPU] [COUNT count]`
    fn apus_topkeys(&self) -> Request<'_, options::ApusTopkeys> {
        Request::of(self.target(), &table::APUS_TOPKEYS)
    }

    /// Replaces the journal by a snapshot of now and what follows it, in the background.
    ///
    /// `BGREWRITEAOF`
    fn bgrewriteaof(&self) -> Request<'_> {
        Request::of(self.target(), &table::BGREWRITEAOF)
    }

    /// Writes a snapshot of this moment to disk in the background.
    ///
    /// `BGSAVE [SCHEDULE]`
    fn bgsave(&self) -> Request<'_, options::Bgsave> {
        Request::of(self.target(), &table::BGSAVE)
    }

    /// Counts the commands, without their subcommands.
    ///
    /// `COMMAND COUNT`
    fn command_count(&self) -> Request<'_> {
        Request::of(self.target(), &table::COMMAND_COUNT)
    }

    /// Documents the named commands, or all.
    ///
    /// `COMMAND DOCS [command-name [command-name ...]]`
    fn command_docs(&self) -> Request<'_, options::CommandDocs> {
        Request::of(self.target(), &table::COMMAND_DOCS)
    }

    /// Finds the keys among a command's arguments.
    ///
    /// `COMMAND GETKEYS command [arg [arg ...]]`
    fn command_getkeys(&self, command: impl Arg) -> Request<'_, options::CommandGetkeys> {
        Request::of(self.target(), &table::COMMAND_GETKEYS).with(command)
    }

    /// Finds the keys among a command's arguments, and how it accesses them.
    ///
    /// `COMMAND GETKEYSANDFLAGS command [arg [arg ...]]`
    fn command_getkeysandflags(&self, command: impl Arg) -> Request<'_, options::CommandGetkeysandflags> {
        Request::of(self.target(), &table::COMMAND_GETKEYSANDFLAGS).with(command)
    }

    /// Shows what COMMAND can do.
    ///
    /// `COMMAND HELP`
    fn command_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::COMMAND_HELP)
    }

    /// Describes the named commands, or all.
    ///
    /// `COMMAND INFO [command-name [command-name ...]]`
    fn command_info(&self) -> Request<'_, options::CommandInfo> {
        Request::of(self.target(), &table::COMMAND_INFO)
    }

    /// Lists names of commands and subcommands.
    ///
    /// `COMMAND LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]`
    fn command_list(&self) -> Request<'_, options::CommandList> {
        Request::of(self.target(), &table::COMMAND_LIST)
    }

    /// Answers the values of the options whose names match.
    ///
    /// `CONFIG GET parameter [parameter ...]`
    fn config_get(&self, parameters: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CONFIG_GET).with(parameters)
    }

    /// Shows what CONFIG can do.
    ///
    /// `CONFIG HELP`
    fn config_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::CONFIG_HELP)
    }

    /// Starts the counters of INFO anew.
    ///
    /// `CONFIG RESETSTAT`
    fn config_resetstat(&self) -> Request<'_> {
        Request::of(self.target(), &table::CONFIG_RESETSTAT)
    }

    /// Writes the options as they are now into the configuration file.
    ///
    /// `CONFIG REWRITE`
    fn config_rewrite(&self) -> Request<'_> {
        Request::of(self.target(), &table::CONFIG_REWRITE)
    }

    /// Changes options: all that are named, or none if one is refused.
    ///
    /// `CONFIG SET parameter value [parameter value ...]`
    fn config_set(&self, parameter_values: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CONFIG_SET).with(parameter_values)
    }

    /// Returns the number of keys in the database.
    ///
    /// `DBSIZE`
    fn dbsize(&self) -> Request<'_> {
        Request::of(self.target(), &table::DBSIZE)
    }

    /// Looks into the server and makes it misbehave, for tests.
    ///
    /// `DEBUG subcommand [arg [arg ...]]`
    fn debug(&self, subcommand: impl Arg) -> Request<'_, options::Debug> {
        Request::of(self.target(), &table::DEBUG).with(subcommand)
    }

    /// Hands the role of the master over to a replica.
    ///
    /// `FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]`
    fn failover(&self) -> Request<'_, options::Failover> {
        Request::of(self.target(), &table::FAILOVER)
    }

    /// Deletes all keys of all databases.
    ///
    /// `FLUSHALL [ASYNC | SYNC]`
    fn flushall(&self) -> Request<'_, options::Flushall> {
        Request::of(self.target(), &table::FLUSHALL)
    }

    /// Deletes all keys of the database.
    ///
    /// `FLUSHDB [ASYNC | SYNC]`
    fn flushdb(&self) -> Request<'_, options::Flushdb> {
        Request::of(self.target(), &table::FLUSHDB)
    }

    /// Answers what the session of HOTKEYS START has found.
    ///
    /// `HOTKEYS GET`
    fn hotkeys_get(&self) -> Request<'_> {
        Request::of(self.target(), &table::HOTKEYS_GET)
    }

    /// Shows what HOTKEYS can do.
    ///
    /// `HOTKEYS HELP`
    fn hotkeys_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::HOTKEYS_HELP)
    }

    /// Forgets what the last session has found.
    ///
    /// `HOTKEYS RESET`
    fn hotkeys_reset(&self) -> Request<'_> {
        Request::of(self.target(), &table::HOTKEYS_RESET)
    }

    /// Begins to count keys by time and by bytes.
    ///
    /// `HOTKEYS START METRICS count [CPU] [NET] [COUNT k] [DURATION seconds] [SAMPLE ratio] [SLOTS slots slot [slot ...]]`
    fn hotkeys_start(&self, count: impl Arg) -> Request<'_, options::HotkeysStart> {
        Request::of(self.target(), &table::HOTKEYS_START).with("METRICS").with(count)
    }

    /// Ends the session and keeps what it has found.
    ///
    /// `HOTKEYS STOP`
    fn hotkeys_stop(&self) -> Request<'_> {
        Request::of(self.target(), &table::HOTKEYS_STOP)
    }

    /// Tells about the server: facts, figures and counters, by section.
    ///
    /// `INFO [section [section ...]]`
    fn info(&self) -> Request<'_, options::Info> {
        Request::of(self.target(), &table::INFO)
    }

    /// Answers the Unix time of the last save to disk, or of the start before any.
    ///
    /// `LASTSAVE`
    fn lastsave(&self) -> Request<'_> {
        Request::of(self.target(), &table::LASTSAVE)
    }

    /// Reports on the spikes, and what can be done about them.
    ///
    /// `LATENCY DOCTOR`
    fn latency_doctor(&self) -> Request<'_> {
        Request::of(self.target(), &table::LATENCY_DOCTOR)
    }

    /// Draws the spikes of an event.
    ///
    /// `LATENCY GRAPH event`
    fn latency_graph(&self, event: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LATENCY_GRAPH).with(event)
    }

    /// Shows what LATENCY can do.
    ///
    /// `LATENCY HELP`
    fn latency_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::LATENCY_HELP)
    }

    /// Answers how many calls of the named commands, or of all, took how long.
    ///
    /// `LATENCY HISTOGRAM [command [command ...]]`
    fn latency_histogram(&self) -> Request<'_, options::LatencyHistogram> {
        Request::of(self.target(), &table::LATENCY_HISTOGRAM)
    }

    /// Answers the spikes of an event: pairs of Unix time and milliseconds.
    ///
    /// `LATENCY HISTORY event`
    fn latency_history(&self, event: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::LATENCY_HISTORY).with(event)
    }

    /// Answers the last spike of every event: Unix time, milliseconds, and the highest.
    ///
    /// `LATENCY LATEST`
    fn latency_latest(&self) -> Request<'_> {
        Request::of(self.target(), &table::LATENCY_LATEST)
    }

    /// Forgets the spikes of the named events, or of all. Answers how many events.
    ///
    /// `LATENCY RESET [event [event ...]]`
    fn latency_reset(&self) -> Request<'_, options::LatencyReset> {
        Request::of(self.target(), &table::LATENCY_RESET)
    }

    /// Replaces all data by the snapshot on disk, once it has proved to be whole.
    ///
    /// `LOAD`
    fn load(&self) -> Request<'_> {
        Request::of(self.target(), &table::LOAD)
    }

    /// Draws a picture, and tells the version.
    ///
    /// `LOLWUT [VERSION version]`
    fn lolwut(&self) -> Request<'_, options::Lolwut> {
        Request::of(self.target(), &table::LOLWUT)
    }

    /// Reports on problems with memory.
    ///
    /// `MEMORY DOCTOR`
    fn memory_doctor(&self) -> Request<'_> {
        Request::of(self.target(), &table::MEMORY_DOCTOR)
    }

    /// Shows what MEMORY can do.
    ///
    /// `MEMORY HELP`
    fn memory_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::MEMORY_HELP)
    }

    /// Shows the statistics of the allocator: what is in use, and what it occupies.
    ///
    /// `MEMORY MALLOC-STATS`
    fn memory_malloc_stats(&self) -> Request<'_> {
        Request::of(self.target(), &table::MEMORY_MALLOC_STATS)
    }

    /// Asks every thread to give the memory it has freed back to the system.
    ///
    /// `MEMORY PURGE`
    fn memory_purge(&self) -> Request<'_> {
        Request::of(self.target(), &table::MEMORY_PURGE)
    }

    /// Answers where memory goes, in bytes.
    ///
    /// `MEMORY STATS`
    fn memory_stats(&self) -> Request<'_> {
        Request::of(self.target(), &table::MEMORY_STATS)
    }

    /// Answers the bytes of memory that a key and its value take.
    ///
    /// `MEMORY USAGE key [SAMPLES count]`
    fn memory_usage(&self, key: impl Arg) -> Request<'_, options::MemoryUsage> {
        Request::of(self.target(), &table::MEMORY_USAGE).with(key)
    }

    /// Shows what MODULE can do.
    ///
    /// `MODULE HELP`
    fn module_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::MODULE_HELP)
    }

    /// Lists the loaded modules.
    ///
    /// `MODULE LIST`
    fn module_list(&self) -> Request<'_> {
        Request::of(self.target(), &table::MODULE_LIST)
    }

    /// Makes the server a replica of another, or a master again.
    ///
    /// `REPLICAOF <host port | NO ONE>`
    fn replicaof(&self, host_port_or_no_one: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::REPLICAOF).with(host_port_or_no_one)
    }

    /// Internal: RESTORE among the nodes of a cluster.
    ///
    /// `RESTORE-ASKING key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]`
    fn restore_asking(&self, key: impl Arg, ttl: impl Arg, serialized_value: impl Arg) -> Request<'_, options::RestoreAsking> {
        Request::of(self.target(), &table::RESTORE_ASKING).with(key).with(ttl).with(serialized_value)
    }

    /// Answers the server's role in replication, its offset and its replicas.
    ///
    /// `ROLE`
    fn role(&self) -> Request<'_> {
        Request::of(self.target(), &table::ROLE)
    }

    /// Writes a snapshot to disk and answers when it is there.
    ///
    /// `SAVE`
    fn save(&self) -> Request<'_> {
        Request::of(self.target(), &table::SAVE)
    }

    /// Ends the server.
    ///
    /// `SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]`
    fn shutdown(&self) -> Request<'_, options::Shutdown> {
        Request::of(self.target(), &table::SHUTDOWN)
    }

    /// Makes the server a replica of another, or a master again.
    ///
    /// `SLAVEOF <host port | NO ONE>`
    ///
    /// Redis has had better since 5.0.0.
    fn slaveof(&self, host_port_or_no_one: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SLAVEOF).with(host_port_or_no_one)
    }

    /// Answers the newest entries of the slow log, 10 unless told otherwise.
    ///
    /// `SLOWLOG GET [count]`
    fn slowlog_get(&self) -> Request<'_, options::SlowlogGet> {
        Request::of(self.target(), &table::SLOWLOG_GET)
    }

    /// Shows what SLOWLOG can do.
    ///
    /// `SLOWLOG HELP`
    fn slowlog_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::SLOWLOG_HELP)
    }

    /// Counts the entries of the slow log.
    ///
    /// `SLOWLOG LEN`
    fn slowlog_len(&self) -> Request<'_> {
        Request::of(self.target(), &table::SLOWLOG_LEN)
    }

    /// Empties the slow log.
    ///
    /// `SLOWLOG RESET`
    fn slowlog_reset(&self) -> Request<'_> {
        Request::of(self.target(), &table::SLOWLOG_RESET)
    }

    /// Exchanges two databases.
    ///
    /// `SWAPDB index1 index2`
    fn swapdb(&self, index1: impl Arg, index2: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SWAPDB).with(index1).with(index2)
    }

    /// Answers the server's time: Unix seconds, and the microseconds beyond them.
    ///
    /// `TIME`
    fn time(&self) -> Request<'_> {
        Request::of(self.target(), &table::TIME)
    }
}

impl<T: Target + ?Sized> ServerCommands for T {}

/// Options of ACL CAT.
impl Request<'_, options::AclCat> {
    /// The argument `category`.
    pub fn category(self, category: impl Arg) -> Self {
        self.with(category)
    }
}

/// Options of ACL DRYRUN.
impl Request<'_, options::AclDryrun> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of ACL GENPASS.
impl Request<'_, options::AclGenpass> {
    /// The argument `bits`.
    pub fn bits(self, bits: impl Arg) -> Self {
        self.with(bits)
    }
}

/// Options of ACL LOG.
impl Request<'_, options::AclLog> {
    /// The argument `count-or-reset`.
    pub fn count_or_reset(self, count_or_reset: impl Arg) -> Self {
        self.with(count_or_reset)
    }
}

/// Options of ACL SETUSER.
impl Request<'_, options::AclSetuser> {
    /// The argument `rule`.
    pub fn rules(self, rules: impl Arg) -> Self {
        self.with(rules)
    }
}

/// Options of APUS.TOPKEYS.
impl Request<'_, options::ApusTopkeys> {
    /// `HITS`.
    pub fn hits(self) -> Self {
        self.with("HITS")
    }

    /// `BYTES`.
    pub fn bytes(self) -> Self {
        self.with("BYTES")
    }

    /// `CPU`.
    pub fn cpu(self) -> Self {
        self.with("CPU")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with("COUNT").with(count)
    }
}

/// Options of BGSAVE.
impl Request<'_, options::Bgsave> {
    /// `SCHEDULE`.
    pub fn schedule(self) -> Self {
        self.with("SCHEDULE")
    }
}

/// Options of COMMAND DOCS.
impl Request<'_, options::CommandDocs> {
    /// The argument `command-name`.
    pub fn command_names(self, command_names: impl Arg) -> Self {
        self.with(command_names)
    }
}

/// Options of COMMAND GETKEYS.
impl Request<'_, options::CommandGetkeys> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of COMMAND GETKEYSANDFLAGS.
impl Request<'_, options::CommandGetkeysandflags> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of COMMAND INFO.
impl Request<'_, options::CommandInfo> {
    /// The argument `command-name`.
    pub fn command_names(self, command_names: impl Arg) -> Self {
        self.with(command_names)
    }
}

/// Options of COMMAND LIST.
impl Request<'_, options::CommandList> {
    /// `FILTERBY`.
    pub fn filterby(self, filterby: impl Arg) -> Self {
        self.with("FILTERBY").with(filterby)
    }
}

/// Options of DEBUG.
impl Request<'_, options::Debug> {
    /// The argument `arg`.
    pub fn args(self, args: impl Arg) -> Self {
        self.with(args)
    }
}

/// Options of FAILOVER.
impl Request<'_, options::Failover> {
    /// `TO`.
    pub fn to_(self, host: impl Arg, port: impl Arg, force: bool) -> Self {
        self.with("TO").with(host).with(port).with(force.then_some("FORCE"))
    }

    /// `ABORT`.
    pub fn abort(self) -> Self {
        self.with("ABORT")
    }

    /// `TIMEOUT`.
    pub fn timeout(self, milliseconds: impl Arg) -> Self {
        self.with("TIMEOUT").with(milliseconds)
    }
}

/// Options of FLUSHALL.
impl Request<'_, options::Flushall> {
    /// `ASYNC`.
    pub fn async_(self) -> Self {
        self.with("ASYNC")
    }

    /// `SYNC`.
    pub fn sync(self) -> Self {
        self.with("SYNC")
    }
}

/// Options of FLUSHDB.
impl Request<'_, options::Flushdb> {
    /// `ASYNC`.
    pub fn async_(self) -> Self {
        self.with("ASYNC")
    }

    /// `SYNC`.
    pub fn sync(self) -> Self {
        self.with("SYNC")
    }
}

/// Options of HOTKEYS START.
impl Request<'_, options::HotkeysStart> {
    /// `CPU`.
    pub fn cpu(self) -> Self {
        self.with("CPU")
    }

    /// `NET`.
    pub fn net(self) -> Self {
        self.with("NET")
    }

    /// `COUNT`.
    pub fn count(self, k: impl Arg) -> Self {
        self.with("COUNT").with(k)
    }

    /// `DURATION`.
    pub fn duration(self, seconds: impl Arg) -> Self {
        self.with("DURATION").with(seconds)
    }

    /// `SAMPLE`.
    pub fn sample(self, ratio: impl Arg) -> Self {
        self.with("SAMPLE").with(ratio)
    }

    /// `SLOTS`.
    pub fn slots(self, slots: impl Arg, slots2: impl Arg) -> Self {
        self.with("SLOTS").with(slots).with(slots2)
    }
}

/// Options of INFO.
impl Request<'_, options::Info> {
    /// The argument `section`.
    pub fn sections(self, sections: impl Arg) -> Self {
        self.with(sections)
    }
}

/// Options of LATENCY HISTOGRAM.
impl Request<'_, options::LatencyHistogram> {
    /// The argument `command`.
    pub fn commands(self, commands: impl Arg) -> Self {
        self.with(commands)
    }
}

/// Options of LATENCY RESET.
impl Request<'_, options::LatencyReset> {
    /// The argument `event`.
    pub fn events(self, events: impl Arg) -> Self {
        self.with(events)
    }
}

/// Options of LOLWUT.
impl Request<'_, options::Lolwut> {
    /// `VERSION`.
    pub fn version(self, version: impl Arg) -> Self {
        self.with("VERSION").with(version)
    }
}

/// Options of MEMORY USAGE.
impl Request<'_, options::MemoryUsage> {
    /// `SAMPLES`.
    pub fn samples(self, count: impl Arg) -> Self {
        self.with("SAMPLES").with(count)
    }
}

/// Options of RESTORE-ASKING.
impl Request<'_, options::RestoreAsking> {
    /// `REPLACE`.
    pub fn replace(self) -> Self {
        self.with("REPLACE")
    }

    /// `ABSTTL`.
    pub fn absttl(self) -> Self {
        self.with("ABSTTL")
    }

    /// `IDLETIME`.
    pub fn idletime(self, seconds: impl Arg) -> Self {
        self.with("IDLETIME").with(seconds)
    }

    /// `FREQ`.
    pub fn freq(self, frequency: impl Arg) -> Self {
        self.with("FREQ").with(frequency)
    }
}

/// Options of SHUTDOWN.
impl Request<'_, options::Shutdown> {
    /// `NOSAVE`.
    pub fn nosave(self) -> Self {
        self.with("NOSAVE")
    }

    /// `SAVE`.
    pub fn save(self) -> Self {
        self.with("SAVE")
    }

    /// `NOW`.
    pub fn now(self) -> Self {
        self.with("NOW")
    }

    /// `FORCE`.
    pub fn force(self) -> Self {
        self.with("FORCE")
    }

    /// `ABORT`.
    pub fn abort(self) -> Self {
        self.with("ABORT")
    }
}

/// Options of SLOWLOG GET.
impl Request<'_, options::SlowlogGet> {
    /// The argument `count`.
    pub fn count(self, count: impl Arg) -> Self {
        self.with(count)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of ACL CAT.
    #[derive(Debug)]
    pub enum AclCat {}
    /// Of ACL DRYRUN.
    #[derive(Debug)]
    pub enum AclDryrun {}
    /// Of ACL GENPASS.
    #[derive(Debug)]
    pub enum AclGenpass {}
    /// Of ACL LOG.
    #[derive(Debug)]
    pub enum AclLog {}
    /// Of ACL SETUSER.
    #[derive(Debug)]
    pub enum AclSetuser {}
    /// Of APUS.TOPKEYS.
    #[derive(Debug)]
    pub enum ApusTopkeys {}
    /// Of BGSAVE.
    #[derive(Debug)]
    pub enum Bgsave {}
    /// Of COMMAND DOCS.
    #[derive(Debug)]
    pub enum CommandDocs {}
    /// Of COMMAND GETKEYS.
    #[derive(Debug)]
    pub enum CommandGetkeys {}
    /// Of COMMAND GETKEYSANDFLAGS.
    #[derive(Debug)]
    pub enum CommandGetkeysandflags {}
    /// Of COMMAND INFO.
    #[derive(Debug)]
    pub enum CommandInfo {}
    /// Of COMMAND LIST.
    #[derive(Debug)]
    pub enum CommandList {}
    /// Of DEBUG.
    #[derive(Debug)]
    pub enum Debug {}
    /// Of FAILOVER.
    #[derive(Debug)]
    pub enum Failover {}
    /// Of FLUSHALL.
    #[derive(Debug)]
    pub enum Flushall {}
    /// Of FLUSHDB.
    #[derive(Debug)]
    pub enum Flushdb {}
    /// Of HOTKEYS START.
    #[derive(Debug)]
    pub enum HotkeysStart {}
    /// Of INFO.
    #[derive(Debug)]
    pub enum Info {}
    /// Of LATENCY HISTOGRAM.
    #[derive(Debug)]
    pub enum LatencyHistogram {}
    /// Of LATENCY RESET.
    #[derive(Debug)]
    pub enum LatencyReset {}
    /// Of LOLWUT.
    #[derive(Debug)]
    pub enum Lolwut {}
    /// Of MEMORY USAGE.
    #[derive(Debug)]
    pub enum MemoryUsage {}
    /// Of RESTORE-ASKING.
    #[derive(Debug)]
    pub enum RestoreAsking {}
    /// Of SHUTDOWN.
    #[derive(Debug)]
    pub enum Shutdown {}
    /// Of SLOWLOG GET.
    #[derive(Debug)]
    pub enum SlowlogGet {}
}
