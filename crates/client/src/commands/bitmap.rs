//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group bitmap.
pub trait BitmapCommands: Target {
    /// Counts the set bits of a string, or of a range of it.
    ///
    /// `BITCOUNT key [start end [BYTE | BIT]]`
    fn bitcount(&self, key: impl Arg) -> Request<'_, options::Bitcount> {
        Request::of(self.target(), &table::BITCOUNT).with(key)
    }

    /// Reads, sets and increments integers of any width within a string.
    ///
    /// `BITFIELD key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value | INCRBY encoding offset increment> [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value | INCRBY encoding offset increment> ...]]`
    fn bitfield(&self, key: impl Arg) -> Request<'_, options::Bitfield> {
        Request::of(self.target(), &table::BITFIELD).with(key)
    }

    /// Reads integers of any width within a string.
    ///
    /// `BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]`
    fn bitfield_ro(&self, key: impl Arg) -> Request<'_, options::BitfieldRo> {
        Request::of(self.target(), &table::BITFIELD_RO).with(key)
    }

    /// Combines strings bit by bit and stores the result.
    ///
    /// `BITOP <AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE> destkey key [key ...]`
    fn bitop(&self, operation: impl Arg, destkey: impl Arg, keys: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::BITOP).with(operation).with(destkey).with(keys)
    }

    /// Finds the first set or the first clear bit of a string.
    ///
    /// `BITPOS key bit [start [end [BYTE | BIT]]]`
    fn bitpos(&self, key: impl Arg, bit: impl Arg) -> Request<'_, options::Bitpos> {
        Request::of(self.target(), &table::BITPOS).with(key).with(bit)
    }

    /// Returns one bit of a string.
    ///
    /// `GETBIT key offset`
    fn getbit(&self, key: impl Arg, offset: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::GETBIT).with(key).with(offset)
    }

    /// Sets or clears one bit of a string, which grows to hold it.
    ///
    /// `SETBIT key offset value`
    fn setbit(&self, key: impl Arg, offset: impl Arg, value: impl Arg) -> Request<'_> {
        Request::of(self.target(), &table::SETBIT).with(key).with(offset).with(value)
    }
}

impl<T: Target + ?Sized> BitmapCommands for T {}

/// Options of BITCOUNT.
impl Request<'_, options::Bitcount> {
    /// The argument `start_end_unit`.
    pub fn start_end_unit(self, start: impl Arg, end: impl Arg, unit: impl Arg) -> Self {
        self.with(start).with(end).with(unit)
    }
}

/// Options of BITFIELD.
impl Request<'_, options::Bitfield> {
    /// The argument `get-or-overflow_set-or-incrby`.
    pub fn get_or_overflow_set_or_incrbys(self, get_or_overflow_set_or_incrbys: impl Arg) -> Self {
        self.with(get_or_overflow_set_or_incrbys)
    }
}

/// Options of BITFIELD_RO.
impl Request<'_, options::BitfieldRo> {
    /// `GET`.
    pub fn get(self, gets: impl Arg) -> Self {
        self.with(gets)
    }
}

/// Options of BITPOS.
impl Request<'_, options::Bitpos> {
    /// The argument `start-block`.
    pub fn start_block(self, start: impl Arg, end_block: impl Arg) -> Self {
        self.with(start).with(end_block)
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of BITCOUNT.
    #[derive(Debug)]
    pub enum Bitcount {}
    /// Of BITFIELD.
    #[derive(Debug)]
    pub enum Bitfield {}
    /// Of BITFIELD_RO.
    #[derive(Debug)]
    pub enum BitfieldRo {}
    /// Of BITPOS.
    #[derive(Debug)]
    pub enum Bitpos {}
}
