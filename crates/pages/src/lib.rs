//! Pages from the store: a site's routes and templates, which read keys by commands, and the cache of the
//! pages that they make.
//!
//! ```text
//!  a directory, a key ─► site.rs: files by their paths ─► routes.rs: method and path ─► a template, or a function
//!                                                     └─► template.rs: the crate `template`, with a function
//!                                                         for every command that only reads ─► Store
//!  cache.rs: finished pages, valid at one version of their keys      value.rs: replies as values
//!  live.rs: blocks of pages that are shown, and the events that keep them new
//!  content.rs: bodies with their fields, as they are and compressed
//! ```
//!
//! Nothing here knows a socket, and of the store only [`Store`]: whoever renders hands one in.

pub mod cache;
pub mod content;
pub mod live;
pub mod routes;
pub mod site;
mod tag;
pub mod template;
mod value;

pub use cache::{Cache, Page};
pub use content::Content;
pub use live::Blocks;
pub use routes::{Action, Found, Route};
pub use site::{File, Site};
pub use template::{Asked, Rendered};

/// Where the data of a page come from.
pub trait Store {
    /// Runs a command that only reads. Returns its reply in RESP3; a reply that is an error, too.
    ///
    /// # Errors
    /// A text: the command cannot be called from a page, or not now.
    fn read(&mut self, words: Vec<Vec<u8>>) -> Result<Vec<u8>, String>;
}
