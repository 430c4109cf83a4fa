//! SLOWLOG; the log itself is [`observe::slowlog`].

mod cmd;

pub(crate) use cmd::SLOWLOG;
