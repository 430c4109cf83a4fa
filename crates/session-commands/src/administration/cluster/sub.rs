//! The subcommands of CLUSTER. Facts of the rows as in Redis's `src/commands/cluster-*.json`.

use commands::row::{DocFlags, Flags, Group, Row, Scope};

use super::super::{ANYTIME, command};
use super::refuse;
use engine::SessionCommand;

const ADMIN: Flags = Flags::ADMIN.or(Flags::STALE);
/// Of those that change the cluster.
const CHANGE: Flags = ADMIN.or(Flags::NO_ASYNC_LOADING);
const NONDETERMINISTIC: &[&str] = &["nondeterministic_output"];

const BASE: Row = Row {
    group: Group::Cluster,
    since: "3.0.0",
    scope: Scope::None,
    complexity: "O(1)",
    ..Row::DEFAULT
};

/// One static per subcommand, and the lists of all of them.
macro_rules! subs {
    ($($name:ident $example:literal { $($field:ident: $value:expr),* })*) => {
        $(static $name: SessionCommand = command(
            Row {
                $($field: $value,)*
                transcript: concat!(
                    "\n", $example, "\n(error) ERR This instance has cluster support disabled\n"
                ),
                ..BASE
            },
            refuse,
        );)*

        pub(super) const ALL: &[&SessionCommand] = &[$(&$name),*];
        pub(super) const ROWS: &[&Row] = &[$(&$name.row),*];
    };
}

subs! {
    ADDSLOTS "> CLUSTER ADDSLOTS 1" {
        name: "cluster|addslots", arity: -3, flags: CHANGE,
        complexity: "O(N) for N slots",
        summary: "Gives hash slots to the node.",
        syntax: "CLUSTER ADDSLOTS slot [slot ...]"
    }
    ADDSLOTSRANGE "> CLUSTER ADDSLOTSRANGE 1 2" {
        name: "cluster|addslotsrange", since: "7.0.0", arity: -4, flags: CHANGE,
        complexity: "O(N) for N slots in all ranges",
        summary: "Gives ranges of hash slots to the node.",
        syntax: "CLUSTER ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]"
    }
    BUMPEPOCH "> CLUSTER BUMPEPOCH" {
        name: "cluster|bumpepoch", arity: 2, flags: CHANGE, tips: NONDETERMINISTIC,
        summary: "Moves the configuration epoch of the cluster on.",
        syntax: "CLUSTER BUMPEPOCH"
    }
    COUNT_FAILURE_REPORTS "> CLUSTER COUNT-FAILURE-REPORTS x" {
        name: "cluster|count-failure-reports", arity: 3, flags: ADMIN, tips: NONDETERMINISTIC,
        complexity: "O(N) for N reports",
        summary: "Tells how many nodes report another one as failing.",
        syntax: "CLUSTER COUNT-FAILURE-REPORTS node-id"
    }
    COUNTKEYSINSLOT "> CLUSTER COUNTKEYSINSLOT 1" {
        name: "cluster|countkeysinslot", arity: 3, flags: Flags::STALE,
        summary: "Counts the keys in a hash slot.",
        syntax: "CLUSTER COUNTKEYSINSLOT slot"
    }
    DELSLOTS "> CLUSTER DELSLOTS 1" {
        name: "cluster|delslots", arity: -3, flags: CHANGE,
        complexity: "O(N) for N slots",
        summary: "Takes hash slots from the node.",
        syntax: "CLUSTER DELSLOTS slot [slot ...]"
    }
    DELSLOTSRANGE "> CLUSTER DELSLOTSRANGE 1 2" {
        name: "cluster|delslotsrange", since: "7.0.0", arity: -4, flags: CHANGE,
        complexity: "O(N) for N slots in all ranges",
        summary: "Takes ranges of hash slots from the node.",
        syntax: "CLUSTER DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]"
    }
    FAILOVER "> CLUSTER FAILOVER" {
        name: "cluster|failover", arity: -2, flags: CHANGE,
        summary: "Has a replica take the place of its master.",
        syntax: "CLUSTER FAILOVER [FORCE | TAKEOVER]"
    }
    FLUSHSLOTS "> CLUSTER FLUSHSLOTS" {
        name: "cluster|flushslots", arity: 2, flags: CHANGE,
        summary: "Takes all hash slots from the node.",
        syntax: "CLUSTER FLUSHSLOTS"
    }
    FORGET "> CLUSTER FORGET x" {
        name: "cluster|forget", arity: 3, flags: CHANGE,
        summary: "Removes another node from those that are known.",
        syntax: "CLUSTER FORGET node-id"
    }
    GETKEYSINSLOT "> CLUSTER GETKEYSINSLOT 1 1" {
        name: "cluster|getkeysinslot", arity: 4, flags: Flags::STALE, tips: NONDETERMINISTIC,
        complexity: "O(N) for N keys",
        summary: "Names keys in a hash slot.",
        syntax: "CLUSTER GETKEYSINSLOT slot count"
    }
    HELP "> CLUSTER HELP" {
        name: "cluster|help", since: "5.0.0", arity: 2, flags: ANYTIME,
        summary: "Shows what CLUSTER can do.",
        syntax: "CLUSTER HELP"
    }
    INFO "> CLUSTER INFO" {
        name: "cluster|info", arity: 2, flags: Flags::STALE, tips: NONDETERMINISTIC,
        summary: "Tells the state of the cluster as the node sees it.",
        syntax: "CLUSTER INFO"
    }
    KEYSLOT "> CLUSTER KEYSLOT a" {
        name: "cluster|keyslot", arity: 3, flags: Flags::STALE,
        complexity: "O(N) for N bytes of the key",
        summary: "Computes the hash slot of a key.",
        syntax: "CLUSTER KEYSLOT name"
    }
    LINKS "> CLUSTER LINKS" {
        name: "cluster|links", since: "7.0.0", arity: 2, flags: Flags::STALE, tips: NONDETERMINISTIC,
        complexity: "O(N) for N nodes",
        summary: "Lists the connections to other nodes.",
        syntax: "CLUSTER LINKS"
    }
    MEET "> CLUSTER MEET 127.0.0.1 7000" {
        name: "cluster|meet", arity: -4, flags: CHANGE,
        history: &[("4.0.0", "Added the optional `cluster_bus_port` argument.")],
        summary: "Introduces the node to another one.",
        syntax: "CLUSTER MEET ip port [cluster-bus-port]"
    }
    MYID "> CLUSTER MYID" {
        name: "cluster|myid", arity: 2, flags: Flags::STALE,
        summary: "Tells the ID of the node.",
        syntax: "CLUSTER MYID"
    }
    MYSHARDID "# only: redis>=7.2\n> CLUSTER MYSHARDID" {
        name: "cluster|myshardid", since: "7.2.0", arity: 2, flags: Flags::STALE, tips: NONDETERMINISTIC,
        summary: "Tells the ID of the shard that the node is part of.",
        syntax: "CLUSTER MYSHARDID"
    }
    NODES "> CLUSTER NODES" {
        name: "cluster|nodes", arity: 2, flags: Flags::STALE, tips: NONDETERMINISTIC,
        complexity: "O(N) for N nodes",
        summary: "Describes all nodes that are known.",
        syntax: "CLUSTER NODES"
    }
    REPLICAS "> CLUSTER REPLICAS x" {
        name: "cluster|replicas", since: "5.0.0", arity: 3, flags: ADMIN, tips: NONDETERMINISTIC,
        complexity: "O(N) for N replicas",
        summary: "Lists the replicas of a master.",
        syntax: "CLUSTER REPLICAS node-id"
    }
    REPLICATE "> CLUSTER REPLICATE x" {
        name: "cluster|replicate", arity: 3, flags: CHANGE,
        summary: "Makes the node a replica of a master.",
        syntax: "CLUSTER REPLICATE node-id"
    }
    RESET "> CLUSTER RESET" {
        name: "cluster|reset", arity: -2, flags: ADMIN.or(Flags::NOSCRIPT),
        complexity: "O(N) for N known nodes",
        summary: "Makes the node forget the cluster.",
        syntax: "CLUSTER RESET [HARD | SOFT]"
    }
    SAVECONFIG "> CLUSTER SAVECONFIG" {
        name: "cluster|saveconfig", arity: 2, flags: CHANGE,
        summary: "Writes the node's view of the cluster to disk.",
        syntax: "CLUSTER SAVECONFIG"
    }
    SET_CONFIG_EPOCH "> CLUSTER SET-CONFIG-EPOCH 1" {
        name: "cluster|set-config-epoch", arity: 3, flags: CHANGE,
        summary: "Sets the configuration epoch of a new node.",
        syntax: "CLUSTER SET-CONFIG-EPOCH config-epoch"
    }
    SETSLOT "> CLUSTER SETSLOT 1 STABLE" {
        name: "cluster|setslot", arity: -4, flags: CHANGE,
        summary: "Says which node has a hash slot, or moves it.",
        syntax: "CLUSTER SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>"
    }
    SHARDS "> CLUSTER SHARDS" {
        name: "cluster|shards", since: "7.0.0", arity: 2, flags: ANYTIME, tips: NONDETERMINISTIC,
        complexity: "O(N) for N nodes",
        summary: "Maps hash slots to shards and their nodes.",
        syntax: "CLUSTER SHARDS"
    }
    SLAVES "> CLUSTER SLAVES x" {
        name: "cluster|slaves", arity: 3, flags: ADMIN, tips: NONDETERMINISTIC,
        doc_flags: DocFlags::DEPRECATED, deprecated_since: "5.0.0", replaced_by: "`CLUSTER REPLICAS`",
        complexity: "O(N) for N replicas",
        summary: "Lists the replicas of a master.",
        syntax: "CLUSTER SLAVES node-id"
    }
    SLOTS "> CLUSTER SLOTS" {
        name: "cluster|slots", arity: 2, flags: ANYTIME, tips: NONDETERMINISTIC,
        history: &[("4.0.0", "Added node IDs."), ("7.0.0", "Added additional networking metadata field.")],
        doc_flags: DocFlags::DEPRECATED, deprecated_since: "7.0.0", replaced_by: "`CLUSTER SHARDS`",
        complexity: "O(N) for N nodes",
        summary: "Maps hash slots to nodes.",
        syntax: "CLUSTER SLOTS"
    }
}
