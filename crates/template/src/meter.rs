//! What a page may take: steps, and bytes that are made.
//!
//! Everything that takes time in proportion to something takes steps for it, and everything that makes values
//! or output pays for their bytes before they are made. Bytes are never given back, so that they bound memory
//! and time.

use std::cell::Cell;

use crate::error::{Error, Kind, Result};

/// Bytes that one step covers where something is only looked at.
const SCAN: usize = 64;
/// Bytes of a value without what it holds.
const VALUE: usize = 24;

/// The bounds of one page.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Operations, and what is as long as one.
    pub steps: u64,
    /// Bytes of values and output that are made, whether they are kept or not.
    pub bytes: u64,
    /// Bytes of the page.
    pub output: usize,
    /// Templates, macros, blocks and recursive loops within one another.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1_000_000, bytes: 64 << 20, output: 16 << 20, depth: 40 }
    }
}

/// What is left of the bounds.
#[derive(Debug)]
pub struct Meter {
    steps: Cell<u64>,
    bytes: Cell<u64>,
    limits: Limits,
}

impl Meter {
    /// A meter at its beginning.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { steps: Cell::new(limits.steps), bytes: Cell::new(limits.bytes), limits }
    }

    /// The bounds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Steps taken so far.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.limits.steps - self.steps.get()
    }

    /// Takes steps.
    ///
    /// # Errors
    /// There are not so many left.
    #[inline]
    pub fn steps(&self, n: u64) -> Result<()> {
        match self.steps.get().checked_sub(n) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(self.too_many_steps()),
        }
    }

    /// Pays for bytes that are about to be made.
    ///
    /// # Errors
    /// There are not so many left.
    #[inline]
    pub fn bytes(&self, n: usize) -> Result<()> {
        match self.bytes.get().checked_sub(n as u64) {
            Some(left) => {
                self.bytes.set(left);
                Ok(())
            }
            None => Err(self.too_many_bytes()),
        }
    }

    /// Pays for `n` values that are about to be made, and for what they hold themselves.
    ///
    /// # Errors
    /// There is not so much left.
    pub fn values(&self, n: usize) -> Result<()> {
        self.steps(n as u64 / 8)?;
        self.bytes(n.saturating_mul(VALUE))
    }

    /// Takes steps for looking at bytes.
    ///
    /// # Errors
    /// There are not so many left.
    pub fn scan(&self, bytes: usize) -> Result<()> {
        if bytes < SCAN { Ok(()) } else { self.steps((bytes / SCAN) as u64) }
    }

    #[cold]
    fn too_many_steps(&self) -> Error {
        self.steps.set(0);
        let text = format!("a page may take {} steps; does it loop for ever?", self.limits.steps);
        Error::new(Kind::Limit, text)
    }

    #[cold]
    fn too_many_bytes(&self) -> Error {
        self.bytes.set(0);
        let text = format!("a page may make {} bytes", self.limits.bytes);
        Error::new(Kind::Limit, text)
    }
}
