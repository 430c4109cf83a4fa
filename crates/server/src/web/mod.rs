//! Pages and files for browsers: what the web port answers. Connections are in [`crate::net`], templates and
//! the cache in the crate `pages`; here both meet the engine.

mod access;
mod answer;
mod call;
mod compress;
mod counts;
mod figures;
mod functions;
mod guard;
mod keys;
mod live;
mod origin;
mod parts;
mod render;
mod send;
mod site;
mod store;
mod streaming;
mod streams;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use config::{Config, Id, Networks};
use engine::Engine;
use engine::acl::User;
use engine::log;
use pages::site::{Source, merged};
use pages::{Cache, Site};
use parking_lot::{Mutex, RwLock};

pub(crate) use answer::{After, Responder};
pub(crate) use counts::Total;
pub(crate) use figures::{CLASSES, PERCENTILES};
pub(crate) use origin::Peer;
pub(crate) use site::watch;
pub(crate) use streaming::{At, Streaming};

/// The site that is served, and its finished pages.
pub(crate) struct Web {
    site: RwLock<Arc<Site>>,
    /// The number of the site, to look at without the lock.
    number: AtomicU64,
    pub(crate) live: live::Counts,
    pub(crate) cache: Arc<Cache>,
    compressor: compress::Compressor,
    pub(crate) access: Arc<access::AccessLog>,
    counts: counts::Counts,
    secret: guard::Secret,
    /// Proxies that are believed.
    trusted: RwLock<Arc<Networks>>,
    parts: Mutex<Parts>,
    functions: functions::Functions,
    in_key: keys::InKey,
    actor: Mutex<Option<Actor>>,
    /// Commands that templates may call.
    commands: Vec<&'static str>,
}

/// What the site is made of.
#[derive(Default)]
struct Parts {
    /// Files of the directory.
    dir: Vec<Source>,
    /// Files of the key, which come before those of the directory.
    key: Vec<Source>,
}

/// As whom pages read.
struct Actor {
    user: Arc<User>,
    rules: Arc<dyn std::any::Any + Send + Sync>,
    /// Distinguishes it from others, and from itself with other rules.
    number: u64,
}

impl Web {
    pub(crate) fn new(engine: &Engine) -> Self {
        let site = Site::empty();
        Self {
            number: AtomicU64::new(site.number),
            site: RwLock::new(Arc::new(site)),
            live: live::Counts::default(),
            cache: Arc::default(),
            compressor: compress::Compressor::default(),
            access: Arc::default(),
            counts: counts::Counts::default(),
            secret: guard::Secret::default(),
            trusted: RwLock::new(trusted(&engine.config)),
            parts: Mutex::default(),
            functions: functions::Functions::default(),
            in_key: keys::InKey::new(&engine.config),
            actor: Mutex::default(),
            commands: engine.reading_commands(),
        }
    }

    /// Follows the options of the web port that are looked at once.
    ///
    /// # Errors
    /// The access log cannot be opened.
    pub(crate) fn follow(&self, config: &Config) -> io::Result<()> {
        *self.trusted.write() = trusted(config);
        self.secret.forget();
        self.access.follow(config)
    }

    /// Where a request comes from.
    fn origin<'b>(
        &self,
        config: &Config,
        peer: Peer,
        head: &http1::Head<'b>,
    ) -> origin::Origin<'b> {
        origin::Origin::of(head, peer, &self.trusted.read(), config.chosen(Id::WebForwardedHeader))
    }

    /// What was answered, by route.
    pub(crate) fn totals(&self) -> Vec<Total> {
        let site = Arc::clone(&self.site.read());
        let mut memory = HashMap::new();
        for (route, bytes) in self.cache.bytes_by_route(site.number) {
            *memory.entry(counts::name_of(&site, route)).or_default() += bytes as u64;
        }
        self.counts.totals(&memory)
    }

    /// Makes the site of its parts, and serves it. `from` says in the log what has changed.
    fn rebuild(&self, engine: &Engine, parts: &Parts, from: &str) {
        let before = Arc::clone(&self.site.read());
        let sources = merged(&parts.dir, &parts.key);
        let (site, errors) = Site::new(sources, &self.commands, Some(&before));
        for error in &errors {
            log!(engine.log, Warning, "site: {}", error);
        }
        let (templates, routes, files) = site.counts();
        let number = site.number;
        *self.site.write() = Arc::new(site);
        self.number.store(number, SeqCst);
        // Those who are watched are pages of the site before.
        engine.tracking.pages.tell_all();
        log!(
            engine.log,
            Notice,
            "Site {}: {} templates, {} routes, {} files",
            from,
            templates,
            routes,
            files
        );
    }

    /// The user as whom pages read, and a number that changes with the user's rules; none: there is no such
    /// user.
    fn actor(&self, engine: &Engine) -> Option<(Arc<User>, u64)> {
        let name = engine.config.string(Id::WebUser);
        if name.is_empty() {
            return Some((Arc::clone(engine.acl.reader()), 0));
        }
        let user = engine.acl.user(name.as_bytes())?;
        let rules: Arc<dyn std::any::Any + Send + Sync> = user.rules();
        let mut actor = self.actor.lock();
        let same = actor.as_ref().filter(|a| {
            Arc::ptr_eq(&a.user, &user)
                && std::ptr::addr_eq(Arc::as_ptr(&a.rules), Arc::as_ptr(&rules))
        });
        if let Some(same) = same {
            return Some((user, same.number));
        }
        let number = actor.as_ref().map_or(1, |a| a.number + 1);
        *actor = Some(Actor { user: Arc::clone(&user), rules, number });
        Some((user, number))
    }
}

fn trusted(config: &Config) -> Arc<Networks> {
    let text = config.string(Id::WebTrustedProxies);
    Arc::new(Networks::parse(&text).unwrap_or_default())
}
