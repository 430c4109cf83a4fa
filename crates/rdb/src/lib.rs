//! Redis's snapshot format (RDB) and the payloads of DUMP and RESTORE: bytes in, bytes out.
//!
//! ```text
//!  "REDIS0010" (AUX key value)* (FUNCTION2 library)*
//!  ( SELECTDB n  RESIZEDB keys expires
//!      ( EXPIRETIME_MS ms? (FREQ n | IDLE s)?  type key value )*  )*
//!  EOF crc64
//! ```
//!
//! [`Encoder`] appends to a `Vec<u8>`; [`Reader`] takes its bytes from any type that implements
//! `std::io::Read`, a slice included. Neither opens files or looks at clocks.
//!
//! * **Written** is what Redis 7.0 and every later version loads ([`VERSION`]), except hashes whose
//!   fields have deadlines, which older servers than 7.4 do not know in any form. Valkey 9 has a form of
//!   its own for them, which is written where it is asked for ([`Encoder::for_valkey_9`]).
//! * **Read** is everything that Redis 2.6 to 8 and Valkey 8 and 9 write, except values of modules.
//! * What was read is never believed: lengths are bounded by the bytes that are really there,
//!   elements are checked one by one, and members that are there twice are refused, as Redis does
//!   with `sanitize-dump-payload yes`. Nothing panics, whatever the bytes.

mod error;
mod format;
pub mod lzf;
mod payload;
mod read;
mod write;

pub use error::{Error, Result};
pub use format::VERSION;
pub use payload::{BadPayload, dump, restore};
pub use read::{Batch, Entries, Item, Limits, Loaded, Reader};
pub use stdx::crc::crc64;
pub use write::{Access, Encoder, PIECE};
