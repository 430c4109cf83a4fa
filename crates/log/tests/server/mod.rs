//! A MinIO server for tests.

#![allow(dead_code, unreachable_pub, reason = "every test uses some of it")]

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use testing::{eventually, free_address};

/// The bucket that there is.
pub const BUCKET: &str = "topics";

/// A server with a directory of its own. Both are gone when it is dropped, and also if that never
/// happens, as for one that all tests of a process share: a shell waits for the end of this process.
pub struct Minio {
    pub address: SocketAddr,
    watch: Child,
}

impl Minio {
    pub fn start() -> Self {
        let binary = std::env::var_os("MINIO").expect("MINIO is the path of a minio binary");
        let address = free_address().expect("a free port");
        let dir: PathBuf = std::env::temp_dir().join(format!(
            "apus-minio-{}-{}",
            std::process::id(),
            address.port()
        ));
        // A directory beside its own is a bucket.
        std::fs::create_dir_all(dir.join(BUCKET)).expect("a directory");
        let watch = Command::new("sh")
            .args(["-c", "\"$@\" >/dev/null 2>&1 & cat >/dev/null; kill $!; wait; rm -rf \"$4\""])
            .args(["sh".as_ref(), binary.as_os_str(), "server".as_ref(), "--quiet".as_ref()])
            .arg(&dir)
            .args(["--address", &address.to_string()])
            .env("MINIO_ROOT_USER", "apus-test")
            .env("MINIO_ROOT_PASSWORD", "apus-test-secret")
            .env("MINIO_BROWSER", "off")
            .env("MINIO_UPDATE", "off")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell");
        eventually("minio listens", || TcpStream::connect(address).ok());
        Self { address, watch }
    }

    /// What a client must find in its environment.
    pub fn environment(&self) -> [(String, String); 4] {
        let endpoint = format!("http://{}", self.address);
        [
            ("AWS_ACCESS_KEY_ID", "apus-test"),
            ("AWS_SECRET_ACCESS_KEY", "apus-test-secret"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", &endpoint),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
    }

    /// The one that all tests of this process share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Minio> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }
}

impl Drop for Minio {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}
