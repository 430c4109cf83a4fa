//! The errors of a rule.

/// Why a rule was refused; the texts are Redis's, since tools show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// No such command, subcommand or category.
    Unknown,
    /// It is none of the known forms, or a pattern has a blank in it.
    Syntax,
    /// A key pattern behind `~*`.
    KeysAreAll,
    /// A channel pattern behind `&*`.
    ChannelsAreAll,
    /// The password to remove is none of the user's.
    NoSuchPassword,
    /// `#` or `!` without a hash behind it.
    BadHash,
    /// `+command|subcommand|argument`.
    DeepArgument,
}

impl RuleError {
    /// The text behind the rule.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown command or category name in ACL",
            Self::Syntax => "Syntax error",
            Self::KeysAreAll => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does \
                 not have any effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            Self::ChannelsAreAll => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and \
                 does not have any effect. Try 'resetchannels' to start with an empty list of \
                 channels"
            }
            Self::NoSuchPassword => {
                "The password you are trying to remove from the user does not exist"
            }
            Self::BadHash => {
                "The password hash must be exactly 64 characters and contain only lowercase \
                 hexadecimal characters"
            }
            Self::DeepArgument => "Allowing first-arg of a subcommand is not supported",
        }
    }
}
