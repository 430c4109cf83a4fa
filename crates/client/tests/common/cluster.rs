//! A cluster of real Redis servers.

use super::{Product, Server, eventually};
use apus_client::prelude::*;
use apus_client::{Command, FromValue};
use std::collections::BTreeMap;
use testing::free_address;

/// Three masters with a third of the slots each, and a client of each.
pub async fn start() -> (Vec<Server>, Vec<Client>) {
    let mut servers = Vec::new();
    let mut clients = Vec::new();
    for i in 0..3 {
        let bus = free_address().expect("a port").port().to_string();
        let args =
            ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
        let server = Server::start(Product::Redis, &args);
        let client = Client::connect(&server.url()).await.expect("connected");
        let (first, last) = (i * 5461, if i == 2 { 16383 } else { (i + 1) * 5461 - 1 });
        // Nodes that begin with one and the same epoch quarrel about slots later.
        let epoch = Command::new("CLUSTER SET-CONFIG-EPOCH").arg(i + 1);
        client.call(epoch).await.expect("set");
        client.cluster_addslotsrange([(first, last)]).await.expect("slots");
        if let Some(Server { port, .. }) = servers.first() {
            let bus_of_first: String = clients
                .first()
                .map(|first: &Client| first.call(Command::new("CONFIG GET").arg("cluster-port")))
                .expect("a first one")
                .await
                .and_then(<Vec<String> as apus_client::FromValue>::from_value)
                .expect("its port")
                .remove(1);
            client
                .call(Command::new("CLUSTER MEET").arg(("127.0.0.1", *port, bus_of_first)))
                .await
                .expect("met");
        }
        servers.push(server);
        clients.push(client);
    }
    for client in &clients {
        eventually("the cluster is up", || async {
            let info: String = client.cluster_info().to().await.expect("info");
            (info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3"))
                .then_some(())
        })
        .await;
    }
    (servers, clients)
}

/// A node that is a replica of a master, and a client of it.
pub async fn replica(master: &Server, of: &Client) -> (Server, Client) {
    let bus = free_address().expect("a port").port().to_string();
    let args =
        ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
    let server = Server::start(Product::Redis, &args);
    let client = Client::connect(&server.url()).await.expect("connected");
    let bus: Vec<String> = of
        .call(Command::new("CONFIG GET").arg("cluster-port"))
        .await
        .and_then(read)
        .expect("a port");
    let meet = Command::new("CLUSTER MEET").arg(("127.0.0.1", master.port, &bus[1]));
    client.call(meet).await.expect("met");
    let id = id_of(of).await;
    eventually("the master is known", || async {
        client.call(Command::new("CLUSTER REPLICATE").arg(&id)).await.ok()
    })
    .await;
    eventually("it has the data", || async {
        let info: String = client.info().arg("replication").to().await.expect("info");
        info.contains("master_link_status:up").then_some(())
    })
    .await;
    (server, client)
}

fn read<T: FromValue>(value: apus_client::Value) -> apus_client::Result<T> {
    T::from_value(value)
}

pub async fn id_of(node: &Client) -> String {
    node.call(Command::new("CLUSTER MYID")).await.and_then(read).expect("an ID")
}

/// A node that has not heard yet of what was before refuses a command for a moment.
async fn say(node: &Client, command: &(dyn Fn() -> Command + Sync)) {
    eventually("the node agrees", || async {
        node.call(command()).await.inspect_err(|error| eprintln!("{error}")).ok()
    })
    .await;
}

fn set_slot(slot: u16, word: &'static str, id: &str) -> Command {
    Command::new("CLUSTER SETSLOT").arg((slot, word, id.to_owned()))
}

/// Moves a slot's keys from one node to another; the slot stays.
pub async fn begin_move(
    slot: u16,
    nodes: &[Client],
    servers: &[Server],
    (from, to): (usize, usize),
) {
    let (from_node, to_node, to_server) = (&nodes[from], &nodes[to], &servers[to]);
    let (from_id, to_id) = (id_of(from_node).await, id_of(to_node).await);
    say(to_node, &|| set_slot(slot, "IMPORTING", &from_id)).await;
    say(from_node, &|| set_slot(slot, "MIGRATING", &to_id)).await;
    loop {
        let get = || Command::new("CLUSTER GETKEYSINSLOT").arg((slot, 3));
        let keys: Vec<String> = from_node.call(get()).await.and_then(read).expect("keys");
        if keys.is_empty() {
            break;
        }
        let to = ("127.0.0.1", to_server.port, "", 0, 5000, "KEYS");
        say(from_node, &|| Command::new("MIGRATE").arg(to).arg(&keys)).await;
    }
}

/// Moves a slot with its keys from one node to another, as `redis-cli --cluster reshard` does.
pub async fn move_slot(slot: u16, nodes: &[Client], servers: &[Server], from: usize, to: usize) {
    begin_move(slot, nodes, servers, (from, to)).await;
    let (to_node, to_server) = (&nodes[to], &servers[to]);
    let to_id = id_of(to_node).await;
    let set = |word: &'static str, id: &str| set_slot(slot, word, id);
    say(to_node, &|| set("NODE", &to_id)).await;
    for node in nodes {
        say(node, &|| set("NODE", &to_id)).await;
    }
    // Moves that follow one another faster than nodes hear of epochs leave two nodes with the same one, and each may
    // say then that the slot is the other's.
    eventually("all agree", || async {
        let mut epochs = Vec::new();
        for node in nodes {
            if master_of(node, slot).await != Some(to_server.port) {
                return None;
            }
            epochs.push(configuration(node).await);
        }
        epochs.windows(2).all(|pair| pair[0] == pair[1]).then_some(())
    })
    .await;
}

/// The epoch of each node, as one of them knows it, by its ID.
async fn configuration(node: &Client) -> BTreeMap<String, String> {
    let text: String =
        node.call(Command::new("CLUSTER NODES")).await.and_then(read).expect("nodes");
    let words = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.map(|words| (words[0].to_owned(), words[6].to_owned())).collect()
}

/// The port of the master that a node says has a slot.
async fn master_of(node: &Client, slot: u16) -> Option<u16> {
    let ranges = node.call(Command::new("CLUSTER SLOTS")).await.ok()?.into_elements().ok()?;
    for range in ranges {
        let items = range.into_elements().ok()?;
        let (first, last): (u16, u16) =
            (read(items[0].clone()).ok()?, read(items[1].clone()).ok()?);
        if (first..=last).contains(&slot) {
            return read(items[2].clone().into_elements().ok()?.swap_remove(1)).ok();
        }
    }
    None
}
