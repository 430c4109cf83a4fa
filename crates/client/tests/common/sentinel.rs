//! One of Redis's sentinels.

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
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
