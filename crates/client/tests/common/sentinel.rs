//! One of Redis's sentinels.

use apus_client::{self as client, Client};
use std::process::{Child, Command, Stdio};
use testing::{TempDir, free_address};

/// A sentinel alone that watches a master under the name `m`; killed when it is dropped.
pub struct Sentinel {
    pub port: u16,
    child: Child,
    _dir: TempDir,
}

pub fn start(master: u16) -> Sentinel {
    let dir = TempDir::new();
    let port = free_address().expect("a port").port();
    let text = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor m 127.0.0.1 {master} 1\n\
         sentinel down-after-milliseconds m 1000\nsentinel failover-timeout m 10000\n"
    );
    let file = dir.write("sentinel.conf", text).display().to_string();
    let child = Command::new("redis-server")
        .args([&file, "--sentinel"])
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    testing::eventually("the sentinel listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    Sentinel { port, child, _dir: dir }
}

impl Sentinel {
    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}?sentinel_master_name=m", self.port)
    }

    /// Waits until it knows a replica whose link is up. Returns a client of the sentinel itself.
    pub async fn knows_a_replica(&self) -> Client {
        let asking = Client::connect(&format!("redis://127.0.0.1:{}", self.port)).await;
        let asking = asking.expect("connected");
        super::eventually("the sentinel knows the replica", || async {
            let command = client::Command::new("SENTINEL").arg(("REPLICAS", "m"));
            let replicas = format!("{:?}", asking.call(command).await.expect("replicas"));
            ["\"slave\"", "master-link-status", "\"ok\""]
                .iter()
                .all(|part| replicas.contains(part))
                .then_some(())
        })
        .await;
        asking
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
