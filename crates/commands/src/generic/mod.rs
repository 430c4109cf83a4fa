//! Commands of keys, whatever their type.

mod del;

use crate::command::DataCommand;

pub(crate) static COMMANDS: &[&DataCommand] = &[&del::DEL];
