//! The command table: what a command is called, which keys it names, what it
//! may do, how it is documented, and everything that is derived from that.
//!
//! A command is declared once, as a [`row::Row`] beside its function. Dispatch
//! ([`table`]), key locking ([`keys::positions`]), the replies of COMMAND
//! ([`describe`]), the reference page and the laws ([`laws`]) all iterate the
//! same rows; nothing about a command is written down twice.

pub mod describe;
pub mod keys;
pub mod laws;
pub mod row;
pub mod syntax;
pub mod table;

#[cfg(test)]
mod sample;
