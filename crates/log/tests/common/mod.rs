//! Places to keep topics in, for tests.

#![allow(dead_code, unreachable_pub, reason = "every test uses some of it")]

pub mod faulty;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use log::storage::disk::Disk;
use log::storage::memory::Memory;
use log::storage::object;
use log::storage::object::{Bucket, CacheOptions, Objects};
use log::storage::{Storage, Want};
use log::{Broker, Input, Options};
use object_store::memory::InMemory;
pub use testing::TempDir;
use testing::eventually;

/// One kind of storage, whose brokers see the state that earlier ones have left.
pub enum Backend {
    Memory(Arc<Memory>),
    Disk(TempDir),
    /// With a directory for copies.
    Objects(Bucket, TempDir),
}

/// An object store that need not be spared.
pub fn objects_options() -> object::Options {
    object::Options { linger: Duration::from_millis(1), ..object::Options::default() }
}

pub fn objects(bucket: Bucket, options: object::Options, cache: Option<&Path>) -> Arc<Objects> {
    let tell: object::Tell = Arc::new(|text| eprintln!("{text}"));
    let open = || {
        let cache = cache.map(|dir| CacheOptions { dir: dir.to_owned(), bytes: 64 << 20 });
        Objects::open(bucket.clone(), options.clone(), cache, Arc::clone(&tell))
    };
    // A thread of the broker before may still be letting go.
    Arc::new(eventually("a store", || open().ok()))
}

impl Backend {
    pub fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    pub fn disk() -> Self {
        Self::Disk(TempDir::new())
    }

    pub fn objects() -> Self {
        let bucket = Bucket::new(Arc::new(InMemory::new()), "some/prefix", "memory://");
        Self::Objects(bucket, TempDir::new())
    }

    pub fn storage(&self) -> Arc<dyn Storage> {
        match self {
            Self::Memory(m) => Arc::clone(m) as Arc<dyn Storage>,
            Self::Objects(bucket, dir) => {
                objects(bucket.clone(), objects_options(), Some(dir.path()))
            }
            Self::Disk(dir) => {
                // A thread of the broker before may still be letting go.
                Arc::new(eventually("a directory", || Disk::open(dir.path()).ok()))
            }
        }
    }

    pub fn broker(&self, options: Options) -> Broker {
        self.broker_at(options, real_us)
    }

    /// The brokers before must be gone.
    pub fn broker_at(
        &self,
        options: Options,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Broker {
        let tell = Box::new(|text: &str| eprintln!("{text}"));
        Broker::new(self.storage(), options, tell, Box::new(clock))
    }
}

pub fn real_us() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_micros() as u64)
}

pub fn input(records: &[&[u8]]) -> Input {
    Input::from_records(records.iter().copied()).expect("fits")
}

/// All that is wanted from an offset on.
pub fn from(offset: u64) -> Want {
    Want { offset, records: u64::MAX, bytes: 1 << 20, before: u64::MAX, most: usize::MAX }
}

/// All records from an offset on, read in as many steps as it takes.
pub fn all_from(broker: &Broker, topic: &str, mut offset: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let fetched = match broker.read(topic, &from(offset)) {
            Ok(f) => f,
            Err(log::Error::OutOfBounds { .. }) => return all,
            Err(e) => panic!("reading {topic} from {offset}: {e}"),
        };
        for b in &fetched.batches {
            let skip = (offset - b.header.first_offset) as usize;
            let records = b.records().expect("sound");
            all.extend(records.iter().skip(skip).map(|r| r.to_vec()));
            offset = b.header.next_offset();
        }
    }
}

/// Numbers that look random and are the same every time.
#[derive(Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }
}
