//! What a page asks of the program that renders it.

use crate::builtin::Arguments;
use crate::error::Result;
use crate::meter::Meter;
use crate::part::{Part, PartKind};
use crate::value::Value;

/// Names, functions and the clock of a page. `'t` is the life of its templates.
pub trait Host<'t> {
    /// The value of a name that the template has not assigned. It is asked once for a name.
    fn global(&mut self, name: &str) -> Option<Value<'t>>;

    /// Calls one of the functions that the engine was made with. What the call makes is paid for at the meter,
    /// before it is made. A function that may take long compares the time with the bound itself.
    ///
    /// # Errors
    /// The function has failed.
    fn call(&mut self, name: &str, args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>>;

    /// A live block of the page, with its content. It is called only where [`Self::call`] knows the function
    /// `live`. Returns whether the block is shown as a live one.
    ///
    /// # Errors
    /// The page cannot have this block.
    fn live(&mut self, _name: &str, _content: &str, _meter: &Meter) -> Result<bool> {
        Ok(false)
    }

    /// Whether [`Self::global`] may have a value for this name.
    fn is_asked(&self, _name: &str) -> bool {
        true
    }

    /// A part of the page begins. The text of a turn depends on nothing but `key`, the names of [`Self::global`], and
    /// what it calls; that of a loop on nothing but `key` and what it calls: no name of it is asked for
    /// ([`Self::is_asked`]). `out` is the page so far. The key is one of this engine: another one, with other
    /// templates, may have the same key for something else. A turn may begin in a loop that has begun, and no other
    /// part in a part.
    ///
    /// # Errors
    /// The text cannot be paid for.
    fn part(
        &mut self,
        _kind: PartKind,
        _key: &[u8],
        _out: &mut String,
        _meter: &Meter,
    ) -> Result<Part> {
        Ok(Part::Other)
    }

    /// The part of this kind that has begun ends with the page so far.
    fn end_part(&mut self, _kind: PartKind, _out: &str) {}

    /// Whether the page has taken too long. It is asked every few thousand steps.
    fn overdue(&mut self) -> bool {
        false
    }
}
