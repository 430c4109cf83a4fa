//! Topics: append-only logs of records that are not lost.
//!
//! A [`Broker`] collects the records of producers ([`Input`]) into groups of batches, has each
//! group stored at once ([`storage`]), and answers when it is stored. Consumers read whole batches
//! by offset or time, and are woken when there are more. The content of records is never read: on
//! the way in and out they are a list of sizes and one block of bytes ([`batch`]), from the
//! producer's socket to the disk.
//!
//! This crate knows nothing of the keyspace, of protocols and of runtimes: it blocks threads of its
//! own, as many as there is work for, and answers through callbacks.

pub mod batch;
mod broker;
pub mod buf;
mod chunks;
mod error;
mod group;
mod input;
mod meter;
mod pages;
mod producers;
mod schedule;
mod seal;
mod settings;
pub mod storage;
mod topic;

pub use broker::{Broker, Counters, Description, Fetched, Figures, Options, Start, Tell, Waiting};
pub use chunks::Chunks;
pub use error::{Damage, Error, Result};
pub use group::{Group, Stamp};
pub use input::Input;
pub use meter::{Meter, Permit};
pub use settings::{NAME_MAX, Settings, check_name};
pub use topic::{Appended, Done, Wake};
