//! Access control: users, their permissions and their refusals.
//!
//! ```text
//!  Acl ── name → User ─► Rules: on, passwords ─► Selectors: commands, key and channel patterns
//!                  ▲     (replaced as a whole)
//!  Session ────────┘ is_free(): one flag, all that the fast path looks at
//! ```
//!
//! - A user that may do everything costs nothing: [`User::is_free`] is read once per group of
//!   commands. Commands of all others take the general path, where [`check`] looks at command, keys
//!   and channels.
//! - Rules are replaced as a whole, so a check sees those from before a change or those after it.
//! - A name that was deleted and made again is another user: connections keep the [`User`].
//! - Passwords are kept and compared as SHA-256, in a time that does not depend on them.

mod caller;
pub mod change;
mod check;
pub mod commands;
mod error;
pub mod file;
mod log;
mod revoke;
mod rules;
pub mod selector;
mod user;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ::commands::keys::Argv;
use config::{AclPubsubDefault, Config, Id};
use parking_lot::{Mutex, RwLock};

pub use caller::Caller;
pub use caller::readable;
pub use change::reload;
pub use check::may_listen;
pub(crate) use check::reads_all;
pub use check::{Denied, Reason, check};
pub use error::RuleError;
pub use file::lines;
pub use log::Context;
pub(crate) use log::Counts;
pub use user::User;

use crate::clients::Client;
use crate::engine::Engine;
use crate::table::Table;
use rules::{Ground, Rules};

/// The user that every connection starts as. It cannot be deleted.
pub const DEFAULT: &[u8] = b"default";

/// All users, and the log. See the module's text.
pub struct Acl {
    users: RwLock<BTreeMap<Vec<u8>, Arc<User>>>,
    default: Arc<User>,
    /// The default user is on and needs no password.
    open: AtomicBool,
    server: Arc<User>,
    /// The value of `requirepass` that was last applied.
    requirepass: Mutex<Vec<u8>>,
    /// ACL LOG.
    pub log: log::Log,
}

impl Acl {
    /// The default user alone.
    pub(crate) fn new(table: &Table) -> Self {
        let default = Arc::new(User::new(DEFAULT, Rules::open(table)));
        Self {
            users: RwLock::new(BTreeMap::from([(DEFAULT.to_vec(), Arc::clone(&default))])),
            default,
            open: AtomicBool::new(true),
            server: Arc::new(User::server(table)),
            requirepass: Mutex::default(),
            log: log::Log::default(),
        }
    }

    /// The user that every connection starts as.
    pub fn default_user(&self) -> &Arc<User> {
        &self.default
    }

    /// The server itself.
    pub(crate) fn server(&self) -> &Arc<User> {
        &self.server
    }

    /// The user of that name.
    pub fn user(&self, name: &[u8]) -> Option<Arc<User>> {
        self.users.read().get(name).cloned()
    }

    /// All users, by name.
    pub fn all(&self) -> Vec<Arc<User>> {
        self.users.read().values().cloned().collect()
    }

    /// Whether connections need not authenticate: the default user is on and has no password.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Relaxed)
    }

    /// Whether the default user takes any password.
    pub fn takes_any_password(&self) -> bool {
        self.default.rules().nopass
    }

    /// If `requirepass` has changed, it becomes the default user's only password; if it is empty,
    /// the user needs none. While it has not, ACL SETUSER's rules stay.
    pub(crate) fn follow_requirepass(&self, config: &Config) {
        let mut last = self.requirepass.lock();
        if config.with_bytes(Id::Requirepass, |p| p == last.as_slice()) {
            return;
        }
        *last = config.with_bytes(Id::Requirepass, <[u8]>::to_vec);
        let _changing = self.users.write();
        let mut rules = Rules::clone(&self.default.rules());
        rules.set_password(&last);
        self.put(&self.default, rules);
    }

    /// The caller has the users locked.
    fn put(&self, user: &Arc<User>, rules: Rules) {
        if Arc::ptr_eq(user, &self.default) {
            self.open.store(rules.on && rules.nopass, Relaxed);
        }
        user.set_rules(rules);
    }

    /// The user whose name and password these are, if it is on.
    pub fn authenticate(&self, name: &[u8], password: &[u8]) -> Option<Arc<User>> {
        // Even for an unknown user, so that the time does not reveal which users exist.
        let hash = rules::hash(password);
        let user = self.user(name);
        user.filter(|user| user.rules().admits(&hash))
    }

    /// Whether this is the password of a user that may log in; nothing is logged or counted.
    pub fn lets_in(&self, user: &[u8], password: &[u8]) -> bool {
        self.authenticate(user, password).is_some()
    }

    /// Refusals by reason.
    pub fn counts(&self) -> Counts {
        self.log.counts()
    }

    /// CONFIG RESETSTAT.
    pub(crate) fn reset_counts(&self) {
        self.log.reset_counts();
    }
}

impl Engine {
    fn acl_ground(&self) -> Ground<'_> {
        let default = self.config.chosen(Id::AclPubsubDefault);
        let all_channels = matches!(default, AclPubsubDefault::Allchannels);
        Ground { table: &self.table, all_channels }
    }
}

/// Counts and logs a refusal to `user`. `client` is the connection.
pub fn note<A: Argv + ?Sized>(
    engine: &Engine,
    user: &User,
    client: &Client,
    context: Context,
    (id, argv): (u16, &A),
    denied: Denied,
) {
    let object = match denied.reason {
        Reason::Command => engine.table.get(id).row.name.as_bytes(),
        _ if denied.arg < argv.len() => argv.get(denied.arg),
        _ => b"",
    };
    let line = log::line_of(engine, client);
    log::add(engine, (denied.reason, context), object, user.name(), line);
}

/// Counts and logs a failed login as `name` by `command`.
pub fn note_login(engine: &Engine, name: &[u8], client: &Client, context: Context, command: &[u8]) {
    let line = log::line_of(engine, client);
    log::add(engine, (Reason::Auth, context), command, name, line);
}

/// Whether a name or a pattern has a blank or a NUL in it, which would be misread where rules are
/// words.
pub fn has_blank(text: &[u8]) -> bool {
    text.iter().any(|b| matches!(b, 0 | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c))
}
