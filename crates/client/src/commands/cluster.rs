//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group cluster.
pub trait ClusterCommands: Target {
    /// Lets the next command use a slot that is being moved to this node.
    ///
    /// `ASKING`
    fn asking(&self) -> Request<'_> {
        Request::of(self.target(), &table::ASKING)
    }

    /// Gives hash slots to the node.
    ///
    /// `CLUSTER ADDSLOTS slot [slot ...]`
    fn cluster_addslots(&self, slots: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_ADDSLOTS).with(slots)
    }

    /// Gives ranges of hash slots to the node.
    ///
    /// `CLUSTER ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]`
    fn cluster_addslotsrange(&self, start_slot_end_slots: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_ADDSLOTSRANGE).with(start_slot_end_slots)
    }

    /// Moves the configuration epoch of the cluster on.
    ///
    /// `CLUSTER BUMPEPOCH`
    fn cluster_bumpepoch(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_BUMPEPOCH)
    }

    /// Tells how many nodes report another one as failing.
    ///
    /// `CLUSTER COUNT-FAILURE-REPORTS node-id`
    fn cluster_count_failure_reports(&self, node_id: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_COUNT_FAILURE_REPORTS).with(node_id)
    }

    /// Counts the keys in a hash slot.
    ///
    /// `CLUSTER COUNTKEYSINSLOT slot`
    fn cluster_countkeysinslot(&self, slot: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_COUNTKEYSINSLOT).with(slot)
    }

    /// Takes hash slots from the node.
    ///
    /// `CLUSTER DELSLOTS slot [slot ...]`
    fn cluster_delslots(&self, slots: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_DELSLOTS).with(slots)
    }

    /// Takes ranges of hash slots from the node.
    ///
    /// `CLUSTER DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]`
    fn cluster_delslotsrange(&self, start_slot_end_slots: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_DELSLOTSRANGE).with(start_slot_end_slots)
    }

    /// Has a replica take the place of its master.
    ///
    /// `CLUSTER FAILOVER [FORCE | TAKEOVER]`
    fn cluster_failover(&self) -> Request<'_, options::ClusterFailover> {
        Request::of(self.target(), &table::CLUSTER_FAILOVER)
    }

    /// Takes all hash slots from the node.
    ///
    /// `CLUSTER FLUSHSLOTS`
    fn cluster_flushslots(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_FLUSHSLOTS)
    }

    /// Removes another node from those that are known.
    ///
    /// `CLUSTER FORGET node-id`
    fn cluster_forget(&self, node_id: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_FORGET).with(node_id)
    }

    /// Names keys in a hash slot.
    ///
    /// `CLUSTER GETKEYSINSLOT slot count`
    fn cluster_getkeysinslot(&self, slot: impl Arg, count: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_GETKEYSINSLOT).with(slot).with(count)
    }

    /// Shows what CLUSTER can do.
    ///
    /// `CLUSTER HELP`
    fn cluster_help(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_HELP)
    }

    /// Tells the state of the cluster as the node sees it.
    ///
    /// `CLUSTER INFO`
    fn cluster_info(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_INFO)
    }

    /// Computes the hash slot of a key.
    ///
    /// `CLUSTER KEYSLOT name`
    fn cluster_keyslot(&self, name: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_KEYSLOT).with(name)
    }

    /// Lists the connections to other nodes.
    ///
    /// `CLUSTER LINKS`
    fn cluster_links(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_LINKS)
    }

    /// Introduces the node to another one.
    ///
    /// `CLUSTER MEET ip port [cluster-bus-port]`
    fn cluster_meet(&self, ip: impl Arg, port: impl Arg) -> Request<'_, options::ClusterMeet> {
        Request::of(self.target(), &table::CLUSTER_MEET).with(ip).with(port)
    }

    /// Tells the ID of the node.
    ///
    /// `CLUSTER MYID`
    fn cluster_myid(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_MYID)
    }

    /// Tells the ID of the shard that the node is part of.
    ///
    /// `CLUSTER MYSHARDID`
    fn cluster_myshardid(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_MYSHARDID)
    }

    /// Describes all nodes that are known.
    ///
    /// `CLUSTER NODES`
    fn cluster_nodes(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_NODES)
    }

    /// Lists the replicas of a master.
    ///
    /// `CLUSTER REPLICAS node-id`
    fn cluster_replicas(&self, node_id: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_REPLICAS).with(node_id)
    }

    /// Makes the node a replica of a master.
    ///
    /// `CLUSTER REPLICATE node-id`
    fn cluster_replicate(&self, node_id: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_REPLICATE).with(node_id)
    }

    /// Makes the node forget the cluster.
    ///
    /// `CLUSTER RESET [HARD | SOFT]`
    fn cluster_reset(&self) -> Request<'_, options::ClusterReset> {
        Request::of(self.target(), &table::CLUSTER_RESET)
    }

    /// Writes the node's view of the cluster to disk.
    ///
    /// `CLUSTER SAVECONFIG`
    fn cluster_saveconfig(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_SAVECONFIG)
    }

    /// Sets the configuration epoch of a new node.
    ///
    /// `CLUSTER SET-CONFIG-EPOCH config-epoch`
    fn cluster_set_config_epoch(&self, config_epoch: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_SET_CONFIG_EPOCH).with(config_epoch)
    }

    /// Says which node has a hash slot, or moves it.
    ///
    /// `CLUSTER SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>`
    fn cluster_setslot(&self, slot: impl Arg, node_id_or_node_id_or_node_id_or_stable: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_SETSLOT).with(slot).with(node_id_or_node_id_or_node_id_or_stable)
    }

    /// Maps hash slots to shards and their nodes.
    ///
    /// `CLUSTER SHARDS`
    fn cluster_shards(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_SHARDS)
    }

    /// Lists the replicas of a master.
    ///
    /// `CLUSTER SLAVES node-id`
    ///
    /// Redis has had better since 5.0.0.
    fn cluster_slaves(&self, node_id: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_SLAVES).with(node_id)
    }

    /// Maps hash slots to nodes.
    ///
    /// `CLUSTER SLOTS`
    ///
    /// Redis has had better since 7.0.0.
    fn cluster_slots(&self) -> Request<'_> {
        Request::of(self.target(), &table::CLUSTER_SLOTS)
    }

    /// Lets the connection read from a replica of a cluster.
    ///
    /// `READONLY`
    fn readonly(&self) -> Request<'_> {
        Request::of(self.target(), &table::READONLY)
    }

    /// Takes READONLY back.
    ///
    /// `READWRITE`
    fn readwrite(&self) -> Request<'_> {
        Request::of(self.target(), &table::READWRITE)
    }
}

impl<T: Target + ?Sized> ClusterCommands for T {}

/// Options of CLUSTER FAILOVER.
impl Request<'_, options::ClusterFailover> {
    /// `FORCE`.
    pub fn force(self) -> Self {
        self.with("FORCE")
    }

    /// `TAKEOVER`.
    pub fn takeover(self) -> Self {
        self.with("TAKEOVER")
    }
}

/// Options of CLUSTER MEET.
impl Request<'_, options::ClusterMeet> {
    /// The argument `cluster-bus-port`.
    pub fn cluster_bus_port(self, cluster_bus_port: impl Arg) -> Self {
        self.with(cluster_bus_port)
    }
}

/// Options of CLUSTER RESET.
impl Request<'_, options::ClusterReset> {
    /// `HARD`.
    pub fn hard(self) -> Self {
        self.with("HARD")
    }

    /// `SOFT`.
    pub fn soft(self) -> Self {
        self.with("SOFT")
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of CLUSTER FAILOVER.
    #[derive(Debug)]
    pub enum ClusterFailover {}
    /// Of CLUSTER MEET.
    #[derive(Debug)]
    pub enum ClusterMeet {}
    /// Of CLUSTER RESET.
    #[derive(Debug)]
    pub enum ClusterReset {}
}
