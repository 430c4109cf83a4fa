//! The map of a cluster: which node has which slot, as `CLUSTER SHARDS` (Redis 7) or `CLUSTER SLOTS` says.
//!
//! `CLUSTER SHARDS` says of each node whether it is well, and its ports with TLS and without; so it is preferred.

use crate::config::Address;
use crate::error::{Error, Result};
use crate::topology::slots::SLOTS;
use crate::value::Value;

const NO_NODE: u16 = u16::MAX;

#[derive(Debug)]
pub(super) struct Map {
    /// The number of the node that has a slot.
    pub(super) slots: Box<[u16]>,
    pub(super) nodes: Vec<Node>,
    pub(super) version: u64,
}

/// A master with its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) master: Address,
    pub(super) replicas: Vec<Address>,
}

impl Map {
    /// A map without nodes.
    pub(super) fn empty() -> Self {
        Self { slots: vec![NO_NODE; SLOTS].into(), nodes: Vec::new(), version: 0 }
    }

    /// The master that has a slot.
    pub(super) fn master_of(&self, slot: u16) -> Option<&Address> {
        let node = self.nodes.get(usize::from(self.slots[usize::from(slot)]))?;
        Some(&node.master)
    }

    /// Reads the reply of `CLUSTER SLOTS`.
    pub(super) fn read(value: Value, asked: &Address) -> Result<Self> {
        let wrong = || Error::protocol("a map of slots that is none");
        let mut slots: Box<[u16]> = vec![NO_NODE; SLOTS].into();
        let mut nodes: Vec<Node> = Vec::new();
        for range in value.into_elements().map_err(|_| wrong())? {
            let mut items = range.into_elements().map_err(|_| wrong())?.into_iter();
            let mut bound = || match items.next() {
                Some(Value::Int(n)) => usize::try_from(n).ok().filter(|&n| n < SLOTS),
                _ => None,
            };
            let (Some(first), Some(last)) = (bound(), bound()) else { return Err(wrong()) };
            let mut addresses = items.map(|node| address(node, asked));
            let master = addresses.next().ok_or_else(wrong)?.ok_or_else(wrong)?;
            let node = Node { master, replicas: addresses.flatten().collect() };
            let number = nodes.iter().position(|known| *known == node).unwrap_or_else(|| {
                nodes.push(node);
                nodes.len() - 1
            });
            let number = u16::try_from(number).map_err(|_| wrong())?;
            slots.get_mut(first..=last).ok_or_else(wrong)?.fill(number);
        }
        Ok(Self { slots, nodes, version: 0 })
    }
}

impl Map {
    /// Reads the reply of `CLUSTER SHARDS`; with `is_tls` nodes are reached at their ports for TLS.
    pub(super) fn read_shards(value: Value, asked: &Address, is_tls: bool) -> Result<Self> {
        let wrong = || Error::protocol("a list of shards that is none");
        let mut slots: Box<[u16]> = vec![NO_NODE; SLOTS].into();
        let mut nodes: Vec<Node> = Vec::new();
        for shard in value.into_elements().map_err(|_| wrong())? {
            let shard = Fields::of(shard).ok_or_else(wrong)?;
            let bounds = bounds(&shard).ok_or_else(wrong)?;
            let members = shard.get("nodes").cloned().ok_or_else(wrong)?;
            let members = members.into_elements().map_err(|_| wrong())?;
            // A shard whose master is not known now: its slots have no node until the next map.
            let Some(node) = members_of(members, asked, is_tls) else { continue };
            if bounds.is_empty() {
                continue;
            }
            let number = u16::try_from(nodes.len()).map_err(|_| wrong())?;
            nodes.push(node);
            for (first, last) in bounds {
                slots.get_mut(first..=last).ok_or_else(wrong)?.fill(number);
            }
        }
        Ok(Self { slots, nodes, version: 0 })
    }
}

/// A map of the server's, in RESP3 or RESP2.
struct Fields(Vec<(Value, Value)>);

impl Fields {
    fn of(value: Value) -> Option<Self> {
        value.into_pairs().ok().map(Self)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    fn port(&self, name: &str) -> Option<u16> {
        match self.get(name)? {
            Value::Int(port) => u16::try_from(*port).ok().filter(|port| *port > 0),
            _ => None,
        }
    }
}

/// The first and last slots of a shard's ranges. None: they are malformed.
fn bounds(shard: &Fields) -> Option<Vec<(usize, usize)>> {
    let all = shard.get("slots")?.clone().into_elements().ok()?;
    let slot = |value: &Value| match value {
        Value::Int(n) => usize::try_from(*n).ok().filter(|&n| n < SLOTS),
        _ => None,
    };
    let pair = |pair: &[Value]| {
        Some((slot(&pair[0])?, slot(pair.get(1)?)?)).filter(|(first, last)| first <= last)
    };
    all.chunks(2).map(pair).collect()
}

/// A shard's master, the one that is well if two say so for a while, and those of its replicas that are well.
fn members_of(members: Vec<Value>, asked: &Address, is_tls: bool) -> Option<Node> {
    let mut master: Option<(Address, bool)> = None;
    let mut replicas = Vec::new();
    for member in members {
        let member = Fields::of(member)?;
        let Some(address) = address_of_member(&member, asked, is_tls) else { continue };
        let is_well = member.text("health").is_none_or(|health| health == "online");
        match member.text("role")? {
            "master" if master.as_ref().is_none_or(|(_, was_well)| is_well && !was_well) => {
                master = Some((address, is_well));
            }
            "replica" if is_well => replicas.push(address),
            _ => {}
        }
    }
    Some(Node { master: master?.0, replicas })
}

/// Where a member of a shard is reached. None: nowhere in this way.
fn address_of_member(member: &Fields, asked: &Address, is_tls: bool) -> Option<Address> {
    let port = member.port(if is_tls { "tls-port" } else { "port" })?;
    let host = member.text("endpoint").filter(|host| !host.is_empty() && *host != "?");
    match (host, asked) {
        (Some(host), _) => Some(Address::Tcp(host.to_owned(), port)),
        (None, Address::Tcp(host, _)) => Some(Address::Tcp(host.clone(), port)),
        (None, Address::Unix(_)) => None,
    }
}

/// A node's address; one without a host is where we have asked.
fn address(node: Value, asked: &Address) -> Option<Address> {
    let mut items = node.into_elements().ok()?.into_iter();
    let host = items.next()?;
    let Value::Int(port) = items.next()? else { return None };
    let port = u16::try_from(port).ok()?;
    match (host.as_str().filter(|host| !host.is_empty() && *host != "?"), asked) {
        (Some(host), _) => Some(Address::Tcp(host.to_owned(), port)),
        (None, Address::Tcp(host, _)) => Some(Address::Tcp(host.clone(), port)),
        (None, Address::Unix(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Map, NO_NODE};
    use crate::config::Address;
    use crate::value::Value;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.to_owned().into())
    }

    fn member(port: i64, host: &str, role: &str, health: &str) -> Value {
        Value::Map(vec![
            (bulk("id"), bulk("0123")),
            (bulk("port"), Value::Int(port)),
            (bulk("tls-port"), Value::Int(port + 1000)),
            (bulk("ip"), bulk("10.0.0.1")),
            (bulk("endpoint"), bulk(host)),
            (bulk("role"), bulk(role)),
            (bulk("health"), bulk(health)),
        ])
    }

    fn shard(slots: &[i64], members: Vec<Value>) -> Value {
        let slots = slots.iter().map(|n| Value::Int(*n)).collect();
        // RESP2's form of a map.
        Value::Array(vec![bulk("slots"), Value::Array(slots), bulk("nodes"), Value::Array(members)])
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp(host.into(), port)
    }

    #[test]
    fn shards_are_read_with_the_masters_that_are_well() {
        let reply = || {
            let failed_over = vec![
                member(1, "a", "master", "fail"),
                member(2, "b", "master", "online"),
                member(3, "c", "replica", "online"),
                member(4, "d", "replica", "loading"),
            ];
            Value::Array(vec![
                shard(&[0, 9, 20, 29], failed_over),
                shard(&[10, 19], vec![member(5, "", "master", "online")]),
                shard(&[30, 39], vec![member(6, "e", "replica", "online")]),
                shard(&[], vec![member(7, "f", "master", "online")]),
            ])
        };
        let map = Map::read_shards(reply(), &tcp("asked", 9), false).expect("a map");
        assert_eq!(map.nodes.len(), 2);
        assert_eq!(
            (&map.nodes[0].master, &*map.nodes[0].replicas),
            (&tcp("b", 2), &[tcp("c", 3)][..])
        );
        for (slot, node) in
            [(0, 0), (9, 0), (10, 1), (19, 1), (29, 0), (30, NO_NODE), (40, NO_NODE)]
        {
            assert_eq!(map.slots[slot], node, "{slot}");
        }
        // A node that does not know its name is where it was asked.
        assert_eq!(map.master_of(10), Some(&tcp("asked", 5)));
        let map = Map::read_shards(reply(), &tcp("asked", 9), true).expect("a map");
        assert_eq!(map.master_of(0), Some(&tcp("b", 1002)));
    }

    #[test]
    fn malformed_shards_are_errors() {
        let node = || vec![member(1, "a", "master", "online")];
        for wrong in [
            Value::Int(1),
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![shard(&[1], node())]),
            Value::Array(vec![shard(&[5, 4], node())]),
            Value::Array(vec![shard(&[0, 16384], node())]),
            Value::Array(vec![shard(&[-1, 4], node())]),
        ] {
            let read = Map::read_shards(wrong.clone(), &tcp("asked", 9), false);
            assert!(read.is_err(), "{wrong:?}");
        }
    }
}
