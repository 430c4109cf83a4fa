//! A user as connections keep it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::RwLock;

use crate::Catalogue;
use crate::rules::{Ground, Rules};

/// A user: a name for ever, and rules that ACL SETUSER replaces as a whole. A connection that has
/// authenticated as the user follows the change with its next command. A deleted user may do
/// nothing, and a later user of the same name is another user.
#[derive(Debug)]
pub struct User {
    name: Box<[u8]>,
    /// Nothing is refused: the fast path reads this, and checks nothing more.
    free: AtomicBool,
    rules: RwLock<Arc<Rules>>,
}

impl User {
    pub(crate) fn new(name: &[u8], rules: Rules) -> Self {
        let free = AtomicBool::new(rules.is_free());
        Self { name: name.into(), free, rules: RwLock::new(Arc::new(rules)) }
    }

    /// The server itself, which may do everything and is in no list.
    pub(crate) fn server(table: &dyn Catalogue) -> Self {
        Self::new(b"(superuser)", Rules::open(table))
    }

    /// A user that may read every key and nothing else; in no list.
    pub(crate) fn reader(table: &dyn Catalogue) -> Self {
        let ground = Ground { table, all_channels: false };
        let mut rules = Rules::new(ground);
        for rule in ["on", "nopass", "~*", "+@read"] {
            let applied = rules.apply(ground, rule.as_bytes());
            assert!(applied.is_ok(), "'{rule}' is a rule");
        }
        Self::new(b"(reader)", rules)
    }

    /// The name, which has no blanks.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The name, for texts.
    pub fn shown(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// Whether it may do everything, so that nothing needs to be checked.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.free.load(Relaxed)
    }

    /// Its rules at present.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read())
    }

    pub(crate) fn set_rules(&self, rules: Rules) {
        let free = rules.is_free();
        let mut current = self.rules.write();
        *current = Arc::new(rules);
        self.free.store(free, Relaxed);
    }
}
