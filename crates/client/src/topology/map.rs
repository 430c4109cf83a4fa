//! The map of a cluster: which node has which slot, as `CLUSTER SLOTS` says.

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
