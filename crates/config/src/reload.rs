//! Reading the files again while the server runs, on SIGHUP.
//!
//! An option is to be set when its value in the files differs from that of the last reading. One whose line
//! has not changed stays as it is, so that reading an old file again undoes no CONFIG SET.

use std::ffi::{OsStr, OsString};
use std::io::Read;

use crate::kind::IMMUTABLE;
use crate::parse::Value;
use crate::{Config, Id, LoadError, Loaded, ROWS, load};

/// Where a configuration has come from.
#[derive(Debug)]
pub struct Source {
    args: Vec<OsString>,
    stdin: Vec<u8>,
    /// The working directory at the start, which relative paths begin at.
    dir: Vec<u8>,
    /// The configuration with which the server was started.
    started: (Config, Loaded),
    /// The values that were read last.
    last: Config,
}

/// The differences between the files and their last reading.
#[derive(Debug)]
pub struct Changes {
    /// Names and values, as CONFIG SET takes them.
    pub set: Vec<(&'static str, Vec<u8>)>,
    /// Names that take effect with the next start only.
    pub restart: Vec<&'static str>,
    read: Config,
}

/// Keeps the values that are read.
struct Kept<'a>(&'a mut dyn Read, Vec<u8>);

impl Read for Kept<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(buf)?;
        self.1.extend_from_slice(&buf[..n]);
        Ok(n)
    }
}

impl Source {
    /// Loads as [`load`] does, and notes from where.
    ///
    /// # Errors
    /// As [`load`].
    pub fn load<A: AsRef<OsStr>>(
        config: &Config,
        args: &[A],
        stdin: &mut dyn Read,
    ) -> Result<(Self, Loaded), LoadError> {
        let dir = config.with_bytes(Id::Dir, <[u8]>::to_vec);
        let mut kept = Kept(stdin, Vec::new());
        let loaded = load(config, args, &mut kept)?;
        let mut args: Vec<OsString> = args.iter().map(|a| a.as_ref().to_owned()).collect();
        if let (Some(file), Some(first)) = (&loaded.file, args.first_mut()) {
            *first = file.as_os_str().to_owned();
        }
        let mut source = Self {
            args,
            stdin: kept.1,
            dir,
            started: (Config::new(), Loaded::default()),
            last: Config::new(),
        };
        source.started = source.read()?;
        source.last = source.read()?.0;
        Ok((source, loaded))
    }

    fn read(&self) -> Result<(Config, Loaded), LoadError> {
        let config = Config::new();
        config.store(Id::Dir, &Value::Text(self.dir.clone()));
        let loaded = load(&config, &self.args, &mut self.stdin.as_slice())?;
        Ok((config, loaded))
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// A file cannot be read, or has a line with which the server would not start.
    pub fn changes(&self) -> Result<Changes, LoadError> {
        let (read, loaded) = self.read()?;
        let (started, before) = &self.started;
        let (mut set, mut restart) = (Vec::new(), Vec::new());
        for row in &ROWS {
            if row.has(IMMUTABLE) {
                if read.load(row.id) != started.load(row.id) {
                    restart.push(row.name);
                }
            } else if read.load(row.id) != self.last.load(row.id) {
                set.push((row.name, read.show(row.id)));
            }
        }
        if loaded.users != before.users {
            restart.push("user");
        }
        if loaded.renames != before.renames {
            restart.push("rename-command");
        }
        Ok(Changes { set, restart, read })
    }

    /// The changes were taken over.
    pub fn accept(&mut self, changes: Changes) {
        self.last = changes.read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::TempDir;

    #[test]
    fn only_what_a_file_says_otherwise_is_set() {
        let dir = TempDir::new();
        let path = dir.write("a.conf", "maxmemory 1mb\ntimeout 5\nsave 900 1\nthreads 2\n");
        let config = Config::new();
        let args = [path.to_str().unwrap(), "--hz", "20", "-"];
        let (mut source, loaded) =
            Source::load(&config, &args, &mut &b"maxclients 77\n"[..]).unwrap();
        assert_eq!((loaded.file.as_deref(), config.int(Id::Maxclients)), (Some(&*path), 77));
        let changes = source.changes().unwrap();
        assert!(changes.set.is_empty() && changes.restart.is_empty(), "{changes:?}");
        // The command line still wins, an absent line means the default, and options that only a
        // start can set are reported.
        dir.write("a.conf", "maxmemory 2mb\nhz 30\nsave 60 7 5 1\nthreads 3\nuser a on\n");
        let changes = source.changes().unwrap();
        let set: Vec<_> = changes
            .set
            .iter()
            .map(|(n, v)| (*n, String::from_utf8_lossy(v).into_owned()))
            .collect();
        let text = |t: &str| t.to_owned();
        assert_eq!(set.len(), 3, "{set:?}");
        assert!(set.contains(&("maxmemory", text("2097152"))), "{set:?}");
        assert!(set.contains(&("timeout", text("0"))), "{set:?}");
        assert!(set.contains(&("save", text("60 7 5 1"))), "{set:?}");
        assert_eq!(changes.restart, ["threads", "user"]);
        // A change that was not taken over is reported again.
        assert_eq!(source.changes().unwrap().set.len(), 3);
        source.accept(changes);
        let changes = source.changes().unwrap();
        assert_eq!((changes.set.len(), changes.restart.len()), (0, 2));
        // A wrong file changes nothing.
        dir.write("a.conf", "maxmemory 3mb\nnosuch 1\n");
        assert!(source.changes().unwrap_err().to_string().contains("nosuch"));
        dir.write("a.conf", "cluster-enabled yes\n");
        assert!(source.changes().unwrap_err().to_string().contains("no cluster mode"));
        std::fs::remove_file(&path).unwrap();
        assert!(source.changes().unwrap_err().to_string().contains("can't read"));
    }
}
