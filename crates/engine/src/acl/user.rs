//! A user as connections hold on to him.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::RwLock;

use super::rules::Rules;
use crate::table::Table;

/// A user: a name for ever, and rules that ACL SETUSER replaces as a whole. Who authenticated as him
/// follows the change with his next command. One who was deleted may do nothing, and whoever has
/// the same name later is somebody else.
#[derive(Debug)]
pub struct User {
    name: Box<[u8]>,
    /// Nothing at all is refused: what the short way asks, which checks nothing more.
    free: AtomicBool,
    rules: RwLock<Arc<Rules>>,
}

impl User {
    pub(super) fn new(name: &[u8], rules: Rules) -> Self {
        let free = AtomicBool::new(rules.is_free());
        Self { name: name.into(), free, rules: RwLock::new(Arc::new(rules)) }
    }

    /// The server itself, which may do everything and is in no list.
    pub(crate) fn server(table: &Table) -> Self {
        Self::new(b"(superuser)", Rules::open(table))
    }

    /// The name, which has no blanks.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The name, for texts.
    pub fn shown(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// Whether he may do everything, so that nothing needs to be checked.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.free.load(Relaxed)
    }

    pub(super) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read())
    }

    pub(super) fn set_rules(&self, rules: Rules) {
        let free = rules.is_free();
        let mut current = self.rules.write();
        *current = Arc::new(rules);
        self.free.store(free, Relaxed);
    }
}
