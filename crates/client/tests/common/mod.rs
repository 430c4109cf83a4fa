//! Servers for the tests: Debian's redis-server and Apus, each in a directory of its own.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

pub mod cluster;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::{TempDir, free_address};

/// What can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    Redis,
    Apus,
}

/// A running server, killed when it is dropped.
pub struct Server {
    pub kind: Product,
    pub port: u16,
    pub dir: TempDir,
    child: Child,
}

/// The kinds that are there. A missing one is said, loudly.
pub fn kinds() -> Vec<Product> {
    let mut kinds = Vec::new();
    match Command::new("redis-server").arg("--version").output() {
        Ok(_) => kinds.push(Product::Redis),
        Err(error) => eprintln!("LEFT OUT: redis-server: {error}"),
    }
    match apus() {
        Some(_) => kinds.push(Product::Apus),
        None => eprintln!("LEFT OUT: apus: build it (cargo build -p apus) or set APUS_BIN"),
    }
    assert!(!kinds.is_empty(), "there is no server to test with");
    kinds
}

fn apus() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("APUS_BIN") {
        return Some(path.into());
    }
    let exe = std::env::current_exe().ok()?;
    // target/debug/deps/NAME
    let path = exe.ancestors().nth(2)?.join("apus");
    path.is_file().then_some(path)
}

impl Server {
    pub fn start(kind: Product, args: &[&str]) -> Self {
        let port = free_address().expect("a port").port();
        Self::start_in(kind, TempDir::new(), port, args)
    }

    pub fn start_in(kind: Product, dir: TempDir, port: u16, args: &[&str]) -> Self {
        let mut command = match kind {
            Product::Redis => Command::new("redis-server"),
            Product::Apus => {
                let mut command = Command::new(apus().expect("apus is there"));
                command.arg("serve");
                command
            }
        };
        let child = command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(args)
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        testing::eventually("the server listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self { kind, port, dir, child }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn path(&self, name: &str) -> String {
        Path::new(self.dir.path()).join(name).display().to_string()
    }

    /// Kills it and starts it again on its port, empty.
    pub fn restart(mut self, args: &[&str]) -> Self {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Self::start_in(self.kind, TempDir::new(), self.port, args)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a test on every kind of server, within a runtime of two threads.
pub fn on_each<F: Future<Output = ()>>(args: &[&str], test: impl Fn(Server) -> F) {
    for kind in kinds() {
        eprintln!("{kind:?}");
        runtime().block_on(test(Server::start(kind, args)));
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Whether there is Debian's Redis, which these tests need: Apus is neither a sentinel nor a cluster yet.
pub fn has_redis() -> bool {
    kinds().contains(&Product::Redis)
}

/// Asks until there is an answer.
pub async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let begin = std::time::Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begin.elapsed() < testing::PATIENCE, "still not so: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
