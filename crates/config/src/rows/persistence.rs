//! Rows: snapshots and the append-only file.

macro_rules! persistence_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Persistence {

Dir: "dir", [], Dir, "./", PROTECTED | DENY_LOADING, Effective,
    "Working directory: relative paths of other options start here; it must exist.";
Save: "save", [], Save, "3600 1 300 100 60 10000", MULTI, Effective,
    "Pairs of seconds and changes: a snapshot is taken when so many seconds passed and so many keys changed; empty never.";
Dbfilename: "dbfilename", [], Text(dbfilename), "dump.rdb", PROTECTED, Effective,
    "Name of the snapshot file inside `dir`.";
StopWritesOnBgsaveError: "stop-writes-on-bgsave-error", [], Bool, "yes", RUNTIME, Effective,
    "Refuses writes after a snapshot failed, until one succeeds.";
Rdbcompression: "rdbcompression", [], Bool, "yes", RUNTIME, Effective,
    "Compresses strings inside snapshots.";
Rdbchecksum: "rdbchecksum", [], Bool, "yes", IMMUTABLE, Effective,
    "Ends a snapshot with a checksum and verifies it on loading.";
RdbDelSyncFiles: "rdb-del-sync-files", [], Bool, "no", RUNTIME, Accepted(NO_REPLICATION),
    "Removes snapshot files made only for replication once they were used.";
RdbSaveIncrementalFsync: "rdb-save-incremental-fsync", [], Bool, "yes", RUNTIME, Effective,
    "Flushes a snapshot to disk piece by piece while it is written.";
RdbKeySaveDelay: "rdb-key-save-delay", [], Int(INT_MIN, INT_MAX), "0", HIDDEN, Effective,
    "Microseconds to wait after each key of a snapshot, for tests.";
KeyLoadDelay: "key-load-delay", [], Int(INT_MIN, INT_MAX), "0", HIDDEN, Effective,
    "Microseconds to wait after each key that is loaded, for tests.";
LoadingProcessEventsIntervalBytes: "loading-process-events-interval-bytes", [], Int(1024, INT_MAX), "2097152", HIDDEN, Accepted(LOADING_THREADS),
    "Bytes of a snapshot loaded between two looks at the clients.";
Appendonly: "appendonly", [], Bool, "no", RUNTIME, Effective,
    "Writes every change to the append-only file.";
Appendfilename: "appendfilename", [], Text(appendfilename), "appendonly.aof", IMMUTABLE, Effective,
    "Base name of the append-only files.";
Appenddirname: "appenddirname", [], Text(appenddirname), "appendonlydir", IMMUTABLE, Effective,
    "Directory inside `dir` that holds the append-only files.";
Appendfsync: "appendfsync", [], Choice(Appendfsync::NAMES), "everysec", RUNTIME, Effective,
    "When appended changes are forced to disk: before each reply (always), once a second (everysec), or when the system likes (no).";
NoAppendfsyncOnRewrite: "no-appendfsync-on-rewrite", [], Bool, "no", RUNTIME, Accepted(NO_FORK),
    "Does not force the append-only file to disk while a child process writes.";
AutoAofRewritePercentage: "auto-aof-rewrite-percentage", [], Int(0, INT_MAX), "100", RUNTIME, Effective,
    "Percent of growth since the last rewrite that starts the next; 0 never.";
AutoAofRewriteMinSize: "auto-aof-rewrite-min-size", [], Memory(0, BYTES_MAX), "64mb", RUNTIME, Effective,
    "Bytes below which the append-only file is not rewritten by itself.";
AofLoadTruncated: "aof-load-truncated", [], Bool, "yes", RUNTIME, Effective,
    "Loads an append-only file whose end was cut off, up to the cut.";
AofUseRdbPreamble: "aof-use-rdb-preamble", [], Bool, "yes", RUNTIME, Accepted(SNAPSHOT_BASE),
    "Starts a rewritten append-only file with a snapshot.";
AofTimestampEnabled: "aof-timestamp-enabled", [], Bool, "no", RUNTIME, Accepted(TIMED_RECORDS),
    "Notes the time in the append-only file, so that it can be cut at a moment.";
AofRewriteIncrementalFsync: "aof-rewrite-incremental-fsync", [], Bool, "yes", RUNTIME, Effective,
    "Flushes a rewritten append-only file to disk piece by piece.";
AofDisableAutoGc: "aof-disable-auto-gc", [], Bool, "no", HIDDEN, Accepted(NO_HISTORY),
    "Keeps append-only files that a rewrite made superfluous.";
BgsaveCpulist: "bgsave-cpulist", ["bgsave_cpulist"], Optional(any), "", IMMUTABLE, Accepted(NO_FORK),
    "Cores for the process that writes a snapshot.";
AofRewriteCpulist: "aof-rewrite-cpulist", ["aof_rewrite_cpulist"], Optional(any), "", IMMUTABLE, Accepted(NO_FORK),
    "Cores for the process that rewrites the append-only file.";
PropagationErrorBehavior: "propagation-error-behavior", [], Choice(PropagationErrorBehavior::NAMES), "ignore", RUNTIME, Accepted(NO_REPLICATION),
    "What happens when a replicated or replayed command fails: ignore, panic, or panic-on-replicas.";
ShutdownOnSigint: "shutdown-on-sigint", [], Set(SHUTDOWN), "default", MULTI, Effective,
    "What SIGINT does to the data: any of save or nosave, now and force; default saves if save points are set.";
ShutdownOnSigterm: "shutdown-on-sigterm", [], Set(SHUTDOWN), "default", MULTI, Effective,
    "What SIGTERM does to the data: any of save or nosave, now and force; default saves if save points are set.";
    } } };
}
