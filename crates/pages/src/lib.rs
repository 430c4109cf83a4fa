//! Pages from the store: a site's routes and templates, which read keys by commands, and the cache of the
//! pages that they make.
//!
//! ```text
//!  a directory, a key ─► site.rs: files by their paths ─► routes.rs: method and path ─► a template, or a function
//!                                                     └─► template.rs: the crate `template`, with a function
//!                                                         for every command that only reads ─► Store
//!  cache.rs: finished pages, valid at one version of their keys      value.rs: replies as values
//!  parts.rs: parts of finished pages, from which the next ones are made
//!  fragments.rs: what pages have in common: loops and replies
//!  live.rs: blocks of pages that are shown, and the events that keep them new
//!  sign.rs: signed cookies, tokens of forms
//!  content.rs: bodies with their fields, as they are and compressed
//! ```
//!
//! Nothing here knows a socket, and of the store only [`Store`]: the caller that renders hands one in.

pub mod cache;
pub mod content;
pub mod fragments;
pub mod live;
pub mod parts;
pub mod routes;
pub mod sign;
pub mod site;
mod tag;
pub mod template;
mod value;

pub use cache::{Cache, Page};
pub use content::Content;
pub use fragments::{Dependency, Fragments};
pub use live::Blocks;
pub use routes::{Action, Found, Route};
pub use site::{File, Site};
pub use template::{Asked, Common, Rendered};

/// Where the data of a page come from.
pub trait Store {
    /// Runs a command that only reads. Returns its reply in RESP3; a reply that is an error, too.
    ///
    /// # Errors
    /// A text: the command cannot be called from a page, or not now.
    fn read(&mut self, words: Vec<Vec<u8>>) -> Result<Vec<u8>, String>;

    /// A part of the page begins: what is read up to [`Self::end_part`] is noted for it. Returns false if parts are
    /// not noted.
    fn begin_part(&mut self) -> bool {
        false
    }

    /// The part ends. The slots of the keys that it has read are added to `slots`. Returns their version, and until
    /// when the part is valid at it, in Unix milliseconds; none: it depends on more than few keys.
    fn end_part(&mut self, _slots: &mut Vec<u32>) -> Option<(u64, i64)> {
        None
    }

    /// Whether a part of an earlier page with these slots is valid still. The page is valid no longer than it, then.
    fn has_part(&mut self, _slots: &[u32], _version: u64, _deadline_ms: i64) -> bool {
        false
    }

    /// A fragment begins, whose key has this hash: what is read up to [`Self::end_fragment`] is noted for it, and not
    /// for the page. Returns its number as a reader of keys, and the version that what it reads has. None: fragments are
    /// not noted. A part may begin in it, and a fragment.
    fn begin_fragment(&mut self, _hash: u64) -> Option<Dependency> {
        None
    }

    /// The fragment ends that has begun last. Returns until when it is valid at its version, in Unix milliseconds;
    /// none: it depends on more than keys.
    fn end_fragment(&mut self) -> Option<i64> {
        None
    }

    /// Whether a fragment that depends on these is valid still. The page is valid no longer than it, then.
    fn has_fragment(&mut self, _depends: &[Dependency], _deadline_ms: i64) -> bool {
        false
    }

    /// The token that a form of the page must carry.
    ///
    /// # Errors
    /// A text: there is none here.
    fn token(&mut self) -> Result<String, String> {
        Err("there are no tokens here".into())
    }

    /// The value of a signed cookie; none: it is not one.
    fn verified(&mut self, _name: &str, _text: &str) -> Option<String> {
        None
    }
}
