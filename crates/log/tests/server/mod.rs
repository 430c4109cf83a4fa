//! An object store's server for tests: MinIO for S3, Azurite for Azure, our own for Google.

#![allow(dead_code, unreachable_pub, reason = "every test uses some of it")]

mod gcs;

use std::ffi::{OsStr, OsString};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use testing::{eventually, free_address};

/// The bucket, or container, that there is.
const BUCKET: &str = "topics";
/// What Azurite calls itself; the key is the one that its documentation gives.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A server with a directory of its own. Both are gone when it is dropped, and also if that never
/// happens, as for one that all tests of a process share: a shell waits for the end of this process.
pub struct Server {
    address: SocketAddr,
    scheme: &'static str,
    /// None if it is part of this process.
    watch: Option<Child>,
}

impl Server {
    /// The server whose binary `MINIO` or `AZURITE` names, or, if `GCS` is set, our own.
    pub fn start() -> Self {
        if std::env::var_os("GCS").is_some() {
            return Self { address: gcs::serve(BUCKET), scheme: "gs", watch: None };
        }
        let address = free_address().expect("a free port");
        let name = format!("apus-bucket-{}-{}", std::process::id(), address.port());
        let dir = std::env::temp_dir().join(name);
        if let Some(binary) = std::env::var_os("MINIO") {
            // A directory beside its own is a bucket.
            std::fs::create_dir_all(dir.join(BUCKET)).expect("a directory");
            let mut args: Vec<OsString> = vec![binary, "server".into(), "--quiet".into()];
            args.extend([dir.clone().into(), "--address".into(), address.to_string().into()]);
            return Self { address, scheme: "s3", watch: Some(watch(&dir, &args, address)) };
        }
        let binary = std::env::var_os("AZURITE").expect("MINIO, AZURITE or GCS says which server");
        std::fs::create_dir_all(&dir).expect("a directory");
        let port = address.port().to_string();
        let mut args: Vec<OsString> = vec![binary];
        // Without the last it refuses versions of the protocol that are newer than itself.
        for arg in ["--blobPort", &port, "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        {
            args.push(arg.into());
        }
        args.extend(["--location".into(), dir.clone().into()]);
        let server = Self { address, scheme: "az", watch: Some(watch(&dir, &args, address)) };
        // No request of the crate creates containers.
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../log/tests/server/container.js");
        let mut create = Command::new("node");
        create.args([script, &port, ACCOUNT, KEY, BUCKET]);
        assert!(create.status().expect("node runs").success(), "there is no container");
        server
    }

    /// A place in it.
    pub fn url(&self, prefix: &str) -> String {
        format!("{}://{BUCKET}/{prefix}", self.scheme)
    }

    /// What a client must find in its environment.
    pub fn environment(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        let variables: &[(&str, &str)] = match self.scheme {
            "s3" => &[
                ("AWS_ACCESS_KEY_ID", "apus-test"),
                ("AWS_SECRET_ACCESS_KEY", "apus-test-secret"),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ENDPOINT_URL", &endpoint),
            ],
            "gs" => &[("GOOGLE_BASE_URL", &endpoint), ("GOOGLE_BEARER_TOKEN", gcs::TOKEN)],
            _ => &[
                ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
                ("AZURE_STORAGE_ACCOUNT_KEY", KEY),
                ("AZURE_STORAGE_ENDPOINT", &format!("{endpoint}/{ACCOUNT}")),
            ],
        };
        variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    /// The one that all tests of this process share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }
}

/// Runs a server that uses `dir` and will listen on `address`.
fn watch(dir: &Path, args: &[OsString], address: SocketAddr) -> Child {
    let script =
        "dir=$1; shift; \"$@\" >/dev/null 2>&1 & cat >/dev/null; kill $!; wait; rm -rf \"$dir\"";
    let watch = Command::new("sh")
        .args(["-c".as_ref(), script.as_ref(), "sh".as_ref(), dir.as_os_str()])
        .args(args.iter().map(OsStr::new))
        .env("MINIO_ROOT_USER", "apus-test")
        .env("MINIO_ROOT_PASSWORD", "apus-test-secret")
        .env("MINIO_BROWSER", "off")
        .env("MINIO_UPDATE", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a shell");
    eventually("the object store's server listens", || TcpStream::connect(address).ok());
    watch
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(watch) = &mut self.watch {
            drop(watch.stdin.take());
            let _ = watch.wait();
        }
    }
}
