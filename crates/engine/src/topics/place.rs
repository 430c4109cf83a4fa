//! Where topics are kept, as the options say.

use std::path::PathBuf;
use std::sync::Arc;

use ::log::Error;
use ::log::storage::disk::Disk;
use ::log::storage::memory::Memory;
use ::log::storage::{CacheOptions, Storage, Tell};
use config::{Config, Id};

/// The directory under `dir` that holds topics.
const DIRECTORY: &str = "topics";

/// Where topics are on disk.
fn directory(config: &Config) -> PathBuf {
    PathBuf::from(config.string(Id::Dir)).join(DIRECTORY)
}

/// Whether there may be topics from before, or the option has a value that must be checked.
pub(super) fn is_used(config: &Config) -> bool {
    match config.string(Id::TopicStorage).as_str() {
        "disk" | "memory" => directory(config).is_dir(),
        _ => true,
    }
}

/// The URL of the bucket that topics are in, if they are in one.
pub(super) fn bucket(config: &Config) -> Option<String> {
    Some(config.string(Id::TopicStorage)).filter(|place| place.contains("://"))
}

/// Notes for the operator about how a bucket is going to be reached.
///
/// # Errors
/// The environment lacks a needed setting.
#[cfg(feature = "cloud")]
pub(super) fn hints(url: &str) -> Result<Vec<String>, Error> {
    ::log::storage::object::Bucket::connect(url, variables()).map(|b| b.hints().to_vec())
}

/// The same, for a server that was built without: opening it says so.
#[cfg(not(feature = "cloud"))]
pub(super) fn hints(_: &str) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}

/// The variables of the environment that are text; others cannot be meant.
#[cfg(feature = "cloud")]
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
}

/// Opens it. At most `descriptors` file descriptors are used, unless that is 0.
pub(super) fn open(
    config: &Config,
    descriptors: usize,
    tell: Tell,
) -> Result<Arc<dyn Storage>, Error> {
    match config.string(Id::TopicStorage).as_str() {
        "memory" => {
            let max = usize::try_from(config.bytes(Id::TopicMemory)).unwrap_or(usize::MAX);
            Ok(Arc::new(Memory::with_max(max)))
        }
        "disk" => Ok(Arc::new(match descriptors {
            0 => Disk::open(&directory(config))?,
            n => Disk::open_with(&directory(config), n)?,
        })),
        url if url.contains("://") => {
            let dir = PathBuf::from(config.string(Id::Dir)).join(config.string(Id::TopicCache));
            let bytes = config.bytes(Id::TopicCacheSize);
            let cache = (bytes > 0).then_some(CacheOptions { dir, bytes });
            let fetch_max = usize::try_from(config.bytes(Id::TopicMemory) / 8);
            let fetch_max = fetch_max.unwrap_or(usize::MAX);
            // The rest is for copies of objects that are being read or written.
            let requests_max = descriptors.div_ceil(2);
            objects(url, cache, (fetch_max, requests_max), config.flag(Id::TopicReadOnly), tell)
        }
        other => Err(Error::Storage(format!(
            "topic-storage '{other}' is neither disk nor memory nor the URL of an object store"
        ))),
    }
}

/// The topics in the object store that a URL names, with the settings of the environment. At most `fetch_max`
/// bytes of objects are on their way to readers, and `requests_max` requests to the store, unless that is 0.
///
/// # Errors
/// The place cannot be used, or this server was built without object stores.
#[cfg(feature = "cloud")]
pub fn objects(
    url: &str,
    cache: Option<CacheOptions>,
    (fetch_max, requests_max): (usize, usize),
    read_only: bool,
    tell: Tell,
) -> Result<Arc<dyn Storage>, Error> {
    use ::log::storage::object::{Bucket, Objects, Options};

    let bucket = Bucket::connect(url, variables())?;
    let mut options = Options { fetch_max, read_only, ..Options::default() };
    if requests_max > 0 {
        options.requests_max = requests_max;
    }
    Ok(Arc::new(Objects::open(bucket, options, cache, tell)?))
}

/// The same, for a server that was built without.
///
/// # Errors
/// Always.
#[cfg(not(feature = "cloud"))]
pub fn objects(
    url: &str,
    _: Option<CacheOptions>,
    _: (usize, usize),
    _: bool,
    _: Tell,
) -> Result<Arc<dyn Storage>, Error> {
    Err(Error::Storage(format!(
        "topic-storage '{url}': this server was built without object stores (the feature `cloud`)"
    )))
}
