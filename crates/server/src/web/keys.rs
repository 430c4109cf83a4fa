//! The site in a key: a hash that has the files of a site by their paths (`web-key`).
//!
//! The key is read as a page reads keys: a change of it makes the version of [`Pages::SITE`] another one before
//! the writer gets its reply. Every request looks at that number, and the first that finds another one reads the
//! key again. So a client that was answered sees the new site, on a replica, too, as soon as it has the change.
//!
//! Fields whose names are no paths of a site are left out. A key that cannot be read leaves the site as it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use config::{Config, Id};
use engine::tracking::Pages;
use engine::{Session, Thread, log};
use pages::Store;
use pages::site::{FILE_MAX, FILES_MAX, SITE_MAX, Source, is_path};

use super::store::EngineStore;
use crate::Shared;
use crate::reply::Reply;

/// The key is read so often while it changes before all keys are held.
const TRIES: usize = 3;
/// Milliseconds until a key that could not be read is tried again.
const RETRY_MS: i64 = 1000;

/// What is known of the key.
pub(super) struct InKey {
    /// Its name; empty: there is none.
    name: String,
    /// Users as whom its routes may call functions.
    users: Vec<String>,
    /// The version at which it was read.
    version: AtomicU64,
    /// Until when that holds, in Unix milliseconds: the key's deadline.
    until_ms: AtomicI64,
    /// When it may be tried again, in Unix milliseconds.
    retry_ms: AtomicI64,
}

impl InKey {
    pub(super) fn new(config: &Config) -> Self {
        let users = config.string(Id::WebKeyUsers);
        let users = users.split(',').map(str::trim).filter(|name| !name.is_empty());
        Self {
            name: config.string(Id::WebKey).to_string(),
            users: users.map(str::to_owned).collect(),
            // No version: it has not been read.
            version: AtomicU64::new(u64::MAX),
            until_ms: AtomicI64::new(i64::MAX),
            retry_ms: AtomicI64::new(0),
        }
    }

    /// Whether routes in the key may act as this user.
    pub(super) fn may_act_as(&self, user: &str) -> bool {
        self.users.iter().any(|name| name == user)
    }

    fn is_current(&self, version: u64, now: i64) -> bool {
        self.version.load(SeqCst) == version && now < self.until_ms.load(SeqCst)
    }
}

/// Reads the key again if it has changed. Changes the user and the page of the session.
pub(super) fn follow(shared: &Shared, thread: &mut Thread, session: &mut Session) {
    let (web, engine) = (&shared.web, &shared.engine);
    let (in_key, table) = (&web.in_key, &engine.tracking.pages);
    let now = thread.cx.now;
    if in_key.name.is_empty()
        || in_key.is_current(table.version(Pages::SITE), now)
        || now < in_key.retry_ms.load(SeqCst)
    {
        return;
    }
    let mut parts = web.parts.lock();
    // Another thread may have read it meanwhile.
    if in_key.is_current(table.version(Pages::SITE), now) {
        return;
    }
    session.set_user(Arc::clone(engine.acl.reader()));
    session.page = Pages::SITE;
    let read = read(shared, thread, session);
    session.page = 0;
    match read {
        Ok((sources, version, deadline)) => {
            let same = |(a, b): (&Source, &Source)| a.path == b.path && a.bytes == b.bytes;
            if sources.len() != parts.key.len() || !sources.iter().zip(&parts.key).all(same) {
                parts.key = sources;
                web.rebuild(engine, &parts, &in_key.name);
            }
            in_key.until_ms.store(deadline.unwrap_or(i64::MAX), SeqCst);
            in_key.version.store(version, SeqCst);
        }
        Err(why) => {
            in_key.retry_ms.store(now + RETRY_MS, SeqCst);
            log!(engine.log, Warning, "web-key {}: {}; the site stays as it was", in_key.name, why);
        }
    }
}

/// The files in the key at one moment, sorted by path, the version that the key had, and its deadline.
fn read(
    shared: &Shared,
    thread: &mut Thread,
    session: &mut Session,
) -> Result<(Vec<Source>, u64, Option<i64>), String> {
    let engine = &shared.engine;
    let table = &engine.tracking.pages;
    let key = shared.web.in_key.name.as_bytes();
    for tries in 1.. {
        let version = table.version(Pages::SITE);
        table.begin(thread.cx.now, || engine.keyspace.take_interest());
        let held = tries > TRIES;
        if held {
            thread.hold_for_page(engine);
        }
        let now = thread.cx.now;
        let make_guard = &|| unreachable!("the site is no page");
        let mut store = EngineStore::new(engine, thread, session, make_guard);
        let sources = files(&mut store, key, now as u64 / 1000);
        if held {
            thread.release_for_page(engine);
        }
        thread.collect();
        if held || table.version(Pages::SITE) == version {
            let deadline = thread.first_deadline(engine, 0, &[key.to_vec()]);
            return Ok((sources?, version, deadline));
        }
    }
    unreachable!("the loop ends when all keys are held")
}

fn files(store: &mut EngineStore<'_, '_>, key: &[u8], now_s: u64) -> Result<Vec<Source>, String> {
    let mut ask = |words: &[&[u8]]| -> Result<Reply, String> {
        let reply = store.read(words.iter().map(|word| word.to_vec()).collect())?;
        match Reply::read(&mut &*reply) {
            Ok(Reply::Error(why)) => Err(why),
            other => other.map_err(|e| e.to_string()),
        }
    };
    let too_much = || {
        format!(
            "a site has {FILES_MAX} files at most, of {FILE_MAX} bytes each and {SITE_MAX} in total"
        )
    };
    // Sizes come first: what has no place in memory is not copied.
    if ask(&[b"hlen", key])?.number() > FILES_MAX as i64 {
        return Err(too_much());
    }
    let mut paths: Vec<String> = ask(&[b"hkeys", key])?
        .list()
        .into_iter()
        .filter_map(|field| String::from_utf8(field.text()).ok().filter(|path| is_path(path)))
        .collect();
    paths.sort_unstable();
    let mut left = SITE_MAX as i64;
    let mut sources = Vec::new();
    for path in paths {
        let size = ask(&[b"hstrlen", key, path.as_bytes()])?.number();
        left -= size;
        if size > FILE_MAX as i64 || left < 0 {
            return Err(too_much());
        }
        let bytes = Arc::new(ask(&[b"hget", key, path.as_bytes()])?.text());
        sources.push(Source { path, bytes, modified: now_s, is_in_key: true });
    }
    Ok(sources)
}
