//! What MIGRATE needs of the engine: keys that commands wait for while they are moved, and connections to
//! other servers that are kept between moves.

mod frozen;
mod link;

pub use link::{Closer, Dial, Links, Purpose, Report, Target, Unreached, Wire, request};

/// The moves that are under way, and the connections that are kept.
#[derive(Default)]
pub struct Migrations {
    frozen: frozen::Frozen,
    /// Connections to other servers.
    pub links: Links,
}

impl Migrations {
    /// Connections that are kept.
    pub fn links(&self) -> usize {
        self.links.count()
    }

    /// Periodic work.
    pub(crate) fn upkeep(&self, now_ms: i64) {
        self.links.expire(now_ms);
    }
}
