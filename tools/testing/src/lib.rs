//! What tests of several crates need: directories and addresses that no other test has, and patience.
//!
//! Tests run beside each other, beside those of other checkouts, and after some that were killed. So a
//! directory is never one that is there already, and an address is one that the system gives to no
//! connection.

pub mod http;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Has this process work in a directory of its own below Cargo's target directory, where the files go that an
/// engine within the process writes: those of the crate's sources are not the place. Several tests may
/// call it.
///
/// # Panics
///
/// If there is no such directory to be made.
pub fn leave_the_sources() {
    static DONE: std::sync::Once = std::sync::Once::new();
    DONE.call_once(|| {
        let moved = std::env::current_exe().and_then(|exe| {
            // target/debug/deps/NAME-HASH
            let target = exe.ancestors().nth(3).unwrap_or(Path::new("."));
            let dir = target.join("tmp").join(exe.file_name().unwrap_or_default());
            std::fs::create_dir_all(&dir)?;
            std::env::set_current_dir(&dir)
        });
        if let Err(e) = moved {
            panic!("a directory for the files of tests: {e}");
        }
    });
}

/// Longer than anything takes, also on a slow machine that does much else: it only ends tests that
/// would otherwise hang. Nothing is measured by it.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// An empty directory of its own, removed when it is dropped.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// # Panics
    ///
    /// If the system's directory for temporary files takes none.
    #[must_use]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = format!("apus-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                // As the system itself names it: macOS's is behind a link.
                Ok(()) => return Self(path.canonicalize().unwrap_or(path)),
                // Left by a process of the same number that was killed.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => panic!("{}: {e}", path.display()),
            }
        }
    }

    /// Takes over a directory that another process has made.
    #[must_use]
    pub fn adopt(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it, making the directories between, and returns the file's path.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(e) = made.and_then(|()| std::fs::write(&path, content)) {
            panic!("{}: {e}", path.display());
        }
        path
    }
}

impl Default for TempDir {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for TempDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TempDir {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An address on loopback for a server. Its port lies below those that the system gives to outgoing connections:
/// none of them can take it, and none that waits for the server to listen can meet itself there. Each call tries
/// others, in each process from another one on.
///
/// # Errors
///
/// If there is no free port.
pub fn free_address() -> io::Result<SocketAddr> {
    const PORTS: std::ops::Range<u32> = 10_240..32_768;
    /// Coprime to their number: all of them come before one comes again.
    const STEP: u32 = 5_003;
    static TRIED: AtomicU32 = AtomicU32::new(0);
    static FIRST: OnceLock<u32> = OnceLock::new();
    let first = *FIRST.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        std::process::id().wrapping_mul(7_919) ^ now.subsec_nanos()
    });
    let mut last = io::Error::other("no port was tried");
    for _ in 0..1000 {
        let n = TRIED.fetch_add(1, Relaxed).wrapping_mul(STEP).wrapping_add(first);
        let port = PORTS.start + n % (PORTS.end - PORTS.start);
        match TcpListener::bind(("127.0.0.1", port as u16)) {
            Ok(probe) => return probe.local_addr(),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Asks until there is an answer.
///
/// # Panics
///
/// If there is none within [`PATIENCE`].
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begin.elapsed() < PATIENCE, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::{TempDir, free_address};
    use std::net::TcpListener;

    #[test]
    fn directories_are_new_and_go() {
        let (a, b) = (TempDir::new(), TempDir::new());
        assert_ne!(a.path(), b.path());
        let file = a.write("deep/down", "x");
        assert_eq!(std::fs::read(&file).expect("there"), b"x");
        let gone = a.path().to_owned();
        drop(a);
        assert!(!gone.exists() && b.exists());
    }

    #[test]
    fn addresses_can_be_listened_on_and_are_given_once() {
        let mut all: Vec<_> = (0..100).map(|_| free_address().expect("a port")).collect();
        let listening = TcpListener::bind(all[0]);
        assert!(listening.is_ok(), "{listening:?}");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100);
    }
}
