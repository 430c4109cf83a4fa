//! The broker's guarantees, over every storage that needs nothing but this machine.

mod common;
#[macro_use]
mod suite;

contract!(memory, crate::common::Backend::memory());
contract!(disk, crate::common::Backend::disk());
contract!(objects, crate::common::Backend::objects());
