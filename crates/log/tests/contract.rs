//! The broker's guarantees, over every storage that needs nothing but this machine.

mod common;
#[macro_use]
mod suite;

contract!(memory, crate::common::Place::memory());
contract!(disk, crate::common::Place::disk());
contract!(objects, crate::common::Place::objects());
