//! Rows: replication, on either side.

macro_rules! replication_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Replication {

Replicaof: "replicaof", ["slaveof"], ReplicaOf, "", IMMUTABLE | MULTI, Effective,
    "Host and port of the server to be a replica of; empty for none.";
Masterauth: "masterauth", [], Optional(any), "", SENSITIVE, Effective,
    "Password to show to the primary.";
Masteruser: "masteruser", [], Optional(any), "", SENSITIVE, Effective,
    "User name to show to the primary.";
BindSourceAddr: "bind-source-addr", [], Optional(any), "", RUNTIME, Effective,
    "Local address for connections made to other servers; empty lets the system choose.";
ReplicaServeStaleData: "replica-serve-stale-data", ["slave-serve-stale-data"], Bool, "yes", RUNTIME, Effective,
    "Answers from old data while the link to the primary is down.";
ReplicaReadOnly: "replica-read-only", ["slave-read-only"], Bool, "yes", DEBUG, Effective,
    "Refuses writes of clients on a replica.";
ReplicaLazyFlush: "replica-lazy-flush", ["slave-lazy-flush"], Bool, "no", RUNTIME, Accepted(NO_REPLICATION),
    "Frees a replica's old data in the background before a full sync.";
ReplicaIgnoreMaxmemory: "replica-ignore-maxmemory", ["slave-ignore-maxmemory"], Bool, "yes", RUNTIME, Effective,
    "Leaves eviction to the primary.";
ReplicaIgnoreDiskWriteErrors: "replica-ignore-disk-write-errors", [], Bool, "no", RUNTIME, Accepted(NO_REPLICATION),
    "Lets a replica go on when it can't write its own files.";
ReplicaPriority: "replica-priority", ["slave-priority"], Int(0, INT_MAX), "100", RUNTIME, Effective,
    "Rank for failover, lowest first; 0 is never promoted.";
ReplicaAnnounced: "replica-announced", [], Bool, "yes", RUNTIME, Effective,
    "Lets sentinels show this replica to clients.";
ReplicaAnnounceIp: "replica-announce-ip", ["slave-announce-ip"], Optional(any), "", RUNTIME, Effective,
    "Address a replica gives to its primary; empty for the one it is seen with.";
ReplicaAnnouncePort: "replica-announce-port", ["slave-announce-port"], Int(0, 65535), "0", RUNTIME, Effective,
    "Port a replica gives to its primary; 0 for the one it listens on.";
ReplTimeout: "repl-timeout", [], Int(1, INT_MAX), "60", RUNTIME, Effective,
    "Seconds of silence after which a replication link counts as broken.";
ReplPingReplicaPeriod: "repl-ping-replica-period", ["repl-ping-slave-period"], Int(1, INT_MAX), "10", RUNTIME, Effective,
    "Seconds between two pings of a primary to its replicas.";
ReplBacklogSize: "repl-backlog-size", [], Memory(1, BYTES_MAX), "1mb", RUNTIME, Effective,
    "Bytes of recent changes kept so that a replica can catch up without a full sync.";
ReplBacklogTtl: "repl-backlog-ttl", [], Int(0, LONG_MAX), "3600", RUNTIME, Effective,
    "Seconds without any replica after which the backlog is freed; 0 keeps it.";
ReplDisableTcpNodelay: "repl-disable-tcp-nodelay", [], Bool, "no", RUNTIME, Effective,
    "Lets TCP gather small packets to replicas that connect from now on: fewer packets, more delay.";
ReplDisklessSync: "repl-diskless-sync", [], Bool, "yes", DEBUG, Effective,
    "Sends a full sync to replicas directly and not by way of a file.";
ReplDisklessSyncDelay: "repl-diskless-sync-delay", [], Int(0, INT_MAX), "5", RUNTIME, Effective,
    "Seconds to wait for more replicas before a full sync starts.";
ReplDisklessSyncMaxReplicas: "repl-diskless-sync-max-replicas", [], Int(0, INT_MAX), "0", RUNTIME, Effective,
    "Waiting replicas at which a full sync starts without further delay; 0 for no such number.";
ReplRdbChannel: "repl-rdb-channel", [], Bool, "yes", RUNTIME, Effective,
    "Sends and takes a full sync on a second connection if the other side can, so that changes wait at the replica.";
ReplicaFullSyncBufferLimit: "replica-full-sync-buffer-limit", [], Memory(0, BYTES_MAX), "0", RUNTIME, Effective,
    "Bytes of changes that a replica keeps while a full sync comes on a second connection; 0: client-output-buffer-limit replica.";
ReplDisklessLoad: "repl-diskless-load", [], Choice(ReplDisklessLoad::NAMES), "disabled", DEBUG | DENY_LOADING, Accepted(COPY_IS_A_FILE),
    "Whether a replica loads a full sync straight from the link: never, if it is empty, or beside the old data.";
MinReplicasToWrite: "min-replicas-to-write", ["min-slaves-to-write"], Int(0, INT_MAX), "0", RUNTIME, Effective,
    "Healthy replicas without which writes are refused; 0 asks for none.";
MinReplicasMaxLag: "min-replicas-max-lag", ["min-slaves-max-lag"], Int(0, INT_MAX), "10", RUNTIME, Effective,
    "Seconds of lag up to which a replica counts as healthy.";
MinReplicasAck: "min-replicas-ack", [], Int(0, 64), "0", RUNTIME, Effective,
    "Replies to writes wait until all replicas in sync have them, and at least this many; 0 waits for none.";
MinReplicasAckDisk: "min-replicas-ack-disk", [], Bool, "no", RUNTIME, Effective,
    "Replies wait until the writes are on the replicas' disks.";
MinReplicasAckTimeout: "min-replicas-ack-timeout", [], Int(0, INT_MAX), "5000", RUNTIME, Effective,
    "Milliseconds after which replies that wait for replicas become errors; 0 waits without limit.";
MinReplicasAckWindow: "min-replicas-ack-window", [], Int(1000, INT_MAX), "60000", RUNTIME, Effective,
    "Milliseconds for which a Sentinel may promote a replica that has lost its primary; a primary waits as long for a lost replica.";
SentinelLeaseMs: "sentinel-lease-ms", [], ZeroOr(1501, INT_MAX), "0", RUNTIME, Effective,
    "Milliseconds for which a primary answers after enough Sentinels have seen it, shorter than `down-after-milliseconds`; 0 answers without.";
SentinelLeaseSentinels: "sentinel-lease-sentinels", [], Int(0, 64), "0", RUNTIME, Effective,
    "Sentinels that there are; 0 counts those that are heard.";
SentinelLeaseQuorum: "sentinel-lease-quorum", [], Int(0, 64), "0", RUNTIME, Effective,
    "The quorum in the Sentinels' configuration; 0 is a majority.";
SentinelLeaseReads: "sentinel-lease-reads", [], Bool, "no", RUNTIME, Effective,
    "Answers reads without the lease: they may be stale.";
ShutdownTimeout: "shutdown-timeout", [], Int(0, INT_MAX), "10", RUNTIME, Effective,
    "Seconds that a shutdown waits at most until the replicas have everything; 0 does not wait.";
    } } };
}
