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
//!
//! The commands come in as a [`Catalogue`], the configuration as values, a connection as its line of CLIENT
//! LIST. To close connections whose permissions are withdrawn is the caller's part: a change says which
//! users it concerns ([`Replaced`], [`Narrowed`]).

mod change;
mod check;
pub mod commands;
mod error;
pub mod file;
pub mod log;
mod narrowed;
mod rules;
pub mod selector;
mod user;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ::commands::row::Row;
use parking_lot::{Mutex, RwLock};

pub use change::Replaced;
pub use check::{Denied, Reason, check, may_listen, reads_all};
pub use error::RuleError;
pub use log::{Counts, Log, Origin, Refusal};
pub use narrowed::Narrowed;
pub use rules::{Ground, Rules};
pub use user::User;

/// All commands by number, subcommands included.
pub trait Catalogue {
    /// How many there are.
    fn len(&self) -> u16;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of a command.
    fn row(&self, id: u16) -> &'static Row;

    /// The numbers of a container's subcommands; none for any other command.
    fn subs(&self, id: u16) -> Range<u16>;

    /// Number of the command or subcommand (`container|sub`) whose row has this name, whatever its
    /// case and whatever `rename-command` calls it. Linear: for rules of access, not for requests.
    fn named(&self, name: &[u8]) -> Option<u16> {
        (0..self.len()).find(|id| self.row(*id).name.as_bytes().eq_ignore_ascii_case(name))
    }
}

/// The user that every connection starts as. It cannot be deleted.
pub const DEFAULT: &[u8] = b"default";

/// All users, and the log. See the module's text.
pub struct Acl {
    users: RwLock<BTreeMap<Vec<u8>, Arc<User>>>,
    default: Arc<User>,
    /// The default user is on and needs no password.
    open: AtomicBool,
    server: Arc<User>,
    reader: Arc<User>,
    /// The value of `requirepass` that was last applied.
    requirepass: Mutex<Vec<u8>>,
    /// ACL LOG.
    pub log: Log,
}

impl Acl {
    /// The default user alone.
    pub fn new(table: &dyn Catalogue) -> Self {
        let default = Arc::new(User::new(DEFAULT, Rules::open(table)));
        Self {
            users: RwLock::new(BTreeMap::from([(DEFAULT.to_vec(), Arc::clone(&default))])),
            default,
            open: AtomicBool::new(true),
            server: Arc::new(User::server(table)),
            reader: Arc::new(User::reader(table)),
            requirepass: Mutex::default(),
            log: Log::default(),
        }
    }

    /// The user that every connection starts as.
    pub fn default_user(&self) -> &Arc<User> {
        &self.default
    }

    /// The server itself.
    pub fn server(&self) -> &Arc<User> {
        &self.server
    }

    /// The user that reads keys for pages, unless another one is configured.
    pub fn reader(&self) -> &Arc<User> {
        &self.reader
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
    pub fn follow_requirepass(&self, password: &[u8]) {
        let mut last = self.requirepass.lock();
        if password == last.as_slice() {
            return;
        }
        *last = password.to_vec();
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
}

/// Whether a name or a pattern has a blank or a NUL in it, which would be misread where rules are
/// words.
pub fn has_blank(text: &[u8]) -> bool {
    text.iter().any(|b| matches!(b, 0 | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c))
}
