//! Rows: cluster mode.

macro_rules! cluster_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Cluster {

ClusterEnabled: "cluster-enabled", [], Bool, "no", IMMUTABLE, Refused(NO_NODE),
    "Runs as a node of a cluster.";
ClusterConfigFile: "cluster-config-file", [], Text(any), "nodes.conf", IMMUTABLE, Accepted(NO_CLUSTER),
    "File in which a node keeps the cluster's state.";
ClusterPort: "cluster-port", [], Int(0, 65535), "0", IMMUTABLE, Accepted(NO_CLUSTER),
    "Port of the cluster bus; 0 for the data port plus 10000.";
ClusterNodeTimeout: "cluster-node-timeout", [], Int(0, LONG_MAX), "15000", RUNTIME, Accepted(NO_CLUSTER),
    "Milliseconds of silence after which a node counts as failing.";
ClusterPingInterval: "cluster-ping-interval", [], Int(0, LONG_MAX), "0", HIDDEN, Accepted(NO_CLUSTER),
    "Milliseconds between two pings on the cluster bus; 0 chooses by itself.";
ClusterReplicaValidityFactor: "cluster-replica-validity-factor", ["cluster-slave-validity-factor"], Int(0, INT_MAX), "10", RUNTIME, Accepted(NO_CLUSTER),
    "Node timeouts after which a disconnected replica's data is too old for failover; 0 for never.";
ClusterReplicaNoFailover: "cluster-replica-no-failover", ["cluster-slave-no-failover"], Bool, "no", RUNTIME, Accepted(NO_CLUSTER),
    "Never lets this replica take over by itself.";
ClusterMigrationBarrier: "cluster-migration-barrier", [], Int(0, INT_MAX), "1", RUNTIME, Accepted(NO_CLUSTER),
    "Replicas a primary must keep when one moves to a primary without any.";
ClusterAllowReplicaMigration: "cluster-allow-replica-migration", [], Bool, "yes", RUNTIME, Accepted(NO_CLUSTER),
    "Lets replicas move to primaries that have none.";
ClusterRequireFullCoverage: "cluster-require-full-coverage", [], Bool, "yes", RUNTIME, Accepted(NO_CLUSTER),
    "Refuses every request while some slot is served by no node.";
ClusterAllowReadsWhenDown: "cluster-allow-reads-when-down", [], Bool, "no", RUNTIME, Accepted(NO_CLUSTER),
    "Answers reads while the cluster is down.";
ClusterAllowPubsubshardWhenDown: "cluster-allow-pubsubshard-when-down", [], Bool, "yes", RUNTIME, Accepted(NO_CLUSTER),
    "Serves sharded publish/subscribe while the cluster is down.";
ClusterLinkSendbufLimit: "cluster-link-sendbuf-limit", [], Memory(0, u64::MAX), "0", RUNTIME, Accepted(NO_CLUSTER),
    "Bytes that may wait on a link of the cluster bus before it is closed; 0 sets no bound.";
ClusterAnnounceIp: "cluster-announce-ip", [], Optional(any), "", RUNTIME, Accepted(NO_CLUSTER),
    "Address a node gives to the others; empty for its own.";
ClusterAnnouncePort: "cluster-announce-port", [], Int(0, 65535), "0", RUNTIME, Accepted(NO_CLUSTER),
    "Data port a node gives to the others; 0 for its own.";
ClusterAnnounceTlsPort: "cluster-announce-tls-port", [], Int(0, 65535), "0", RUNTIME, Accepted(NO_CLUSTER),
    "TLS port a node gives to the others; 0 for its own.";
ClusterAnnounceBusPort: "cluster-announce-bus-port", [], Int(0, 65535), "0", RUNTIME, Accepted(NO_CLUSTER),
    "Bus port a node gives to the others; 0 for its own.";
ClusterAnnounceHostname: "cluster-announce-hostname", [], Optional(hostname), "", RUNTIME, Accepted(NO_CLUSTER),
    "Host name a node gives to clients; empty for none.";
ClusterAnnounceHumanNodename: "cluster-announce-human-nodename", [], Optional(nodename), "", RUNTIME, Accepted(NO_CLUSTER),
    "Name of a node for the log; empty for none.";
ClusterPreferredEndpointType: "cluster-preferred-endpoint-type", [], Choice(ClusterEndpointType::NAMES), "ip", RUNTIME, Accepted(NO_CLUSTER),
    "What clients are told to connect to: the address, the host name, or what they already use.";
    } } };
}
