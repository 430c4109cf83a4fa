//! Commands of bits within strings.

use crate::command::DataCommand;

pub(crate) static COMMANDS: &[&DataCommand] = &[];
