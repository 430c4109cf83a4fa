//! The whole configuration of the server: the options, their values, and the
//! sources of the values.
//!
//! One row per option (`rows/`) says its name, kind, default and meaning;
//! everything else reads the rows: CONFIG GET and SET ([`Config::get`],
//! [`Config::set`]), configuration files and the command line ([`load`]),
//! CONFIG REWRITE ([`rewrite`]), help and documentation ([`help`]).
//!
//! The names, ranges, texts and formats are those of Redis 7.4, so that its
//! files load and its tools work. An option of Redis that has no meaning here is
//! accepted and kept, and its row says why it does nothing.
//!
//! This crate knows no socket and no keyspace: code that must act on a change
//! reads it in the hook of [`Config::set`], or watches [`Config::generation`].
//!
//! ```
//! use config::{Caller, Config, Id};
//!
//! let config = Config::new();
//! assert_eq!(config.int(Id::Port), 6379);
//! config.set(&[(b"maxmemory", b"100mb")], Caller::default(), &mut |_, _| Ok(())).unwrap();
//! assert_eq!(config.bytes(Id::Maxmemory), 100 << 20);
//! ```

mod check;
mod choices;
pub mod events;
mod file;
pub mod help;
mod include;
mod kind;
#[cfg(test)]
mod laws;
mod limits;
mod networks;
mod parse;
mod reload;
mod rewrite;
mod rows;
mod set;
mod size;
#[cfg(test)]
mod testing;
mod values;

pub use choices::{
    AccessLogFormat, AclPubsubDefault, Appendfsync, Choice, ClusterEndpointType, ForwardedHeader,
    LogFormat, Loglevel, MaxmemoryPolicy, OomScoreAdj, PropagationErrorBehavior, ProtectedAction,
    ReplDisklessLoad, SHUTDOWN_FORCE, SHUTDOWN_NOSAVE, SHUTDOWN_NOW, SHUTDOWN_SAVE,
    SanitizeDumpPayload, Supervised, SyslogFacility, TlsAuthClients, TlsAuthClientsUser,
    WebCompression,
};
pub use file::{LoadError, Loaded, load, load_text};
pub use kind::{
    Area, Check, DEBUG, DENY_LOADING, HIDDEN, IMMUTABLE, MULTI, Names, OptionKind, PROTECTED,
    RUNTIME, SENSITIVE, State, VOLATILE,
};
pub use limits::{ClientClass, FIXED_OUTPUT, Limits};
pub use networks::Networks;
pub use parse::os_text;
pub(crate) use parse::path_of;
pub use reload::{Changes, Source};
pub use rewrite::{replace_file, rewrite, rewritten};
pub use rows::{COUNT, Id, ROWS, Row};
pub use set::{Caller, SetError, is_sensitive, lookup};
pub use values::Config;
